/* SPDX-License-Identifier: BSD-3-Clause */
/* Every plan of a graph in which neighbours agree, run as a whole. */
#include "tune-exhaust.h"

#include "rehearsal.h"
#include "table.h"
#include "tune-private.h"

#include <math.h>
#include <string.h>

/* More combinations than these are not run; as many of the fastest are run again. */
enum { MAX_COMBINATIONS = 20000, N_FINALISTS = 8 };

/* Of a run among all, beside one of the last round; a run ends at the latest after so many times
 * what it should take. */
static const gdouble share_of_first = 0.2, patience = 20;

/* Whether finalist and tuned plan are told apart: standard errors. */
static const gdouble apart = 2;

/* A plan in the running. */
typedef struct {
    const CtArrangement **chosen; /* [graph nodes]; NULL: the tuned plan */
    GHashTable *fixed;
    CtPlanOptions options;
    CtPlan *plan;
    CtRehearsal *rehearsal;
    gdouble first;   /* seconds in the first round */
    GArray *seconds; /* gdouble: of the others */
} Runner;

typedef struct {
    const CtCompareOptions *options;
    CtPlanner planner;
    CtCandidates *candidates;
    guint n_nodes;
    const CtArrangement **chosen; /* [graph nodes] on the way */
    guint n;                      /* combinations so far */
    GPtrArray *best;              /* of Runner, the fastest first */
    gdouble stream_seconds;
    gdouble slowest; /* of the first round */
    gboolean is_over;
} Search;

static const CtGraphNode *
node_at(const Search *search, guint n)
{
    return g_ptr_array_index(search->options->graph->nodes, n);
}

/* ---- running one ---- */

static void
stop(Runner *runner)
{
    g_clear_pointer(&runner->rehearsal, ct_rehearsal_free);
    g_clear_pointer(&runner->plan, ct_plan_free);
}

static void
runner_free(gpointer data)
{
    Runner *runner = data;
    stop(runner);
    g_clear_pointer(&runner->fixed, g_hash_table_unref);
    g_array_unref(runner->seconds);
    g_free(runner->chosen);
    g_free(runner);
}

static Runner *
runner_new(const Search *search, const CtArrangement *const *chosen)
{
    Runner *runner = g_new0(Runner, 1);
    runner->seconds = g_array_new(FALSE, FALSE, sizeof(gdouble));
    runner->options = *search->options->plan;
    if (!chosen)
        return runner;
    runner->chosen = g_memdup2(chosen, search->n_nodes * sizeof(*chosen));
    runner->fixed =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)ct_fixed_free);
    for (guint n = 0; n < search->n_nodes; n++) {
        const CtArrangement *to = chosen[n];
        if (to->nodes[0] != n)
            continue;
        const CtNode *first = &node_at(search, n)->node;
        const CtNode *last = &node_at(search, to->nodes[to->n_nodes - 1])->node;
        g_hash_table_insert(runner->fixed, node_at(search, n)->config->name,
                            ct_fixed_new(to->variant, to->row, to->price.tuning, to->place,
                                         first->n_inputs, to->inputs, last->n_outputs,
                                         to->outputs));
    }
    runner->options.fixed = runner->fixed;
    return runner;
}

/* Seconds that the busiest is busy, the ends left out. */
static gboolean
run(const Search *search, Runner *runner, gdouble share, gdouble *seconds, GError **error)
{
    const CtCompareOptions *options = search->options;
    if (!runner->plan) {
        runner->plan = ct_plan_new(options->graph, options->registry, &runner->options, error);
        if (!runner->plan)
            return FALSE;
        runner->rehearsal =
            ct_rehearsal_new(runner->plan, options->registry, &runner->options, error);
        if (!runner->rehearsal)
            return FALSE;
    }
    const guint n = ct_rehearsal_plan(runner->rehearsal)->nodes->len;
    g_autofree gdouble *of_nodes = g_new0(gdouble, n + 1);
    CtRehearsed rehearsed = {.seconds = of_nodes};
    if (!ct_rehearsal_run(runner->rehearsal, share * search->stream_seconds,
                          patience * options->seconds, &rehearsed, error))
        return FALSE;
    *seconds = ct_rehearsal_busiest(runner->rehearsal, &rehearsed, TRUE);
    return TRUE;
}

static gint
compare_runners(gconstpointer a, gconstpointer b)
{
    const gdouble x = (*(Runner *const *)a)->first, y = (*(Runner *const *)b)->first;
    return x < y ? -1 : x > y;
}

/* ---- all combinations ---- */

