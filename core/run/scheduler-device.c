/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes that run on devices: one thread for each device enqueues their firings, and one thread for
 * each queue, the watcher, waits for the ends of firings.
 *
 * The thread of a device begins a firing like a worker does and enqueues its work. The firing is
 * then accounted for at once: its outputs are published and its inputs released, so that the next
 * firings can be enqueued behind it. Only host memory waits for the end of the firing. So the host
 * waits for a device where results reach host memory, and where as many firings are in flight as
 * the plan allows. */
#include "model/thread.h"
#include "scheduler-private.h"

/* ---- set-up ---- */

gboolean
ct_scheduler_open_devices(CtScheduler *scheduler, GError **error)
{
    if (scheduler->plan->queues->len == 0)
        return TRUE;
    scheduler->devices = ct_run_devices_new(scheduler->plan, error);
    if (!scheduler->devices)
        return FALSE;
    scheduler->watchers = g_new0(CtWatcher, scheduler->devices->n_queues);
    for (guint q = 0; q < scheduler->devices->n_queues; q++) {
        CtWatcher *watcher = &scheduler->watchers[q];
        watcher->scheduler = scheduler;
        watcher->index = q;
        watcher->in_flight = g_array_new(FALSE, TRUE, sizeof(guint));
        watcher->transients = g_array_new(FALSE, FALSE, sizeof(guint));
        pthread_cond_init(&watcher->wake, NULL);
    }
    return TRUE;
}

static gint
queue_of(const CtScheduler *scheduler, guint node)
{
    return scheduler->nodes[node].plan->queue;
}

void
ct_scheduler_connect_devices(CtScheduler *scheduler)
{
    for (guint r = 0; scheduler->devices && r < scheduler->n_rings; r++) {
        CtRing *ring = scheduler->rings[r];
        const gint writes = queue_of(scheduler, ring->link->writer);
        const gboolean on_host = ring->link->place == CT_HOST;
        gboolean is_copied = writes >= 0;
        for (guint k = 0; k < ring->n_readers; k++) {
            const CtPlanReader *reader = &g_array_index(ring->link->readers, CtPlanReader, k);
            const gint reads = queue_of(scheduler, reader->node);
            ring->is_crossed |= reads != writes;
            ring->readers[k].keeps = reads >= 0 && on_host;
            is_copied |= reads >= 0;
        }
        ring->shows_late = writes >= 0 && on_host;
        if (ring->link->transient)
            g_array_append_val(scheduler->watchers[writes].transients, r);
        if (on_host && is_copied && ring->memory)
            ct_run_devices_pin(scheduler->devices, ring->memory, ring->bytes);
    }
}

/* Makes room for `n` more firings in flight on the queue. */
static void
add_submissions(const CtScheduler *scheduler, gint queue, guint n)
{
    GArray *in_flight = scheduler->watchers[queue].in_flight;
    g_array_set_size(in_flight, in_flight->len + n);
}

/* Adds the queues that read blocks which the program feeds, or write those that it takes. */
static void
share_queues(const CtScheduler *scheduler, const CtRunNode *node, CtEndpoint *endpoint)
{
    for (guint o = 0; o < node->n_outputs; o++) {
        const CtRing *ring = node->outputs[o].ring;
        for (guint r = 0; ring && r < ring->n_readers; r++) {
            const gint q =
                queue_of(scheduler, g_array_index(ring->link->readers, CtPlanReader, r).node);
            if (q >= 0)
                ct_endpoint_share(endpoint, &scheduler->devices->queues[q]);
        }
    }
    for (guint i = 0; i < node->n_inputs; i++) {
        const CtRing *ring = node->inputs[i].ring;
        const gint q = ring ? queue_of(scheduler, ring->link->writer) : -1;
        if (q >= 0)
            ct_endpoint_share(endpoint, &scheduler->devices->queues[q]);
    }
}

gboolean
ct_scheduler_prepare_node(CtScheduler *scheduler, guint i, gsize *scratch, GError **error)
{
    CtRunNode *node = &scheduler->nodes[i];
    const gint q = node->plan->queue;
    gsize upload = 0;
    if (q < 0)
        return ct_run_node_prepare(node, NULL, scratch, &upload, error);
    CtRunQueue *queue = &scheduler->devices->queues[q];
    GError *cause = NULL;
    if (node->status == CT_NODE_EXTERNAL) {
        scheduler->endpoints[i] = ct_endpoint_new(queue, &cause);
        if (!scheduler->endpoints[i])
            return ct_run_node_blame(node, error, cause);
        share_queues(scheduler, node, scheduler->endpoints[i]);
        add_submissions(scheduler, q, CT_PIPELINE_QUEUE);
        return TRUE;
    }
    if (!ct_run_node_prepare(node, queue->device, &queue->scratch_bytes, &upload, error))
        return FALSE;
    if (!ct_submissions_new(node, queue, scheduler->plan->n_in_flight, upload, &cause))
        return ct_run_node_blame(node, error, cause);
    add_submissions(scheduler, q, node->submissions->limit);
    return TRUE;
}

