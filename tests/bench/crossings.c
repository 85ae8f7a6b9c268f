/* SPDX-License-Identifier: BSD-3-Clause */
/* A filter and a correlator behind it: a layout that both share, against others with a transpose
 * between them; and a transpose on the host, on the device, or within the filter.
 *
 * All are whole graphs, in which some choices are fixed and the planner makes the others. */
#include "measure/tune.h"
#include "plan/candidates.h"
#include "plan/placement.h"
#include "plan/planner.h"
#include "runs.h"

#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const Choices *choices;
    guint n_stations, n_channels, n_spectra;
} Crossing;

/* The source's samples in a block: those of one visibility. */
static gint64
block_samples(const Crossing *crossing)
{
    return (gint64)crossing->n_channels * crossing->n_spectra;
}

/* Layouts of the source's samples. */
static const char by_time[] = "[time station pol]", by_station[] = "[station pol time]";

/* The graph. The source has the layout `order` and runs on `place`; `turn` (NULL: none) is the
 * backend of a transpose to [station pol time] between source and filter. */
static char *
graph_text(const Crossing *crossing, const char *place, const char *order, const char *turn)
{
    const char *backend = crossing->choices->backend;
    g_autofree char *between =
        turn ? g_strdup_printf(
                   "  turn: { stage: transpose, backend: %s, from: source, layout: \"%s\" }\n",
                   turn, by_station)
             : g_strdup("");
    g_autofree char *shape =
        g_strdup_printf(order == by_time ? "-1, %u, 2" : "%u, 2, -1", crossing->n_stations);
    return g_strdup_printf(
        "  source: { stage: input, backend: %s, layout: \"ci8%s\", shape: [%s] }\n%s"
        "  filter: { stage: fir, backend: %s, from: %s, n_channels: %u, n_taps: 8 }\n"
        "  visibilities: { stage: correlate, backend: %s, from: filter, integration: %u }\n"
        "  sink: { stage: discard, from: visibilities }\n",
        place, order, shape, between, backend, turn ? "turn" : "source", crossing->n_channels,
        backend, crossing->n_spectra);
}

/* ---- milliseconds of a block ---- */

static gdouble
predicted_of(const Crossing *crossing, const Run *run)
{
    return 1e3 * run->plan->seconds * (gdouble)block_samples(crossing);
}

/* Milliseconds of the nodes of that stage, including inserted ones. */
static gdouble
stage_of(const Crossing *crossing, const Run *run, const char *stage)
{
    gdouble seconds = 0;
    for (guint i = 0; i < run->plan->nodes->len; i++) {
        const CtPlanNode *node = g_ptr_array_index(run->plan->nodes, i);
        if (g_str_equal(node->nodes[0].stage->name, stage))
            seconds += run_node(run, i);
    }
    return 1e3 * seconds * crossing->n_spectra;
}

static void
print_head(void)
{
    printf("  %-13s %9s %9s %9s | %9s %9s %9s %9s | %s\n", "ms of a block", "wall", "cost",
           "predicted", "filter", "transpose", "copy", "correlate", "how");
}

static void
print_run(const Crossing *crossing, const Run *run)
{
    const gdouble ms = 1e3 * crossing->n_spectra;
    g_autofree char *how = run_describe(run);
    if (run->failure)
        printf("  %-13s not run: %s; %s\n", run->name, run->failure, how);
    else
        printf("  %-13s %9.2f %9.2f %9.2f | %9.2f %9.2f %9.2f %9.2f | %s\n", run->name,
               ms * run_wall(run), ms * run_cost(run), predicted_of(crossing, run),
               stage_of(crossing, run, "fir"), stage_of(crossing, run, "transpose"),
               stage_of(crossing, run, "copy"), stage_of(crossing, run, "correlate"), how);
    fflush(stdout);
}

static void
measure_rounds(const Crossing *crossing, Run *const *runs, guint n)
{
    for (guint round = 0; round < crossing->choices->n_rounds; round++)
        for (guint i = 0; i < n; i++)
            if (runs[i])
                run_measure(runs[i], crossing->choices);
}

/* ---- a shared layout, or a transpose ---- */

static CtFixed *
fixed_new(const CtCandidate *candidate, guint n_inputs, guint n_outputs)
{
    return ct_fixed_new(candidate->variant, candidate->row, candidate->estimate.tuning,
                        candidate->place, n_inputs, candidate->inputs, n_outputs,
                        candidate->outputs);
}

