/* SPDX-License-Identifier: BSD-3-Clause */
/* Firings on devices: the thread of a device gathers and enqueues them; a watcher retires them.
 *
 * A firing is submitted as soon as its work is enqueued: its outputs are published and its inputs
 * released, so that the next firings can be enqueued behind it. Only host memory waits until the
 * submission is retired. So the host waits for a device where results reach host memory, and where
 * as many firings are in flight as the plan allows. */
#include "scheduler-private.h"
#include "submission.h"

/* ---- set-up ---- */

/* Adds the queues that read blocks which the program feeds, or write those that it takes. */
static void
share_queues(const CtScheduler *scheduler, const CtRunNode *node, CtEndpoint *endpoint)
{
    for (guint o = 0; o < node->n_outputs; o++) {
        const CtRing *ring = node->outputs[o].ring;
        for (guint r = 0; ring && r < ring->n_readers; r++) {
            const guint reader = g_array_index(ring->link->readers, CtPlanReader, r).node;
            const gint q = scheduler->nodes[reader].plan->queue;
            if (q >= 0)
                ct_endpoint_share(endpoint, &scheduler->devices->queues[q]);
        }
    }
    for (guint i = 0; i < node->n_inputs; i++) {
        const CtRing *ring = node->inputs[i].ring;
        const gint q = ring ? scheduler->nodes[ring->link->writer].plan->queue : -1;
        if (q >= 0)
            ct_endpoint_share(endpoint, &scheduler->devices->queues[q]);
    }
}

static gboolean
prepare_endpoint(CtScheduler *scheduler, guint i, CtRunQueue *queue, GError **error)
{
    CtEndpoint *endpoint = scheduler->endpoints[i] = ct_endpoint_new(queue, error);
    if (!endpoint)
        return FALSE;
    share_queues(scheduler, &scheduler->nodes[i], endpoint);
    ct_scheduler_expect(scheduler, &scheduler->nodes[i], CT_PIPELINE_QUEUE);
    return TRUE;
}

/* Whether node `i` is served by another thread that waits for events: that of another device or, if
 * it reads, the program's. */
static gboolean
may_wait(const CtScheduler *scheduler, const CtRunNode *node, guint i, gboolean reads)
{
    const CtRunNode *other = &scheduler->nodes[i];
    return other->plan->place != CT_HOST && (other->plan->place != node->plan->place ||
                                             (reads && other->status == CT_NODE_EXTERNAL));
}

static gboolean
is_alone(const CtScheduler *scheduler, const CtRunNode *node)
{
    for (guint i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].ring &&
            may_wait(scheduler, node, node->inputs[i].ring->link->writer, FALSE))
            return TRUE;
    for (guint o = 0; o < node->n_outputs; o++) {
        const CtRing *ring = node->outputs[o].ring;
        for (guint r = 0; ring && r < ring->n_readers; r++)
            if (may_wait(scheduler, node, g_array_index(ring->link->readers, CtPlanReader, r).node,
                         TRUE))
                return TRUE;
    }
    return FALSE;
}

static gboolean
prepare(CtScheduler *scheduler, guint i, GError **error)
{
    CtRunNode *node = &scheduler->nodes[i];
    CtRunQueue *queue = &scheduler->devices->queues[node->plan->queue];
    gsize upload = 0;
    GError *cause = NULL;
    if (node->status == CT_NODE_EXTERNAL)
        return prepare_endpoint(scheduler, i, queue, &cause) ||
               ct_run_node_blame(node, error, cause);
    if (!ct_run_node_prepare(node, queue->device, &queue->scratch_bytes, &upload, error))
        return FALSE;
    if (!ct_submissions_new(node, queue, scheduler->plan->n_in_flight, upload, &cause))
        return ct_run_node_blame(node, error, cause);
    node->submissions->is_alone = is_alone(scheduler, node);
    ct_scheduler_expect(scheduler, node, node->submissions->limit);
    scheduler->own[i] = &scheduler->runners[scheduler->n_workers + (guint)node->plan->place];
    return TRUE;
}

/* ---- transient links ----
 *
 * The transient links of a group share memory by the order of the plan's nodes: if the nodes fired
 * in turn, each link would be in use from the turn of its writer to that of its last reader. So a
 * node that writes one of them fires only while all links that hold samples were written before its
 * turn and are next read at its turn or later. */

