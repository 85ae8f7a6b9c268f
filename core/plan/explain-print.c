/* SPDX-License-Identifier: BSD-3-Clause */
/* The explanation of a plan as text. */
#include "explain.h"
#include "graph/tuning.h"
#include "model/table.h"

#include <math.h>

/* The most alternatives of a node or a link that are printed, and the most lines of the summary. */
enum { MAX_SHOWN = 8, MAX_SUMMARY = 10 };

/* "0.215", "0.231, 1.07 times", "none" */
static char *
describe_seconds(const CtExplanation *explanation, gdouble seconds)
{
    const gdouble best = explanation->choice->seconds;
    if (seconds == HUGE_VAL)
        return g_strdup("none");
    return seconds > best * 1.005 && best > 0
               ? g_strdup_printf("%.3g, %.3g times", seconds, seconds / best)
               : g_strdup_printf("%.3g", seconds);
}

static char *
describe_estimate(const CtEstimate *estimate)
{
    if (estimate->failure)
        return g_strdup_printf("failed: %s", estimate->failure);
    if (estimate->spread > 0)
        return g_strdup_printf("%s ±%.1f%%", ct_origin_names[estimate->origin],
                               100 * estimate->spread);
    return g_strdup(ct_origin_names[estimate->origin]);
}

static char *
describe_place(gint place)
{
    return place == CT_HOST ? g_strdup("host") : g_strdup_printf("cuda:%d", place);
}

static void
append_layouts(GString *text, const CtLayout *layouts, guint n)
{
    gboolean is_first = TRUE;
    for (guint i = 0; i < n; i++) {
        if (layouts[i].n_axes == 0)
            continue;
        g_autofree char *layout = ct_layout_to_string(&layouts[i]);
        g_string_append_printf(text, "%s%s", is_first ? "" : ", ", layout);
        is_first = FALSE;
    }
}

static char *
describe_layouts(const CtExplanation *explanation, const CtCandidate *candidate)
{
    const CtNode *first = &ct_graph_node(explanation->planner.graph, candidate->nodes[0])->node;
    const CtNode *last =
        &ct_graph_node(explanation->planner.graph, candidate->nodes[candidate->n_nodes - 1])->node;
    GString *text = g_string_new(NULL);
    append_layouts(text, candidate->inputs, first->n_inputs);
    g_string_append(text, text->len && last->n_outputs ? " -> " : last->n_outputs ? "-> " : " ->");
    append_layouts(text, candidate->outputs, last->n_outputs);
    return g_string_free(text, FALSE);
}

static char *
describe_nodes(const CtExplanation *explanation, const CtCandidate *candidate)
{
    GString *text = g_string_new(NULL);
    for (guint k = 0; k < candidate->n_nodes; k++)
        g_string_append_printf(
            text, "%s%s", k ? "+" : "",
            ct_graph_node(explanation->planner.graph, candidate->nodes[k])->config->name);
    return g_string_free(text, FALSE);
}

/* "and 12 more, from 0.4 on" */
static void
print_rest(GString *text, guint n, gdouble seconds)
{
    if (n == 0)
        return;
    g_string_append_printf(text, "   and %u more", n);
    if (seconds < HUGE_VAL)
        g_string_append_printf(text, ", from %.3g on", seconds);
    g_string_append_c(text, '\n');
}

/* ---- nodes ---- */

static const CtColumn node_columns[] = {
    {" ", FALSE},       {"plan, s", FALSE}, {"by itself, s", TRUE}, {"known from", FALSE},
    {"variant", FALSE}, {"place", FALSE},   {"layouts", FALSE},
};

static void
print_left_out(GString *text, const GArray *left_out)
{
    for (guint i = 0; i < left_out->len; i++) {
        const CtLeftOut *one = &g_array_index(left_out, CtLeftOut, i);
        g_string_append_printf(text, "   not %s: %s\n", one->variant->name, one->reason);
    }
}

/* "cpu:tile=64", "filter+spectra, fused-avx512" */
static char *
describe_variant(const CtExplanation *explanation, const CtAlternative *one)
{
    g_autofree char *nodes = describe_nodes(explanation, one->candidate);
    g_autofree char *variant =
        ct_tuning_name(one->implementation->variant, one->implementation->estimate.tuning);
    return one->candidate->n_nodes > 1 ? g_strdup_printf("%s, %s", nodes, variant)
                                       : g_strdup(variant);
}

