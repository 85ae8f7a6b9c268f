/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage select: elements of axes, and a part of the time. */
#include <cornerturn/kit/named.h>
#include <cornerturn/kit/pick.h>
#include <cornerturn/text.h>
#include <math.h>
#include <string.h>

static const char *const axes[] = {"subband", "channel", "beam",  "baseline",
                                   "station", "pol",     "stokes"};
static const CtParam params[] = {
    CT_PARAM_ELEMENTS("subband"),
    CT_PARAM_ELEMENTS("channel"),
    CT_PARAM_ELEMENTS("beam"),
    CT_PARAM_ELEMENTS("baseline"),
    CT_PARAM_ELEMENTS("station"),
    CT_PARAM_ELEMENTS("pol"),
    CT_PARAM_ELEMENTS("stokes"),
    {"axis", CT_PARAM_AXIS, .help = "an axis of another name, of which 'elements' are picked"},
    {"elements", CT_PARAM_STRING, CT_PARAM_LIST, .help = "elements of 'axis': see 'channel'"},
    {"frequency", CT_PARAM_QUANTITY, CT_PARAM_LIST, "Hz",
     .help = "[lowest, highest]: the channels (or subbands) whose centres are in this range"},
    {"time", CT_PARAM_QUANTITY, CT_PARAM_LIST, "s",
     .help = "[begin] or [begin, end), counted from the start of the stream"},
    {"ticks", CT_PARAM_INT, CT_PARAM_LIST, .help = "[begin] or [begin, end), in ticks"},
    {"utc", CT_PARAM_STRING, CT_PARAM_LIST,
     .help = "[begin] or [begin, end), as \"2026-11-23T12:00:00Z\""},
    {NULL},
};

/* ---- elements ---- */

/* Where the elements of an axis are gathered. */
typedef struct {
    const CtParams *params;
    const char *param; /* that names them */
    const CtAxis *axis;
    GArray *indices; /* gint64 */
} Elements;

/* Adds the axis of those elements, each of which may be picked once. */
static gboolean
add_axis(const Elements *elements, CtPick *pick, GError **error)
{
    const CtAxis *axis = elements->axis;
    const gint64 *indices = (const gint64 *)elements->indices->data;
    const guint n = elements->indices->len;
    g_autofree guint8 *seen = CT_TABLE(guint8, axis->length, "elements", error);
    for (guint a = 0; a < pick->n_axes; a++)
        if (pick->axes[a].name == axis->name)
            return ct_params_error(elements->params, elements->param, error,
                                   "wants an axis that no other parameter names, but is given '%s'",
                                   axis->name);
    for (guint i = 0; seen && i < n; i++)
        if (seen[indices[i]]++)
            return ct_params_error(elements->params, elements->param, error,
                                   "wants each element once, but is given element %" G_GINT64_FORMAT
                                   " of the axis '%s' twice",
                                   indices[i], axis->name);
    CtPickAxis *picked = seen ? ct_pick_add(pick, axis->name, n, axis->name, NULL, error) : NULL;
    if (picked)
        memcpy(picked->index[0], indices, n * sizeof *indices);
    return picked != NULL;
}

/* Picks the elements that the list `param` names. */
static gboolean
pick_elements(const CtNode *node, CtPick *pick, const char *name, const char *param, GError **error)
{
    const CtStream *in = &node->inputs[0];
    const gint place = ct_stream_axis(in, name);
    if (place < 0 || strcmp(name, "time") == 0) {
        g_autofree char *given = ct_stream_describe(in);
        return ct_params_error(node->params, strcmp(param, "elements") == 0 ? "axis" : param, error,
                               "wants an axis of the input other than time, but is given '%s', and "
                               "the input has %s",
                               name, given);
    }
    g_autoptr(GArray) indices = g_array_new(FALSE, FALSE, sizeof(gint64));
    const Elements elements = {node->params, param, &in->axes[place], indices};
    return ct_named_elements(node->params, param, elements.axis, indices, error) &&
           add_axis(&elements, pick, error);
}

/* ---- frequencies ---- */

static gboolean
pick_frequencies(const CtNode *node, CtPick *pick, GError **error)
{
    const CtStream *in = &node->inputs[0];
    const CtParams *given = node->params;
    const guint n = ct_params_count(given, "frequency");
    if (n != 2)
        return ct_params_error(given, "frequency", error,
                               "wants the lowest and the highest frequency, as [120 MHz, 140 MHz], "
                               "but is given %u of them",
                               n);
    const gdouble lowest = ct_params_real_at(given, "frequency", 0);
    const gdouble highest = ct_params_real_at(given, "frequency", 1);
    if (lowest > highest)
        return ct_params_error(
            given, "frequency", error,
            "wants the lowest frequency before the highest, but is given %.15g Hz "
            "before %.15g Hz",
            lowest, highest);
    const gint place = ct_named_frequencies(in);
    if (place < 0)
        return ct_params_error(given, "frequency", error,
                               "wants a stream whose channels or subbands have frequencies");
    const char *parent = in->axes[place].coordinate.parent;
    if (parent && ct_stream_length(in, parent) > 1)
        return ct_params_error(given, "frequency", error,
                               "wants channels of one subband: a node 'merge' makes one axis of "
                               "subbands and channels");
    g_autoptr(GArray) indices = g_array_new(FALSE, FALSE, sizeof(gint64));
    const Elements elements = {given, "frequency", &in->axes[place], indices};
    gdouble least = INFINITY, most = -INFINITY;
    for (gint64 i = 0; i < elements.axis->length; i++) {
        const gdouble frequency = ct_stream_coordinate(in, (guint)place, i, 0);
        least = MIN(least, frequency);
        most = MAX(most, frequency);
        if (frequency >= lowest && frequency <= highest)
            g_array_append_val(indices, i);
    }
    if (indices->len == 0)
        return ct_params_error(given, "frequency", error,
                               "wants a range with the centre of a %s, which are from %.9g to %.9g "
                               "Hz, but is given %.9g to %.9g Hz",
                               elements.axis->name, least, most, lowest, highest);
    return add_axis(&elements, pick, error);
}

