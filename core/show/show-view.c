/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of what to draw of a stream. */
#include "show-view.h"

#include <math.h>
#include <string.h>

/* Axes with at most so many elements become lines, those with more an image. */
enum { MOST_LINES = 8 };

static const char *const quantity_names[CT_SHOW_N_QUANTITIES + 1] = {
    [CT_SHOW_VALUE] = "value", [CT_SHOW_POWER] = "power",       [CT_SHOW_AMPLITUDE] = "amplitude",
    [CT_SHOW_PHASE] = "phase", [CT_SHOW_VALIDITY] = "validity",
};

const char *const *
ct_show_quantities(void)
{
    return quantity_names;
}

/* Whether real samples are powers: of the results, weights have baselines, or are counts. */
static gboolean
are_powers(const CtShowView *view)
{
    const CtStream *stream = &view->stream;
    return !view->are_counts && ct_stream_axis(stream, "baseline") < 0 &&
           (ct_stream_axis(stream, "channel") >= 0 || ct_stream_axis(stream, "bin") >= 0);
}

char *
ct_show_quantity_title(const CtShowView *view, CtShowQuantity quantity, gboolean decibels)
{
    if (quantity == CT_SHOW_VALUE && are_powers(view))
        quantity = CT_SHOW_POWER;
    if (quantity == CT_SHOW_PHASE)
        return g_strdup("phase (degrees)");
    if (quantity == CT_SHOW_VALIDITY)
        return g_strdup("share of valid samples");
    return g_strdup_printf("%s%s", quantity_names[quantity], decibels ? " (dB)" : "");
}

gdouble
ct_show_cell_value(const CtShowView *view, const CtShowCell *cell, CtShowQuantity quantity,
                   gboolean decibels)
{
    const gdouble n = (gdouble)cell->n_valid;
    const gboolean is_complex = ct_type_info(view->stream.type)->is_complex;
    if (quantity == CT_SHOW_VALIDITY)
        return cell->n_valid + cell->n_missing ? n / (n + (gdouble)cell->n_missing) : NAN;
    if (cell->n_valid == 0)
        return NAN;
    const gdouble amplitude = hypot(cell->re, cell->im) / n;
    switch (quantity) {
    case CT_SHOW_AMPLITUDE:
        return decibels ? 20 * log10(amplitude) : amplitude;
    case CT_SHOW_PHASE:
        if (cell->re == 0 && cell->im == 0)
            return NAN;
        return atan2(cell->im, cell->re) * 180 / G_PI;
    default:
        break;
    }
    const gdouble value = is_complex ? cell->power / n : cell->re / n;
    return decibels ? 10 * log10(fmax(value, 0)) : value;
}

/* ---- axes ---- */

static gint64
length_of(const CtStream *stream, const char *name)
{
    const gint a = ct_stream_axis(stream, name);
    return a < 0 ? 0 : stream->axes[a].length;
}

static void
take_axis(CtShowAxis *axis, const CtStream *stream, const char *name)
{
    if (name)
        ct_show_axis_init(axis, stream, (guint)ct_stream_axis(stream, name));
}

static gboolean
set_axes(CtShowView *view, const char *text, GError **error)
{
    const CtStream *stream = &view->stream;
    g_auto(GStrv) names = g_strsplit(text, ",", -1);
    const guint n = g_strv_length(names);
    for (guint i = 0; i < n; i++) {
        if (ct_stream_axis(stream, g_strstrip(names[i])) >= 0)
            continue;
        g_autofree char *axes = ct_stream_describe(stream);
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "--axes wants axes of the stream (%s), but is given '%s'%s", axes, names[i],
                    g_str_equal(names[i], "frequency") && ct_stream_axis(stream, "channel") >= 0
                        ? "; did you mean 'channel'?"
                        : "");
        return FALSE;
    }
    if (n < 1 || n > 2 || (n == 2 && g_str_equal(names[0], names[1]))) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "--axes wants one axis or two, but is given '%s'", text);
        return FALSE;
    }
    take_axis(&view->x, stream, names[0]);
    take_axis(&view->y, stream, names[1]);
    view->is_lines = n == 1;
    return TRUE;
}