static void
print_node(GString *text, const CtExplanation *explanation, guint n)
{
    const GArray *alternatives = explanation->nodes[n];
    const CtCandidate *chosen = explanation->choice->candidates[n];
    g_string_append_printf(text, "\n%s",
                           ct_graph_node(explanation->planner.graph, n)->config->name);
    if (chosen->nodes[0] != n) {
        g_autofree char *within = describe_nodes(explanation, chosen);
        g_string_append_printf(text, ", in %s", within);
    }
    g_string_append_printf(text, ": %u way%s\n", alternatives->len,
                           alternatives->len == 1 ? "" : "s");
    g_autoptr(GPtrArray) rows = ct_table_rows_new();
    const guint shown = MIN(alternatives->len, MAX_SHOWN);
    for (guint a = 0; a < shown; a++) {
        const CtAlternative *one = &g_array_index(alternatives, CtAlternative, a);
        char *const cells[] = {
            g_strdup(one->is_chosen ? "*" : " "),
            describe_seconds(explanation, one->seconds),
            g_strdup_printf("%.3g", one->implementation->estimate.seconds),
            describe_estimate(&one->implementation->estimate),
            describe_variant(explanation, one),
            describe_place(one->candidate->place),
            describe_layouts(explanation, one->candidate),
            NULL,
        };
        g_ptr_array_add(rows, g_memdup2(cells, sizeof(cells)));
    }
    if (shown > 0)
        ct_table_print(text, node_columns, G_N_ELEMENTS(node_columns), rows);
    if (shown < alternatives->len)
        print_rest(text, alternatives->len - shown,
                   g_array_index(alternatives, CtAlternative, shown).seconds);
    print_left_out(text, explanation->left_out[n]);
}

/* ---- links ---- */

static const CtColumn link_columns[] = {
    {" ", FALSE}, {"plan, s", FALSE}, {"by itself, s", TRUE}, {"known from", FALSE}, {"way", FALSE},
};

static char *
describe_placement(const CtPlacement *placement)
{
    g_autofree char *layout = ct_layout_to_string(&placement->layout);
    g_autofree char *place = describe_place(placement->place);
    return placement->place == CT_HOST ? g_strdup(layout)
                                       : g_strdup_printf("%s on %s", layout, place);
}

/* "[time station pol], transpose (cpu), [station time pol]" */
static char *
describe_way(const CtCrossing *crossing)
{
    g_autofree char *from = describe_placement(&crossing->from);
    g_autofree char *to = describe_placement(&crossing->to);
    GString *text = g_string_new(from);
    for (guint s = 0; s < crossing->conversion.n_steps; s++)
        g_string_append_printf(text, ", %s (%s)", crossing->conversion.steps[s].stage->name,
                               crossing->conversion.steps[s].variant->name);
    if (!g_str_equal(from, to))
        g_string_append_printf(text, " -> %s", to);
    return g_string_free(text, FALSE);
}

static char *
describe_estimates(const CtConversion *conversion)
{
    GString *text = g_string_new(NULL);
    for (guint s = 0; s < conversion->n_steps; s++) {
        g_autofree char *estimate = describe_estimate(&conversion->steps[s].estimate);
        g_string_append_printf(text, "%s%s", s ? ", " : "", estimate);
    }
    return g_string_free(text, FALSE);
}

static gdouble
seconds_of(const CtConversion *conversion)
{
    gdouble seconds = 0;
    for (guint s = 0; s < conversion->n_steps; s++)
        seconds += conversion->steps[s].estimate.seconds;
    return seconds;
}

/* "filter -> spectra", "sums.weights -> out" */
static char *
describe_link(const CtExplanation *explanation, const CtExplainedLink *link)
{
    const CtGraphNode *writer = ct_graph_node(explanation->planner.graph, link->writer);
    const char *reader = ct_graph_node(explanation->planner.graph, link->reader)->config->name;
    if (link->port == 0)
        return g_strdup_printf("%s -> %s", writer->config->name, reader);
    return g_strdup_printf("%s.%s -> %s", writer->config->name,
                           writer->node.stage->outputs[link->port].name, reader);
}