/* ---- time ---- */

/* Reads item `i` of the parameter. */
static gboolean
read_tick(const CtNode *node, const char *param, guint i, gint64 *tick, GError **error)
{
    const CtStream *in = &node->inputs[0];
    g_autoptr(GError) why = NULL;
    gint64 seconds, ticks;
    if (strcmp(param, "ticks") == 0) {
        *tick =
            CLAMP(ct_params_int_at(node->params, param, i), -((gint64)1 << 61), (gint64)1 << 61);
        return TRUE;
    }
    if (strcmp(param, "time") == 0) {
        *tick = ct_named_tick(in, ct_params_real_at(node->params, param, i));
        return TRUE;
    }
    if (!ct_utc_parse(ct_params_string_at(node->params, param, i), &seconds, &why))
        return ct_params_error(node->params, param, error, "%s", why->message);
    /* Tick k is k · rate_den / rate_num seconds after the epoch. */
    if (__builtin_sub_overflow(seconds, in->epoch, &seconds) ||
        __builtin_mul_overflow(seconds, in->rate_num, &ticks) ||
        __builtin_add_overflow(ticks, ticks > 0 ? in->rate_den - 1 : 0, &ticks))
        return ct_params_error(node->params, param, error,
                               "wants a time whose tick can be counted, but is given '%s'",
                               ct_params_string_at(node->params, param, i));
    *tick = ticks / in->rate_den;
    return TRUE;
}

static gboolean
pick_time(const CtNode *node, CtPick *pick, const char *param, GError **error)
{
    const CtStream *in = &node->inputs[0];
    const guint n = ct_params_count(node->params, param);
    if (ct_stream_axis(in, "time") < 0)
        return ct_params_error(node->params, param, error, "wants a stream with the axis time");
    if (n < 1 || n > 2)
        return ct_params_error(node->params, param, error,
                               "wants the beginning, or the beginning and the end, but is given %u "
                               "values",
                               n);
    if (strcmp(param, "ticks") != 0 && in->rate_num == 0)
        return ct_params_error(node->params, param, error,
                               "wants a stream with a sample rate: this one has only 'ticks'");
    if (strcmp(param, "utc") == 0 && in->epoch == CT_NO_EPOCH)
        return ct_params_error(node->params, param, error,
                               "wants a stream whose UTC is known: 'start' of the graph's "
                               "'observation' gives it");
    if (pick->begin != G_MININT64)
        return ct_params_error(node->params, param, error,
                               "wants to be the only one of 'time', 'ticks' and 'utc'");
    if (!read_tick(node, param, 0, &pick->begin, error) ||
        (n == 2 && !read_tick(node, param, 1, &pick->end, error)))
        return FALSE;
    return pick->begin < pick->end ||
           ct_params_error(node->params, param, error,
                           "wants an end after the beginning, but is given ticks %" G_GINT64_FORMAT
                           " and %" G_GINT64_FORMAT,
                           pick->begin, pick->end);
}

/* ---- the stage ---- */

static gboolean
find(const CtNode *node, CtPick *pick, GError **error)
{
    static const char *const times[] = {"time", "ticks", "utc"};
    const CtParams *given = node->params;
    for (guint i = 0; i < G_N_ELEMENTS(axes); i++)
        if (ct_params_has(given, axes[i]) && !pick_elements(node, pick, axes[i], axes[i], error))
            return FALSE;
    if (ct_params_has(given, "axis") != ct_params_has(given, "elements"))
        return ct_params_error(given, ct_params_has(given, "axis") ? "axis" : "elements", error,
                               "wants '%s' beside it",
                               ct_params_has(given, "axis") ? "elements" : "axis");
    if (ct_params_has(given, "axis") &&
        !pick_elements(node, pick, ct_params_string(given, "axis"), "elements", error))
        return FALSE;
    if (ct_params_has(given, "frequency") && !pick_frequencies(node, pick, error))
        return FALSE;
    for (guint i = 0; i < G_N_ELEMENTS(times); i++)
        if (ct_params_has(given, times[i]) && !pick_time(node, pick, times[i], error))
            return FALSE;
    return TRUE;
}

static const CtPickForm form = {.find = find};

static const CtStage stage = {
    .name = "select",
    .summary = "elements of axes, and a part of the time",
    .version = 1,
    .inputs = CT_PORTS({"in", "{...}", 0, "any stream"}),
    .outputs = CT_PORTS({"out", "{...}", 0, "what is selected of it"}),
    .params = params,
    .infer = ct_pick_infer,
    .infer_uses_params = TRUE,
    .form = &form,
};

CT_STAGE_PLUGIN("select", stage, CT_PICK_VARIANTS(form, "select", CT_PORT_ROWS(0.7)));