/* The longest axis that is not on the picture yet; NULL: there is none. */
static const char *
find_longest(const CtShowView *view, gint64 most)
{
    const char *longest = NULL;
    gint64 length = 1;
    for (guint a = 0; a < view->stream.n_axes; a++) {
        const CtAxis *axis = &view->stream.axes[a];
        if (axis->name == view->x.name || axis->name == view->y.name || axis->length <= length ||
            axis->length > most)
            continue;
        longest = axis->name;
        length = axis->length;
    }
    return longest;
}

/* Pairs of axes that are drawn across and upwards, the first that the stream has with more than one
 * element each. */
static const char *const usual[][2] = {
    {"channel", "baseline"}, {"time", "baseline"}, {"bin", "time"},        {"bin", "dm"},
    {"time", "channel"},     {"time", "subband"},  {"time", "dm"},         {"channel", "beam"},
    {"channel", "station"},  {"subband", "beam"},  {"subband", "station"},
};

static void
choose_axes(CtShowView *view)
{
    const CtStream *stream = &view->stream;
    for (guint u = 0; u < G_N_ELEMENTS(usual); u++) {
        if (length_of(stream, usual[u][0]) > 1 && length_of(stream, usual[u][1]) > 1) {
            take_axis(&view->x, stream, usual[u][0]);
            take_axis(&view->y, stream, usual[u][1]);
            return;
        }
    }
    /* One long axis at most: along it, an axis with few elements is lines. */
    static const char *const first[] = {"bin", "channel", "subband", "time"};
    for (guint f = 0; f < G_N_ELEMENTS(first) && !view->x.name; f++)
        if (length_of(stream, first[f]) > 1)
            take_axis(&view->x, stream, first[f]);
    if (!view->x.name)
        take_axis(&view->x, stream, find_longest(view, G_MAXINT64));
    if (!view->x.name)
        ct_show_axis_init(&view->x, stream, 0);
    const char *other = find_longest(view, G_MAXINT64);
    view->is_lines = !other || length_of(stream, other) <= MOST_LINES;
    take_axis(&view->y, stream, view->is_lines ? NULL : other);
}

/* ---- quantities ---- */

static gboolean
choose_quantity(CtShowView *view, const CtShow *show, GError **error)
{
    const gboolean is_complex = ct_type_info(view->stream.type)->is_complex;
    const gboolean has_time = ct_stream_axis(&view->stream, "time") >= 0;
    view->n_quantities = 1;
    if (!show->quantity) {
        const gboolean is_coherent = ct_stream_axis(&view->stream, "baseline") >= 0 || !has_time;
        view->quantities[0] = !is_complex   ? CT_SHOW_VALUE
                              : is_coherent ? CT_SHOW_AMPLITUDE
                                            : CT_SHOW_POWER;
        view->quantities[1] = CT_SHOW_PHASE;
        view->n_quantities = view->quantities[0] == CT_SHOW_AMPLITUDE ? 2 : 1;
        return TRUE;
    }
    for (guint q = 0; q < CT_SHOW_N_QUANTITIES; q++)
        if (g_str_equal(show->quantity, quantity_names[q]))
            view->quantities[0] = (CtShowQuantity)q;
    const CtShowQuantity quantity = view->quantities[0];
    if (quantity == CT_SHOW_VALIDITY || is_complex == (quantity != CT_SHOW_VALUE) ||
        (!is_complex && quantity == CT_SHOW_POWER))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER, "the %s wants %s samples, but is given %s",
                quantity_names[quantity], quantity == CT_SHOW_VALUE ? "real" : "complex",
                ct_type_info(view->stream.type)->name);
    return FALSE;
}

