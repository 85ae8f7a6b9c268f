/* SPDX-License-Identifier: BSD-3-Clause */
/* The run of a pipeline. */
#include "pipeline-private.h"
#include "run/stats.h"

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
        const gint i = ct_pipeline_find_endpoint(pipeline, name, "output", error);
        const CtPlanNode *node = ct_plan_node(pipeline->plan, i);
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
    pipeline->run_options.rereads = TRUE;
    pipeline->run_options.counts_energy = TRUE;
    pipeline->scheduler = g_hash_table_size(pipeline->offers) > 0
                              ? schedule_with_memory(pipeline, error)
                              : ct_scheduler_new_that_fits(
                                    &pipeline->plan, pipeline->registry, &pipeline->plan_options,
                                    &pipeline->run_options, NULL, NULL, error);
    if (!pipeline->scheduler)
        return FALSE;
    ct_pipeline_renew_late_warnings(pipeline);
    ct_graph_warn_prepared(pipeline->graph, pipeline->late_warnings);
    ct_scheduler_join_warnings(pipeline->scheduler, pipeline->late_warnings);
    return ct_pipeline_plan(pipeline, error) &&
           (!pipeline->run_options.strict || ct_warnings_refuse(pipeline->late_warnings, error));
}

gboolean
ct_pipeline_start(CtPipeline *pipeline, GError **error)
{
    if (pipeline->is_started) {
        g_set_error(error, CT_ERROR, CT_ERROR_ORDER, "%s comes too late: a pipeline runs once",
                    __func__);
        return FALSE;
    }
    pipeline->is_started = ct_pipeline_prepare(pipeline, error);
    return pipeline->is_started && ct_scheduler_start(pipeline->scheduler, error);
}

void
ct_pipeline_interrupt(CtPipeline *pipeline)
{
    if (pipeline->scheduler)
        ct_scheduler_interrupt(pipeline->scheduler);
}

guint64
ct_pipeline_pulse(CtPipeline *pipeline)
{
    return pipeline->scheduler ? ct_scheduler_pulse(pipeline->scheduler) : 0;
}

void
ct_pipeline_stop(CtPipeline *pipeline)
{
    if (pipeline->scheduler && !ct_scheduler_wait(pipeline->scheduler, 0))
        ct_scheduler_stop(
            pipeline->scheduler,
            g_error_new_literal(CT_ERROR, CT_ERROR_CANCELLED, "the program has stopped the run"));
}

gboolean
ct_pipeline_wait(CtPipeline *pipeline, gdouble seconds)
{
    return !pipeline->scheduler || ct_scheduler_wait(pipeline->scheduler, seconds);
}

gboolean
ct_pipeline_result(CtPipeline *pipeline, GError **error)
{
    return ct_pipeline_is_after(pipeline, CT_STEP_PREPARE, __func__, error) &&
           ct_scheduler_result(pipeline->scheduler, error);
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

gdouble
ct_pipeline_length_seconds(CtPipeline *pipeline)
{
    return pipeline->scheduler ? ct_scheduler_length_seconds(pipeline->scheduler) : 0;
}

char *
ct_pipeline_stats_json(CtPipeline *pipeline)
{
    g_return_val_if_fail(pipeline->scheduler, NULL);
    g_autoptr(GPtrArray) warnings = ct_pipeline_collect_warnings(pipeline);
    return ct_stats_to_json(pipeline->plan, pipeline->scheduler, warnings, TRUE);
}

char *
ct_pipeline_stats_line(CtPipeline *pipeline)
{
    g_return_val_if_fail(pipeline->scheduler, NULL);
    g_autoptr(GPtrArray) warnings = ct_pipeline_collect_warnings(pipeline);
    return ct_stats_to_json(pipeline->plan, pipeline->scheduler, warnings, FALSE);
}

char *
ct_pipeline_stats_text(CtPipeline *pipeline)
{
    g_return_val_if_fail(pipeline->scheduler, NULL);
    g_autoptr(GPtrArray) warnings = ct_pipeline_collect_warnings(pipeline);
    return ct_stats_to_text(pipeline->plan, pipeline->scheduler, warnings);
}

char *
ct_pipeline_queue_text(CtPipeline *pipeline)
{
    g_return_val_if_fail(pipeline->scheduler, NULL);
    return ct_stats_queues_to_text(pipeline->plan, pipeline->scheduler);
}

char *
ct_pipeline_loss_text(CtPipeline *pipeline)
{
    g_return_val_if_fail(pipeline->scheduler, NULL);
    return ct_stats_losses_to_text(pipeline->plan, pipeline->scheduler);
}

char *
ct_pipeline_picture(CtPipeline *pipeline, const char *name, guint64 *n, GError **error)
{
    if (!ct_pipeline_is_after(pipeline, CT_STEP_PREPARE, __func__, error))
        return NULL;
    for (guint i = 0; i < pipeline->plan->nodes->len; i++) {
        if (!g_str_equal(ct_plan_node(pipeline->plan, i)->name, name))
            continue;
        guint64 number;
        g_autoptr(GBytes) picture = ct_scheduler_picture(pipeline->scheduler, i, &number);
        if (n)
            *n = number;
        return picture ? g_strdup(g_bytes_get_data(picture, NULL)) : NULL;
    }
    g_set_error(error, CT_ERROR, CT_ERROR_CONFIG, "%s has no node '%s'", pipeline->name, name);
    return NULL;
}
