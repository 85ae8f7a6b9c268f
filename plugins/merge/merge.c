/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage merge: two axes become one. */
#include <cornerturn/kit/pick.h>
#include <string.h>

typedef enum { BY_COORDINATE, BY_INDEX } Order;
static const char *const orders[] = {"coordinate", "index", NULL};

static const CtParam params[] = {
    {"axes", CT_PARAM_AXIS, CT_PARAM_LIST, .fallback = "[subband, channel]",
     .help = "the two axes, the slower one first"},
    {"to", CT_PARAM_AXIS, .fallback = "channel", .help = "the name of the axis that they become"},
    {"order", CT_PARAM_CHOICE, .fallback = "coordinate", .choices = orders,
     .help = "coordinate: by rising frequency, where the axes have one; index: the second axis "
             "fastest"},
    {NULL},
};

/* Checks the names of the axes. */
static gboolean
check(const CtNode *node, const char *const of[2], GError **error)
{
    const CtStream *in = &node->inputs[0];
    const char *to = ct_params_string(node->params, "to");
    g_autofree char *given = ct_stream_describe(in);
    for (guint k = 0; k < 2; k++) {
        if (strcmp(of[k], "time") == 0 || (k == 1 && strcmp(of[0], of[1]) == 0))
            return ct_params_error(node->params, "axes", error,
                                   "wants two different axes other than time, but is given '%s' "
                                   "and '%s'",
                                   of[0], of[1]);
        if (ct_stream_axis(in, of[k]) < 0)
            return ct_params_error(node->params, "axes", error,
                                   "wants axes of the input, but is given '%s', and the input has "
                                   "%s",
                                   of[k], given);
    }
    if (ct_stream_axis(in, to) >= 0 && strcmp(to, of[0]) != 0 && strcmp(to, of[1]) != 0)
        return ct_params_error(node->params, "to", error,
                               "wants a name that no other axis has, but is given '%s', and the "
                               "input has %s",
                               to, given);
    return TRUE;
}

typedef struct {
    gdouble value;
    gint64 index;
} Element;

static int
compare(gconstpointer a, gconstpointer b)
{
    const Element *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Sorts the elements by their coordinates, if they have any. */
static gboolean
sort(const CtStream *in, CtPickAxis *axis, gint64 n_fast, GError **error)
{
    gdouble value;
    if (axis->length == 0 || !ct_pick_coordinate(in, axis, 0, &value))
        return TRUE;
    g_autofree Element *elements = CT_TABLE(Element, axis->length, "merged axes", error);
    if (!elements)
        return FALSE;
    for (gint64 i = 0; i < axis->length; i++) {
        elements[i].index = i;
        ct_pick_coordinate(in, axis, i, &elements[i].value);
    }
    qsort(elements, (gsize)axis->length, sizeof *elements, compare);
    for (gint64 i = 0; i < axis->length; i++) {
        axis->index[0][i] = elements[i].index / n_fast;
        axis->index[1][i] = elements[i].index % n_fast;
    }
    return TRUE;
}

static gboolean
find(const CtNode *node, CtPick *pick, GError **error)
{
    const CtStream *in = &node->inputs[0];
    const guint n = ct_params_count(node->params, "axes");
    if (n != 2)
        return ct_params_error(node->params, "axes", error, "wants two axes, but is given %u", n);
    const char *const of[] = {ct_params_string_at(node->params, "axes", 0),
                              ct_params_string_at(node->params, "axes", 1)};
    if (!check(node, of, error))
        return FALSE;
    const gint64 n_slow = ct_stream_length(in, of[0]), n_fast = ct_stream_length(in, of[1]);
    CtPickAxis *axis = ct_pick_add(pick, ct_params_string(node->params, "to"), n_slow * n_fast,
                                   of[0], of[1], error);
    for (gint64 i = 0; axis && i < axis->length; i++) {
        axis->index[0][i] = i / n_fast;
        axis->index[1][i] = i % n_fast;
    }
    return axis &&
           (ct_params_choice(node->params, "order") == BY_INDEX || sort(in, axis, n_fast, error));
}

static const CtPickForm form = {.find = find};

static const CtStage merge = {
    .name = "merge",
    .summary = "two axes become one",
    .version = 1,
    .inputs = CT_PORTS({"in", "{...}", 0, "any stream with the two axes"}),
    .outputs = CT_PORTS({"out", "{...}", 0, "the same elements, with one axis for two"}),
    .params = params,
    .infer = ct_pick_infer,
    .infer_uses_params = TRUE,
    .form = &form,
};

CT_STAGE_PLUGIN("merge", merge, CT_PICK_VARIANTS(form, "merge", CT_PORT_ROWS(0.7)));
