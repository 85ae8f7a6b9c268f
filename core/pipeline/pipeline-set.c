/* SPDX-License-Identifier: BSD-3-Clause */
/* The setters of a pipeline: each must come before the step that reads its value. */
#include "model/suggest.h"
#include "pipeline-private.h"

/* ---- what setters want ---- */

static const char *const step_names[CT_N_STEPS] = {"ct_pipeline_check", "ct_pipeline_plan",
                                                   "ct_pipeline_prepare", "ct_pipeline_start"};

static gboolean
is_taken(const CtPipeline *pipeline, CtPipelineStep step)
{
    const gboolean taken[CT_N_STEPS] = {pipeline->graph != NULL, pipeline->plan != NULL,
                                        pipeline->scheduler != NULL, pipeline->is_started};
    return taken[step];
}

gboolean
ct_pipeline_is_before(const CtPipeline *pipeline, CtPipelineStep step, const char *function,
                      GError **error)
{
    if (!is_taken(pipeline, step))
        return TRUE;
    CtPipelineStep last = CT_STEP_START;
    while (!is_taken(pipeline, last))
        last--;
    g_set_error(error, CT_ERROR, CT_ERROR_ORDER,
                "%s comes too late: it wants to come before %s, but comes after %s", function,
                step_names[step], step_names[last]);
    return FALSE;
}

gboolean
ct_pipeline_is_after(const CtPipeline *pipeline, CtPipelineStep step, const char *function,
                     GError **error)
{
    if (is_taken(pipeline, step))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_ORDER,
                "%s comes too early: it wants to come after %s, but comes before it", function,
                step_names[step]);
    return FALSE;
}

gboolean
ct_pipeline_is_within(const char *function, gdouble given, gdouble least, gdouble most,
                      const char *wanted, GError **error)
{
    if (given >= least && given <= most)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER, "%s wants %s, but is given %.17g", function,
                wanted, given);
    return FALSE;
}

/* ---- before the check ---- */

gboolean
ct_pipeline_set(CtPipeline *pipeline, const char *assignment, GError **error)
{
    if (!ct_pipeline_is_before(pipeline, CT_STEP_CHECK, __func__, error))
        return FALSE;
    g_ptr_array_insert(pipeline->overrides, (gint)pipeline->overrides->len - 1,
                       g_strdup(assignment));
    if (ct_pipeline_configure(pipeline, error))
        return TRUE;
    g_ptr_array_remove_index(pipeline->overrides, pipeline->overrides->len - 2);
    return FALSE;
}

gboolean
ct_pipeline_set_duration(CtPipeline *pipeline, gdouble seconds, GError **error)
{
    if (!ct_pipeline_is_before(pipeline, CT_STEP_CHECK, __func__, error) ||
        !ct_pipeline_is_within(__func__, seconds, 0, G_MAXDOUBLE,
                               "a finite number of seconds, 0 or more", error))
        return FALSE;
    pipeline->run_options.duration = seconds;
    return TRUE;
}

gboolean
ct_pipeline_set_strict(CtPipeline *pipeline, gboolean strict, GError **error)
{
    if (!ct_pipeline_is_before(pipeline, CT_STEP_CHECK, __func__, error))
        return FALSE;
    pipeline->run_options.strict = strict;
    return TRUE;
}

gboolean
ct_pipeline_set_reads_pipes(CtPipeline *pipeline, gboolean reads, GError **error)
{
    if (!ct_pipeline_is_before(pipeline, CT_STEP_CHECK, __func__, error))
        return FALSE;
    pipeline->leaves_pipes = !reads;
    return TRUE;
}

/* ---- before the plan ---- */

const CtConfigStage *
ct_pipeline_find_entry(const CtPipeline *pipeline, const char *node, GError **error)
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
    if (!ct_pipeline_is_before(pipeline, CT_STEP_PLAN, __func__, error) ||
        (node && !ct_pipeline_find_entry(pipeline, node, error)) ||
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
    if (!ct_pipeline_is_before(pipeline, CT_STEP_PLAN, __func__, error) ||
        !ct_pipeline_find_entry(pipeline, node, error))
        return FALSE;
    g_hash_table_insert(pipeline->plan_options.variants, g_strdup(node), g_strdup(variant));
    return TRUE;
}

