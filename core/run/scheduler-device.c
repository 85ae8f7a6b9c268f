/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices of a run, and its watchers: each queue of a device has a thread that waits for the
 * ends of the submissions there and retires them. */
#include "model/thread.h"
#include "scheduler-private.h"
#include "submission.h"

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
        watcher->in_flight = g_array_new(FALSE, TRUE, sizeof(CtWatched));
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
            ring->readers[k].keeps = reads >= 0 && (on_host || ring->feed);
            is_copied |= reads >= 0;
        }
        ring->shows_late = ct_plan_shows_late(scheduler->plan, ring->link);
        ring->is_marked = writes >= 0 && scheduler->nodes[ring->link->writer].marks;
        if (ring->link->transient)
            g_array_append_val(scheduler->watchers[writes].transients, r);
        if (on_host && is_copied && ring->memory)
            ct_run_devices_pin(scheduler->devices, ring->memory, ring->bytes);
    }
}

void
ct_scheduler_expect(CtScheduler *scheduler, const CtRunNode *node, guint n)
{
    GArray *in_flight = scheduler->watchers[node->plan->queue].in_flight;
    g_array_set_size(in_flight, in_flight->len + n);
}

/* ---- watchers ---- */

void
ct_scheduler_watch(CtScheduler *scheduler, const CtRunNode *node, CtCuEvent ran, gint64 begun)
{
    CtWatcher *watcher = &scheduler->watchers[node->plan->queue];
    const guint last = (watcher->first + watcher->n++) % watcher->in_flight->len;
    g_array_index(watcher->in_flight, CtWatched, last) =
        (CtWatched){(guint)(node - scheduler->nodes), ran, begun};
    scheduler->n_in_flight++;
    if (watcher->sleeps)
        pthread_cond_signal(&watcher->wake);
    watcher->sleeps = FALSE;
}

static void
retire_splice(CtScheduler *scheduler, CtRing *ring)
{
    ct_ring_splice_finished(ring);
    ct_scheduler_released(scheduler, ring);
}

/* Wakes the nodes that waited for the submission: host memory that it read is released only now,
 * and what shows late is shown only now. The node itself may have waited for marks. */
static void
wake_neighbours(CtScheduler *scheduler, const CtRunNode *node)
{
    for (guint i = 0; i < node->n_inputs; i++) {
        const CtRunInput *input = &node->inputs[i];
        if (input->ring && input->ring->readers[input->reader].keeps)
            ct_scheduler_released(scheduler, input->ring);
    }
    for (guint o = 0; o < node->n_outputs; o++) {
        const CtRing *ring = node->outputs[o].ring;
        if (ring && ring->shows_late)
            ct_scheduler_wake_readers(scheduler, ring);
        if (ring && ring->is_marked && ring->history > 0)
            ct_scheduler_wake(scheduler, ring->link->writer);
    }
}

static void
retire(CtScheduler *scheduler, CtRunNode *node, gdouble share)
{
    const gboolean is_last = ct_submission_retire(node, share);
    wake_neighbours(scheduler, node);
    ct_scheduler_retire(scheduler, node, is_last);
    if (!is_last && node->submissions->n + 1 == node->submissions->limit)
        ct_scheduler_wake(scheduler, (guint)(node - scheduler->nodes));
}

/* The k-th oldest in flight. */
static const CtWatched *
watched(const CtWatcher *watcher, guint k)
{
    return &g_array_index(watcher->in_flight, CtWatched,
                          (watcher->first + k) % watcher->in_flight->len);
}

/* The number of the oldest that end with one event. */
static guint
count_oldest(const CtWatcher *watcher)
{
    const CtCuEvent ran = watched(watcher, 0)->ran;
    guint n = 1;
    while (ran && n < watcher->n && watched(watcher, n)->ran == ran)
        n++;
    return n;
}

/* Without the lock. Waits for the `n` oldest submissions of the queue. If one fails, *i is set to
 * its node. */