/* ---- transient links ----
 *
 * Those of a group share memory by the order of the plan's nodes: were each to fire in turn, every
 * link would live from the turn of its writer to that of its last reader. So a node that writes one
 * of them fires only while those in which something stands were written before its turn and are
 * next read at its turn or later. */

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

gboolean
ct_scheduler_may_fire(CtScheduler *scheduler, CtRunNode *node)
{
    node->waits_for_memory = FALSE;
    if (!node->submissions)
        return TRUE;
    if (node->submissions->n == node->submissions->limit)
        return FALSE;
    const guint turn = (guint)(node - scheduler->nodes);
    const gint group = group_of(node);
    const CtWatcher *watcher = &scheduler->watchers[node->plan->queue];
    for (guint k = 0; group >= 0 && k < watcher->transients->len && !node->waits_for_memory; k++) {
        const CtRing *ring = scheduler->rings[g_array_index(watcher->transients, guint, k)];
        node->waits_for_memory = ring->link->group == group && ct_ring_fill(ring) > 0 &&
                                 (ring->link->writer >= turn || next_reader(ring) < turn);
    }
    return !node->waits_for_memory;
}

/* ---- taking off ---- */

static gboolean
publish_outputs(CtScheduler *scheduler, CtRunNode *node)
{
    gboolean any = FALSE;
    for (guint o = 0; o < node->n_outputs; o++) {
        const CtRunOutput *output = &node->outputs[o];
        const CtDeparture *departure = &node->departures[o];
        if (!output->ring)
            continue;
        if (departure->produced > 0) {
            ct_ring_publish(output->ring, output->wraps ? &output->generation : NULL,
                            departure->produced, departure->start, departure->invalid);
            any = TRUE;
        }
        if (output->ring->shows_late)
            continue;
        output->ring->ended |= node->is_last;
        output->ring->interrupted |= node->is_last && node->interrupted;
        if (departure->produced > 0 || node->is_last)
            ct_scheduler_wake_readers(scheduler, output->ring);
    }
    return any;
}

void
ct_scheduler_watch(CtScheduler *scheduler, const CtRunNode *node)
{
    CtWatcher *watcher = &scheduler->watchers[node->plan->queue];
    const guint last = (watcher->first + watcher->n++) % watcher->in_flight->len;
    g_array_index(watcher->in_flight, guint, last) = (guint)(node - scheduler->nodes);
    scheduler->n_in_flight++;
    pthread_cond_signal(&watcher->wake);
}

/* Ends a firing that had no work to enqueue, because its input is too short. */
static void
stay(CtScheduler *scheduler, CtRunNode *node)
{
    gboolean moved = ct_run_node_is_source(node);
    for (guint i = 0; i < node->n_inputs; i++)
        moved |= node->arrivals[i].consumed > 0;
    ct_scheduler_count(scheduler, node);
    ct_scheduler_release_inputs(scheduler, node);
    node->status = CT_NODE_IDLE;
    node->pending |= moved;
}

void
ct_scheduler_take_off(CtScheduler *scheduler, CtRunNode *node)
{
    if (node->n_items == 0 && !node->is_last) {
        stay(scheduler, node);
        return;
    }
    pthread_mutex_unlock(&scheduler->lock);
    gint64 invalid = 0;
    GError *cause = NULL;
    const gboolean good = ct_submission_end(node, &invalid, &cause);
    pthread_mutex_lock(&scheduler->lock);
    if (!good) {
        ct_scheduler_fail_node(scheduler, node, cause);
        return;
    }
    gboolean moved = publish_outputs(scheduler, node);
    ct_submission_submit(node);
    for (guint i = 0; i < node->n_inputs; i++)
        moved |= node->arrivals[i].consumed > 0;
    ct_scheduler_release_inputs(scheduler, node);
    node->totals.firings += moved;
    node->totals.invalid += invalid;
    ct_scheduler_count(scheduler, node);
    ct_scheduler_watch(scheduler, node);
    node->status = node->is_last ? CT_NODE_RETIRING : CT_NODE_IDLE;
    if (!node->is_last && (moved || ct_run_node_is_source(node)))
        node->pending = TRUE;
}

/* ---- failing ---- */

