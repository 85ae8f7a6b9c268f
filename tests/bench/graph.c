/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph as a contender: every slice is a run of its own, timed in its steady state. */
#include "../json-at.h"
#include "bench.h"

#include <cornerturn/pipeline.h>
#include <math.h>
#include <string.h>

/* The seconds of a slice, and the least firings of the timed node in it. */
#define SLICE_SECONDS 0.06
#define SLICE_FIRINGS 8
/* The least samples of every sink: until the first one, a sum only fills its rings. */
#define SLICE_OUTPUTS 5
/* The share of a run before the measurement: by then rings have been filled and their pages
 * exist. */
#define SKIPPED 0.3

typedef struct {
    Contender base;
    char *text;
    char *node;
    char *source;
    char *timed;    /* the node that measures the time */
    gint64 samples; /* of a run; 0: not known yet */
    gboolean is_unfused;
} Graph;

/* The results of a run. */
typedef struct {
    gdouble seconds, timed; /* of the measurement, and its samples */
    gdouble samples, firings;
    gdouble all_firings; /* of all nodes */
    gdouble processor;   /* seconds of all threads */
    gdouble bytes;       /* of the whole run */
    gdouble operations;  /* per sample */
    gdouble outputs;     /* samples of the sink with the fewest */
    gdouble width;       /* elements of a sample */
} Run;

static gdouble
number(JsonObject *node, const char *key)
{
    return json_object_get_double_member_with_default(node, key, 0);
}

/* Operations of the node for a sample of the source: a short last sum would count as a whole one if
 * its outputs were counted. */
static gdouble
operations_per_sample(const Graph *graph, CtPipeline *pipeline, JsonObject *stats)
{
    /* The last of several nodes in one has the output. */
    const char *nodes = json_object_get_string_member(stats, "name");
    const char *last = strrchr(nodes, '+'), *node = last ? last + 1 : nodes;
    const CtStream *in = ct_pipeline_stream(pipeline, graph->source, NULL, NULL);
    const CtStream *out = ct_pipeline_stream(pipeline, node, NULL, NULL);
    const gdouble samples = number(stats, "samples");
    if (!in || !out || samples == 0 || out->ticks_per_sample == 0)
        return 0;
    return number(stats, "operations") / samples * (gdouble)in->ticks_per_sample /
           (gdouble)out->ticks_per_sample;
}

static void
read_node(const Graph *graph, CtPipeline *pipeline, JsonObject *stats, Run *run)
{
    const char *stage = json_object_get_string_member(stats, "stage");
    const gboolean is_sink = g_str_has_suffix(stage, ".sink") || g_str_equal(stage, "discard");
    const gboolean is_end =
        is_sink || g_str_has_suffix(stage, ".source") || g_str_equal(stage, "generate");
    if (g_str_equal(json_object_get_string_member(stats, "name"), graph->timed)) {
        JsonObject *counters = json_object_get_object_member(stats, "counters");
        run->seconds = number(counters, "nanoseconds") * 1e-9;
        run->timed = number(counters, "timed");
        run->samples = number(stats, "samples");
        run->firings = number(stats, "firings");
        run->processor = number(counters, "processor") * 1e-9;
    }
    run->all_firings += number(stats, "firings");
    if (is_sink)
        run->outputs = fmin(run->outputs, number(stats, "samples"));
    if (is_end)
        run->bytes += number(stats, "bytes");
    if (!is_end || !g_str_equal(graph->timed, graph->source))
        run->operations += operations_per_sample(graph, pipeline, stats);
}

static void
read_stats(const Graph *graph, CtPipeline *pipeline, const char *json, Run *run)
{
    g_autoptr(JsonArray) nodes = json_select(json, "$.nodes[*]");
    for (guint i = 0; i < json_array_get_length(nodes); i++)
        read_node(graph, pipeline, json_array_get_object_element(nodes, i), run);
}

/* Variant and layouts of the node, as the plan prints them, and the inserted nodes. */
static char *
describe(const Graph *graph, CtPipeline *pipeline)
{
    g_autofree char *plan = ct_pipeline_describe(pipeline, "text", NULL);
    if (!plan)
        return NULL;
    g_auto(GStrv) lines = g_strsplit(plan, "\n", -1);
    GString *remark = g_string_new(NULL);
    for (guint i = 0; lines[i]; i++) {
        g_auto(GStrv) words = g_regex_split_simple("  +", lines[i], 0, 0);
        if (g_strv_length(words) < 3 || i == 0)
            continue;
        const gboolean inserted = words[0][0] == '+';
        if (inserted || (graph->node && g_str_equal(words[0], graph->node)))
            g_string_append_printf(remark, "%s%s%s %s", remark->len ? "; " : "",
                                   inserted ? "+ " : "", words[1], words[2]);
    }
    return g_string_free(remark, FALSE);
}

