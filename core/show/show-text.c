/* SPDX-License-Identifier: BSD-3-Clause */
/* A view as text: half blocks with 24-bit colours, or characters from light to dark; lines as bars
 * of eighths. */
#include "show-picture.h"

#include <math.h>
#include <string.h>

/* Columns before the drawing, lines above and below it. */
enum { LEFT = 12, ABOVE = 2, BELOW = 3 };

/* Of the lines of elements. */
static const char marks[] = "*o+x#@%=";

static guint
n_columns(const CtShow *show)
{
    return show->width > LEFT + 8 ? show->width - LEFT - 1 : 8;
}

static guint
n_lines(const CtShow *show, guint n_drawings)
{
    const guint rest = show->height > n_drawings * (ABOVE + BELOW) + n_drawings * 4
                           ? show->height / n_drawings - ABOVE - BELOW
                           : 4;
    return rest;
}

gboolean
ct_show_text_divide(CtShowView *view, const CtShow *show, GError **error)
{
    const guint lines = n_lines(show, view->n_quantities);
    return ct_show_view_divide(view, show, n_columns(show),
                               show->format == CT_SHOW_COLOURS ? 2 * lines : lines, error);
}

/* The cell of the view at a place of a drawing of `nx` times `ny` places, the uppermost first. */
static const CtShowCell *
cell_at(const CtShowView *view, guint x, guint nx, guint y, guint ny)
{
    const guint cx = x * view->x.n_cells / nx, cy = (ny - 1 - y) * view->y.n_cells / ny;
    return &view->cells[(gsize)cy * view->x.n_cells + cx];
}

static void
append_label(GString *text, const CtShowScale *scale, guint line, guint lines)
{
    const char *label = "";
    for (guint i = 0; i < scale->ticks->len; i++) {
        const CtShowTick *tick = &g_array_index(scale->ticks, CtShowTick, i);
        const gdouble share = (tick->at - scale->begin) / (scale->end - scale->begin);
        if ((guint)CLAMP((1 - share) * lines, 0, lines - 1) == line)
            label = tick->label;
    }
    for (glong n = g_utf8_strlen(label, -1); n < LEFT - 1; n++)
        g_string_append_c(text, ' ');
    g_string_append_printf(text, "%s ", label);
}

static void
append_x_axis(GString *text, const CtShowScale *scale, guint columns)
{
    glong at = 0;
    g_string_append_printf(text, "%*s", LEFT, "");
    for (guint i = 0; i < scale->ticks->len; i++) {
        const CtShowTick *tick = &g_array_index(scale->ticks, CtShowTick, i);
        const gdouble share = (tick->at - scale->begin) / (scale->end - scale->begin);
        const glong n = g_utf8_strlen(tick->label, -1);
        const glong begin = MAX((glong)(share * columns) - n / 2, 0);
        if (begin < at || begin + n > columns)
            continue;
        g_string_append_printf(text, "%*s%s", (int)(begin - at), "", tick->label);
        at = begin + n + 1;
        g_string_append_c(text, ' ');
    }
    g_string_append_printf(text, "\n%*s%s\n", LEFT, "", scale->title);
}

static void
append_colour(GString *text, gboolean is_ground, guint32 colour)
{
    g_string_append_printf(text, "\033[%d;2;%u;%u;%um", is_ground ? 48 : 38, colour >> 16,
                           colour >> 8 & 255, colour & 255);
}

static void
append_image(GString *text, const CtShowView *view, const CtShow *show, CtShowQuantity quantity)
{
    static const char shades[] = " .:-=+*#%@";
    const guint columns = n_columns(show), lines = n_lines(show, view->n_quantities);
    const gboolean is_coloured = show->format == CT_SHOW_COLOURS;
    g_auto(CtShowScale) x = {0}, y = {0};
    gdouble low, high;
    ct_show_range(view, quantity, show->decibels, &low, &high);
    ct_show_scale_axis(&x, &view->x, columns / 12);
    ct_show_scale_axis(&y, &view->y, lines / 3);
    for (guint l = 0; l < lines; l++) {
        append_label(text, &y, l, lines);
        for (guint c = 0; c < columns; c++) {
            const CtShowCell *cell = cell_at(view, c, columns, l, lines);
            const gdouble value = ct_show_cell_value(view, cell, quantity, show->decibels);
            if (!is_coloured) {
                const gdouble share = CLAMP((value - low) / (high - low), 0, 0.999);
                g_string_append_c(text, isnan(value) ? '?' : shades[(guint)(share * 10)]);
                continue;
            }
            for (guint half = 0; half < 2; half++)
                append_colour(
                    text, half == 1,
                    ct_show_cell_colour(view, cell_at(view, c, columns, 2 * l + half, 2 * lines),
                                        quantity, show, low, high));
            g_string_append(text, "▀");
        }
        g_string_append(text, is_coloured ? "\033[0m\n" : "\n");
    }
    append_x_axis(text, &x, columns);
}

