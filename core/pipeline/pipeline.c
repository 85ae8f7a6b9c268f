/* SPDX-License-Identifier: BSD-3-Clause */
/* A pipeline: a graph from its text to the end of its run, by configuration, graph, plan and
 * run. */
#include "measure/verify.h"
#include "model/environment.h"
#include "model/suggest.h"
#include "pipeline-private.h"
#include "plan/describe.h"
#include "run/scheduler.h"
#include "run/stats.h"

#include <cornerturn/pipeline.h>
#include <string.h>

struct CtPipeline {
    char *path; /* path of the file; NULL: the graph is `text` */
    char *text;
    gsize length;
    char *name;
    GPtrArray *overrides; /* of char, NULL-terminated */
    char *costs;          /* the cost database that the options point to */
    guint default_workers;
    gboolean is_verified; /* for ct_pipeline_verify(), which reads all outputs */
    CtPlanOptions plan_options;
    CtRunOptions run_options;
    GHashTable *offers; /* node name → guint8 * */
    CtRegistry *registry;
    CtConfig *config;
    CtGraph *graph;
    GPtrArray *warnings;      /* of CtWarning: of the graph; NULL: it is not checked yet */
    GPtrArray *late_warnings; /* … and of the run or the verification */
    CtPlan *plan;
    CtScheduler *scheduler; /* NULL: not prepared yet */
    gboolean is_started;
    guint8 **memory; /* [link] */
};

static CtPipeline *
new_pipeline(const char *name)
{
    CtPipeline *pipeline = g_new0(CtPipeline, 1);
    pipeline->name = g_strdup(name);
    pipeline->overrides = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(pipeline->overrides, NULL);
    pipeline->offers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    pipeline->plan_options = (CtPlanOptions){
        .backend = CT_N_BACKENDS,
        .backends = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .variants = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
    };
    pipeline->run_options.pin = TRUE;
    return pipeline;
}

/* The number of workers where the caller names none. */
static gboolean
find_workers(CtPipeline *pipeline, GError **error)
{
    const char *given = ct_environment("CORNERTURN_WORKERS");
    guint64 n = g_get_num_processors();
    if (given && *given &&
        !g_ascii_string_to_unsigned(given, 10, 1, CT_PIPELINE_MAX_WORKERS, &n, NULL)) {
        g_set_error(error, CT_ERROR, CT_ERROR_CONFIG,
                    "CORNERTURN_WORKERS wants a number from 1 to %d, but is given '%s'",
                    CT_PIPELINE_MAX_WORKERS, given);
        return FALSE;
    }
    pipeline->default_workers = (guint)n;
    ct_pipeline_set_workers(pipeline, 0);
    return TRUE;
}

/* Reads the text and checks its syntax, so that errors in the file are reported when it is loaded.
 * After an error the pipeline is unchanged. */
static gboolean
configure(CtPipeline *pipeline, GError **error)
{
    const char *const *overrides = (const char *const *)pipeline->overrides->pdata;
    CtConfig *config = pipeline->path ? ct_config_load(pipeline->path, overrides, error)
                                      : ct_config_parse(pipeline->text, (gssize)pipeline->length,
                                                        pipeline->name, overrides, error);
    if (!config)
        return FALSE;
    ct_config_free(pipeline->config);
    pipeline->config = config;
    return TRUE;
}

CtPipeline *
ct_pipeline_load(const char *path, GError **error)
{
    g_autoptr(CtPipeline) pipeline = new_pipeline(path);
    pipeline->path = g_strdup(path);
    if (!find_workers(pipeline, error) || !configure(pipeline, error))
        return NULL;
    return g_steal_pointer(&pipeline);
}

CtPipeline *
ct_pipeline_parse(const char *text, gssize length, const char *name, GError **error)
{
    g_autoptr(CtPipeline) pipeline = new_pipeline(name);
    pipeline->length = length < 0 ? strlen(text) : (gsize)length;
    pipeline->text = g_memdup2(text, pipeline->length + 1);
    if (!find_workers(pipeline, error) || !configure(pipeline, error))
        return NULL;
    return g_steal_pointer(&pipeline);
}

