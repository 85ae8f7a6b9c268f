/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage select: elements of axes, and a part of the time. */
#include <cornerturn/kit/pick.h>
#include <cornerturn/text.h>
#include <math.h>
#include <string.h>

#define ELEMENTS(axis_)                                                                            \
    {                                                                                              \
        axis_, CT_PARAM_STRING, CT_PARAM_LIST,                                                     \
            .help = "elements of the axis " axis_ ": indices, ranges and labels"                   \
    }
static const char *const axes[] = {"subband", "channel", "beam",  "baseline",
                                   "station", "pol",     "stokes"};
static const CtParam params[] = {
    ELEMENTS("subband"),
    ELEMENTS("channel"),
    ELEMENTS("beam"),
    ELEMENTS("baseline"),
    ELEMENTS("station"),
    ELEMENTS("pol"),
    ELEMENTS("stokes"),
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

/* Appends baselines by the names of both stations, or of one of them. */
static gboolean
add_pairs(Elements *elements, const char *text)
{
    const CtLabels *labels = elements->axis->labels;
    g_auto(GStrv) names = g_strsplit_set(text, " \t", -1);
    const guint before = elements->indices->len, n_names = g_strv_length(names);
    for (gint64 i = 0; n_names >= 1 && n_names <= 2 && i < elements->axis->length; i++) {
        const char *first = ct_labels_name(labels, (gsize)i, 0);
        const char *second = ct_labels_name(labels, (gsize)i, 1);
        const gboolean has = n_names == 1
                                 ? !strcmp(first, text) || !strcmp(second, text)
                                 : (!strcmp(first, names[0]) && !strcmp(second, names[1])) ||
                                       (!strcmp(first, names[1]) && !strcmp(second, names[0]));
        if (has)
            g_array_append_val(elements->indices, i);
    }
    return elements->indices->len > before;
}

static gboolean
add_label(Elements *elements, const char *text)
{
    CtLabels *labels = elements->axis->labels;
    if (!labels)
        return FALSE;
    if (ct_labels_are_pairs(labels))
        return add_pairs(elements, text);
    const gint64 i = ct_labels_find(labels, text);
    if (i >= 0)
        g_array_append_val(elements->indices, i);
    return i >= 0;
}

/* "; did you mean 'CS002'?", or the labels that there are; to be freed. */
static char *
remark(const Elements *elements, const char *text)
{
    const CtLabels *labels = elements->axis->labels;
    if (!labels)
        return g_strdup(", and its elements have no labels");
    const CtLabels *named = ct_labels_names(labels);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (gsize i = 0; i < ct_labels_count(named); i++)
        g_ptr_array_add(names, (gpointer)ct_labels_name(named, i, 0));
    return ct_suggest_remark(text, (const char *const *)names->pdata, names->len, "the labels are");
}

/* Appends the elements of "7", "0..15" or a label. */
static gboolean
add_text(Elements *elements, const char *text, GError **error)
{
    const CtAxis *axis = elements->axis;
    gint64 first, last;
    if (!ct_range_parse(text, &first, &last)) {
        if (add_label(elements, text))
            return TRUE;
        g_autofree char *labels = remark(elements, text);
        return ct_params_error(elements->params, elements->param, error,
                               "wants indices, ranges as 0..15, or labels of the axis '%s', but is "
                               "given '%s'%s",
                               axis->name, text, labels);
    }
    if (last >= axis->length)
        return ct_params_error(elements->params, elements->param, error,
                               "wants indices below the length of the axis '%s', %" G_GINT64_FORMAT
                               ", but is given '%s'",
                               axis->name, axis->length, text);
    for (gint64 i = first; i <= last; i++)
        g_array_append_val(elements->indices, i);
    return TRUE;
}

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
    Elements elements = {node->params, param, &in->axes[place], indices};
    const guint n = ct_params_count(node->params, param);
    for (guint i = 0; i < n; i++)
        if (!add_text(&elements, ct_params_string_at(node->params, param, i), error))
            return FALSE;
    if (n == 0)
        return ct_params_error(node->params, param, error, "wants at least one element");
    return add_axis(&elements, pick, error);
}

/* ---- frequencies ---- */

/* The axis of frequencies: channel, or subband; −1: there is none. */
static gint
frequency_axis(const CtStream *stream)
{
    static const char *const names[] = {"channel", "subband"};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        const gint place = ct_stream_axis(stream, names[i]);
        if (place >= 0 && g_strcmp0(stream->axes[place].coordinate.unit, "Hz") == 0)
            return place;
    }
    return -1;
}

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
    const gint place = frequency_axis(in);
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

/* The first tick that is not before `seconds` after the start of the stream. */
static gint64
tick_of(const CtStream *in, gdouble seconds)
{
    const gdouble ticks = seconds * (gdouble)in->rate_num / (gdouble)in->rate_den;
    const gdouble near = round(ticks);
    /* What is meant to be whole is not always so in double precision. */
    const gdouble whole = fabs(ticks - near) <= 1e-15 * fabs(ticks) + 1e-9 ? near : ceil(ticks);
    return in->start + (gint64)CLAMP(whole, -0x1p61, 0x1p61);
}

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
        *tick = tick_of(in, ct_params_real_at(node->params, param, i));
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
