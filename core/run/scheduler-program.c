/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's side of a graph: the blocks that it feeds and takes. */
#include "scheduler-private.h"
#include "submission.h"

/* Sets the reason why the program cannot go on; FALSE. */
static gboolean
set_over(CtScheduler *scheduler, guint i, GError **error)
{
    if (scheduler->error)
        g_propagate_error(error, g_error_copy(scheduler->error));
    else
        g_set_error(error, CT_ERROR, CT_ERROR_CANCELLED, "node '%s' has ended",
                    scheduler->nodes[i].plan->name);
    return FALSE;
}

/* With the lock. Fails the graph after a failed request of the program to node `i`. */
static void
fail(CtScheduler *scheduler, guint i, GError *cause, GError **error)
{
    ct_scheduler_fail_node(scheduler, &scheduler->nodes[i], cause);
    set_over(scheduler, i, error);
}

/* Invalid samples are zero, as those of every stage. */
static void
zero_invalid(const CtBlock *block, const CtBinding *binding)
{
    const CtDeparture departure = {
        .produced = block->n_samples,
        .validity = block->validity,
        .validity_stride = block->validity_stride,
    };
    ct_validity_zero(block, &departure, binding->stream, &binding->layout);
}

/* With the lock. Waits for room in the ring (NULL: nobody reads the input). FALSE: the node has
 * ended or the graph has failed, with an error; or the time is up. */
static gboolean
wait_for_room(CtScheduler *scheduler, guint i, const CtRing *ring, gdouble seconds, GError **error)
{
    const CtRunNode *node = &scheduler->nodes[i];
    struct timespec until;
    ct_scheduler_deadline(&until, seconds);
    gboolean in_time = TRUE;
    while (ring && !scheduler->stop && node->status == CT_NODE_EXTERNAL &&
           !ct_ring_can_feed(ring) && in_time) {
        if (seconds < 0)
            pthread_cond_wait(&scheduler->program, &scheduler->lock);
        else
            in_time = pthread_cond_timedwait(&scheduler->program, &scheduler->lock, &until) == 0;
    }
    if (scheduler->stop || node->status != CT_NODE_EXTERNAL)
        return set_over(scheduler, i, error);
    return !ring || ct_ring_can_feed(ring);
}

/* With the lock. Tells the program how many of its blocks may still be read. */
static void
tell_unread(const CtRing *ring, const CtFeed *how)
{
    if (how->n_unread)
        *how->n_unread = ct_ring_n_unread(ring);
}

gboolean
ct_scheduler_feed(CtScheduler *scheduler, guint i, const CtBlock *block, const CtFeed *how,
                  GError **error)
{
    CtRunNode *node = &scheduler->nodes[i];
    CtRing *ring = node->outputs[0].ring;
    pthread_mutex_lock(&scheduler->lock);
    const gboolean good = wait_for_room(scheduler, i, ring, how->seconds, error);
    CtRingGeneration last;
    if (good && ring)
        ct_ring_last(ring, &last);
    else if (ring)
        tell_unread(ring, how);
    pthread_mutex_unlock(&scheduler->lock);
    if (!good)
        return FALSE;
    if (!ring) {
        /* Nobody reads the input. */
        if (how->released)
            how->released(block->data, how->user_data);
        return TRUE;
    }
    CtEndpoint *endpoint = scheduler->endpoints[i];
    if (!endpoint && block->validity)
        zero_invalid(block, &node->plan->output_bindings[0]);
    const CtRingMover mover = endpoint ? ct_submission_mover(endpoint->own) : (CtRingMover){0};
    GError *cause = NULL;
    const gboolean enqueued =
        (!endpoint || ct_endpoint_follow(endpoint, &cause)) &&
        ct_ring_splice(ring, &last, block, endpoint ? &mover : NULL, &cause) &&
        (!endpoint || !ct_ring_is_spliced(ring) || ct_endpoint_spliced(endpoint, &cause));
    pthread_mutex_lock(&scheduler->lock);
    if (!enqueued) {
        tell_unread(ring, how);
        fail(scheduler, i, cause, error);
        pthread_mutex_unlock(&scheduler->lock);
        return FALSE;
    }
    ct_ring_feed(ring, block, how->released, how->user_data);
    if (endpoint && ct_ring_is_spliced(ring))
        ct_scheduler_watch(scheduler, node, NULL, 0);
    /* Its splice may contain all of a short block before it, which is then released. */
    ct_ring_reclaim(ring);
    tell_unread(ring, how);
    node->totals.firings++;
    node->totals.samples += block->n_samples;
    ct_scheduler_wake_readers(scheduler, ring);
    pthread_mutex_unlock(&scheduler->lock);
    return TRUE;
}

