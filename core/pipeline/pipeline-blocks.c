/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks in the memory of the program: those that it feeds and takes, and memory that it offers. */
#include "pipeline-private.h"

gint
ct_pipeline_find_endpoint(CtPipeline *pipeline, const char *name, const char *stage, GError **error)
{
    if (!ct_pipeline_plan(pipeline, error))
        return -1;
    for (guint i = 0; i < pipeline->plan->nodes->len; i++) {
        const CtPlanNode *node = ct_plan_node(pipeline->plan, i);
        if (g_str_equal(node->name, name) && !node->variant->work &&
            (!stage || g_str_equal(node->nodes[0].stage->name, stage)))
            return (gint)i;
    }
    g_set_error(error, CT_ERROR, CT_ERROR_CONFIG, "%s has no node '%s' of stage '%s'",
                pipeline->name, name, stage ? stage : "input or output");
    return -1;
}

static gboolean
feed(CtPipeline *pipeline, const char *name, gpointer data, gint64 n_samples,
     const guint8 *validity, const CtFeed *how, const char *function, GError **error)
{
    if (!ct_pipeline_is_after(pipeline, CT_STEP_PREPARE, function, error))
        return FALSE;
    if (n_samples < 1) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "%s wants 1 sample or more for '%s', but is given %" G_GINT64_FORMAT, function,
                    name, n_samples);
        return FALSE;
    }
    const gint i = ct_pipeline_find_endpoint(pipeline, name, "input", error);
    if (i < 0)
        return FALSE;
    const CtPlanNode *node = ct_plan_node(pipeline->plan, i);
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
    return ct_scheduler_feed(pipeline->scheduler, (guint)i, &block, how, error);
}

gboolean
ct_pipeline_feed(CtPipeline *pipeline, const char *name, gpointer data, gint64 n_samples,
                 const guint8 *validity, CtReleased released, gpointer user_data, GError **error)
{
    const CtFeed how = {.seconds = -1, .released = released, .user_data = user_data};
    return feed(pipeline, name, data, n_samples, validity, &how, __func__, error);
}

gboolean
ct_pipeline_try_feed(CtPipeline *pipeline, const char *name, gpointer data, gint64 n_samples,
                     const guint8 *validity, gdouble seconds, guint *n_unread, GError **error)
{
    const CtFeed how = {.seconds = seconds, .n_unread = n_unread};
    *n_unread = 0;
    return feed(pipeline, name, data, n_samples, validity, &how, __func__, error);
}

gboolean
ct_pipeline_feed_end(CtPipeline *pipeline, const char *name, GError **error)
{
    if (!ct_pipeline_is_after(pipeline, CT_STEP_PREPARE, __func__, error))
        return FALSE;
    const gint i = ct_pipeline_find_endpoint(pipeline, name, "input", error);
    if (i < 0)
        return FALSE;
    ct_scheduler_feed_end(pipeline->scheduler, (guint)i);
    return TRUE;
}

gboolean
ct_pipeline_take(CtPipeline *pipeline, const char *name, gdouble seconds, CtBlock *block,
                 GError **error)
{
    if (!ct_pipeline_is_after(pipeline, CT_STEP_PREPARE, __func__, error))
        return FALSE;
    const gint i = ct_pipeline_find_endpoint(pipeline, name, "output", error);
    return i >= 0 && ct_scheduler_take(pipeline->scheduler, (guint)i, seconds, block, error);
}

void
ct_pipeline_give_back(CtPipeline *pipeline, const char *name)
{
    g_return_if_fail(pipeline->scheduler);
    const gint i = ct_pipeline_find_endpoint(pipeline, name, "output", NULL);
    if (i >= 0)
        ct_scheduler_give_back(pipeline->scheduler, (guint)i);
}

gboolean
ct_pipeline_set_stream(CtPipeline *pipeline, const char *name, gpointer stream, GError **error)
{
    if (!ct_pipeline_is_after(pipeline, CT_STEP_PREPARE, __func__, error))
        return FALSE;
    const gint i = ct_pipeline_find_endpoint(pipeline, name, NULL, error);
    return i >= 0 && ct_scheduler_set_stream(pipeline->scheduler, (guint)i, stream, error);
}

gsize
ct_pipeline_memory_bytes(CtPipeline *pipeline, const char *name, GError **error)
{
    const gint i = ct_pipeline_find_endpoint(pipeline, name, "output", error);
    if (i < 0)
        return 0;
    const CtPlanNode *node = ct_plan_node(pipeline->plan, i);
    const CtPlanLink *link = ct_plan_link(pipeline->plan, node->inputs[0]);
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
        const gint i = ct_pipeline_find_endpoint(pipeline, other, "output", NULL);
        const CtPlanNode *node = ct_plan_node(pipeline->plan, i);
        if (node->inputs[0] == link && !g_str_equal(other, name))
            return other;
    }
    return NULL;
}

gboolean
ct_pipeline_offer(CtPipeline *pipeline, const char *name, gpointer memory, gsize bytes,
                  GError **error)
{
    if (!ct_pipeline_is_before(pipeline, CT_STEP_PREPARE, __func__, error))
        return FALSE;
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
    const gint i = ct_pipeline_find_endpoint(pipeline, name, "output", error);
    const CtPlanNode *node = ct_plan_node(pipeline->plan, i);
    const CtPlanLink *link = ct_plan_link(pipeline->plan, node->inputs[0]);
    const CtPlanNode *writer = ct_plan_node(pipeline->plan, link->writer);
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
