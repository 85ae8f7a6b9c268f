/* SPDX-License-Identifier: BSD-3-Clause */
/* A case of a benchmark, run in slices of time: a dry run of its graph. */
#include "bench-run.h"

#include "dry-run.h"
#include "graph/tuning.h"
#include "model/quantity.h"
#include "moment.h"

#include <math.h>

/* A slice is as long as wanted, within this factor, and has so many firings of every node. */
static const gdouble about = 2;
enum { LEAST_FIRINGS = 4 };
/* The length of a slice is found in at most so many steps. */
enum { N_STEPS = 12 };
/* A firing takes at most so many seconds, by the plan. */
static const gdouble longest_firing = 10;
/* A slice may take so many seconds, if firings are long. */
static const gdouble longest_slice = 2;

struct CtBenchRun {
    CtConfig *config;
    CtGraph *graph;
    CtPlanOptions options;
    CtPlan *plan;
    CtDryRun *dry_run;
    CtDryRunWork work;
    gdouble stream; /* seconds of it in a slice; 0: not known yet */
    gint64 whole;   /* samples in time of a sum or run; 0: there are none */
    gdouble longest_whole;
    gdouble planning;                   /* seconds */
    gboolean (*is_over)(gpointer data); /* NULL: never */
    gpointer data;
};

/* Lets the planner choose the layouts of the inputs. */
static void
free_layouts(CtGraph *graph)
{
    for (guint i = 0; i < graph->nodes->len; i++) {
        CtNode *node = &ct_graph_node(graph, i)->node;
        if (g_str_equal(node->stage->name, "input"))
            node->output_layouts[0] = (CtLayout){0};
    }
}

/* Puts the inputs and outputs to which the graph gives no backend on the device. */
static void
place_ends(CtConfig *config, gint device)
{
    for (guint i = 0; i < config->stages->len; i++) {
        CtConfigStage *stage = config->stages->pdata[i];
        if (stage->backend.backend == CT_N_BACKENDS &&
            (g_str_equal(stage->stage, "input") || g_str_equal(stage->stage, "output")))
            stage->backend = (CtConfigBackend){CT_CUDA, device};
    }
}

/* The seconds that the plan predicts for the longest firing of a source. */
static gdouble
predict_firing(const CtPlan *plan)
{
    gdouble longest = 0;
    for (guint i = 0; i < plan->nodes->len; i++) {
        const CtPlanNode *node = ct_plan_node(plan, i);
        if (node->n_inputs > 0 || node->n_outputs == 0 || node->outputs[0] < 0)
            continue;
        const CtPlanLink *link = ct_plan_link(plan, (guint)node->outputs[0]);
        const gdouble rate = ct_stream_sample_rate(link->stream);
        if (rate > 0 && ct_stream_axis(link->stream, "time") >= 0)
            longest = MAX(longest, (gdouble)link->max_samples / rate * plan->seconds);
    }
    return longest;
}

static gboolean
check_size(const CtPlan *plan, guint n_workers, GError **error)
{
    CtMachine machine;
    ct_machine_init(&machine, n_workers);
    const gdouble seconds = predict_firing(plan);
    if (machine.memory_bytes > 0 && plan->bytes > machine.memory_bytes / 2) {
        g_autofree char *wanted = ct_format_bytes(plan->bytes);
        g_autofree char *there = ct_format_bytes(machine.memory_bytes / 2);
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY,
                    "wants %s of buffers, but half of the machine's memory is %s", wanted, there);
        return FALSE;
    }
    if (seconds > longest_firing) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "takes too long: %.0f s for one block, by the plan", seconds);
        return FALSE;
    }
    return TRUE;
}

CtBenchRun *
ct_bench_run_new(const CtBenchCase *one, gint place, guint n_workers, gdouble longest_whole,
                 CtRegistry *registry, GError **error)
{
    const gint64 from = g_get_monotonic_time();
    g_autoptr(CtBenchRun) run = g_new0(CtBenchRun, 1);
    const gboolean on_device = place != CT_HOST;
    run->options = (CtPlanOptions){
        .n_workers = n_workers,
        .backend = on_device ? CT_CUDA : CT_CPU,
        .device = on_device ? place : -1,
        .default_layouts = one->default_layouts,
    };
    run->config = ct_config_parse(on_device && one->on_device ? one->on_device : one->graph, -1,
                                  one->name, NULL, error);
    if (run->config && on_device)
        place_ends(run->config, place);
    run->graph = run->config ? ct_graph_new(run->config, registry, FALSE, error) : NULL;
    if (!run->graph)
        return NULL;
    if (!one->has_layouts)
        free_layouts(run->graph);
    run->plan = ct_plan_new(run->graph, registry, &run->options, error);
    if (!run->plan || !check_size(run->plan, n_workers, error))
        return NULL;
    run->dry_run = ct_dry_run_new(run->plan, registry, &run->options, error);
    if (!run->dry_run)
        return NULL;
    ct_dry_run_work(run->dry_run, &run->work);
    run->whole = one->whole;
    run->longest_whole = longest_whole;
    run->planning = (gdouble)(g_get_monotonic_time() - from) * 1e-6;
    return g_steal_pointer(&run);
}

void
ct_bench_run_ask(CtBenchRun *run, gboolean (*is_over)(gpointer data), gpointer data)
{
    run->is_over = is_over;
    run->data = data;
}