/* A fault of a device shows in the next call, whichever node makes it. Adds the names of all nodes
 * that may have caused it: those with work that is enqueued and not retired. */
void
ct_scheduler_widen_blame(CtScheduler *scheduler, const CtRunNode *node, GError *cause)
{
    if (!node->submissions || !ct_submission_has_fault(node))
        return;
    g_autoptr(GString) names = g_string_new(NULL);
    guint n = 0;
    for (guint i = 0; i < scheduler->n_nodes; i++) {
        const CtRunNode *other = &scheduler->nodes[i];
        const gboolean enqueues =
            other->status == CT_NODE_STARTING || other->status == CT_NODE_RUNNING;
        if (!other->submissions || other->plan->place != node->plan->place ||
            (other->submissions->n == 0 && !enqueues))
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

/* ---- retiring ---- */

static void
retire_splice(CtScheduler *scheduler, CtRing *ring)
{
    ct_ring_splice_finished(ring);
    ct_scheduler_released(scheduler, ring);
}

static void
retire(CtScheduler *scheduler, CtRunNode *node, gint64 ns)
{
    const gboolean is_last = ct_submission_retire(node);
    node->totals.work_ns += ns;
    if (node->n_outputs == 0)
        ct_scheduler_reached_sink(scheduler);
    for (guint i = 0; i < node->n_inputs; i++) {
        const CtRunInput *input = &node->inputs[i];
        if (input->ring && (input->ring->feed || input->ring->readers[input->reader].keeps))
            ct_scheduler_released(scheduler, input->ring);
    }
    for (guint o = 0; o < node->n_outputs; o++)
        if (node->outputs[o].ring && node->outputs[o].ring->shows_late)
            ct_scheduler_wake_readers(scheduler, node->outputs[o].ring);
    if (is_last)
        ct_scheduler_finish_node(scheduler, node);
    else if (node->submissions->n + 1 == node->submissions->limit)
        ct_scheduler_wake(scheduler, (guint)(node - scheduler->nodes));
}

static gpointer
watch(gpointer data)
{
    CtWatcher *watcher = data;
    CtScheduler *scheduler = watcher->scheduler;
    pthread_mutex_lock(&scheduler->lock);
    while (!scheduler->stop) {
        if (watcher->n == 0) {
            pthread_cond_wait(&watcher->wake, &scheduler->lock);
            continue;
        }
        const guint i = g_array_index(watcher->in_flight, guint, watcher->first);
        CtRunNode *node = &scheduler->nodes[i];
        pthread_mutex_unlock(&scheduler->lock);
        gint64 ns = 0;
        GError *cause = NULL;
        const gboolean good = scheduler->endpoints[i]
                                  ? ct_endpoint_wait(scheduler->endpoints[i], &cause)
                                  : ct_submission_wait(node, &ns, &cause);
        pthread_mutex_lock(&scheduler->lock);
        if (!good) {
            ct_scheduler_fail_node(scheduler, node, cause);
            break;
        }
        watcher->first = (watcher->first + 1) % watcher->in_flight->len;
        watcher->n--;
        scheduler->n_in_flight--;
        if (scheduler->endpoints[i])
            retire_splice(scheduler, node->outputs[0].ring);
        else
            retire(scheduler, node, ns);
        ct_scheduler_hurry(scheduler);
        ct_scheduler_check_stall(scheduler);
    }
    scheduler->n_watching--;
    pthread_cond_broadcast(&scheduler->over);
    pthread_mutex_unlock(&scheduler->lock);
    return NULL;
}

gboolean
ct_scheduler_start_watchers(CtScheduler *scheduler, GError **error)
{
    for (guint q = 0; scheduler->devices && q < scheduler->devices->n_queues; q++) {
        CtWatcher *watcher = &scheduler->watchers[q];
        watcher->thread = ct_thread_start("watcher", watch, watcher, error);
        if (!watcher->thread) {
            g_prefix_error(error, "queue %u of devices: ", q + 1);
            return FALSE;
        }
        scheduler->n_watching++;
    }
    return TRUE;
}

void
ct_scheduler_stop_watchers(CtScheduler *scheduler)
{
    if (!scheduler->devices)
        return;
    for (guint q = 0; q < scheduler->devices->n_queues; q++) {
        CtWatcher *watcher = &scheduler->watchers[q];
        if (watcher->thread)
            g_thread_join(watcher->thread);
        pthread_cond_destroy(&watcher->wake);
        g_array_unref(watcher->in_flight);
        g_array_unref(watcher->transients);
    }
    g_free(scheduler->watchers);
    ct_run_devices_synchronize(scheduler->devices);
}
