/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues of devices: the nodes of a device that exchange data share one queue for their work, and
 * one for copies in each direction. */
#include "plan-queues.h"

static guint
root_of(guint *parents, guint i)
{
    while (parents[i] != i)
        i = parents[i] = parents[parents[i]];
    return i;
}

guint *
ct_plan_components(const CtPlan *plan, gboolean over_peers)
{
    const guint n = plan->nodes->len;
    guint *parents = g_new(guint, n + 1);
    for (guint i = 0; i < n; i++)
        parents[i] = i;
    for (guint l = 0; l < plan->links->len; l++) {
        const CtPlanLink *link = ct_plan_link(plan, l);
        gint first = -1;
        for (guint r = 0; link->place != CT_HOST && r <= link->readers->len; r++) {
            const guint i = r < link->readers->len
                                ? g_array_index(link->readers, CtPlanReader, r).node
                                : link->writer;
            /* A copy between devices belongs to the device from which it copies. */
            if (ct_plan_node(plan, i)->place != link->place && !over_peers)
                continue;
            if (first < 0)
                first = (gint)i;
            parents[root_of(parents, i)] = root_of(parents, (guint)first);
        }
    }
    for (guint i = 0; i < n; i++)
        parents[i] = root_of(parents, i);
    return parents;
}

/* Whether the node was inserted to copy from place to place. */
static gboolean
is_copy(const CtPlan *plan, const CtPlanNode *node)
{
    if (!node->inserted)
        return FALSE;
    const CtPlanLink *from = ct_plan_link(plan, node->inputs[0]);
    const CtPlanLink *to = ct_plan_link(plan, node->outputs[0]);
    return from->place != to->place;
}

static CtQueueKind
kind_of(const CtPlan *plan, const CtPlanNode *node)
{
    if (!is_copy(plan, node))
        return CT_QUEUE_COMPUTE;
    const CtPlanLink *from = ct_plan_link(plan, node->inputs[0]);
    const CtPlanLink *to = ct_plan_link(plan, node->outputs[0]);
    return from->place == CT_HOST ? CT_QUEUE_TO_DEVICE
           : to->place == CT_HOST ? CT_QUEUE_TO_HOST
                                  : CT_QUEUE_TO_PEER;
}

void
ct_plan_set_queues(CtPlan *plan)
{
    g_autofree guint *components = ct_plan_components(plan, FALSE);
    g_autofree gint *queues = g_new(gint, plan->nodes->len * CT_N_QUEUE_KINDS + 1);
    for (guint i = 0; i < plan->nodes->len * CT_N_QUEUE_KINDS; i++)
        queues[i] = -1;
    for (guint i = 0; i < plan->nodes->len; i++) {
        CtPlanNode *node = ct_plan_node(plan, i);
        if (node->place == CT_HOST)
            continue;
        const CtPlanQueue queue = {node->place, kind_of(plan, node)};
        gint *known = &queues[components[i] * CT_N_QUEUE_KINDS + queue.kind];
        if (*known < 0) {
            *known = (gint)plan->queues->len;
            g_array_append_val(plan->queues, queue);
        }
        node->queue = *known;
    }
    for (guint l = 0; l < plan->links->len; l++) {
        const CtPlanLink *link = ct_plan_link(plan, l);
        plan->n_devices = MAX(plan->n_devices, (guint)(link->place + 1));
    }
    for (guint i = 0; i < plan->nodes->len; i++)
        plan->n_devices = MAX(plan->n_devices, (guint)(ct_plan_node(plan, i)->place + 1));
}