void
ct_pipeline_free(CtPipeline *pipeline)
{
    if (!pipeline)
        return;
    ct_scheduler_free(pipeline->scheduler);
    ct_plan_free(pipeline->plan);
    ct_graph_free(pipeline->graph);
    g_clear_pointer(&pipeline->warnings, g_ptr_array_unref);
    g_clear_pointer(&pipeline->late_warnings, g_ptr_array_unref);
    ct_config_free(pipeline->config);
    ct_registry_free(pipeline->registry);
    g_hash_table_unref(pipeline->plan_options.backends);
    g_hash_table_unref(pipeline->plan_options.variants);
    g_hash_table_unref(pipeline->offers);
    g_ptr_array_unref(pipeline->overrides);
    g_free(pipeline->memory);
    g_free(pipeline->costs);
    g_free(pipeline->path);
    g_free(pipeline->text);
    g_free(pipeline->name);
    g_free(pipeline);
}

/* ---- before the plan ---- */

gboolean
ct_pipeline_set(CtPipeline *pipeline, const char *assignment, GError **error)
{
    g_return_val_if_fail(!pipeline->graph, FALSE);
    g_ptr_array_insert(pipeline->overrides, (gint)pipeline->overrides->len - 1,
                       g_strdup(assignment));
    if (configure(pipeline, error))
        return TRUE;
    g_ptr_array_remove_index(pipeline->overrides, pipeline->overrides->len - 2);
    return FALSE;
}

/* The node's entry in the graph's file, or an error. */
static const CtConfigStage *
find_entry(const CtPipeline *pipeline, const char *node, GError **error)
{
    const CtConfigStage *entry = ct_config_find(pipeline->config, node);
    if (entry)
        return entry;
    const GPtrArray *stages = pipeline->config->stages;
    g_autofree const char **names = g_new(const char *, stages->len + 1);
    for (guint i = 0; i < stages->len; i++)
        names[i] = ((const CtConfigStage *)stages->pdata[i])->name;
    g_autofree char *remark = ct_suggest_remark(node, names, stages->len, "it has");
    g_set_error(error, CT_ERROR, CT_ERROR_CONFIG, "%s has no node '%s'%s", pipeline->name, node,
                remark);
    return NULL;
}

gboolean
ct_pipeline_set_backend(CtPipeline *pipeline, const char *node, const char *backend, GError **error)
{
    CtConfigBackend parsed;
    if ((node && !find_entry(pipeline, node, error)) ||
        !ct_config_backend_parse(&parsed, backend, error))
        return FALSE;
    if (node) {
        g_hash_table_insert(pipeline->plan_options.backends, g_strdup(node), g_strdup(backend));
    } else {
        pipeline->plan_options.backend = parsed.backend;
        pipeline->plan_options.device = parsed.device;
    }
    return TRUE;
}

gboolean
ct_pipeline_set_variant(CtPipeline *pipeline, const char *node, const char *variant, GError **error)
{
    if (!find_entry(pipeline, node, error))
        return FALSE;
    g_hash_table_insert(pipeline->plan_options.variants, g_strdup(node), g_strdup(variant));
    return TRUE;
}

void
ct_pipeline_set_workers(CtPipeline *pipeline, guint n_workers)
{
    g_return_if_fail(n_workers <= CT_PIPELINE_MAX_WORKERS);
    pipeline->plan_options.n_workers = n_workers > 0 ? n_workers : pipeline->default_workers;
}

void
ct_pipeline_set_cache(CtPipeline *pipeline, gsize bytes)
{
    pipeline->plan_options.cache_bytes = bytes;
}

void
ct_pipeline_set_device_block(CtPipeline *pipeline, gsize bytes)
{
    pipeline->plan_options.device_bytes = bytes;
}

void
ct_pipeline_set_in_flight(CtPipeline *pipeline, guint n_blocks)
{
    g_return_if_fail(n_blocks <= CT_PIPELINE_MAX_IN_FLIGHT);
    pipeline->plan_options.n_in_flight = n_blocks;
}

void
ct_pipeline_set_costs(CtPipeline *pipeline, const char *costs)
{
    g_free(pipeline->costs);
    pipeline->costs = g_strdup(costs);
    pipeline->plan_options.costs = pipeline->costs;
}