/* The range of all lines. */
static void
find_range(const CtShowView *view, const CtShow *show, CtShowQuantity quantity, gdouble *low,
           gdouble *high)
{
    *low = HUGE_VAL;
    *high = -HUGE_VAL;
    for (gsize i = 0; i < (gsize)view->x.n_cells * view->y.n_cells; i++) {
        const gdouble value = ct_show_cell_value(view, &view->cells[i], quantity, show->decibels);
        *low = isfinite(value) ? fmin(*low, value) : *low;
        *high = isfinite(value) ? fmax(*high, value) : *high;
    }
    if (!(*high > *low)) {
        *low = isfinite(*low) ? *low - 1 : 0;
        *high = *low + 2;
    }
}

/* A bar of eighths, of a single line. */
static const char *
bar_at(gdouble share, guint line, guint lines)
{
    static const char *const eighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const gdouble here = share * (8 * lines - 1) + 1 - 8.0 * (lines - 1 - line);
    return isnan(share) ? "?" : eighths[(guint)CLAMP(here, 0, 8)];
}

/* One line has bars; each of several has a mark of its own, the later before the earlier. */
static void
append_lines(GString *text, const CtShowView *view, const CtShow *show, CtShowQuantity quantity,
             gdouble low, gdouble high)
{
    const guint columns = n_columns(show), lines = n_lines(show, view->n_quantities);
    const guint n = view->y.n_cells;
    g_auto(CtShowScale) x = {0}, y = {0};
    ct_show_scale_axis(&x, &view->x, columns / 12);
    ct_show_scale_values(&y, low, high, "", MAX(lines / 3, 2));
    for (guint l = 0; l < lines; l++) {
        append_label(text, &y, l, lines);
        for (guint c = 0; c < columns; c++) {
            const CtShowCell *cells = &view->cells[c * view->x.n_cells / columns];
            char mark[2] = " ";
            const char *shown = mark;
            for (guint i = 0; i < n; i++) {
                const gdouble share = (ct_show_cell_value(view, &cells[(gsize)i * view->x.n_cells],
                                                          quantity, show->decibels) -
                                       low) /
                                      (high - low);
                if (n == 1)
                    shown = bar_at(share, l, lines);
                else if (!isnan(share) && (guint)(CLAMP(1 - share, 0, 0.999) * lines) == l)
                    mark[0] = marks[i];
            }
            g_string_append(text, shown);
        }
        g_string_append_c(text, '\n');
    }
    append_x_axis(text, &x, columns);
}

/* "; axis (10⁶)", where its numbers are short. */
static void
append_power(GString *text, gdouble low, gdouble high)
{
    g_auto(CtShowScale) scale = {0};
    ct_show_scale_values(&scale, low, high, "", 2);
    if (*scale.title)
        g_string_append_printf(text, "; axis%s", scale.title);
}

/* "; beam 0: *, beam 1: o". */
static void
append_marks(GString *text, const CtShowAxis *axis)
{
    for (guint i = 0; i < axis->n_cells; i++) {
        g_autofree char *label = ct_show_axis_label(axis, i);
        g_string_append_printf(text, "%s%s %s: %c", i ? ", " : "; ", axis->name, label, marks[i]);
    }
}

char *
ct_show_text(const CtShowView *view, const CtShow *show)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "%*s%s%s%s\n", LEFT, "", view->title, *view->subtitle ? "; " : "",
                           view->subtitle);
    for (guint q = 0; q < view->n_quantities; q++) {
        const CtShowQuantity quantity = view->quantities[q];
        g_autofree char *title = ct_show_quantity_title(view, quantity, show->decibels);
        gdouble low, high;
        if (view->is_lines)
            find_range(view, show, quantity, &low, &high);
        else
            ct_show_range(view, quantity, show->decibels, &low, &high);
        g_string_append_printf(text, "%*s%s from %.4g to %.4g", LEFT, "", title, low, high);
        if (view->is_lines)
            append_power(text, low, high);
        if (view->is_lines && view->y.n_cells > 1)
            append_marks(text, &view->y);
        else if (ct_show_has_gaps(view) && (view->is_lines || show->format == CT_SHOW_TEXT))
            g_string_append(text, "; ? where there is no data");
        g_string_append_c(text, '\n');
        if (view->is_lines)
            append_lines(text, view, show, quantity, low, high);
        else
            append_image(text, view, show, quantity);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}