static Run *
pair_new(const Crossing *crossing, const char *text, const CtCandidate *filter,
         const CtCandidate *correlator, GError **error)
{
    GHashTable *fixed =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)ct_fixed_free);
    g_hash_table_insert(fixed, g_strdup("filter"), fixed_new(filter, 2, 1));
    g_hash_table_insert(fixed, g_strdup("visibilities"), fixed_new(correlator, 1, 2));
    return run_new(crossing->choices, "pair", text, fixed, "visibilities", block_samples(crossing),
                   error);
}

/* The run with the least cost, among those with or without inserted transposes; NULL: there is
 * none. */
static Run *
find_best(const GPtrArray *runs, gboolean with)
{
    Run *best = NULL;
    for (guint i = 0; i < runs->len; i++) {
        Run *run = runs->pdata[i];
        if (!run->failure && (run_count_inserted(run, "transpose") > 0) == with &&
            (!best || run_cost(run) < run_cost(best)))
            best = run;
    }
    return best;
}

static void
rename_run(Run *run, const char *name)
{
    if (!run)
        return;
    g_free(run->name);
    run->name = g_strdup(name);
    g_array_set_size(run->wall, 0);
    g_array_set_size(run->costs, 0);
    for (guint i = 0; i < run->nodes->len; i++)
        g_array_set_size(g_array_index(run->nodes, GArray *, i), 0);
}

/* Whether it runs on the place that is measured. */
static gboolean
is_here(const Crossing *crossing, const CtCandidate *candidate)
{
    return candidate->n_nodes == 1 &&
           (candidate->place != CT_HOST) == (crossing->choices->device != NULL);
}

/* Whether it reads the samples of `stream` in the layout `order`. */
static gboolean
reads(const CtCandidate *filter, const CtStream *stream, const char *order)
{
    g_autofree char *text = g_strdup_printf("ci8%s", order);
    CtLayout layout;
    if (!ct_layout_parse(&layout, text, NULL))
        g_error("a layout");
    return ct_layout_same_memory(&filter->inputs[0], &layout, stream);
}

/* The planner's candidates for the two stages. */
typedef struct {
    ParsedGraph *parsed;
    CtPlanner planner;
    CtCandidates *candidates;
    const GPtrArray *filters, *correlators; /* of CtCandidate */
    const CtStream *samples;                /* that the filter reads */
} Ways;

static gboolean
ways_init(Ways *ways, const Crossing *crossing, const char *text, GError **error)
{
    *ways = (Ways){.parsed = parsed_graph_new(crossing->choices, text, error)};
    if (!ways->parsed)
        return FALSE;
    const guint filter = parsed_graph_find(ways->parsed, "filter");
    const CtGraphNode *node = g_ptr_array_index(ways->parsed->graph->nodes, filter);
    ct_planner_init(&ways->planner, ways->parsed->graph, crossing->choices->registry,
                    &crossing->choices->options);
    ways->candidates = ct_candidates_new(&ways->planner, error);
    if (!ways->candidates)
        return FALSE;
    ways->filters = ways->candidates->nodes[filter];
    ways->correlators = ways->candidates->nodes[parsed_graph_find(ways->parsed, "visibilities")];
    ways->samples = &node->node.inputs[0];
    return TRUE;
}

static void
ways_clear(Ways *ways)
{
    ct_candidates_free(ways->candidates);
    if (ways->parsed)
        ct_planner_clear(&ways->planner);
    parsed_graph_free(ways->parsed);
}

/* Measures all pairs of candidates of the two stages that are joined by at most one transpose, once
 * each. */
static gboolean
measure_pairs(const Crossing *crossing, const char *text, const Ways *ways, GPtrArray *runs,
              GError **error)
{
    guint n_left_out = 0;
    for (guint i = 0; i < ways->filters->len; i++) {
        const CtCandidate *filter = ways->filters->pdata[i];
        for (guint k = 0; k < ways->correlators->len; k++) {
            const CtCandidate *correlator = ways->correlators->pdata[k];
            if (!is_here(crossing, filter) || !is_here(crossing, correlator))
                continue;
            Run *run = pair_new(crossing, text, filter, correlator, error);
            if (!run)
                return FALSE;
            g_ptr_array_add(runs, run);
            rename_run(run, run_count_inserted(run, "transpose") ? "transpose" : "common");
            if (run_count_inserted(run, NULL) > run_count_inserted(run, "transpose") ||
                run_count_inserted(run, NULL) > 1) {
                run->failure = g_strdup("more than a transpose");
                n_left_out++;
                continue;
            }
            run_measure(run, crossing->choices);
            print_run(crossing, run);
        }
    }
    printf("  %u pairs that want more than one transpose were left out\n", n_left_out);
    return TRUE;
}