gboolean
ct_pipeline_set_workers(CtPipeline *pipeline, guint n_workers, GError **error)
{
    if (!ct_pipeline_is_before(pipeline, CT_STEP_PLAN, __func__, error) ||
        !ct_pipeline_is_within(__func__, n_workers, 0, CT_PIPELINE_MAX_WORKERS,
                               "0 to " G_STRINGIFY(CT_PIPELINE_MAX_WORKERS) " workers", error))
        return FALSE;
    pipeline->n_workers = n_workers > 0 ? n_workers : pipeline->default_workers;
    return TRUE;
}

gboolean
ct_pipeline_set_cpus(CtPipeline *pipeline, const char *cpus, GError **error)
{
    if (!ct_pipeline_is_before(pipeline, CT_STEP_PLAN, __func__, error))
        return FALSE;
    GArray *parsed = cpus ? ct_processors_parse(cpus, error) : NULL;
    if (cpus && !parsed)
        return FALSE;
    g_clear_pointer(&pipeline->cpus, g_array_unref);
    pipeline->cpus = parsed;
    return TRUE;
}

gboolean
ct_pipeline_set_cache(CtPipeline *pipeline, gsize bytes, GError **error)
{
    if (!ct_pipeline_is_before(pipeline, CT_STEP_PLAN, __func__, error) ||
        !ct_pipeline_is_within(__func__, (gdouble)bytes, 0, CT_PIPELINE_MAX_BYTES,
                               "0 to " G_STRINGIFY(CT_PIPELINE_MAX_BYTES) " bytes", error))
        return FALSE;
    pipeline->plan_options.cache_bytes = bytes;
    return TRUE;
}

gboolean
ct_pipeline_set_device_block(CtPipeline *pipeline, gsize bytes, GError **error)
{
    if (!ct_pipeline_is_before(pipeline, CT_STEP_PLAN, __func__, error) ||
        !ct_pipeline_is_within(__func__, (gdouble)bytes, 0, CT_PIPELINE_MAX_BYTES,
                               "0 to " G_STRINGIFY(CT_PIPELINE_MAX_BYTES) " bytes", error))
        return FALSE;
    pipeline->plan_options.device_bytes = bytes;
    return TRUE;
}

gboolean
ct_pipeline_set_in_flight(CtPipeline *pipeline, guint n_blocks, GError **error)
{
    if (!ct_pipeline_is_before(pipeline, CT_STEP_PLAN, __func__, error) ||
        !ct_pipeline_is_within(__func__, n_blocks, 0, CT_PIPELINE_MAX_IN_FLIGHT,
                               "0 to " G_STRINGIFY(CT_PIPELINE_MAX_IN_FLIGHT) " blocks", error))
        return FALSE;
    pipeline->plan_options.n_in_flight = n_blocks;
    return TRUE;
}

gboolean
ct_pipeline_set_costs(CtPipeline *pipeline, const char *costs, GError **error)
{
    if (!ct_pipeline_is_before(pipeline, CT_STEP_PLAN, __func__, error))
        return FALSE;
    g_free(pipeline->costs);
    pipeline->costs = g_strdup(costs);
    pipeline->plan_options.costs = pipeline->costs;
    return TRUE;
}

gboolean
ct_pipeline_set_default_layouts(CtPipeline *pipeline, gboolean default_layouts, GError **error)
{
    if (!ct_pipeline_is_before(pipeline, CT_STEP_PLAN, __func__, error))
        return FALSE;
    pipeline->plan_options.default_layouts = default_layouts;
    return TRUE;
}

gboolean
ct_pipeline_set_fusion(CtPipeline *pipeline, gboolean fusion, GError **error)
{
    if (!ct_pipeline_is_before(pipeline, CT_STEP_PLAN, __func__, error))
        return FALSE;
    pipeline->plan_options.no_fusion = !fusion;
    return TRUE;
}

gboolean
ct_pipeline_set_missing(CtPipeline *pipeline, gint64 n_samples, GError **error)
{
    if (!ct_pipeline_is_before(pipeline, CT_STEP_PLAN, __func__, error) ||
        !ct_pipeline_is_within(__func__, (gdouble)n_samples, 1, CT_PIPELINE_MAX_MISSING,
                               "1 to " G_STRINGIFY(CT_PIPELINE_MAX_MISSING) " samples", error))
        return FALSE;
    pipeline->plan_options.n_missing = n_samples;
    return TRUE;
}

/* ---- before the preparation ---- */

gboolean
ct_pipeline_set_poison(CtPipeline *pipeline, gboolean poison, GError **error)
{
    if (!ct_pipeline_is_before(pipeline, CT_STEP_PREPARE, __func__, error))
        return FALSE;
    pipeline->run_options.poison = poison;
    return TRUE;
}
