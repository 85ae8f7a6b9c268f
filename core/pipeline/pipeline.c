/* SPDX-License-Identifier: BSD-3-Clause */
/* A pipeline: a graph from its text to its plan. */
#include "graph/endpoints.h"
#include "model/environment.h"
#include "pipeline-private.h"
#include "plan/describe.h"

#include <string.h>

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

gboolean
ct_pipeline_find_workers(guint *n_workers, GError **error)
{
    const char *given = ct_environment("CORNERTURN_WORKERS");
    guint64 n = 0;
    if (given && *given &&
        !g_ascii_string_to_unsigned(given, 10, 1, CT_PIPELINE_MAX_WORKERS, &n, NULL)) {
        g_set_error(error, CT_ERROR, CT_ERROR_CONFIG,
                    "CORNERTURN_WORKERS wants a number from 1 to %d, but is given '%s'",
                    CT_PIPELINE_MAX_WORKERS, given);
        return FALSE;
    }
    *n_workers = (guint)n;
    return TRUE;
}

static gboolean
find_workers(CtPipeline *pipeline, GError **error)
{
    if (!ct_pipeline_find_workers(&pipeline->default_workers, error))
        return FALSE;
    pipeline->n_workers = pipeline->default_workers;
    return TRUE;
}

gboolean
ct_pipeline_configure(CtPipeline *pipeline, GError **error)
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
    return ct_pipeline_load_with(path, NULL, error);
}

CtPipeline *
ct_pipeline_load_with(const char *path, const char *const *settings, GError **error)
{
    g_autoptr(CtPipeline) pipeline = new_pipeline(path);
    pipeline->path = g_strdup(path);
    for (guint i = 0; settings && settings[i]; i++)
        g_ptr_array_insert(pipeline->overrides, (gint)i, g_strdup(settings[i]));
    if (!find_workers(pipeline, error) || !ct_pipeline_configure(pipeline, error))
        return NULL;
    return g_steal_pointer(&pipeline);
}

CtPipeline *
ct_pipeline_parse(const char *text, gssize length, const char *name, GError **error)
{
    g_autoptr(CtPipeline) pipeline = new_pipeline(name);
    pipeline->length = length < 0 ? strlen(text) : (gsize)length;
    pipeline->text = g_memdup2(text, pipeline->length + 1);
    if (!find_workers(pipeline, error) || !ct_pipeline_configure(pipeline, error))
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
    g_clear_pointer(&pipeline->cpus, g_array_unref);
    g_free(pipeline->memory);
    ct_sink_sends_free(pipeline->sends);
    g_free(pipeline->costs);
    g_free(pipeline->path);
    g_free(pipeline->text);
    g_free(pipeline->name);
    g_free(pipeline);
}

/* ---- the plan ---- */

/* Warns of sources without a clock, which cannot end after the duration. */
static void
warn_of_duration(const CtPipeline *pipeline)
{
    for (guint i = 0; pipeline->run_options.duration > 0 && i < pipeline->graph->nodes->len; i++) {
        const CtGraphNode *node = ct_graph_node(pipeline->graph, i);
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
        pipeline->graph =
            ct_graph_new(pipeline->config, pipeline->registry, !pipeline->leaves_pipes, error);
    if (!pipeline->graph)
        return FALSE;
    if (!pipeline->warnings) {
        pipeline->warnings = ct_warnings_new();
        ct_graph_warn(pipeline->graph, pipeline->is_verified, pipeline->warnings);
        warn_of_duration(pipeline);
    }
    return !pipeline->run_options.strict || ct_warnings_refuse(pipeline->warnings, error);
}

void
ct_pipeline_settle(CtPipeline *pipeline)
{
    static const CtPlace option = {.file = "--cpus"};
    CtPlanOptions *options = &pipeline->plan_options;
    options->cpus = pipeline->cpus ? pipeline->cpus : pipeline->config->cpus;
    options->cpus_place = pipeline->cpus ? option : pipeline->config->cpus_place;
    options->n_workers = pipeline->n_workers > 0
                             ? pipeline->n_workers
                             : ct_plan_default_workers(pipeline->graph, options);
}

gboolean
ct_pipeline_plan(CtPipeline *pipeline, GError **error)
{
    if (!pipeline->plan && ct_pipeline_check(pipeline, error)) {
        ct_pipeline_settle(pipeline);
        pipeline->plan =
            ct_plan_new(pipeline->graph, pipeline->registry, &pipeline->plan_options, error);
    }
    return pipeline->plan &&
           (!pipeline->run_options.strict || ct_warnings_refuse(pipeline->plan->warnings, error));
}

void
ct_pipeline_renew_late_warnings(CtPipeline *pipeline)
{
    g_clear_pointer(&pipeline->late_warnings, g_ptr_array_unref);
    pipeline->late_warnings = ct_warnings_new();
}

GPtrArray *
ct_pipeline_collect_warnings(const CtPipeline *pipeline)
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
    g_autoptr(GPtrArray) warnings = ct_pipeline_collect_warnings(pipeline);
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

gboolean
ct_pipeline_check_fed(CtPipeline *pipeline, GError **error)
{
    return ct_pipeline_check(pipeline, error) && ct_endpoints_check_fed(pipeline->graph, error);
}

gboolean
ct_pipeline_check_taken(CtPipeline *pipeline, GError **error)
{
    return ct_pipeline_check(pipeline, error) && ct_endpoints_check_taken(pipeline->graph, error);
}

gboolean
ct_pipeline_writes_stdout(const CtPipeline *pipeline)
{
    return pipeline->graph && ct_graph_writes_stdout(pipeline->graph);
}

const char *
ct_pipeline_description(const CtPipeline *pipeline)
{
    return pipeline->config->description;
}