void
ct_scheduler_feed_end(CtScheduler *scheduler, guint i)
{
    CtRunNode *node = &scheduler->nodes[i];
    pthread_mutex_lock(&scheduler->lock);
    if (node->status == CT_NODE_EXTERNAL)
        ct_scheduler_end_node(scheduler, node);
    pthread_mutex_unlock(&scheduler->lock);
}

gboolean
ct_scheduler_take(CtScheduler *scheduler, guint i, gdouble seconds, CtBlock *block, GError **error)
{
    CtRunNode *node = &scheduler->nodes[i];
    CtRing *ring = node->inputs[0].ring;
    const guint reader = node->inputs[0].reader;
    struct timespec until;
    ct_scheduler_deadline(&until, seconds);
    pthread_mutex_lock(&scheduler->lock);
    CtEndpoint *endpoint = scheduler->endpoints[i];
    gboolean in_time = TRUE, over = FALSE;
    *block = (CtBlock){0};
    while (in_time && !over) {
        if (node->status == CT_NODE_ENDED || (scheduler->stop && scheduler->error))
            break;
        ct_ring_window(ring, reader, block);
        if (block->n_samples > 0) {
            ct_ring_hold(ring, reader, block);
            if (endpoint) {
                g_ptr_array_set_size(endpoint->after, 0);
                ct_ring_read_after(ring, block, endpoint->after);
            }
            ct_firing_view(node, 0, block);
            break;
        }
        over = ring->ended;
        if (over)
            ct_scheduler_end_node(scheduler, node);
        else if (seconds < 0)
            pthread_cond_wait(&scheduler->program, &scheduler->lock);
        else
            in_time = pthread_cond_timedwait(&scheduler->program, &scheduler->lock, &until) == 0;
    }
    const gboolean failed = scheduler->error != NULL;
    if (failed)
        set_over(scheduler, i, error);
    node->arrivals[0].consumed = block->n_samples;
    node->totals.firings += block->n_samples > 0;
    node->totals.samples += block->n_samples;
    if (block->n_samples > 0)
        ct_scheduler_reached_sink(scheduler);
    pthread_mutex_unlock(&scheduler->lock);
    if (failed || !endpoint || block->n_samples == 0)
        return in_time && !failed;
    GError *cause = NULL;
    if (ct_endpoint_lead(endpoint, &cause))
        return in_time;
    pthread_mutex_lock(&scheduler->lock);
    fail(scheduler, i, cause, error);
    pthread_mutex_unlock(&scheduler->lock);
    return FALSE;
}

gboolean
ct_scheduler_set_stream(CtScheduler *scheduler, guint i, gpointer stream, GError **error)
{
    if (!scheduler->endpoints[i]) {
        g_set_error(error, CT_ERROR, CT_ERROR_DEVICE,
                    "node '%s' is on the host: it has no use for a stream",
                    scheduler->nodes[i].plan->name);
        return FALSE;
    }
    scheduler->endpoints[i]->stream = stream;
    return TRUE;
}

void
ct_scheduler_give_back(CtScheduler *scheduler, guint i)
{
    CtRunNode *node = &scheduler->nodes[i];
    CtEndpoint *endpoint = scheduler->endpoints[i];
    GError *cause = NULL;
    /* No writer can wait on a queue for memory that the program itself has fed, so the host
     * waits. */
    const gboolean good =
        !endpoint || (ct_endpoint_follow(endpoint, &cause) &&
                      (!node->inputs[0].ring->feed || ct_endpoint_finish(endpoint, &cause)));
    pthread_mutex_lock(&scheduler->lock);
    if (!good)
        ct_scheduler_fail_node(scheduler, node, cause);
    if (node->status == CT_NODE_EXTERNAL && node->arrivals[0].consumed > 0) {
        ct_ring_release(node->inputs[0].ring, node->inputs[0].reader, node->arrivals[0].consumed);
        node->arrivals[0].consumed = 0;
        ct_scheduler_released(scheduler, node->inputs[0].ring);
    }
    pthread_mutex_unlock(&scheduler->lock);
}
