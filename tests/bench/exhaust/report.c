/* SPDX-License-Identifier: BSD-3-Clause */
/* The texts of an exhaustive run. */
#include "report.h"

#include "measure/tune-private.h"
#include "model/table.h"

#include <math.h>
#include <string.h>

/* Two plans differ if their ratio is this many standard errors from one. */
static const gdouble apart = 2;

char *
ct_exhaustion_head(const CtSpace *space)
{
    g_autofree char *layouts = ct_table_count(ct_space_count(space, CT_COUNT_LAYOUTS));
    g_autofree char *all = ct_table_count(ct_space_count(space, CT_COUNT_ALL));
    g_autofree char *different = ct_table_count(ct_space_count(space, CT_COUNT_DIFFERENT));
    return g_strdup_printf("combinations: %s of layouts and places, %s with each variant, %s that "
                           "differ in more than what runs once or does not run here\n",
                           layouts, all, different);
}

/* ---- combinations ---- */

static const CtGraphNode *
node_at(const CtSpace *space, guint n)
{
    return ct_graph_node(space->planner->graph, n);
}

/* "filter+spectra fused-avx512 ci8[…] -> cf32[…]" */
static void
append_way(GString *text, const CtSpace *space, guint n, const CtWay *way)
{
    const CtCandidate *to = way->candidate;
    const guint last = to->nodes[to->n_nodes - 1];
    g_string_append(text, text->len ? ", " : "");
    for (guint k = 0; k < to->n_nodes; k++)
        g_string_append_printf(text, "%s%s", k ? "+" : "",
                               node_at(space, to->nodes[k])->config->name);
    g_string_append_printf(text, " %s", way->implementation->variant->name);
    for (guint i = 0; i < node_at(space, n)->node.n_inputs; i++) {
        g_autofree char *layout = ct_layout_to_string(&to->inputs[i]);
        g_string_append_printf(text, " %s", to->inputs[i].n_axes > 0 ? layout : "");
    }
    for (guint o = 0; o < node_at(space, last)->node.n_outputs; o++) {
        g_autofree char *layout = ct_layout_to_string(&to->outputs[o]);
        g_string_append_printf(text, "%s%s", o ? " " : " -> ", layout);
    }
}

/* The ways in which a combination differs from another one, or all of its ways. */
static char *
ways_text(const CtSpace *space, const CtWhole *whole, const CtWhole *other)
{
    GString *text = g_string_new(NULL);
    for (guint n = 0; n < space->n_nodes; n++)
        if (whole->chosen[n] != CT_COVERED && (!other || whole->chosen[n] != other->chosen[n]))
            append_way(text, space, n, ct_space_way(space, n, whole->chosen[n]));
    return g_string_free(text, FALSE);
}

/* ---- comparison ---- */

typedef struct {
    gdouble ratio, noise; /* the median of the ratios, and its standard error */
} Beside;

/* Compares the planned combination with another one, run by run. */
static Beside
compare(const CtWhole *planned, const CtWhole *other)
{
    g_autoptr(GArray) ratios = g_array_new(FALSE, FALSE, sizeof(gdouble));
    for (guint i = 0; i < MIN(planned->seconds->len, other->seconds->len); i++) {
        const gdouble ratio =
            g_array_index(planned->seconds, gdouble, i) / g_array_index(other->seconds, gdouble, i);
        g_array_append_val(ratios, ratio);
    }
    return (Beside){ct_tune_median(ratios),
                    1.2533 * ct_tune_deviation(ratios) / sqrt(MAX(ratios->len, 1))};
}

char *
ct_exhaustion_duel(const CtWhole *planned, const CtWhole *rival)
{
    const Beside beside = compare(planned, rival);
    return g_strdup_printf(
        "\ntuned takes %.3f ± %.3f of the fastest of the others, in %u more runs of these two by "
        "turns: %s\n",
        beside.ratio, beside.noise, planned->seconds->len,
        beside.ratio > 1 + apart * beside.noise   ? "it is slower"
        : beside.ratio < 1 - apart * beside.noise ? "it is faster"
                                                  : "they are not told apart");
}