static gboolean
wait_for_oldest(CtWatcher *watcher, guint n, guint *i, GError **error)
{
    CtScheduler *scheduler = watcher->scheduler;
    *i = watched(watcher, 0)->node;
    if (scheduler->endpoints[*i])
        return ct_endpoint_wait(scheduler->endpoints[*i], error);
    if (!ct_submission_wait(&scheduler->nodes[*i], error))
        return FALSE;
    for (guint k = 0; k < n; k++) {
        *i = watched(watcher, k)->node;
        if (!ct_submission_read(&scheduler->nodes[*i], error))
            return FALSE;
    }
    return TRUE;
}

/* With the lock, when the `n` oldest have run. Returns which share of the times of their nodes'
 * last timed firings they have taken, at most 1: together not more than passed since the queue was
 * last known to be idle. */
static gdouble
find_share(CtWatcher *watcher, guint n)
{
    const gint64 begun = MAX(watched(watcher, 0)->begun, watcher->idle);
    gint64 ns = 0;
    watcher->idle = ct_scheduler_now();
    for (guint k = 0; k < n && watched(watcher, 0)->begun > 0; k++)
        ns += watcher->scheduler->nodes[watched(watcher, k)->node].submissions->timed_ns;
    return ns > 0 ? MIN((gdouble)(watcher->idle - begun) / (gdouble)ns, 1) : 1;
}

/* With the lock, which it releases meanwhile. Waits for the oldest submissions of the queue that
 * end together, and retires them; FALSE: they have failed. */
static gboolean
retire_oldest(CtWatcher *watcher)
{
    CtScheduler *scheduler = watcher->scheduler;
    const guint n = count_oldest(watcher);
    guint i;
    GError *cause = NULL;
    pthread_mutex_unlock(&scheduler->lock);
    const gboolean good = wait_for_oldest(watcher, n, &i, &cause);
    pthread_mutex_lock(&scheduler->lock);
    if (!good) {
        ct_scheduler_fail_node(scheduler, &scheduler->nodes[i], cause);
        return FALSE;
    }
    const gdouble share = find_share(watcher, n);
    for (guint k = 0; k < n; k++) {
        CtRunNode *node = &scheduler->nodes[watched(watcher, 0)->node];
        watcher->first = (watcher->first + 1) % watcher->in_flight->len;
        watcher->n--;
        scheduler->n_in_flight--;
        if (node->submissions)
            retire(scheduler, node, share);
        else
            retire_splice(scheduler, node->outputs[0].ring);
    }
    return TRUE;
}

static gpointer
watch(gpointer data)
{
    CtWatcher *watcher = data;
    CtScheduler *scheduler = watcher->scheduler;
    ct_scheduler_bind_watcher(watcher);
    pthread_mutex_lock(&scheduler->lock);
    while (!scheduler->stop) {
        if (watcher->n == 0) {
            watcher->sleeps = TRUE;
            pthread_cond_wait(&watcher->wake, &scheduler->lock);
        } else if (retire_oldest(watcher)) {
            ct_scheduler_hurry(scheduler);
            ct_scheduler_check_stall(scheduler);
        }
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

static void
stop_watchers(CtScheduler *scheduler)
{
    for (guint q = 0; q < scheduler->devices->n_queues; q++) {
        CtWatcher *watcher = &scheduler->watchers[q];
        if (watcher->thread)
            g_thread_join(watcher->thread);
        pthread_cond_destroy(&watcher->wake);
        g_array_unref(watcher->in_flight);
        g_array_unref(watcher->transients);
    }
    g_free(scheduler->watchers);
}

void
ct_scheduler_reuse_memory(CtScheduler *scheduler)
{
    for (guint n = 0; scheduler->devices && n < scheduler->devices->n_devices; n++)
        if (scheduler->devices->devices[n])
            ct_device_reuse(scheduler->devices->devices[n], TRUE);
}

void
ct_scheduler_clear_devices(CtScheduler *scheduler)
{
    if (!scheduler->devices)
        return;
    stop_watchers(scheduler);
    ct_run_devices_synchronize(scheduler->devices);
    /* Graphs have kernels of the stages, which are freed next. */
    for (guint q = 0; q < scheduler->devices->n_queues; q++)
        g_clear_pointer(&scheduler->devices->queues[q].gathered, ct_gathered_free);
    for (guint i = 0; i < scheduler->n_nodes; i++) {
        ct_submissions_free(&scheduler->nodes[i]);
        ct_endpoint_free(scheduler->endpoints[i]);
    }
}
