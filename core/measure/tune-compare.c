/* SPDX-License-Identifier: BSD-3-Clause */
/* The plans of a graph in comparison, stage by stage. */
#include "tune-compare.h"

#include "dry-run.h"
#include "graph/tuning.h"
#include "model/table.h"
#include "tune-private.h"

#include <math.h>
#include <string.h>

enum { BY_DEFAULT, UNTUNED, TUNED, N_PLANS };

static const char *const plan_names[N_PLANS] = {"default", "untuned", "tuned"};

/* A run ends at the latest after this many times its due. */
static const gdouble patience = 10;

typedef struct {
    CtPlanOptions options;
    CtPlan *plan;
    CtDryRun *dry_run;
    guint n_nodes;    /* of the dry run's plan */
    GArray **seconds; /* [node] gdouble of each run */
    GArray *all;      /* gdouble: of the busiest of each run, without the replaced ends */
    GArray *behind;   /* gdouble: the same without sources */
    GArray *clock;    /* gdouble: seconds for a second of stream */
    gdouble stream;   /* seconds of it in the last run */
} Entry;

static void
entry_clear(Entry *entry)
{
    ct_dry_run_free(entry->dry_run);
    ct_plan_free(entry->plan);
    for (guint i = 0; i < entry->n_nodes; i++)
        g_array_unref(entry->seconds[i]);
    g_free(entry->seconds);
    if (entry->all)
        g_array_unref(entry->all);
    if (entry->behind)
        g_array_unref(entry->behind);
    if (entry->clock)
        g_array_unref(entry->clock);
}

static const CtPlanNode *
node_at(const Entry *entry, guint i)
{
    return g_ptr_array_index(ct_dry_run_plan(entry->dry_run)->nodes, i);
}

static gboolean
entry_init(Entry *entry, guint which, const CtCompareOptions *options, GError **error)
{
    entry->options = *options->plan;
    entry->options.default_layouts = which == BY_DEFAULT;
    if (which != TUNED)
        entry->options.costs = "off";
    entry->plan = ct_plan_new(options->graph, options->registry, &entry->options, error);
    if (!entry->plan)
        return FALSE;
    entry->dry_run = ct_dry_run_new(entry->plan, options->registry, &entry->options, error);
    if (!entry->dry_run)
        return FALSE;
    entry->n_nodes = ct_dry_run_plan(entry->dry_run)->nodes->len;
    entry->seconds = g_new(GArray *, entry->n_nodes + 1);
    for (guint i = 0; i < entry->n_nodes; i++)
        entry->seconds[i] = g_array_new(FALSE, FALSE, sizeof(gdouble));
    entry->all = g_array_new(FALSE, FALSE, sizeof(gdouble));
    entry->behind = g_array_new(FALSE, FALSE, sizeof(gdouble));
    entry->clock = g_array_new(FALSE, FALSE, sizeof(gdouble));
    return TRUE;
}

/* ---- running ---- */

static gboolean
run_entry(Entry *entry, gdouble stream_seconds, gdouble seconds, GError **error)
{
    g_autofree gdouble *of_nodes = g_new0(gdouble, entry->n_nodes + 1);
    CtDryRunResult result = {.seconds = of_nodes};
    if (!ct_dry_run_run(entry->dry_run, stream_seconds, seconds, &result, error))
        return FALSE;
    for (guint i = 0; i < entry->n_nodes; i++)
        g_array_append_val(entry->seconds[i], of_nodes[i]);
    const gdouble most = ct_dry_run_busiest(entry->dry_run, &result, TRUE);
    const gdouble behind = ct_dry_run_busiest(entry->dry_run, &result, FALSE);
    g_array_append_val(entry->all, most);
    g_array_append_val(entry->behind, behind);
    g_array_append_val(entry->clock, result.clock);
    entry->stream = result.stream;
    return TRUE;
}

/* ---- the table ---- */

static const CtColumn columns[] = {
    {"stage", FALSE},  {"variant", FALSE}, {"layouts", FALSE}, {"default", TRUE},
    {"untuned", TRUE}, {"tuned", TRUE},    {"gain", TRUE},
};

