/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameters that can change during a run: their values now, and the changes to come. */
#include "change.h"
#include "model/node-params.h"
#include "scheduler-private.h"

static void
clear_change(gpointer stats)
{
    g_free(((CtChangeStats *)stats)->shown);
}

static void
clear_param(gpointer param)
{
    g_free(((CtLiveParam *)param)->value);
    g_array_unref(((CtLiveParam *)param)->pending);
}

static const CtGraphNode *
find_graph_node(const CtGraph *graph, const char *name)
{
    guint i = 0;
    while (!g_str_equal(ct_graph_node(graph, i)->node.name, name))
        i++;
    return ct_graph_node(graph, i);
}

static gboolean
is_of(const CtChange *change, guint covered, const char *name)
{
    return change->covered == covered && g_str_equal(change->name, name);
}

/* With the lock. The value that is in effect; NULL: none is given. */
static const CtValue *
find_value(const CtRunNode *node, const CtGraphNode *of, guint covered, const char *name)
{
    const CtChanges *changes = &node->changes;
    const CtValue *given = changes->values ? changes->values[covered] : of->config->params;
    const CtValue *value = ct_value_get(given, name);
    for (const CtChange *change = changes->kept ? changes->kept->next : changes->oldest; change;
         change = change->next)
        if (is_of(change, covered, name))
            value = change->value;
    return value;
}

/* With the lock. */
static void
add_param(GArray *params, const CtScheduler *scheduler, const CtRunNode *node, guint covered,
          const CtParam *param)
{
    const CtGraphNode *of =
        find_graph_node(scheduler->plan->graph, node->plan->nodes[covered].name);
    const CtValue *value = find_value(node, of, covered, param->name);
    const gboolean has_ended = scheduler->stop || node->status >= CT_NODE_RETIRING;
    CtLiveParam live = {
        .node = of->node.name,
        .param = param,
        .value = value ? ct_value_to_text(value) : g_strdup(param->fallback),
        .pending = g_array_new(FALSE, FALSE, sizeof(CtChangeStats)),
        .of = of->node.n_outputs > 0 ? &of->node.outputs[0] : NULL,
        .next = has_ended ? G_MAXINT64 : ct_change_first_tick(node, covered),
    };
    g_array_set_clear_func(live.pending, clear_change);
    for (const CtChange *change = node->changes.pending; change; change = change->next)
        if (is_of(change, covered, param->name)) {
            const CtChangeStats stats = {g_strdup(change->shown), change->tick};
            g_array_append_val(live.pending, stats);
        }
    g_array_append_val(params, live);
}

GArray *
ct_scheduler_live_params(CtScheduler *scheduler)
{
    GArray *params = g_array_new(FALSE, FALSE, sizeof(CtLiveParam));
    g_array_set_clear_func(params, clear_param);
    pthread_mutex_lock(&scheduler->lock);
    for (guint i = 0; i < scheduler->n_nodes; i++) {
        const CtRunNode *node = &scheduler->nodes[i];
        for (guint k = 0; k < node->plan->n_nodes && ct_change_is_possible(node); k++)
            for (const CtParam *param = ct_stage_params(node->plan->nodes[k].stage);
                 param->name && !node->plan->inserted; param++)
                if (param->flags & CT_PARAM_LIVE)
                    add_param(params, scheduler, node, k, param);
    }
    pthread_mutex_unlock(&scheduler->lock);
    return params;
}
