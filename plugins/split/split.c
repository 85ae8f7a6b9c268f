/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage split: an axis becomes two. */
#include <cornerturn/kit/pick.h>
#include <string.h>

static const CtParam params[] = {
    {"axis", CT_PARAM_AXIS, .fallback = "channel", .help = "the axis that is split"},
    {"to", CT_PARAM_AXIS, CT_PARAM_LIST, .fallback = "[subband, channel]",
     .help = "the names of the two axes, the slower one first"},
    {"length", CT_PARAM_INT, CT_PARAM_REQUIRED | CT_PARAM_RANGED, .minimum = 1,
     .maximum = G_MAXUINT32, .help = "elements of the second axis"},
    {NULL},
};

/* Checks the names of the axes. */
static gboolean
check(const CtNode *node, const char *axis, const char *const to[2], GError **error)
{
    const CtStream *in = &node->inputs[0];
    g_autofree char *given = ct_stream_describe(in);
    if (strcmp(axis, "time") == 0 || ct_stream_axis(in, axis) < 0)
        return ct_params_error(node->params, "axis", error,
                               "wants an axis of the input other than time, but is given '%s', and "
                               "the input has %s",
                               axis, given);
    for (guint k = 0; k < 2; k++)
        if ((k == 1 && strcmp(to[0], to[1]) == 0) ||
            (strcmp(to[k], axis) != 0 && ct_stream_axis(in, to[k]) >= 0))
            return ct_params_error(node->params, "to", error,
                                   "wants two names that no other axis has, but is given '%s' and "
                                   "'%s', and the input has %s",
                                   to[0], to[1], given);
    const gint64 length = ct_params_int(node->params, "length"), n = ct_stream_length(in, axis);
    return n % length == 0 ||
           ct_params_error(node->params, "length", error,
                           "wants a divisor of the length of '%s', which is %" G_GINT64_FORMAT
                           ", but is given %" G_GINT64_FORMAT,
                           axis, n, length);
}

static gboolean
find(const CtNode *node, CtPick *pick, GError **error)
{
    const char *axis = ct_params_string(node->params, "axis");
    const gint64 n_fast = ct_params_int(node->params, "length");
    const guint n = ct_params_count(node->params, "to");
    if (n != 2)
        return ct_params_error(node->params, "to", error, "wants two axes, but is given %u", n);
    const char *const to[] = {ct_params_string_at(node->params, "to", 0),
                              ct_params_string_at(node->params, "to", 1)};
    if (!check(node, axis, to, error))
        return FALSE;
    const gint64 n_slow = ct_stream_length(&node->inputs[0], axis) / n_fast;
    CtPickAxis *slow = ct_pick_add(pick, to[0], n_slow, axis, NULL, error);
    CtPickAxis *fast = slow ? ct_pick_add(pick, to[1], n_fast, axis, NULL, error) : NULL;
    for (gint64 i = 0; fast && i < n_slow; i++)
        slow->index[0][i] = i * n_fast;
    for (gint64 i = 0; fast && i < n_fast; i++)
        fast->index[0][i] = i;
    return fast != NULL;
}

/* The slow axis gets the mean coordinates of its elements, the fast one those of the split axis. */
static gboolean
split_coordinates(const CtNode *node, GError **error)
{
    const CtStream *in = &node->inputs[0];
    CtStream *out = &node->outputs[0];
    const gint was = ct_stream_axis(in, ct_params_string(node->params, "axis"));
    const CtCoordinate *old = &in->axes[was].coordinate;
    CtAxis *slow = &out->axes[ct_stream_axis(out, ct_params_string_at(node->params, "to", 0))];
    CtAxis *fast = &out->axes[ct_stream_axis(out, ct_params_string_at(node->params, "to", 1))];
    const gint64 n = fast->length;
    if (!old->unit || old->parent)
        return TRUE;
    slow->coordinate.unit = fast->coordinate.unit = old->unit;
    fast->coordinate.parent = slow->name;
    if (!old->table) {
        const gdouble middle = old->step * (gdouble)(n - 1) / 2;
        slow->coordinate.first = old->first + middle;
        slow->coordinate.step = old->step * (gdouble)n;
        fast->coordinate.first = -middle;
        fast->coordinate.step = old->step;
        return TRUE;
    }
    gdouble *means = CT_TABLE(gdouble, slow->length, "coordinates", error);
    if (!means)
        return FALSE;
    for (gint64 i = 0; i < slow->length * n; i++)
        means[i / n] += ct_stream_coordinate(in, (guint)was, i, 0) / (gdouble)n;
    slow->coordinate.first = means[0];
    slow->coordinate.table = g_bytes_new_take(means, (gsize)slow->length * sizeof *means);
    fast->coordinate.table = g_bytes_ref(old->table); /* [slow][fast] is in the same order */
    return TRUE;
}

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_pick_infer(node, error) && split_coordinates(node, error);
}

static const CtPickForm form = {.find = find};

static const CtStage split = {
    .name = "split",
    .summary = "an axis becomes two",
    .version = 1,
    .inputs = CT_PORTS({"in", "{...}", 0, "any stream with the axis"}),
    .outputs = CT_PORTS({"out", "{...}", 0, "the same elements, with two axes for one"}),
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .form = &form,
};

/* Axes of other names than these come last in the output, unless a neighbour wants them
 * elsewhere. */
static const CtRow rows[] = {
    {"[time channel ...] -> [time subband channel ...]", 0.7},
    {"[... channel] -> [... subband channel]", 0.7},
    {"[channel ...] -> [subband channel ...]", 0.7},
    {"{...} -> {...}", 0.6},
    {NULL},
};

CT_STAGE_PLUGIN("split", split, CT_PICK_VARIANTS(form, "split", rows));