void
ct_bench_run_free(CtBenchRun *run)
{
    if (!run)
        return;
    ct_dry_run_free(run->dry_run);
    ct_plan_free(run->plan);
    ct_graph_free(run->graph);
    ct_config_free(run->config);
    g_free(run);
}

/* A part of a run. */
typedef struct {
    gdouble through;    /* seconds of stream that all nodes went through */
    gdouble taken;      /* seconds, without those in which other processes had the processors */
    gdouble elapsed;    /* with those */
    gdouble processors; /* processor seconds */
    guint64 n_firings;  /* of the node with the fewest */
} Part;

static gboolean
run_part(CtBenchRun *run, gdouble most, Part *part, GError **error)
{
    CtDryRunResult result = {0};
    const CtMoment from = ct_moment_of_process();
    if (!ct_dry_run_run(run->dry_run, run->stream, most, &result, error))
        return FALSE;
    const CtMoment to = ct_moment_of_process();
    const gdouble wall = (gdouble)MAX(to.wall - from.wall, 1);
    const gdouble own = (gdouble)ct_moments_between(&from, &to, run->options.n_workers) / wall;
    *part = (Part){
        .through = result.through,
        .taken = result.elapsed * own,
        .elapsed = result.elapsed,
        .processors = (gdouble)(to.processor - from.processor) / wall * result.elapsed,
        .n_firings = result.n_firings,
    };
    return TRUE;
}

static gboolean
check_over(const CtBenchRun *run, GError **error)
{
    if (!run->is_over || !run->is_over(run->data))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_CANCELLED, "ended early");
    return FALSE;
}

/* Rounds the length of a slice to whole sums or runs, unless one takes too long at the speed of
 * `part`. */
static void
round_length(CtBenchRun *run, const Part *part)
{
    const gdouble whole = run->whole > 0 ? (gdouble)run->whole / run->work.times : 0;
    const gdouble n = whole > 0 ? round(run->stream / whole) : 0;
    if (n >= 1 || (whole > 0 && whole * part->taken <= run->longest_whole * part->through))
        run->stream = MAX(n, 1) * whole;
}

/* Finds the length of a slice; the stream is warm then. */
static gboolean
find_length(CtBenchRun *run, gdouble seconds, GError **error)
{
    run->stream = seconds / MAX(run->plan->seconds, 1e-9);
    Part part = {0};
    gdouble spent = 0;
    for (guint i = 0; i < N_STEPS; i++) {
        if (!run_part(run, longest_slice, &part, error) || !check_over(run, error))
            return FALSE;
        const gboolean is_few = part.n_firings < LEAST_FIRINGS;
        const gboolean is_short = part.taken < seconds / about;
        const gboolean is_long = part.taken > seconds * about && part.n_firings > 2 * LEAST_FIRINGS;
        /* The first part may include what happens only once. */
        spent += part.taken;
        const gboolean is_late = run->longest_whole > 0 && spent > run->longest_whole;
        if (part.taken >= longest_slice ||
            (i > 0 && ((!is_few && !is_short && !is_long) || is_late)))
            break;
        if (is_short || is_long)
            run->stream *= CLAMP(seconds / MAX(part.taken, 1e-9), 0.05, 20);
        else if (is_few)
            run->stream *= 2;
    }
    round_length(run, &part);
    return TRUE;
}

gboolean
ct_bench_run_slice(CtBenchRun *run, gdouble seconds, CtBenchRates *rates, GError **error)
{
    Part all = {0};
    const gboolean is_first = run->stream <= 0;
    if (is_first && !find_length(run, seconds, error))
        return FALSE;
    /* Not every part has a firing of every node. */
    for (guint i = 0; i < N_STEPS && (i == 0 || all.n_firings == 0); i++) {
        Part part;
        if (!run_part(run, MAX(longest_slice, about * run->longest_whole), &part, error))
            return FALSE;
        all.through += part.through;
        all.taken += part.taken;
        all.elapsed += part.elapsed;
        all.processors += part.processors;
        all.n_firings += part.n_firings;
    }
    if (is_first && !check_over(run, error))
        return FALSE;
    if (all.through <= 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "no block has gone through all stages in %.3g s", all.taken);
        return FALSE;
    }
    const gdouble speed = all.through / all.taken;
    *rates = (CtBenchRates){
        .stretch = run->work.times * all.through,
        .samples = run->work.samples * speed,
        .times = run->work.times * speed,
        .bytes = run->work.bytes * speed,
        .given = run->work.given * speed,
        .operations = run->work.operations * speed,
        .processors = all.processors / all.taken,
        .waited = CLAMP(1 - all.taken / all.elapsed, 0, 1),
    };
    return TRUE;
}

void
ct_bench_run_setup(const CtBenchRun *run, gdouble *planning, gdouble *allocation)
{
    *planning = run->planning;
    *allocation = ct_dry_run_allocation(run->dry_run);
}

char *
ct_bench_run_variants(const CtBenchRun *run)
{
    const CtPlan *plan = ct_dry_run_plan(run->dry_run);
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < plan->nodes->len; i++) {
        const CtPlanNode *node = ct_plan_node(plan, i);
        if (ct_dry_run_is_end(run->dry_run, i))
            continue;
        g_autofree char *variant = ct_tuning_name(node->variant, node->tuning);
        g_string_append_printf(text, "%s%s%s", text->len ? "; " : "", node->inserted ? "+ " : "",
                               node->inserted ? node->nodes[0].stage->name : variant);
    }
    return g_string_free(text, FALSE);
}