/* The same order; a conversion may still stand between. */
static gboolean
agree(const CtLayout *a, const CtLayout *b, const CtStream *stream)
{
    CtLayout other = *b;
    other.types = a->types;
    return ct_layout_same_memory(a, &other, stream);
}

/* Whether the arrangement reads what those before it write, as it lies. */
static gboolean
follows(const Search *search, guint n, const CtArrangement *arrangement)
{
    const CtGraphNode *node = node_at(search, n);
    for (guint i = 0; i < node->node.n_inputs; i++) {
        if (node->from[i].node < 0 || !ct_node_input_flows(&node->node, i))
            continue;
        const guint from = (guint)node->from[i].node;
        const CtArrangement *writer = search->chosen[from];
        if (writer->nodes[writer->n_nodes - 1] != from || writer->place != arrangement->place ||
            !agree(&writer->outputs[node->from[i].port], &arrangement->inputs[i],
                   &node->node.inputs[i]))
            return FALSE;
    }
    return TRUE;
}

/* Runs what is chosen; what cannot run is no way to do it. */
static void
try_chosen(Search *search)
{
    g_autoptr(GError) cause = NULL;
    Runner *runner = runner_new(search, search->chosen);
    search->n++;
    if (!run(search, runner, share_of_first, &runner->first, &cause)) {
        runner_free(runner);
        return;
    }
    stop(runner);
    search->slowest = MAX(search->slowest, runner->first);
    g_ptr_array_add(search->best, runner);
    g_ptr_array_sort(search->best, compare_runners);
    if (search->best->len > N_FINALISTS)
        g_ptr_array_set_size(search->best, N_FINALISTS);
}

/* Counts the combinations, or (`tries`) runs them. */
static void
go_through(Search *search, guint n, gboolean tries)
{
    const CtCompareOptions *options = search->options;
    search->is_over |= options->is_over && options->is_over(options->data);
    if (search->is_over || (!tries && search->n > MAX_COMBINATIONS))
        return;
    if (n == search->n_nodes) {
        if (tries)
            try_chosen(search);
        else
            search->n++;
        return;
    }
    if (search->chosen[n]) { /* in one with those before it */
        go_through(search, n + 1, tries);
        return;
    }
    const GPtrArray *all = search->candidates->nodes[n];
    for (guint i = 0; i < all->len; i++) {
        const CtArrangement *arrangement = g_ptr_array_index(all, i);
        if (arrangement->nodes[0] != n || !follows(search, n, arrangement))
            continue;
        for (guint k = 0; k < arrangement->n_nodes; k++)
            search->chosen[arrangement->nodes[k]] = arrangement;
        go_through(search, n + 1, tries);
        for (guint k = 0; k < arrangement->n_nodes; k++)
            search->chosen[arrangement->nodes[k]] = NULL;
    }
}

/* ---- the last round ---- */