static gint
find_node(const Entry *entry, const char *name)
{
    for (guint i = 0; i < entry->n_nodes; i++)
        if (g_str_equal(node_at(entry, i)->name, name))
            return (gint)i;
    return -1;
}

static char *
layouts_text(const CtPlanNode *node)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < node->n_inputs; i++) {
        if (node->input_bindings[i].layout.n_axes == 0)
            continue;
        g_autofree char *layout = ct_layout_to_string(&node->input_bindings[i].layout);
        g_string_append_printf(text, "%s%s", text->len ? ", " : "", layout);
    }
    g_string_append(text, text->len ? " -> " : "-> ");
    for (guint o = 0; o < node->n_outputs; o++) {
        g_autofree char *layout = ct_layout_to_string(&node->output_bindings[o].layout);
        g_string_append_printf(text, "%s%s", o ? ", " : "", layout);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* The milliseconds of a stage in a plan; NaN where the plan has no node of its own for it. */
static gdouble
milliseconds(const Entry *entry, const char *name)
{
    const gint i = find_node(entry, name);
    return i < 0 ? NAN : 1e3 * ct_tune_median(entry->seconds[i]);
}

static char *
number_text(gdouble value)
{
    return isnan(value) ? g_strdup("") : g_strdup_printf("%.2f", value);
}

static char *
gain_text(gdouble before, gdouble after)
{
    return isnan(before) || isnan(after) || before <= 0
               ? g_strdup("")
               : g_strdup_printf("%.1f%%", 100 * (1 - after / before));
}

static void
add_row(GPtrArray *rows, const char *stage, char *variant, char *layouts,
        const gdouble values[N_PLANS])
{
    char **cells = g_new0(char *, G_N_ELEMENTS(columns) + 1);
    cells[0] = g_strdup(stage);
    cells[1] = variant;
    cells[2] = layouts;
    for (guint p = 0; p < N_PLANS; p++)
        cells[3 + p] = values ? number_text(values[p]) : g_strdup("");
    cells[6] = values ? gain_text(values[BY_DEFAULT], values[TUNED]) : g_strdup("");
    g_ptr_array_add(rows, cells);
}

/* Adds the rows of a stage: one for each way of running it that differs from those above. */
static void
add_stage(GPtrArray *rows, const Entry *entries, const char *name, gboolean is_end)
{
    gdouble values[N_PLANS];
    g_autoptr(GPtrArray) seen = g_ptr_array_new_with_free_func(g_free);
    for (guint p = 0; p < N_PLANS; p++)
        values[p] = is_end ? NAN : milliseconds(&entries[p], name);
    for (guint k = 0; k < N_PLANS; k++) {
        const guint p = N_PLANS - 1 - k;
        const gint i = find_node(&entries[p], name);
        if (i < 0)
            continue;
        const CtPlanNode *node = node_at(&entries[p], (guint)i);
        g_autofree char *variant =
            is_end ? g_strdup("") : ct_tuning_name(node->variant, node->tuning);
        g_autofree char *layouts = layouts_text(node);
        char *both = g_strconcat(variant, "|", layouts, NULL);
        if (g_ptr_array_find_with_equal_func(seen, both, g_str_equal, NULL)) {
            g_free(both);
            continue;
        }
        const gboolean is_first = seen->len == 0;
        g_ptr_array_add(seen, both);
        g_autofree char *label = is_first
                                     ? g_strdup_printf("%s%s", node->inserted ? "+ " : "", name)
                                     : g_strdup_printf("  %s:", plan_names[p]);
        add_row(rows, label, g_steal_pointer(&variant), g_steal_pointer(&layouts),
                is_first ? values : NULL);
    }
}

/* The names of all nodes of all plans, approximately in the order of the graph. */
static GPtrArray *
all_names(const Entry *entries, GHashTable *ends)
{
    GPtrArray *names = g_ptr_array_new();
    for (guint k = 0; k < N_PLANS; k++) {
        const Entry *entry = &entries[N_PLANS - 1 - k];
        guint at = 0;
        for (guint i = 0; i < entry->n_nodes; i++) {
            char *name = node_at(entry, i)->name;
            guint known;
            if (ct_dry_run_is_end(entry->dry_run, i))
                g_hash_table_add(ends, name);
            if (g_ptr_array_find_with_equal_func(names, name, g_str_equal, &known))
                at = known + 1;
            else
                g_ptr_array_insert(names, (gint)at++, name);
        }
    }
    return names;
}

/* The median over the runs of the ratio of two plans' totals. */
static gdouble
ratio_of(const GArray *a, const GArray *b)
{
    g_autoptr(GArray) ratios = g_array_new(FALSE, FALSE, sizeof(gdouble));
    for (guint i = 0; i < MIN(a->len, b->len); i++) {
        const gdouble ratio = g_array_index(a, gdouble, i) / g_array_index(b, gdouble, i);
        g_array_append_val(ratios, ratio);
    }
    return ct_tune_median(ratios);
}

static char *
describe(const Entry *entries)
{
    GString *text = g_string_new(NULL);
    g_autoptr(GPtrArray) rows = ct_table_rows_new();
    g_autoptr(GHashTable) ends = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GPtrArray) names = all_names(entries, ends);
    gdouble totals[N_PLANS], behind[N_PLANS], clocks[N_PLANS];
    for (guint i = 0; i < names->len; i++)
        add_stage(rows, entries, names->pdata[i], g_hash_table_contains(ends, names->pdata[i]));
    for (guint p = 0; p < N_PLANS; p++) {
        totals[p] = 1e3 * ct_tune_median(entries[p].all);
        behind[p] = 1e3 * ct_tune_median(entries[p].behind);
        clocks[p] = 1e3 * ct_tune_median(entries[p].clock);
    }
    add_row(rows, "busiest", g_strdup(""), g_strdup("workers, or a queue of a device"), totals);
    add_row(rows, "  without sources", g_strdup(""), g_strdup("the same of all that has an input"),
            behind);
    add_row(rows, "by the clock", g_strdup(""), g_strdup("on this machine as busy as it was"),
            clocks);
    g_string_append_printf(text,
                           "Milliseconds for a second of stream: of processors, all added up, or "
                           "of a device's queue.\nMedians of %u runs of %.3g s of stream, by "
                           "turns.\n\n",
                           entries[0].all->len, entries[TUNED].stream);
    ct_table_print(text, columns, G_N_ELEMENTS(columns), rows);
    g_string_append_c(text, '\n');
    for (guint p = 0; p < N_PLANS; p++)
        g_string_append_printf(text, "%s%s %.2f ± %.2f ms (predicted %.2f)", p ? "; " : "",
                               plan_names[p], totals[p], 1e3 * ct_tune_deviation(entries[p].all),
                               1e3 * entries[p].plan->seconds);
    g_string_append_printf(
        text, "\ntuned takes %.3f of default, and %.3f of untuned (medians of ratios)\n",
        ratio_of(entries[TUNED].all, entries[BY_DEFAULT].all),
        ratio_of(entries[TUNED].all, entries[UNTUNED].all));
    return g_string_free(text, FALSE);
}

char *
ct_compare(const CtCompareOptions *options, GError **error)
{
    Entry entries[N_PLANS] = {0};
    gboolean good = TRUE, over = FALSE;
    char *text = NULL;
    for (guint p = 0; p < N_PLANS && good; p++)
        good = entry_init(&entries[p], p, options, error);
    /* All plans get the same length of stream. */
    gdouble longest = 0;
    for (guint p = 0; p < N_PLANS && good; p++)
        longest = MAX(longest, ct_tune_whole(entries[p].plan));
    const gdouble stream_seconds = longest > 0 ? options->seconds / longest : 0;
    for (guint k = 0; k < options->n_repetitions && good && !over; k++)
        for (guint p = 0; p < N_PLANS && good && !over; p++) {
            over = options->is_over && options->is_over(options->data);
            good =
                over || run_entry(&entries[p], stream_seconds, patience * options->seconds, error);
        }
    if (good && !over)
        text = describe(entries);
    for (guint p = 0; p < N_PLANS; p++)
        entry_clear(&entries[p]);
    return text;
}