void
ct_pipeline_set_default_layouts(CtPipeline *pipeline, gboolean default_layouts)
{
    pipeline->plan_options.default_layouts = default_layouts;
}

void
ct_pipeline_set_missing(CtPipeline *pipeline, gint64 n_samples)
{
    g_return_if_fail(n_samples > 0);
    pipeline->plan_options.n_missing = n_samples;
}

void
ct_pipeline_set_duration(CtPipeline *pipeline, gdouble seconds)
{
    pipeline->run_options.duration = seconds;
}

void
ct_pipeline_set_strict(CtPipeline *pipeline, gboolean strict)
{
    pipeline->run_options.strict = strict;
}

void
ct_pipeline_set_poison(CtPipeline *pipeline, gboolean poison)
{
    pipeline->run_options.poison = poison;
}

/* ---- the plan ---- */

/* Warns of sources without a clock, which cannot end after the duration. */
static void
warn_of_duration(const CtPipeline *pipeline)
{
    for (guint i = 0; pipeline->run_options.duration > 0 && i < pipeline->graph->nodes->len; i++) {
        const CtGraphNode *node = pipeline->graph->nodes->pdata[i];
        const gint output = ct_node_source_output(&node->node);
        if (output >= 0 && ct_stream_sample_rate(&node->node.outputs[output]) <= 0)
            ct_warnings_add(pipeline->warnings, CT_WARNING_PARAMETER, node->config->name,
                            &node->config->place,
                            "the duration of %g s does not end it: it has no sample rate",
                            pipeline->run_options.duration);
    }
}

gboolean
ct_pipeline_check(CtPipeline *pipeline, GError **error)
{
    if (!pipeline->registry)
        pipeline->registry = ct_registry_new(error);
    if (pipeline->registry && !pipeline->graph)
        pipeline->graph = ct_graph_new(pipeline->config, pipeline->registry, error);
    if (!pipeline->graph)
        return FALSE;
    if (!pipeline->warnings) {
        pipeline->warnings = ct_warnings_new();
        ct_graph_warn(pipeline->graph, pipeline->is_verified, pipeline->warnings);
        warn_of_duration(pipeline);
    }
    return !pipeline->run_options.strict || ct_warnings_refuse(pipeline->warnings, error);
}

gboolean
ct_pipeline_plan(CtPipeline *pipeline, GError **error)
{
    if (!pipeline->plan && ct_pipeline_check(pipeline, error))
        pipeline->plan =
            ct_plan_new(pipeline->graph, pipeline->registry, &pipeline->plan_options, error);
    return pipeline->plan &&
           (!pipeline->run_options.strict || ct_warnings_refuse(pipeline->plan->warnings, error));
}

static void
renew_late_warnings(CtPipeline *pipeline)
{
    g_clear_pointer(&pipeline->late_warnings, g_ptr_array_unref);
    pipeline->late_warnings = ct_warnings_new();
}

/* All warnings until now. */
static GPtrArray *
collect_warnings(const CtPipeline *pipeline)
{
    GPtrArray *warnings = ct_warnings_new();
    if (pipeline->warnings)
        ct_warnings_join(warnings, pipeline->warnings);
    if (pipeline->plan)
        ct_warnings_join(warnings, pipeline->plan->warnings);
    if (pipeline->late_warnings)
        ct_warnings_join(warnings, pipeline->late_warnings);
    if (pipeline->scheduler)
        ct_scheduler_join_warnings(pipeline->scheduler, warnings);
    return warnings;
}

char **
ct_pipeline_warnings(const CtPipeline *pipeline)
{
    g_autoptr(GPtrArray) warnings = collect_warnings(pipeline);
    char **lines = g_new0(char *, warnings->len + 1);
    for (guint i = 0; i < warnings->len; i++)
        lines[i] = ct_warning_to_string(warnings->pdata[i]);
    return lines;
}

char *
ct_pipeline_describe(CtPipeline *pipeline, const char *format, GError **error)
{
    if (!ct_pipeline_plan(pipeline, error))
        return NULL;
    return ct_plan_describe(pipeline->plan, pipeline->registry, &pipeline->plan_options, format,
                            error);
}