/* The first reader that has not read all of the ring. */
static guint
next_reader(const CtRing *ring)
{
    guint next = G_MAXUINT;
    for (guint k = 0; k < ring->n_readers; k++)
        if (ring->readers[k].position < ring->written)
            next = MIN(next, g_array_index(ring->link->readers, CtPlanReader, k).node);
    return next;
}

/* The group of transient links that the node writes; −1: none. */
static gint
group_of(const CtRunNode *node)
{
    for (guint o = 0; o < node->n_outputs; o++)
        if (node->outputs[o].ring && node->outputs[o].ring->link->transient)
            return node->outputs[o].ring->link->group;
    return -1;
}

/* Whether other links use the memory that the node would write. */
static gboolean
lacks_memory(const CtScheduler *scheduler, const CtRunNode *node)
{
    const guint turn = (guint)(node - scheduler->nodes);
    const gint group = group_of(node);
    const CtWatcher *watcher = &scheduler->watchers[node->plan->queue];
    for (guint k = 0; group >= 0 && k < watcher->transients->len; k++) {
        const CtRing *ring = scheduler->rings[g_array_index(watcher->transients, guint, k)];
        if (ring->link->group == group && ct_ring_fill(ring) > 0 &&
            (ring->link->writer >= turn || next_reader(ring) < turn))
            return TRUE;
    }
    return FALSE;
}

/* ---- firings ---- */

/* A node that has as many firings in flight as it may is woken when one of them is retired. */
static gboolean
gather(CtScheduler *scheduler, CtRunNode *node, gboolean ends, GError **error)
{
    node->waits_for_memory = FALSE;
    if (node->submissions->n == node->submissions->limit)
        return FALSE;
    node->waits_for_memory = lacks_memory(scheduler, node);
    if (node->waits_for_memory)
        return FALSE;
    if (ends)
        return TRUE;
    if (!ct_firing_gather(node, error))
        return FALSE;
    ct_submission_gather(node);
    return TRUE;
}

/* Whether nothing is enqueued for the firing, because its input is too short for any work. The last
 * firing is submitted in any case, so that it is retired after the others. */
static gboolean
is_empty(const CtRunNode *node)
{
    return node->n_items == 0 && !node->is_last;
}

static gboolean
begin(CtScheduler *scheduler, CtRunNode *node, GError **error)
{
    ct_scheduler_make_way(scheduler, node);
    return ct_submission_begin(node, error);
}

static gboolean
end(CtRunNode *node, gint64 *invalid, GError **error)
{
    *invalid = 0;
    return is_empty(node) ? ct_submission_end_empty(node, error)
                          : ct_submission_end(node, invalid, error);
}

static gboolean
submit(CtScheduler *scheduler, CtRunNode *node)
{
    if (is_empty(node))
        return FALSE;
    const CtCuEvent ran = ct_submission_submit(node);
    if (node->submissions->joins)
        ct_scheduler_join(scheduler, node, ran);
    else
        ct_scheduler_watch(scheduler, node, ran, 0);
    return TRUE;
}

/* Whether work of the node may still run on the device. */
static gboolean
is_at_work(const CtRunNode *node)
{
    return node->submissions && (node->submissions->n > 0 || node->status == CT_NODE_STARTING ||
                                 node->status == CT_NODE_RUNNING);
}

/* A fault of a device shows in the next call, whichever node makes it. All nodes with work there
 * may have caused it. */
static void
suspect(const CtScheduler *scheduler, const CtRunNode *node, GError *cause)
{
    if (!node->submissions || !ct_submission_has_fault(node))
        return;
    g_autoptr(GString) names = g_string_new(NULL);
    guint n = 0;
    for (guint i = 0; i < scheduler->n_nodes; i++) {
        const CtRunNode *other = &scheduler->nodes[i];
        if (other->plan->place != node->plan->place || !is_at_work(other))
            continue;
        n += other != node;
        g_string_append_printf(names, "%s'%s'", names->len ? ", " : "", other->plan->name);
    }
    if (n == 0)
        return;
    char *message = g_strdup_printf("%s; in flight there: %s", cause->message, names->str);
    g_free(cause->message);
    cause->message = message;
}

const CtRunPlace ct_place_device = {
    .prepare = prepare,
    .gather = gather,
    .begin = begin,
    .poison = ct_submission_poison,
    .work = ct_submission_work,
    .end = end,
    .submit = submit,
    .suspect = suspect,
    .enqueues = TRUE,
};