/* ---- selections ---- */

/* Appends the numbers of "3" or "0..7" as texts. */
static gboolean
add_numbers(GPtrArray *names, const char *word, gint64 most)
{
    char *end;
    const gint64 first = g_ascii_strtoll(word, &end, 10);
    const gint64 last = g_str_has_prefix(end, "..") ? g_ascii_strtoll(end + 2, &end, 10) : first;
    if (*end || first < 0 || last < first || last - first >= most)
        return FALSE;
    for (gint64 i = first; i <= last; i++)
        g_ptr_array_add(names, g_strdup_printf("%" G_GINT64_FORMAT, i));
    return TRUE;
}

/* Elements that "beam=[1, 4..6]" selects keep their numbers, as labels, if they have none and no
 * coordinates. */
static void
number_elements(CtStream *stream, const char *selection)
{
    g_auto(GStrv) parts = g_strsplit(selection, "=", 2);
    const gint a = ct_stream_axis(stream, parts[0]);
    CtAxis *axis = a < 0 ? NULL : &stream->axes[a];
    if (!axis || axis->labels || axis->coordinate.unit || axis->name == ct_axis_name("time"))
        return;
    g_auto(GStrv) words = g_strsplit_set(parts[1], "[], \"'", -1);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; words[i]; i++)
        if (*words[i] && !add_numbers(names, words[i], axis->length))
            return;
    if (names->len == axis->length)
        axis->labels = ct_labels_new((const char *const *)names->pdata, names->len);
}

/* ---- words ---- */

static const char *
name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

char *
ct_show_clean(char *text)
{
    g_autofree char *given = text;
    g_autofree char *valid = g_utf8_make_valid(given, -1);
    g_autoptr(GString) clean = g_string_new(NULL);
    for (const char *at = valid; *at; at = g_utf8_next_char(at))
        g_string_append_unichar(clean,
                                g_unichar_iscntrl(g_utf8_get_char(at)) ? ' ' : g_utf8_get_char(at));
    return g_string_free(g_steal_pointer(&clean), FALSE);
}

/* "3C 48, Toy: visibilities.npy" */
static char *
make_title(const CtStream *stream, const char *const *paths)
{
    const CtObservationFacts *facts = ct_observation_facts(stream->observation);
    g_autoptr(GString) title = g_string_new(facts->source);
    if (facts->telescope)
        g_string_append_printf(title, "%s%s", title->len ? ", " : "", facts->telescope);
    g_string_append_printf(title, "%s%s%s", title->len ? ": " : "", name_of(paths[0]),
                           paths[1] ? " …" : "");
    return ct_show_clean(g_string_free(g_steal_pointer(&title), FALSE));
}

/* "every 3rd baseline of 2080", where there is no room for all. */
static void
append_every(GString *text, const char *comma, const CtShowAxis *axis)
{
    const gint64 k = axis->every;
    /* "th", "st", … */
    const char *end = &"thstndrd"[k % 10 < 4 && k / 10 % 10 != 1 ? 2 * (k % 10) : 0];
    if (k > 1)
        g_string_append_printf(text, "%severy %" G_GINT64_FORMAT "%.2s %s of %" G_GINT64_FORMAT,
                               comma, k, end, axis->name, axis->length);
}

/* "time [0 s, 1 s]" of "time=[0 s, 1 s]", unless the labels of the elements tell. */
static void
append_selection(GString *text, const CtStream *stream, const char *selection)
{
    g_auto(GStrv) parts = g_strsplit(selection, "=", 2);
    const gint a = ct_stream_axis(stream, parts[0]);
    if (a < 0 || !stream->axes[a].labels)
        g_string_append_printf(text, "%s%s %s", text->len ? ", " : "", parts[0], parts[1]);
}

/* What the picture has of the axes that it does not show, or not wholly: "pol X, pol' X, mean of
 * the time". */