/* The planner's choice after tuning, with a cost database of its own. */
static Run *
tuned_run_new(const Crossing *crossing, const char *text, GError **error)
{
    Choices tuned = *crossing->choices;
    g_autofree char *folder = g_dir_make_tmp("cornerturn-bench-XXXXXX", error);
    g_autoptr(ParsedGraph) parsed = folder ? parsed_graph_new(&tuned, text, error) : NULL;
    if (!parsed)
        return NULL;
    g_autofree char *costs = g_build_filename(folder, "costs.db", NULL);
    tuned.options.costs = costs;
    const CtTuneOptions options = {
        .graph = parsed->graph,
        .registry = tuned.registry,
        .plan = &tuned.options,
        .budget = tuned.tuning,
        .is_quick = TRUE,
    };
    g_auto(CtTuneReport) report = {0};
    Run *run = NULL;
    if (ct_tune(&options, &report, error)) {
        printf("  tuned in %.1f s: %u ways measured%s\n", report.progress.elapsed,
               report.progress.n_measured, report.is_decided ? "" : ", not decided");
        run = run_new(&tuned, "tuned", text, NULL, "visibilities", block_samples(crossing), error);
    }
    g_autoptr(GDir) files = g_dir_open(folder, 0, NULL);
    for (const char *name; files && (name = g_dir_read_name(files));) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_remove(path);
    }
    g_rmdir(folder);
    return run;
}

/* Measures in turn the best with and without a transpose, and the planner's choices, by the model
 * alone and after tuning. */
static gboolean
compare_best(const Crossing *crossing, const char *text, const GPtrArray *runs, GError **error)
{
    g_autoptr(Run) own = run_new(crossing->choices, "planner", text, NULL, "visibilities",
                                 block_samples(crossing), error);
    g_autoptr(Run) tuned = own ? tuned_run_new(crossing, text, error) : NULL;
    if (!tuned)
        return FALSE;
    Run *const last[] = {find_best(runs, FALSE), find_best(runs, TRUE), own, tuned};
    rename_run(last[0], "common");
    rename_run(last[1], "transpose");
    measure_rounds(crossing, last, G_N_ELEMENTS(last));
    printf(" the best of each, and what the planner takes, by turns in %u rounds\n",
           crossing->choices->n_rounds);
    for (guint i = 0; i < G_N_ELEMENTS(last); i++)
        if (last[i])
            print_run(crossing, last[i]);
    if (own->failure)
        return FALSE;
    printf(" the planner takes a %s",
           run_count_inserted(own, "transpose") ? "transpose" : "common layout");
    for (guint i = 0; i < G_N_ELEMENTS(last); i++)
        if (last[i] && last[i] != own && !last[i]->failure)
            printf("; %s takes %.3f times as long", last[i]->name,
                   choices_ratio(last[i]->costs, own->costs));
    printf("\n");
    return TRUE;
}

static gboolean
compare_layouts(const Crossing *crossing, const char *order, GError **error)
{
    g_autofree char *text = graph_text(crossing, crossing->choices->backend, order, NULL);
    g_autoptr(GPtrArray) runs = g_ptr_array_new_with_free_func((GDestroyNotify)run_free);
    Ways ways;
    printf("layouts: the source's samples lie in %s; all pairs of what the planner would have, "
           "once\n",
           order);
    print_head();
    const gboolean good = ways_init(&ways, crossing, text, error) &&
                          measure_pairs(crossing, text, &ways, runs, error) &&
                          compare_best(crossing, text, runs, error);
    ways_clear(&ways);
    return good;
}

/* ---- where the transpose runs ---- */

/* The graph with the filter fixed to a candidate that reads samples in `order`: of these, with at
 * most `most` inserted transposes, the one with the least predicted cost. NULL without an error:
 * there is none. */
