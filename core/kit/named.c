/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements of axes, and times, as users name them in parameters. */
#include <cornerturn/kit/named.h>
#include <cornerturn/text.h>
#include <math.h>
#include <string.h>

/* ---- elements ---- */

/* The elements of an axis that a parameter names, while its texts are read. */
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

gboolean
ct_named_elements(const CtParams *params, const char *param, const CtAxis *axis, GArray *indices,
                  GError **error)
{
    Elements elements = {params, param, axis, indices};
    const guint n = ct_params_count(params, param);
    for (guint i = 0; i < n; i++)
        if (!add_text(&elements, ct_params_string_at(params, param, i), error))
            return FALSE;
    return n > 0 || ct_params_error(params, param, error, "wants at least one element");
}

/* ---- frequencies ---- */

gint
ct_named_frequencies(const CtStream *stream)
{
    static const char *const names[] = {"channel", "subband"};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        const gint place = ct_stream_axis(stream, names[i]);
        if (place >= 0 && g_strcmp0(stream->axes[place].coordinate.unit, "Hz") == 0)
            return place;
    }
    return -1;
}

/* ---- times ---- */

gint64
ct_named_tick(const CtStream *stream, gdouble seconds)
{
    const gdouble ticks = seconds * (gdouble)stream->rate_num / (gdouble)stream->rate_den;
    const gdouble near = round(ticks);
    const gdouble whole = fabs(ticks - near) <= 1e-15 * fabs(ticks) + 1e-9 ? near : ceil(ticks);
    return stream->start + (gint64)CLAMP(whole, -0x1p61, 0x1p61);
}
