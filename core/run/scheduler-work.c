/* SPDX-License-Identifier: BSD-3-Clause */
/* The scheduler's threads: they look for a node that can fire, do its work, and publish the
 * result. */
#include "graph/plugin-call.h"
#include "model/thread.h"
#include "scheduler-private.h"

#include <string.h>
#include <time.h>

/* The number of times that a worker without work polls the generation before it sleeps: some ten
 * microseconds. */
#define SPINS 2000

/* The clock by which work is measured. */
static gint64
work_time(const CtScheduler *scheduler)
{
    struct timespec t;
    if (!scheduler->options.processor_time)
        return ct_scheduler_now();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (gint64)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- waking ---- */

void
ct_scheduler_wake(CtScheduler *scheduler, guint node)
{
    scheduler->nodes[node].pending = TRUE;
    if (scheduler->nodes[node].status == CT_NODE_EXTERNAL) {
        pthread_cond_broadcast(&scheduler->program);
        return;
    }
    CtRunner *own = scheduler->own[node];
    if (own) {
        g_atomic_int_inc((gint *)own->generation);
        if (own->sleeps)
            pthread_cond_signal(&own->wake);
        return;
    }
    g_atomic_int_inc((gint *)&scheduler->generation);
    if (scheduler->sleeping_workers > 0)
        pthread_cond_signal(&scheduler->work);
}

/* Wakes all workers, as several can share the work. */
static void
wake_workers(CtScheduler *scheduler)
{
    g_atomic_int_inc((gint *)&scheduler->generation);
    if (scheduler->sleeping_workers > 0)
        pthread_cond_broadcast(&scheduler->work);
}

void
ct_scheduler_wake_readers(CtScheduler *scheduler, const CtRing *ring)
{
    for (guint r = 0; r < ring->link->readers->len; r++)
        ct_scheduler_wake(scheduler, g_array_index(ring->link->readers, CtPlanReader, r).node);
}

void
ct_scheduler_wake_all(CtScheduler *scheduler)
{
    g_atomic_int_inc((gint *)&scheduler->generation);
    pthread_cond_broadcast(&scheduler->work);
    for (guint r = 0; r < scheduler->n_runners; r++)
        pthread_cond_signal(&scheduler->runners[r].wake);
    for (guint q = 0; scheduler->watchers && q < scheduler->devices->n_queues; q++)
        pthread_cond_signal(&scheduler->watchers[q].wake);
    pthread_cond_broadcast(&scheduler->over);
    pthread_cond_broadcast(&scheduler->program);
}

void
ct_scheduler_fail(CtScheduler *scheduler, GError *error)
{
    if (scheduler->error)
        g_error_free(error);
    else
        scheduler->error = error;
    scheduler->stop = TRUE;
    ct_scheduler_wake_all(scheduler);
}

void
ct_scheduler_fail_node(CtScheduler *scheduler, const CtRunNode *node, GError *cause)
{
    GError *error = NULL;
    ct_scheduler_widen_blame(scheduler, node, cause);
    ct_run_node_blame(node, &error, cause);
    ct_scheduler_fail(scheduler, error);
}

/* ---- a firing: begin, work, finish ---- */

static void
wake_static_writers(CtScheduler *scheduler, CtRunNode *node)
{
    for (guint i = 0; i < node->n_inputs; i++) {
        if (!node->inputs[i].moved)
            continue;
        node->inputs[i].moved = FALSE;
        ct_scheduler_wake(scheduler, node->inputs[i].ring->link->writer);
    }
}

/* With the lock, which it releases meanwhile. Begins a firing of the node; TRUE where it has one. A
 * firing without items only needs to be finished. */
static gboolean
begin(CtScheduler *scheduler, CtRunNode *node)
{
    const gboolean is_interrupted = scheduler->interrupted && ct_run_node_is_source(node);
    const gboolean ends = is_interrupted || ct_run_node_is_unread(node);
    GError *cause = NULL;
    node->pending = FALSE;
    const gboolean ready =
        ct_scheduler_may_fire(scheduler, node) && (ends || ct_firing_gather(node, &cause));
    wake_static_writers(scheduler, node);
    if (cause)
        ct_scheduler_fail_node(scheduler, node, cause);
    if (!ready)
        return FALSE;
    node->status = CT_NODE_STARTING;
    node->interrupted = node->interrupted || is_interrupted;
    if (node->submissions)
        ct_submission_claim(node);
    pthread_mutex_unlock(&scheduler->lock);

    const gint64 from = work_time(scheduler);
    const gboolean good =
        ends ? ct_firing_decide_to_end(node, &cause) : ct_firing_decide(node, &cause);
    const gint64 spent = work_time(scheduler) - from;

    pthread_mutex_lock(&scheduler->lock);
    node->totals.core_ns += spent;
    node->claimed = node->done = 0;
    node->status = CT_NODE_RUNNING;
    if (!good) {
        ct_scheduler_fail_node(scheduler, node, cause);
        return FALSE;
    }
    for (guint c = 0; c < node->n_counters; c++) {
        node->counters[c] += node->advance_counters[c];
        node->advance_counters[c] = 0;
    }
    return TRUE;
}

/* With the lock, which it releases meanwhile: works on the next range; TRUE where all ranges are
 * then done. */
static gboolean
work(CtScheduler *scheduler, CtRunner *runner, CtRunNode *node)
{
    CtWork part = node->work;
    part.begin = node->claimed;
    part.end = runner->node ? node->n_items : MIN(node->claimed + node->chunk, node->n_items);
    part.scratch = runner->scratch;
    part.counters = runner->counters;
    node->claimed = part.end;
    pthread_mutex_unlock(&scheduler->lock);

    memset(runner->counters, 0, node->n_counters * sizeof *runner->counters);
    GError *cause = NULL;
    const gint64 from = work_time(scheduler);
    const gboolean good = node->submissions ? ct_submission_work(node, &cause)
                                            : ct_call_work(node->plan->variant, node->plan->nodes,
                                                           node->state, &part, &cause);
    const gint64 spent = work_time(scheduler) - from;

    pthread_mutex_lock(&scheduler->lock);
    *(node->submissions ? &node->totals.core_ns : &node->totals.work_ns) += spent;
    for (guint c = 0; c < node->n_counters; c++)
        node->counters[c] += runner->counters[c];
    node->done += part.end - part.begin;
    if (!good) {
        ct_scheduler_fail_node(scheduler, node, cause);
        return FALSE;
    }
    return node->done == node->n_items;
}

/* Wakes the nodes of the writer's queue that wait for memory which links share. */
static void
wake_sharers(CtScheduler *scheduler, const CtRing *ring)
{
    const gint queue = scheduler->nodes[ring->link->writer].plan->queue;
    for (guint i = 0; i < scheduler->n_nodes; i++)
        if (scheduler->nodes[i].waits_for_memory && scheduler->nodes[i].plan->queue == queue)
            ct_scheduler_wake(scheduler, i);
}

void
ct_scheduler_released(CtScheduler *scheduler, CtRing *ring)
{
    if (ring->feed)
        ct_ring_reclaim(ring);
    if (ring->link->transient)
        wake_sharers(scheduler, ring);
    ct_scheduler_wake(scheduler, ring->link->writer);
}

gint64
ct_scheduler_release_inputs(CtScheduler *scheduler, CtRunNode *node)
{
    gint64 moved = 0;
    for (guint i = 0; i < node->n_inputs; i++) {
        const CtRunInput *input = &node->inputs[i];
        if (!input->ring)
            continue;
        const gint64 consumed = input->is_static ? 0 : node->arrivals[i].consumed;
        ct_ring_release(input->ring, input->reader, consumed);
        moved += consumed;
        /* Even a firing that consumed nothing has kept the writer from the samples it saw. */
        if (!input->is_static || !input->ring->ended || input->ring->feed)
            ct_scheduler_released(scheduler, input->ring);
    }
    return moved;
}

gint64
ct_scheduler_progress(const CtRunNode *node)
{
    return ct_run_node_is_source(node) ? node->totals.samples : node->totals.consumed;
}

void
ct_scheduler_count(CtScheduler *scheduler, CtRunNode *node)
{
    CtRunTotals *totals = &node->totals;
    if (node->n_outputs > 0)
        totals->samples += node->departures[0].produced;
    else if (node->n_inputs > 0)
        totals->samples += node->arrivals[0].consumed;
    const guint flows = ct_run_node_first_flow(node);
    if (flows < node->n_inputs)
        totals->consumed += node->arrivals[flows].consumed;
    if (scheduler->options.steps && node == &scheduler->nodes[scheduler->stepper] &&
        ct_scheduler_progress(node) >= scheduler->step_end)
        scheduler->rests = TRUE;
}

void
ct_scheduler_reached_sink(CtScheduler *scheduler)
{
    if (scheduler->first == 0)
        scheduler->first = ct_scheduler_now();
}

/* With the lock, which it releases meanwhile: publishes the samples that the firing made, and
 * releases those that it consumed. */
static void
finish(CtScheduler *scheduler, CtRunNode *node)
{
    if (node->submissions) {
        ct_scheduler_take_off(scheduler, node);
        return;
    }
    pthread_mutex_unlock(&scheduler->lock);
    const gint64 from = work_time(scheduler);
    const gint64 invalid = ct_firing_zero_invalid(node);
    const gint64 spent = work_time(scheduler) - from;
    pthread_mutex_lock(&scheduler->lock);
    node->totals.core_ns += spent;

    gint64 moved = ct_scheduler_release_inputs(scheduler, node);
    for (guint o = 0; o < node->n_outputs; o++) {
        CtRunOutput *output = &node->outputs[o];
        const CtDeparture *departure = &node->departures[o];
        if (!output->ring || departure->produced == 0)
            continue;
        ct_ring_publish(output->ring, output->wraps ? &output->generation : NULL,
                        departure->produced, departure->start, departure->invalid);
        moved += departure->produced;
        ct_scheduler_wake_readers(scheduler, output->ring);
    }
    node->totals.firings += moved > 0;
    node->totals.invalid += invalid;
    ct_scheduler_count(scheduler, node);
    if (moved > 0 && node->n_outputs == 0)
        ct_scheduler_reached_sink(scheduler);
    if (node->is_last) {
        ct_scheduler_finish_node(scheduler, node);
        return;
    }
    node->status = CT_NODE_IDLE;
    /* There may be more input; a source says itself when it has ended. */
    if (moved > 0 || ct_run_node_is_source(node))
        node->pending = TRUE;
}

/* ---- threads ---- */

/* The node nearest to the sinks that has something to do, of those that the runner serves. */
static CtRunNode *
pick(CtScheduler *scheduler, const CtRunner *runner)
{
    const CtRunner *own = runner->serves ? runner : NULL;
    for (guint i = scheduler->n_nodes; i-- > 0;) {
        CtRunNode *node = &scheduler->nodes[i];
        if (scheduler->own[i] != own)
            continue;
        if (node->status == CT_NODE_RUNNING && node->claimed < node->n_items)
            return node;
        if (node->status == CT_NODE_IDLE && node->pending && !scheduler->rests)
            return node;
        if (node->status == CT_NODE_COMPLETING && node->pending)
            return node;
    }
    return NULL;
}

static gboolean
is_anything_pending(const CtScheduler *scheduler)
{
    for (guint i = 0; i < scheduler->n_nodes; i++) {
        const CtNodeStatus status = scheduler->nodes[i].status;
        if ((status == CT_NODE_IDLE || status == CT_NODE_COMPLETING) && scheduler->nodes[i].pending)
            return TRUE;
    }
    return FALSE;
}

gboolean
ct_scheduler_is_at_rest(const CtScheduler *scheduler)
{
    return scheduler->rests && scheduler->sleeping == scheduler->alive &&
           scheduler->n_in_flight == 0;
}

/* If nothing runs and nothing can, the plan or a stage is wrong. */
void
ct_scheduler_check_stall(CtScheduler *scheduler)
{
    if (ct_scheduler_is_at_rest(scheduler))
        pthread_cond_broadcast(&scheduler->over);
    if (scheduler->stop || scheduler->rests || scheduler->n_external > 0 ||
        scheduler->n_in_flight > 0 || scheduler->sleeping < scheduler->alive ||
        is_anything_pending(scheduler))
        return;
    const CtRunNode *culprit;
    GError *cause = ct_scheduler_explain_stall(scheduler, &culprit);
    ct_scheduler_fail_node(scheduler, culprit, cause);
}

/* Where no node is at work, nodes that wait for more input take what there is, so that neither a
 * slow stream nor a program that feeds and takes in turn is held up. */
gboolean
ct_scheduler_hurry(CtScheduler *scheduler)
{
    gboolean any = FALSE;
    if (scheduler->rests || scheduler->sleeping < scheduler->alive || scheduler->n_in_flight > 0 ||
        is_anything_pending(scheduler))
        return FALSE;
    for (guint i = 0; i < scheduler->n_nodes; i++) {
        CtRunNode *node = &scheduler->nodes[i];
        if (node->status != CT_NODE_IDLE || !node->waits)
            continue;
        node->hurried = any = TRUE;
        ct_scheduler_wake(scheduler, i);
    }
    return any;
}

static void
sleep_until_changed(CtScheduler *scheduler, CtRunner *runner)
{
    scheduler->sleeping++;
    const gboolean hurried = ct_scheduler_hurry(scheduler);
    ct_scheduler_check_stall(scheduler);
    if (scheduler->stop || (hurried && !runner->node)) {
        /* The graph was found to stand still, or has something to do at once. */
    } else if (runner->serves) {
        runner->sleeps = TRUE;
        pthread_cond_wait(&runner->wake, &scheduler->lock);
        runner->sleeps = FALSE;
    } else {
        scheduler->sleeping_workers++;
        pthread_cond_wait(&scheduler->work, &scheduler->lock);
        scheduler->sleeping_workers--;
    }
    scheduler->sleeping--;
}

/* A runner without work polls for a change for a while before it sleeps, as blocks follow
 * closely. */
static gboolean
spin(CtScheduler *scheduler, const CtRunner *runner)
{
    const guint seen = (guint)g_atomic_int_get((gint *)runner->generation);
    gboolean changed = FALSE;
    pthread_mutex_unlock(&scheduler->lock);
    for (guint i = 0; i < SPINS && !changed; i++) {
        changed = (guint)g_atomic_int_get((gint *)runner->generation) != seen;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    pthread_mutex_lock(&scheduler->lock);
    return changed;
}

static void
worker_loop(CtScheduler *scheduler, CtRunner *runner)
{
    gboolean spun = FALSE;
    while (!scheduler->stop) {
        CtRunNode *node = pick(scheduler, runner);
        if (!node) {
            if (!spun)
                spin(scheduler, runner);
            else
                sleep_until_changed(scheduler, runner);
            spun = !spun;
            continue;
        }
        spun = FALSE;
        if (node->status == CT_NODE_IDLE) {
            if (!begin(scheduler, node))
                continue;
            if (node->n_items == 0)
                finish(scheduler, node);
            else if (node->n_items > node->chunk)
                wake_workers(scheduler);
        } else if (node->status == CT_NODE_COMPLETING) {
            ct_scheduler_complete_node(scheduler, node);
        } else if (work(scheduler, runner, node)) {
            finish(scheduler, node);
        }
    }
}

static void
own_loop(CtScheduler *scheduler, CtRunner *runner)
{
    CtRunNode *node = runner->node;
    while (!scheduler->stop && node->status != CT_NODE_ENDED) {
        if (!pick(scheduler, runner))
            sleep_until_changed(scheduler, runner);
        else if (node->status == CT_NODE_COMPLETING)
            ct_scheduler_complete_node(scheduler, node);
        else if (begin(scheduler, node) && (node->n_items == 0 || work(scheduler, runner, node)))
            finish(scheduler, node);
    }
}

gpointer
ct_scheduler_run(gpointer data)
{
    CtRunner *runner = data;
    CtScheduler *scheduler = runner->scheduler;
    if (!runner->serves && scheduler->options.pin)
        ct_thread_pin(runner->index);
    pthread_mutex_lock(&scheduler->lock);
    if (runner->node)
        own_loop(scheduler, runner);
    else
        worker_loop(scheduler, runner);
    scheduler->alive--;
    if (scheduler->alive > 0) {
        ct_scheduler_hurry(scheduler);
        ct_scheduler_check_stall(scheduler);
    } else {
        pthread_cond_broadcast(&scheduler->over);
    }
    pthread_mutex_unlock(&scheduler->lock);
    return NULL;
}