static char *
make_subtitle(const CtShowView *view, const CtShow *show)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; show->selections && show->selections[i]; i++)
        append_selection(text, &view->stream, show->selections[i]);
    for (guint a = 0; a < view->stream.n_axes; a++) {
        const CtAxis *axis = &view->stream.axes[a];
        const char *comma = text->len ? ", " : "";
        if (axis->name == view->x.name || axis->name == view->y.name) {
            append_every(text, comma, axis->name == view->x.name ? &view->x : &view->y);
            continue;
        }
        if (axis->name == ct_axis_name("time")) {
            g_string_append_printf(text, "%smean of the time", comma);
            continue;
        }
        if (axis->length == 1 && !axis->labels)
            continue;
        g_auto(CtShowAxis) one = {0};
        ct_show_axis_init(&one, &view->stream, a);
        g_autofree char *label = ct_show_axis_label(&one, 0);
        g_string_append_printf(text, "%s%s %s", comma, axis->name, label);
        if (axis->length > 1)
            g_string_append_printf(text, " of %" G_GINT64_FORMAT, axis->length);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static gboolean
check_lengths(const CtStream *stream, const CtShow *show, GError **error)
{
    for (guint a = 0; a < stream->n_axes; a++) {
        if (stream->axes[a].length > 0)
            continue;
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE, "%s: has no samples to show", show->paths[0]);
        return FALSE;
    }
    if (stream->n_axes > 0)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_SHAPE, "%s: has no axis to show", show->paths[0]);
    return FALSE;
}

gboolean
ct_show_view_init(CtShowView *view, const CtStream *stream, const CtShow *show, GError **error)
{
    ct_stream_copy(&view->stream, stream);
    for (guint i = 0; show->selections && show->selections[i]; i++)
        number_elements(&view->stream, show->selections[i]);
    if (!check_lengths(stream, show, error))
        return FALSE;
    if (!choose_quantity(view, show, error))
        return FALSE;
    if (show->axes && !set_axes(view, show->axes, error))
        return FALSE;
    if (!show->axes)
        choose_axes(view);
    if (view->is_lines)
        take_axis(&view->y, &view->stream, find_longest(view, MOST_LINES));
    const gboolean is_image = !view->is_lines && view->n_quantities == 1;
    view->is_profile_of_x = view->x.name == ct_axis_name("bin");
    view->has_profile =
        is_image &&
        (view->is_profile_of_x ? view->y.is_averaged
                               : view->x.is_averaged && ct_show_is_frequency(view->y.name));
    view->title = make_title(stream, show->paths);
    return TRUE;
}

gboolean
ct_show_view_divide(CtShowView *view, const CtShow *show, guint width, guint height, GError **error)
{
    CtShowAxis *const axes[] = {&view->x, &view->y};
    const guint most[] = {MAX(width, 1), view->is_lines ? MOST_LINES : MAX(height, 1)};
    for (guint i = 0; i < 2; i++) {
        axes[i]->n_cells = 1;
        if (axes[i]->name)
            ct_show_axis_divide(axes[i], most[i]);
    }
    view->subtitle = ct_show_clean(make_subtitle(view, show));
    view->cells = g_try_new0(CtShowCell, (gsize)view->x.n_cells * view->y.n_cells);
    view->profile = g_try_new0(CtShowCell, MAX(view->x.n_cells, view->y.n_cells));
    if (view->cells && view->profile)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_MEMORY,
                "a picture of %u times %u cells wants more memory than there is", view->x.n_cells,
                view->y.n_cells);
    return FALSE;
}

void
ct_show_view_clear(CtShowView *view)
{
    ct_stream_clear(&view->stream);
    ct_show_axis_clear(&view->x);
    ct_show_axis_clear(&view->y);
    g_free(view->cells);
    g_free(view->profile);
    g_free(view->levels);
    g_free(view->title);
    g_free(view->subtitle);
    *view = (CtShowView){0};
}
