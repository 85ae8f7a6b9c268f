/* SPDX-License-Identifier: BSD-3-Clause */
/* Scales: ticks at round numbers, with prefixes of the SI. */
#include "show-scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
clear_tick(gpointer tick)
{
    g_free(((CtShowTick *)tick)->label);
}

static void
begin_scale(CtShowScale *scale, gdouble begin, gdouble end)
{
    *scale = (CtShowScale){.begin = begin, .end = end};
    scale->ticks = g_array_new(FALSE, FALSE, sizeof(CtShowTick));
    g_array_set_clear_func(scale->ticks, clear_tick);
}

void
ct_show_scale_clear(CtShowScale *scale)
{
    g_clear_pointer(&scale->ticks, g_array_unref);
    g_clear_pointer(&scale->title, g_free);
}

/* The smallest of 1, 2, 5, 10, 20, … (and their inverses) that is at least `least`. */
static gdouble
round_step(gdouble least)
{
    const gdouble power = pow(10, floor(log10(least)));
    static const gdouble steps[] = {1, 2, 5, 10};
    for (guint s = 0; s < G_N_ELEMENTS(steps); s++)
        if (steps[s] * power >= least * (1 - 1e-9))
            return steps[s] * power;
    return 10 * power;
}

/* Ticks at the multiples of a step; a label is the number times `factor`. */
static void
add_numbers(CtShowScale *scale, gdouble factor, gdouble step)
{
    const gdouble low = fmin(scale->begin, scale->end), high = fmax(scale->begin, scale->end);
    const gint decimals = CLAMP((gint)-floor(log10(step * factor) + 1e-9), 0, 12);
    const gdouble first = ceil(low / step - 1e-9);
    for (guint k = 0; k < 1000 && (first + k) * step <= high + step * 1e-9; k++) {
        const gdouble at = (first + k) * step;
        CtShowTick tick = {at, NULL};
        /* Without the sign of a zero, and with that of mathematics. */
        tick.label = g_strdup_printf("%s%.*f", at * factor < -step * factor / 2 ? "−" : "",
                                     decimals, fabs(at * factor));
        g_array_append_val(scale->ticks, tick);
    }
}

static const struct {
    const char *sign;
    gdouble factor;
} prefixes[] = {{"n", 1e9},  {"µ", 1e6},  {"m", 1e3},  {"", 1},
                {"k", 1e-3}, {"M", 1e-6}, {"G", 1e-9}, {"T", 1e-12}};

static guint
find_prefix(const char *unit, gdouble largest)
{
    guint p = 3;
    /* Longer times than seconds have no prefix. */
    const guint last = g_str_equal(unit, "s") ? 3 : G_N_ELEMENTS(prefixes) - 1;
    if (!g_str_equal(unit, "s") && !g_str_equal(unit, "Hz") && !g_str_equal(unit, "m"))
        return p;
    while (p < last && largest * prefixes[p + 1].factor >= 1)
        p++;
    while (p > 0 && largest * prefixes[p].factor < 1)
        p--;
    return p;
}

static char *
axis_title(const CtShowAxis *axis, const char *prefix)
{
    const gboolean is_frequency = g_strcmp0(axis->unit, "Hz") == 0;
    g_autoptr(GString) title = g_string_new(is_frequency ? "frequency" : axis->name);
    if (axis->unit && *axis->unit)
        g_string_append_printf(title, " (%s%s)", prefix, axis->unit);
    else if (!axis->labels)
        g_string_append(title, " (number)");
    if (axis->note)
        g_string_append_printf(title, " %s", axis->note);
    return ct_show_clean(g_string_free(g_steal_pointer(&title), FALSE));
}