static gboolean
run_once(Graph *graph, gint64 samples, Run *run, GError **error)
{
    g_autoptr(CtPipeline) pipeline = ct_pipeline_parse(graph->text, -1, graph->base.name, error);
    if (!pipeline || !ct_pipeline_set_workers(pipeline, graph->base.n_threads, error) ||
        !ct_pipeline_set_fusion(pipeline, !graph->is_unfused, error))
        return FALSE;
    g_autofree char *set_samples =
        g_strdup_printf("%s.samples=%" G_GINT64_FORMAT, graph->source, samples);
    g_autofree char *set_skip = g_strdup_printf("%s.skip=%" G_GINT64_FORMAT, graph->timed,
                                                (gint64)(SKIPPED * (gdouble)samples));
    if (!ct_pipeline_set(pipeline, set_samples, error) ||
        !ct_pipeline_set(pipeline, set_skip, error))
        return FALSE;
    const CtStream *stream = ct_pipeline_stream(pipeline, graph->source, NULL, error);
    if (!stream)
        return FALSE;
    run->width = (gdouble)ct_stream_width(stream);
    if (!ct_pipeline_start(pipeline, error))
        return FALSE;
    ct_pipeline_wait(pipeline, -1);
    if (!ct_pipeline_result(pipeline, error))
        return FALSE;
    g_autofree char *json = ct_pipeline_stats_json(pipeline);
    read_stats(graph, pipeline, json, run);
    if (!graph->base.remark)
        graph->base.remark = describe(graph, pipeline);
    return TRUE;
}

static gboolean
run_slice(Contender *contender, Rates *rates, GError **error)
{
    Graph *graph = (Graph *)contender;
    gint64 samples = graph->samples > 0 ? graph->samples : 4096;
    for (;;) {
        Run run = {.outputs = INFINITY};
        if (!run_once(graph, samples, &run, error))
            return FALSE;
        const gdouble timed_firings = run.samples > 0 ? run.firings * run.timed / run.samples : 0;
        const gboolean long_enough = run.seconds >= SLICE_SECONDS / 2;
        if (graph->samples > 0 ||
            (long_enough && timed_firings >= SLICE_FIRINGS && run.outputs >= SLICE_OUTPUTS)) {
            const gdouble rate = run.timed / run.seconds;
            *rates = (Rates){
                .samples = rate * run.width,
                .bytes = rate * run.bytes / run.samples,
                .operations = rate * run.operations,
                .firings = rate * run.all_firings / run.samples,
                .processors = run.processor / run.seconds,
            };
            graph->samples = samples;
            return TRUE;
        }
        const gdouble by_time = SLICE_SECONDS / MAX(run.seconds, 1e-6);
        const gdouble by_firings = 1.2 * SLICE_FIRINGS / MAX(timed_firings, 0.2);
        const gdouble by_outputs = 1.1 * SLICE_OUTPUTS / MAX(run.outputs, 0.2);
        const gdouble longer = fmax(fmax(by_time, by_firings), by_outputs);
        samples = (gint64)((gdouble)samples * CLAMP(longer, 1.3, 16));
    }
}

static void
clear(Contender *contender)
{
    Graph *graph = (Graph *)contender;
    g_free(graph->text);
    g_free(graph->node);
    g_free(graph->source);
    g_free(graph->timed);
}

Contender *
graph_contender_new(const char *group, const char *name, guint n_workers, const char *text,
                    const char *source, const char *timed, const char *node)
{
    Graph *graph = g_new0(Graph, 1);
    contender_init(&graph->base, group, name, n_workers);
    graph->base.run = run_slice;
    graph->base.clear = clear;
    graph->text = g_strdup(text);
    graph->node = g_strdup(node);
    graph->source = g_strdup(source);
    graph->timed = g_strdup(timed);
    return &graph->base;
}

void
graph_contender_set_fusion(Contender *contender, gboolean fusion)
{
    ((Graph *)contender)->is_unfused = !fusion;
}