const CtGraph *
ct_pipeline_graph(const CtPipeline *pipeline)
{
    return pipeline->graph;
}

CtRegistry *
ct_pipeline_registry(const CtPipeline *pipeline)
{
    return pipeline->registry;
}

const CtPlanOptions *
ct_pipeline_plan_options(const CtPipeline *pipeline)
{
    return &pipeline->plan_options;
}

const CtStream *
ct_pipeline_stream(CtPipeline *pipeline, const char *name, const char *output, GError **error)
{
    if (!ct_pipeline_check(pipeline, error))
        return NULL;
    for (guint i = 0; i < pipeline->graph->nodes->len; i++) {
        const CtGraphNode *node = pipeline->graph->nodes->pdata[i];
        if (!g_str_equal(node->node.name, name))
            continue;
        for (guint o = 0; o < node->node.n_outputs; o++)
            if (!output || g_str_equal(node->node.stage->outputs[o].name, output))
                return &node->node.outputs[o];
    }
    g_set_error(error, CT_ERROR, CT_ERROR_CONFIG, "%s has no output '%s%s%s'", pipeline->name, name,
                output ? "." : "", output ? output : "");
    return NULL;
}

/* ---- proving ---- */

char *
ct_pipeline_verify(CtPipeline *pipeline, const char *against, const char *node, gboolean *agrees,
                   GError **error)
{
    CtConfigBackend backend;
    if (!ct_config_backend_parse(&backend, against, error)) {
        g_prefix_error(error, "against: ");
        return NULL;
    }
    pipeline->is_verified = TRUE;
    if (!ct_pipeline_plan(pipeline, error))
        return NULL;
    renew_late_warnings(pipeline);
    pipeline->run_options.warned = pipeline->warnings;
    const CtVerifyOptions options = {
        .graph = pipeline->graph,
        .registry = pipeline->registry,
        .plan = &pipeline->plan_options,
        .run = &pipeline->run_options,
        .against = backend,
        .node = node,
        .warnings = pipeline->late_warnings,
    };
    g_autoptr(GPtrArray) rows = ct_verify(&options, error);
    if (!rows ||
        (pipeline->run_options.strict && !ct_warnings_refuse(pipeline->late_warnings, error)))
        return NULL;
    return ct_verify_to_text(rows, agrees);
}

/* ---- running ---- */

/* The node of the plan that is the `input` or `output` (`stage`; NULL: either) named `name`; −1
 * with an error. */
static gint
find_endpoint(CtPipeline *pipeline, const char *name, const char *stage, GError **error)
{
    if (!ct_pipeline_plan(pipeline, error))
        return -1;
    for (guint i = 0; i < pipeline->plan->nodes->len; i++) {
        const CtPlanNode *node = pipeline->plan->nodes->pdata[i];
        if (g_str_equal(node->name, name) && !node->variant->work &&
            (!stage || g_str_equal(node->nodes[0].stage->name, stage)))
            return (gint)i;
    }
    g_set_error(error, CT_ERROR, CT_ERROR_CONFIG, "%s has no node '%s' of stage '%s'",
                pipeline->name, name, stage ? stage : "input or output");
    return -1;
}

/* Memory that the program has offered is right for this plan alone. */
static CtScheduler *
schedule_with_memory(CtPipeline *pipeline, GError **error)
{
    g_free(pipeline->memory);
    pipeline->memory = g_new0(guint8 *, pipeline->plan->links->len + 1);
    GHashTableIter iterator;
    gpointer name, memory;
    g_hash_table_iter_init(&iterator, pipeline->offers);
    while (g_hash_table_iter_next(&iterator, &name, &memory)) {
        const gint i = find_endpoint(pipeline, name, "output", error);
        const CtPlanNode *node = pipeline->plan->nodes->pdata[i];
        pipeline->memory[node->inputs[0]] = memory;
    }
    pipeline->run_options.memory = pipeline->memory;
    return ct_scheduler_new(pipeline->plan, &pipeline->run_options, error);
}