static void
print_link(GString *text, const CtExplanation *explanation, const CtExplainedLink *link)
{
    g_autofree char *name = describe_link(explanation, link);
    g_string_append_printf(text, "\n%s", name);
    if (link->crossings->len == 0 || !g_array_index(link->crossings, CtCrossing, 0).is_chosen)
        g_string_append(text, ", inside one variant");
    g_string_append_printf(text, ": %u way%s\n", link->n_crossings,
                           link->n_crossings == 1 ? "" : "s");
    g_autoptr(GPtrArray) rows = ct_table_rows_new();
    const guint shown = MIN(link->crossings->len, MAX_SHOWN);
    for (guint c = 0; c < shown; c++) {
        const CtCrossing *crossing = &g_array_index(link->crossings, CtCrossing, c);
        const gboolean is_free = crossing->conversion.n_steps == 0;
        char *const cells[] = {
            g_strdup(crossing->is_chosen ? "*" : " "),
            describe_seconds(explanation, crossing->seconds),
            is_free ? g_strdup("") : g_strdup_printf("%.3g", seconds_of(&crossing->conversion)),
            describe_estimates(&crossing->conversion),
            describe_way(crossing),
            NULL,
        };
        g_ptr_array_add(rows, g_memdup2(cells, sizeof(cells)));
    }
    if (shown > 0)
        ct_table_print(text, link_columns, G_N_ELEMENTS(link_columns), rows);
    if (shown < link->n_crossings)
        print_rest(text, link->n_crossings - shown,
                   shown < link->crossings->len
                       ? g_array_index(link->crossings, CtCrossing, shown).seconds
                       : HUGE_VAL);
}

/* ---- the summary ---- */

/* A line of the summary: the way that the plan takes for a node or a link, and the best other
 * way. */
typedef struct {
    gdouble seconds; /* of the way that is taken */
    char **cells;
} Line;

static const CtColumn summary_columns[] = {
    {"", FALSE},    {"by itself, s", TRUE},           {"known from", FALSE},
    {"way", FALSE}, {"plan with the next, s", FALSE}, {"next way", FALSE},
};

static void
add_line(const CtExplanation *explanation, GArray *lines, gdouble seconds, gdouble next, char *name,
         char *known, char *way, char *next_way)
{
    char *const cells[] = {
        name,
        g_strdup_printf("%.3g", seconds),
        known,
        way,
        next_way ? describe_seconds(explanation, next) : g_strdup(""),
        next_way ? next_way : g_strdup(""),
        NULL,
    };
    const Line line = {seconds, g_memdup2(cells, sizeof(cells))};
    g_array_append_val(lines, line);
}

static char *
describe_alternative(const CtExplanation *explanation, const CtAlternative *one)
{
    g_autofree char *variant = describe_variant(explanation, one);
    g_autofree char *layouts = describe_layouts(explanation, one->candidate);
    return g_strdup_printf("%s %s", variant, layouts);
}

/* Nodes that a variant of an earlier node covers have no way of their own in the plan. */
static void
add_node(const CtExplanation *explanation, GArray *lines, guint n)
{
    const GArray *alternatives = explanation->nodes[n];
    const CtAlternative *one = &g_array_index(alternatives, CtAlternative, 0);
    if (alternatives->len == 0 || !one->is_chosen)
        return;
    const CtEstimate *estimate = &one->implementation->estimate;
    const CtAlternative *next = alternatives->len > 1 ? one + 1 : NULL;
    add_line(explanation, lines, estimate->seconds, next ? next->seconds : HUGE_VAL,
             g_strdup(ct_graph_node(explanation->planner.graph, n)->config->name),
             describe_estimate(estimate), describe_variant(explanation, one),
             next ? describe_alternative(explanation, next) : NULL);
}