void
ct_show_scale_axis(CtShowScale *scale, const CtShowAxis *axis, guint most)
{
    begin_scale(scale, axis->begin, axis->end);
    if (axis->unit) {
        const guint p = find_prefix(axis->unit, fmax(fabs(axis->begin), fabs(axis->end)));
        add_numbers(scale, prefixes[p].factor,
                    round_step((axis->end - axis->begin) / MAX(most, 1)));
        scale->title = axis_title(axis, prefixes[p].sign);
        return;
    }
    const gint64 n = (axis->length - 1) / axis->every + 1;
    const gint64 step = n <= (gint64)most ? 1 : (gint64)round_step(ceil((gdouble)n / MAX(most, 1)));
    for (gint64 i = 0; i < axis->length; i += MAX(step, 1) * axis->every) {
        const CtShowTick tick = {(gdouble)i, ct_show_axis_label(axis, i)};
        g_array_append_val(scale->ticks, tick);
    }
    scale->title = axis_title(axis, "");
}

void
ct_show_scale_values(CtShowScale *scale, gdouble low, gdouble high, const char *title, guint most)
{
    static const char *const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    begin_scale(scale, low, high);
    const gdouble largest = fmax(fabs(low), fabs(high));
    gint power = 0;
    if (largest >= 1e5 || (largest < 1e-3 && largest > 0))
        power = 3 * (gint)floor(log10(largest) / 3);
    add_numbers(scale, pow(10, -power), round_step((high - low) / MAX(most, 1)));
    if (power == 0) {
        scale->title = g_strdup(title);
        return;
    }
    g_autofree char *number = g_strdup_printf("%d", abs(power));
    g_autoptr(GString) text = g_string_new(title);
    g_string_append_printf(text, " (10%s", power < 0 ? "⁻" : "");
    for (const char *d = number; *d; d++)
        g_string_append(text, digits[*d - '0']);
    g_string_append_c(text, ')');
    scale->title = g_string_free(g_steal_pointer(&text), FALSE);
}

/* ---- ranges ---- */

static gint
compare_values(gconstpointer a, gconstpointer b)
{
    const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;
    return (x > y) - (x < y);
}

/* Whether a cell is an autocorrelation, which is much stronger than what else there is. */
static gboolean
is_auto(const CtShowAxis *axis, gsize cell)
{
    return !axis->is_averaged && ct_show_axis_is_auto(axis, (gint64)cell * axis->every);
}

void
ct_show_range(const CtShowView *view, CtShowQuantity quantity, gboolean decibels, gdouble *low,
              gdouble *high)
{
    const gsize n = (gsize)view->x.n_cells * view->y.n_cells;
    *low = quantity == CT_SHOW_PHASE ? -180 : 0;
    *high = quantity == CT_SHOW_PHASE ? 180 : 1;
    if (quantity == CT_SHOW_PHASE || quantity == CT_SHOW_VALIDITY)
        return;
    g_autofree gdouble *values = g_new(gdouble, n);
    gsize n_values = 0;
    for (gsize i = 0; i < n; i++) {
        const gdouble value = ct_show_cell_value(view, &view->cells[i], quantity, decibels);
        if (isfinite(value) && !is_auto(&view->x, i % view->x.n_cells) &&
            !is_auto(&view->y, i / view->x.n_cells))
            values[n_values++] = value;
    }
    if (n_values == 0)
        return;
    qsort(values, n_values, sizeof *values, compare_values);
    *low = values[(gsize)(0.005 * (gdouble)(n_values - 1))];
    *high = values[(gsize)ceil(0.995 * (gdouble)(n_values - 1))];
    /* Errors of rounding are no contrast. */
    if (!(*high - *low > 1e-6 * fmax(fabs(*low), fabs(*high)))) {
        const gdouble margin = *low == 0 ? 1 : fabs(*low) / 2;
        *low -= margin;
        *high += margin;
    }
}

gboolean
ct_show_has_gaps(const CtShowView *view)
{
    for (gsize i = 0; i < (gsize)view->x.n_cells * view->y.n_cells; i++)
        for (guint q = 0; q < view->n_quantities; q++)
            if (isnan(ct_show_cell_value(view, &view->cells[i], view->quantities[q], FALSE)))
                return TRUE;
    return FALSE;
}