static Run *
fixed_run_new(const Crossing *crossing, const char *name, const char *text, const char *order,
              guint most, GError **error)
{
    g_autoptr(Run) best = NULL;
    Ways ways;
    gboolean good = ways_init(&ways, crossing, text, error);
    for (guint i = 0; good && i < ways.filters->len; i++) {
        const CtCandidate *filter = ways.filters->pdata[i];
        if (!is_here(crossing, filter) || !reads(filter, ways.samples, order))
            continue;
        GHashTable *fixed =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)ct_fixed_free);
        g_hash_table_insert(fixed, g_strdup("filter"), fixed_new(filter, 2, 1));
        Run *run = run_new(crossing->choices, name, text, fixed, "visibilities",
                           block_samples(crossing), error);
        good = run != NULL;
        const gboolean is_better = run && run_count_inserted(run, "transpose") <= most &&
                                   (!best || run->plan->seconds < best->plan->seconds);
        if (is_better) {
            run_free(best);
            best = run;
        } else {
            run_free(run);
        }
    }
    ways_clear(&ways);
    return good ? g_steal_pointer(&best) : NULL;
}

/* Samples are on the host, ordered by time; the filter reads them so, or by station. */
static gboolean
compare_places(const Crossing *crossing, GError **error)
{
    static const struct {
        const char *name, *turn;
    } ways[] = {{"fused", NULL}, {"on the host", "cpu"}, {"on the device", "cuda"}};
    Choices anywhere = *crossing->choices;
    const Crossing own = {&anywhere, crossing->n_stations, crossing->n_channels,
                          crossing->n_spectra};
    Run *runs[G_N_ELEMENTS(ways) + 1] = {NULL};
    const guint planner = G_N_ELEMENTS(ways);
    anywhere.options.backend = CT_N_BACKENDS;
    printf("places: samples on the host in %s are turned to %s there, on the device, or as the "
           "filter reads or writes\n",
           by_time, by_station);
    for (guint i = 0; i < G_N_ELEMENTS(ways) && !*error; i++) {
        g_autofree char *text = graph_text(&own, "cpu", by_time, ways[i].turn);
        if (g_strcmp0(ways[i].turn, "cuda") == 0 && !crossing->choices->device)
            printf("  %-13s skip: wants --device\n", ways[i].name);
        else
            runs[i] = fixed_run_new(&own, ways[i].name, text, ways[i].turn ? by_station : by_time,
                                    ways[i].turn ? 1 : 0, error);
    }
    if (!*error) {
        g_autofree char *text = graph_text(&own, "cpu", by_time, NULL);
        runs[planner] = run_new(&anywhere, "planner", text, NULL, "visibilities",
                                block_samples(crossing), error);
    }
    if (!*error) {
        measure_rounds(&own, runs, G_N_ELEMENTS(runs));
        print_head();
    }
    for (guint i = 0; i < G_N_ELEMENTS(runs); i++) {
        if (runs[i] && !*error)
            print_run(&own, runs[i]);
        if (i != planner && runs[i] && runs[planner] && !runs[i]->failure)
            printf("  %-13s %9.3f times as long as what the planner takes\n", "",
                   choices_ratio(runs[i]->costs, runs[planner]->costs));
    }
    for (guint i = 0; i < G_N_ELEMENTS(runs); i++)
        run_free(runs[i]);
    return !*error;
}

gboolean
crossings_measure(Choices *choices)
{
    const Crossing crossing = {
        .choices = choices,
        .n_stations = choices->brief ? 4 : 64,
        .n_channels = choices->brief ? 8 : 300,
        .n_spectra = choices->brief ? 32 : 768,
    };
    GError *error = NULL;
    printf("crossings: a filter of 8 taps, then a correlator; %u stations, 2 polarisations, %u "
           "channels, ci8; a block is %u spectra; %s\n",
           crossing.n_stations, crossing.n_channels, crossing.n_spectra,
           choices->device ? "one device" : "all workers");
    printf("cost: of a graph on the host, processor time of all nodes over the workers; else the "
           "wall\n");
    gboolean good = TRUE;
    if (choices_want(choices, "layouts by time"))
        good &= compare_layouts(&crossing, by_time, &error);
    if (good && choices_want(choices, "layouts by station"))
        good &= compare_layouts(&crossing, by_station, &error);
    if (good && choices_want(choices, "places"))
        good &= compare_places(&crossing, &error);
    if (error)
        printf("crossings: %s\n", error->message);
    g_clear_error(&error);
    return good;
}