static char *
layouts_text(const Search *search, const Runner *runner)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint n = 0; n < search->n_nodes; n++) {
        const CtArrangement *to = runner->chosen ? runner->chosen[n] : NULL;
        const CtNode *node = &node_at(search, n)->node;
        if (!to || to->nodes[to->n_nodes - 1] != n || node->n_outputs == 0)
            continue;
        g_autofree char *layout = ct_layout_to_string(&to->outputs[0]);
        g_string_append_printf(text, "%s%s %s", text->len ? ", " : "", node->name,
                               strchr(layout, '['));
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static gint
compare_medians(gconstpointer a, gconstpointer b)
{
    const gdouble x = ct_tune_median((*(Runner *const *)a)->seconds);
    const gdouble y = ct_tune_median((*(Runner *const *)b)->seconds);
    return x < y ? -1 : x > y;
}

/* Of the tuned plan's runs to the others', by turns. */
static GArray *
ratios(const Runner *tuned, const Runner *other)
{
    GArray *values = g_array_new(FALSE, FALSE, sizeof(gdouble));
    for (guint i = 0; i < MIN(tuned->seconds->len, other->seconds->len); i++) {
        const gdouble ratio =
            g_array_index(tuned->seconds, gdouble, i) / g_array_index(other->seconds, gdouble, i);
        g_array_append_val(values, ratio);
    }
    return values;
}

static char *
describe(const Search *search, const GPtrArray *finalists, const Runner *tuned)
{
    static const CtColumn columns[] = {
        {"", FALSE}, {"ms", TRUE}, {"spread", TRUE}, {"tuned takes", TRUE}, {"layouts", FALSE}};
    g_autoptr(GPtrArray) rows = ct_table_rows_new();
    GString *text = g_string_new(NULL);
    g_autoptr(GPtrArray) in_order = g_ptr_array_new();
    for (guint i = 0; i < finalists->len; i++)
        g_ptr_array_add(in_order, finalists->pdata[i]);
    g_ptr_array_sort(in_order, compare_medians);
    for (guint i = 0; i < in_order->len; i++) {
        const Runner *runner = g_ptr_array_index(in_order, i);
        g_autoptr(GArray) of = ratios(tuned, runner);
        char **cells = g_new0(char *, G_N_ELEMENTS(columns) + 1);
        cells[0] = runner == tuned ? g_strdup("tuned") : g_strdup_printf("%u", i + 1);
        cells[1] = g_strdup_printf("%.2f", 1e3 * ct_tune_median(runner->seconds));
        cells[2] = g_strdup_printf("%.2f", 1e3 * ct_tune_deviation(runner->seconds));
        cells[3] = g_strdup_printf("%.3f", ct_tune_median(of));
        cells[4] = runner == tuned ? g_strdup("") : layouts_text(search, runner);
        g_ptr_array_add(rows, cells);
    }
    const Runner *best = g_ptr_array_index(in_order, 0);
    if (best == tuned && in_order->len > 1)
        best = g_ptr_array_index(in_order, 1);
    g_autoptr(GArray) of = ratios(tuned, best);
    const gdouble ratio = ct_tune_median(of);
    const gdouble noise = 1.2533 * ct_tune_deviation(of) / sqrt(MAX(of->len, 1));
    g_string_append_printf(
        text,
        "%u combinations of layouts that need no transposes, the slowest at "
        "%.2f ms for a second of stream;\nthe fastest of them and the tuned plan "
        "by turns, medians of %u runs:\n\n",
        search->n, 1e3 * search->slowest, tuned->seconds->len);
    ct_table_print(text, columns, G_N_ELEMENTS(columns), rows);
    g_string_append_printf(text, "\ntuned takes %.3f ± %.3f of the best of all the others: %s\n",
                           ratio, noise,
                           ratio > 1 + apart * noise   ? "it is slower"
                           : ratio < 1 - apart * noise ? "it is faster"
                                                       : "they are not told apart");
    return g_string_free(text, FALSE);
}

static char *
run_finalists(Search *search, GError **error)
{
    const CtCompareOptions *options = search->options;
    Runner *tuned = runner_new(search, NULL);
    g_ptr_array_add(search->best, tuned);
    for (guint k = 0; k < options->n_repetitions; k++)
        for (guint i = 0; i < search->best->len; i++) {
            Runner *runner = g_ptr_array_index(search->best, i);
            gdouble seconds;
            if (options->is_over && options->is_over(options->data))
                return NULL;
            if (!run(search, runner, 1, &seconds, error))
                return NULL;
            g_array_append_val(runner->seconds, seconds);
        }
    return describe(search, search->best, tuned);
}

static char *
exhaust(Search *search, GError **error)
{
    const CtCompareOptions *options = search->options;
    g_autoptr(CtPlan) plan = ct_plan_new(options->graph, options->registry, options->plan, error);
    if (!plan)
        return NULL;
    search->stream_seconds = plan->seconds > 0 ? options->seconds / plan->seconds : 0;
    go_through(search, 0, FALSE);
    if (search->n == 0 || search->n > MAX_COMBINATIONS) {
        g_set_error(error, CT_ERROR, CT_ERROR_CONFIG,
                    "trying all combinations wants 1 to %d of them, but is given %s",
                    MAX_COMBINATIONS, search->n == 0 ? "none" : "more");
        return NULL;
    }
    search->n = 0;
    go_through(search, 0, TRUE);
    return search->is_over ? NULL : run_finalists(search, error);
}

char *
ct_exhaust(const CtCompareOptions *options, GError **error)
{
    Search search = {
        .options = options,
        .n_nodes = options->graph->nodes->len,
        .best = g_ptr_array_new_with_free_func(runner_free),
    };
    search.chosen = g_new0(const CtArrangement *, search.n_nodes + 1);
    ct_planner_init(&search.planner, options->graph, options->registry, options->plan);
    search.candidates = ct_candidates_new(&search.planner, error);
    char *text = search.candidates ? exhaust(&search, error) : NULL;
    g_ptr_array_unref(search.best);
    ct_candidates_free(search.candidates);
    ct_planner_clear(&search.planner);
    g_free(search.chosen);
    return text;
}
