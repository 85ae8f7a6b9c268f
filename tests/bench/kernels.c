/* SPDX-License-Identifier: BSD-3-Clause */
/* Pipelines beside their kernels: the processor time of a whole graph on one worker against that
 * which its nodes take in it, and against what they take if each is called by itself in a loop, on
 * blocks that stay in the cache. */
#include "choices.h"
#include "measure/bench-cases.h"
#include "measure/dry-run.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* The least share of the processor time that the nodes take. */
static const gdouble least_share = 0.95;
static const char head[] = "stages:\n";
/* More than a measurement takes: its seconds limit it. */
static const gdouble stream_seconds = 100;

/* Graphs of pipelines/, with an input in place of node `sky`. */
static const struct {
    const char *name, *axes, *lengths, *rate;
} pipelines[] = {
    {"spectrometer", "pol", "2", "20 MHz"},
    {"fx-correlator", "station pol", "16, 2", "20 MHz"},
    {"lofar-imaging", "station pol", "64, 2", "195312.5 Hz"},
};

typedef struct {
    CtDryRun *run;
    gdouble *seconds;   /* [node of the run] of the last measurement */
    GPtrArray *kernels; /* of NodeTrial */
    GArray *whole;      /* of each round: gdouble, processor seconds for a second of stream */
    GArray *within;     /* those of its nodes */
    GArray *alone;      /* those of the trials of its nodes */
} Pipeline;

static void
pipeline_clear(Pipeline *pipeline)
{
    ct_dry_run_free(pipeline->run);
    g_free(pipeline->seconds);
    g_ptr_array_unref(pipeline->kernels);
    g_array_unref(pipeline->whole);
    g_array_unref(pipeline->within);
    g_array_unref(pipeline->alone);
}

static gdouble
processor_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (gdouble)time.tv_sec + 1e-9 * (gdouble)time.tv_nsec;
}

/* Makes the trials of the nodes that are no ends. */
static gboolean
add_kernels(Pipeline *pipeline, const Choices *choices, const char *stages, GError **error)
{
    const CtPlan *plan = ct_dry_run_plan(pipeline->run);
    for (guint i = 0; i < plan->nodes->len; i++) {
        const CtPlanNode *node = g_ptr_array_index(plan->nodes, i);
        if (ct_dry_run_is_end(pipeline->run, i))
            continue;
        NodeTrial *trial = node_trial_new(choices, node->name, stages, node->name, error);
        if (!trial)
            return FALSE;
        g_ptr_array_add(pipeline->kernels, trial);
    }
    return TRUE;
}

static gboolean
measure_whole(Pipeline *pipeline, const Choices *choices, GError **error)
{
    CtDryRunResult result = {.seconds = pipeline->seconds};
    const gdouble processor = processor_seconds();
    const gint64 clock = g_get_monotonic_time();
    if (!ct_dry_run_run(pipeline->run, stream_seconds, choices->seconds, &result, error))
        return FALSE;
    const gdouble busy =
        (processor_seconds() - processor) / (1e-6 * (gdouble)(g_get_monotonic_time() - clock));
    const gdouble whole = result.elapsed * busy / result.through;
    gdouble within = 0;
    for (guint i = 0; i < ct_dry_run_plan(pipeline->run)->nodes->len; i++)
        within += pipeline->seconds[i];
    g_array_append_val(pipeline->whole, whole);
    g_array_append_val(pipeline->within, within);
    return TRUE;
}

static gboolean
measure_alone(Pipeline *pipeline, const Choices *choices, GError **error)
{
    gdouble sum = 0, seconds = 0;
    for (guint i = 0; i < pipeline->kernels->len; i++) {
        NodeTrial *trial = g_ptr_array_index(pipeline->kernels, i);
        if (!node_trial_measure(trial, choices, &seconds)) {
            g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: %s", trial->name, trial->failure);
            return FALSE;
        }
        sum += seconds * trial->load.rate;
    }
    g_array_append_val(pipeline->alone, sum);
    return TRUE;
}

static gboolean
measure_rounds(Pipeline *pipeline, const Choices *choices, const char *stages, GError **error)
{
    g_autoptr(ParsedGraph) parsed = parsed_graph_new(choices, stages, error);
    g_autoptr(CtPlan) plan =
        parsed ? ct_plan_new(parsed->graph, choices->registry, &choices->options, error) : NULL;
    if (!plan)
        return FALSE;
    pipeline->run = ct_dry_run_new(plan, choices->registry, &choices->options, error);
    if (!pipeline->run)
        return FALSE;
    pipeline->seconds = g_new0(gdouble, ct_dry_run_plan(pipeline->run)->nodes->len);
    /* The first round warms up. */
    gboolean good = add_kernels(pipeline, choices, stages, error);
    for (guint round = 0; good && round <= choices->n_rounds; round++) {
        good = measure_whole(pipeline, choices, error) && measure_alone(pipeline, choices, error);
        if (round == 0) {
            g_array_set_size(pipeline->whole, 0);
            g_array_set_size(pipeline->within, 0);
            g_array_set_size(pipeline->alone, 0);
        }
    }
    /* The run has the plan's choices, and ends before it. */
    g_clear_pointer(&pipeline->run, ct_dry_run_free);
    return good;
}

static gboolean
print(const Pipeline *pipeline, const char *name)
{
    const gdouble share = choices_ratio(pipeline->within, pipeline->whole);
    const gdouble alone = choices_ratio(pipeline->alone, pipeline->whole);
    const gboolean is_enough = share >= least_share;
    g_autofree char *title = g_strdup_printf("%s: processor time in its kernels", name);
    printf("%-56s %.3f, at least %.2f of all of it %s\n", title, share, least_share,
           is_enough ? "pass" : "FALL SHORT");
    printf("%s: %u kernels, called alone on blocks in the cache, take %.3f of all of it\n", name,
           pipeline->kernels->len, alone);
    fflush(stdout);
    return is_enough;
}

gboolean
kernels_measure(Choices *choices)
{
    gboolean good = TRUE;
    for (guint i = 0; i < G_N_ELEMENTS(pipelines); i++) {
        if (!choices_want(choices, pipelines[i].name))
            continue;
        g_autoptr(GError) error = NULL;
        Pipeline pipeline = {
            .kernels = g_ptr_array_new_with_free_func((GDestroyNotify)node_trial_free),
            .whole = g_array_new(FALSE, FALSE, sizeof(gdouble)),
            .within = g_array_new(FALSE, FALSE, sizeof(gdouble)),
            .alone = g_array_new(FALSE, FALSE, sizeof(gdouble)),
        };
        g_autofree char *graph =
            ct_bench_case_pipeline(pipelines[i].name, "sky", "ci8", pipelines[i].axes,
                                   pipelines[i].lengths, pipelines[i].rate);
        if (measure_rounds(&pipeline, choices, strstr(graph, head) + strlen(head), &error)) {
            good &= print(&pipeline, pipelines[i].name) || choices->brief;
        } else {
            printf("%-14s %s\n", pipelines[i].name, error->message);
            good = FALSE;
        }
        pipeline_clear(&pipeline);
    }
    return good;
}