static void
append_finalists(GString *text, const CtExhaustion *found, const CtSpace *space)
{
    static const CtColumn columns[] = {{"", FALSE},           {"ms", TRUE},
                                       {"spread", TRUE},      {"ms without sources", TRUE},
                                       {"tuned takes", TRUE}, {"ways that differ", FALSE}};
    g_autoptr(GPtrArray) rows = ct_table_rows_new();
    for (guint i = 0; i < found->finalists->len; i++) {
        const CtWhole *whole = g_ptr_array_index(found->finalists, i);
        const gboolean is_planned = whole == found->planned;
        char **cells = g_new0(char *, G_N_ELEMENTS(columns) + 1);
        cells[0] = is_planned ? g_strdup("tuned") : g_strdup_printf("%u", i + 1);
        cells[1] = g_strdup_printf("%.2f", 1e3 * ct_whole_median(whole));
        cells[2] = g_strdup_printf("%.2f", 1e3 * ct_tune_deviation(whole->seconds));
        cells[3] = g_strdup_printf("%.2f", 1e3 * ct_tune_median(whole->behind));
        cells[4] = g_strdup_printf("%.3f", compare(found->planned, whole).ratio);
        cells[5] = is_planned ? g_strdup("") : ways_text(space, whole, found->planned);
        g_ptr_array_add(rows, cells);
    }
    g_autofree char *ways = ways_text(space, found->planned, NULL);
    g_string_append_printf(text, "tuned is %s\n\n", ways);
    ct_table_print(text, columns, G_N_ELEMENTS(columns), rows);
}

/* ---- the report ---- */

static void
append_failures(GString *text, const CtExhaustion *found)
{
    for (guint i = 0; i < found->failures->len; i++)
        g_string_append_printf(text, "passed over: %s\n",
                               (const char *)g_ptr_array_index(found->failures, i));
    if (found->failures->len > 0) {
        g_autofree char *n = ct_table_count(found->n_failing);
        g_string_append_printf(text, "%s combinations have one of these\n", n);
    }
    if (found->failure)
        g_string_append_printf(text, "%u other combinations failed, the last: %s\n",
                               found->n_failed, found->failure);
    if (found->n_unknown > 0)
        g_string_append_printf(text,
                               "%u of the ways to run a stage did not run: their estimates stand "
                               "for them\n",
                               found->n_unknown);
}

static void
append_bounds(GString *text, const CtExhaustion *found)
{
    g_autofree char *n_left = ct_table_count(found->n_left);
    g_string_append_printf(text,
                           "Then, the most promising first, those whose parts, each at the best "
                           "that it did in any,\ntake less than %.2f ms: ",
                           1e3 * found->limit);
    if (found->n_left > 0)
        g_string_append_printf(text, "%s%s of these did not run, for want of time.\n",
                               found->is_all_left ? "" : "more than ", n_left);
    else
        g_string_append(text, "all of these.\n");
    if (found->least_left < HUGE_VAL)
        g_string_append_printf(text, "The parts of all that did not run take %.2f ms or more. ",
                               1e3 * found->least_left);
    else
        g_string_append(text, "Nothing is left that did not run. ");
    if (found->n_undercut > 0)
        g_string_append_printf(text, "%u took less than their parts, %.3f of it at least.\n",
                               found->n_undercut, found->least_share);
    else
        g_string_append(text, "None took less than its parts.\n");
}

char *
ct_exhaustion_report(const CtExhaustion *found, const CtSpace *space)
{
    GString *text = g_string_new(NULL);
    g_autofree char *n_run = ct_table_count(found->n_run);
    const guint n_failing = found->failures->len + found->n_unknown;
    g_string_append_printf(text,
                           "%s ran in %.0f s, the slowest in %.2f ms for a second of stream: first "
                           "each of %u ways to run a stage in one or more.\n",
                           n_run, found->elapsed, 1e3 * found->slowest, found->n_ways - n_failing);
    append_bounds(text, found);
    append_failures(text, found);
    g_string_append_printf(
        text,
        "Within %.0f%% of the fastest: %u. Of these and the next, %u ran again by "
        "turns, each time the faster half. At last:\n\n",
        100 * (found->near - 1), found->n_near, found->n_again);
    append_finalists(text, found, space);
    return g_string_free(text, FALSE);
}