/* Links without conversions take nothing. */
static void
add_link(const CtExplanation *explanation, GArray *lines, const CtExplainedLink *link)
{
    const CtCrossing *one = &g_array_index(link->crossings, CtCrossing, 0);
    if (link->crossings->len == 0 || !one->is_chosen || one->conversion.n_steps == 0)
        return;
    const CtCrossing *next = link->crossings->len > 1 ? one + 1 : NULL;
    add_line(explanation, lines, seconds_of(&one->conversion), next ? next->seconds : HUGE_VAL,
             describe_link(explanation, link), describe_estimates(&one->conversion),
             describe_way(one), next ? describe_way(next) : NULL);
}

static gint
compare_lines(gconstpointer a, gconstpointer b)
{
    const Line *first = a, *second = b;
    return (first->seconds < second->seconds) - (first->seconds > second->seconds);
}

/* Prints where most of the time goes. */
static void
print_summary(GString *text, const CtExplanation *explanation)
{
    g_autoptr(GArray) lines = g_array_new(FALSE, FALSE, sizeof(Line));
    g_autoptr(GPtrArray) rows = ct_table_rows_new();
    for (guint n = 0; n < explanation->planner.graph->nodes->len; n++)
        add_node(explanation, lines, n);
    for (guint l = 0; l < explanation->links->len; l++)
        add_link(explanation, lines, g_ptr_array_index(explanation->links, l));
    g_array_sort(lines, compare_lines);
    for (guint i = 0; i < lines->len; i++)
        g_ptr_array_add(rows, g_array_index(lines, Line, i).cells);
    if (rows->len > MAX_SUMMARY)
        g_ptr_array_remove_range(rows, MAX_SUMMARY, rows->len - MAX_SUMMARY);
    g_string_append(text, "\nWhat takes longest, and the next best way to do it:\n");
    ct_table_print(text, summary_columns, G_N_ELEMENTS(summary_columns), rows);
}

/* ---- fusion ---- */

static const CtColumn fusion_columns[] = {
    {"kept busy", FALSE}, {"fused, s", TRUE}, {"not fused, s", TRUE}, {"times", TRUE}};

/* Prints for how long each resource is busy without fusion. */
static void
print_fusion(GString *text, const CtPlan *plan, const CtPlan *unfused)
{
    g_autoptr(GPtrArray) rows = ct_table_rows_new();
    for (guint r = 0; r < plan->n_resources; r++) {
        if (plan->busy[r] <= 0 && unfused->busy[r] <= 0)
            continue;
        char *const cells[] = {
            ct_resource_name(r),
            g_strdup_printf("%.3g", plan->busy[r]),
            g_strdup_printf("%.3g", unfused->busy[r]),
            plan->busy[r] > 0 ? g_strdup_printf("%.3g", unfused->busy[r] / plan->busy[r])
                              : g_strdup(""),
            NULL,
        };
        g_ptr_array_add(rows, g_memdup2(cells, sizeof(cells)));
    }
    g_string_append_printf(text, "\nWithout fusion (--no-fusion), the plan takes %.3g s:\n",
                           unfused->seconds);
    ct_table_print(text, fusion_columns, G_N_ELEMENTS(fusion_columns), rows);
}

/* ---- the whole explanation ---- */

char *
ct_explain_to_text(const CtPlan *plan, CtRegistry *registry, const CtPlanOptions *options,
                   GError **error)
{
    g_autoptr(CtExplanation) explanation = ct_explanation_new(plan, registry, options, error);
    if (!explanation)
        return NULL;
    g_autofree char *candidates = ct_table_count(explanation->n_candidates);
    g_autofree char *variants = ct_table_count(explanation->n_variants);
    GString *text = g_string_new(NULL);
    g_string_append_printf(text,
                           "The plan takes %.3g s for a second of stream.\n"
                           "An exhaustive search would run %s combinations of layouts and places, "
                           "%s with each variant.\n"
                           "All times are for a second of stream. plan: of the whole plan with "
                           "this way; by itself: of this way where nothing else runs.\n",
                           explanation->choice->seconds, candidates, variants);
    if (explanation->unfused)
        print_fusion(text, plan, explanation->unfused);
    print_summary(text, explanation);
    for (guint n = 0; n < plan->graph->nodes->len; n++)
        print_node(text, explanation, n);
    for (guint l = 0; l < explanation->links->len; l++)
        print_link(text, explanation, g_ptr_array_index(explanation->links, l));
    return g_string_free(text, FALSE);
}