gboolean
ct_pipeline_prepare(CtPipeline *pipeline, GError **error)
{
    if (pipeline->scheduler)
        return TRUE;
    if (!ct_pipeline_plan(pipeline, error))
        return FALSE;
    pipeline->run_options.warned = pipeline->warnings;
    pipeline->scheduler = g_hash_table_size(pipeline->offers) > 0
                              ? schedule_with_memory(pipeline, error)
                              : ct_scheduler_new_that_fits(
                                    &pipeline->plan, pipeline->registry, &pipeline->plan_options,
                                    &pipeline->run_options, NULL, NULL, error);
    if (!pipeline->scheduler)
        return FALSE;
    renew_late_warnings(pipeline);
    ct_graph_warn_prepared(pipeline->graph, pipeline->late_warnings);
    ct_scheduler_join_warnings(pipeline->scheduler, pipeline->late_warnings);
    return ct_pipeline_plan(pipeline, error) &&
           (!pipeline->run_options.strict || ct_warnings_refuse(pipeline->late_warnings, error));
}

gboolean
ct_pipeline_start(CtPipeline *pipeline, GError **error)
{
    g_return_val_if_fail(!pipeline->is_started, FALSE);
    pipeline->is_started = ct_pipeline_prepare(pipeline, error);
    return pipeline->is_started && ct_scheduler_start(pipeline->scheduler, error);
}

void
ct_pipeline_interrupt(CtPipeline *pipeline)
{
    if (pipeline->scheduler)
        ct_scheduler_interrupt(pipeline->scheduler);
}

gboolean
ct_pipeline_wait(CtPipeline *pipeline, gdouble seconds)
{
    return !pipeline->scheduler || ct_scheduler_wait(pipeline->scheduler, seconds);
}

gboolean
ct_pipeline_result(CtPipeline *pipeline, GError **error)
{
    g_return_val_if_fail(pipeline->scheduler, FALSE);
    return ct_scheduler_result(pipeline->scheduler, error);
}

gboolean
ct_pipeline_is_interrupted(CtPipeline *pipeline)
{
    return pipeline->scheduler && ct_scheduler_is_interrupted(pipeline->scheduler);
}

gdouble
ct_pipeline_stream_seconds(CtPipeline *pipeline)
{
    return pipeline->scheduler ? ct_scheduler_stream_seconds(pipeline->scheduler) : 0;
}

char *
ct_pipeline_stats_json(CtPipeline *pipeline)
{
    g_return_val_if_fail(pipeline->scheduler, NULL);
    g_autoptr(GPtrArray) warnings = collect_warnings(pipeline);
    return ct_stats_to_json(pipeline->plan, pipeline->scheduler, warnings);
}

char *
ct_pipeline_stats_text(CtPipeline *pipeline)
{
    g_return_val_if_fail(pipeline->scheduler, NULL);
    g_autoptr(GPtrArray) warnings = collect_warnings(pipeline);
    return ct_stats_to_text(pipeline->plan, pipeline->scheduler, warnings);
}

char *
ct_pipeline_queue_text(CtPipeline *pipeline)
{
    g_return_val_if_fail(pipeline->scheduler, NULL);
    return ct_stats_queues_to_text(pipeline->plan, pipeline->scheduler);
}

/* ---- blocks of the program's own ---- */

gboolean
ct_pipeline_feed(CtPipeline *pipeline, const char *name, gpointer data, gint64 n_samples,
                 const guint8 *validity, CtReleased released, gpointer user_data, GError **error)
{
    g_return_val_if_fail(pipeline->scheduler && n_samples > 0, FALSE);
    const gint i = find_endpoint(pipeline, name, "input", error);
    if (i < 0)
        return FALSE;
    const CtPlanNode *node = pipeline->plan->nodes->pdata[i];
    const CtBinding *binding = &node->output_bindings[0];
    CtBlock block = {
        .data = data,
        .type = binding->stream->type,
        .n_axes = binding->layout.n_axes,
        .n_samples = n_samples,
        .validity = (guint8 *)validity,
        .validity_stride = n_samples,
    };
    ct_layout_strides(&binding->layout, binding->stream, n_samples, block.length, block.stride);
    return ct_scheduler_feed(pipeline->scheduler, (guint)i, &block, released, user_data, error);
}

gboolean
ct_pipeline_feed_end(CtPipeline *pipeline, const char *name, GError **error)
{
    g_return_val_if_fail(pipeline->scheduler, FALSE);
    const gint i = find_endpoint(pipeline, name, "input", error);
    if (i < 0)
        return FALSE;
    ct_scheduler_feed_end(pipeline->scheduler, (guint)i);
    return TRUE;
}

gboolean
ct_pipeline_take(CtPipeline *pipeline, const char *name, gdouble seconds, CtBlock *block,
                 GError **error)
{
    g_return_val_if_fail(pipeline->scheduler, FALSE);
    const gint i = find_endpoint(pipeline, name, "output", error);
    return i >= 0 && ct_scheduler_take(pipeline->scheduler, (guint)i, seconds, block, error);
}

void
ct_pipeline_give_back(CtPipeline *pipeline, const char *name)
{
    g_return_if_fail(pipeline->scheduler);
    const gint i = find_endpoint(pipeline, name, "output", NULL);
    if (i >= 0)
        ct_scheduler_give_back(pipeline->scheduler, (guint)i);
}

gboolean
ct_pipeline_set_stream(CtPipeline *pipeline, const char *name, gpointer stream, GError **error)
{
    g_return_val_if_fail(pipeline->scheduler, FALSE);
    const gint i = find_endpoint(pipeline, name, NULL, error);
    return i >= 0 && ct_scheduler_set_stream(pipeline->scheduler, (guint)i, stream, error);
}

gsize
ct_pipeline_memory_bytes(CtPipeline *pipeline, const char *name, GError **error)
{
    const gint i = find_endpoint(pipeline, name, "output", error);
    if (i < 0)
        return 0;
    const CtPlanNode *node = pipeline->plan->nodes->pdata[i];
    const CtPlanLink *link = pipeline->plan->links->pdata[node->inputs[0]];
    return link->bytes;
}

/* Another output than `name` for which memory was offered for the ring of `link`; NULL: there is
 * none. */
static const char *
find_offered(CtPipeline *pipeline, const char *name, gint link)
{
    GHashTableIter iterator;
    gpointer other;
    g_hash_table_iter_init(&iterator, pipeline->offers);
    while (g_hash_table_iter_next(&iterator, &other, NULL)) {
        const gint i = find_endpoint(pipeline, other, "output", NULL);
        const CtPlanNode *node = pipeline->plan->nodes->pdata[i];
        if (node->inputs[0] == link && !g_str_equal(other, name))
            return other;
    }
    return NULL;
}

gboolean
ct_pipeline_offer(CtPipeline *pipeline, const char *name, gpointer memory, gsize bytes,
                  GError **error)
{
    g_return_val_if_fail(!pipeline->scheduler, FALSE);
    const gsize wanted = ct_pipeline_memory_bytes(pipeline, name, error);
    if (wanted == 0)
        return FALSE;
    if (bytes < wanted || (gsize)memory % 64 != 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY,
                    "node '%s' wants %" G_GSIZE_FORMAT " bytes at a multiple of 64, but is given "
                    "%" G_GSIZE_FORMAT " at %p",
                    name, wanted, bytes, memory);
        return FALSE;
    }
    const gint i = find_endpoint(pipeline, name, "output", error);
    const CtPlanNode *node = pipeline->plan->nodes->pdata[i];
    const CtPlanLink *link = pipeline->plan->links->pdata[node->inputs[0]];
    const CtPlanNode *writer = pipeline->plan->nodes->pdata[link->writer];
    if (!writer->variant->work) {
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY,
                    "node '%s' reads what the program feeds, which lies in memory of its own",
                    name);
        return FALSE;
    }
    const char *other = find_offered(pipeline, name, node->inputs[0]);
    if (other) {
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY,
                    "node '%s' reads the same as '%s', which has been offered memory for it", name,
                    other);
        return FALSE;
    }
    g_hash_table_insert(pipeline->offers, g_strdup(name), memory);
    return TRUE;
}
