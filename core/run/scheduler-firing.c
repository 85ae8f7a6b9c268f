/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of a firing: begin, work, finish, and at last retire. The place of the node runs it;
 * the outputs are published and the inputs released here, for all places. */
#include "place.h"
#include "scheduler-private.h"

#include <string.h>
#include <time.h>

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

/* ---- begin ---- */

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

static void
count_events(CtRunNode *node, guint64 *counters)
{
    for (guint c = 0; c < node->n_counters; c++) {
        node->counters[c] += counters[c];
        counters[c] = 0;
    }
}

static gboolean
decide(CtScheduler *scheduler, CtRunNode *node, gboolean ends, GError **error)
{
    if (!node->place->begin(scheduler, node, error))
        return FALSE;
    if (!ends)
        return ct_firing_decide(node, error);
    ct_firing_decide_to_end(node);
    return TRUE;
}

/* With the lock. Finds what the firing covers; FALSE: there is none. If *ends, it is the last and
 * covers nothing. */
static gboolean
gather(CtScheduler *scheduler, CtRunNode *node, gboolean *ends)
{
    const gboolean is_interrupted = scheduler->interrupted && ct_run_node_is_source(node);
    GError *cause = NULL;
    *ends = is_interrupted || ct_run_node_is_unread(node);
    node->pending = FALSE;
    const gboolean ready = node->place->gather(scheduler, node, *ends, &cause);
    wake_static_writers(scheduler, node);
    if (cause)
        ct_scheduler_fail_node(scheduler, node, cause);
    if (!ready)
        return FALSE;
    node->status = CT_NODE_STARTING;
    node->interrupted = node->interrupted || is_interrupted;
    return TRUE;
}

gboolean
ct_scheduler_begin_firing(CtScheduler *scheduler, CtRunNode *node)
{
    GError *cause = NULL;
    gboolean ends;
    if (!gather(scheduler, node, &ends))
        return FALSE;
    pthread_mutex_unlock(&scheduler->lock);

    const gint64 from = work_time(scheduler);
    const gboolean good = decide(scheduler, node, ends, &cause);
    const gint64 spent = work_time(scheduler) - from;

    pthread_mutex_lock(&scheduler->lock);
    node->totals.core_ns += spent;
    node->claimed = node->done = 0;
    node->status = CT_NODE_RUNNING;
    ct_run_node_take_accounts(node);
    if (good)
        count_events(node, node->advance_counters);
    else
        ct_scheduler_fail_node(scheduler, node, cause);
    return good;
}

/* ---- work ---- */

/* The next range that is not taken, from the runner's own on. Each runner begins elsewhere, and at
 * the same place in all nodes: so it often reads what it has written itself, which is in its
 * cache. */
static gint64
take_range(const CtRunner *runner, CtRunNode *node)
{
    const gint64 n_ranges = (node->n_items + node->chunk - 1) / node->chunk;
    gint64 range = 2 * (gint64)runner->index % n_ranges;
    while (node->taken[range])
        range = (range + 1) % n_ranges;
    node->taken[range] = TRUE;
    return range;
}

/* Claims a range for the runner, or all if no other runner may help. */
static CtWork
claim(CtRunner *runner, CtRunNode *node)
{
    CtWork part = node->work;
    part.begin = runner->node ? 0 : take_range(runner, node) * node->chunk;
    part.end = runner->node ? node->n_items : MIN(part.begin + node->chunk, node->n_items);
    part.scratch = runner->scratch;
    part.counters = runner->counters;
    node->claimed += part.end - part.begin;
    return part;
}

gboolean
ct_scheduler_work(CtScheduler *scheduler, CtRunner *runner, CtRunNode *node)
{
    CtWork part = claim(runner, node);
    const gint64 n = part.end - part.begin;
    pthread_mutex_unlock(&scheduler->lock);

    GError *cause = NULL;
    const gint64 from = work_time(scheduler);
    const gboolean good = node->place->work(node, &part, &cause);
    const gint64 spent = work_time(scheduler) - from;

    pthread_mutex_lock(&scheduler->lock);
    node->totals.work_ns += spent;
    count_events(node, runner->counters);
    node->done += n;
    if (!good)
        ct_scheduler_fail_node(scheduler, node, cause);
    return good && node->done == node->n_items;
}

/* ---- finish ---- */

/* Ends the stream of a ring, after its last block. */
static void
end_output(CtRing *ring, const CtRunNode *node)
{
    ring->ended = TRUE;
    ring->interrupted = node->interrupted;
}

/* Publishes what the firing made, and returns the samples of all outputs. A ring that shows late
 * is shown, and ends, when the firing is retired. */
static gint64
publish_outputs(CtScheduler *scheduler, CtRunNode *node)
{
    gint64 made = 0;
    for (guint o = 0; o < node->n_outputs; o++) {
        const CtRunOutput *output = &node->outputs[o];
        const CtDeparture *departure = &node->departures[o];
        if (!output->ring)
            continue;
        if (departure->produced > 0)
            ct_ring_publish(output->ring, output->wraps ? &output->generation : NULL,
                            departure->produced, departure->start, departure->invalid);
        made += departure->produced;
        if (output->ring->shows_late)
            continue;
        if (node->is_last)
            end_output(output->ring, node);
        if (departure->produced > 0 || node->is_last)
            ct_scheduler_wake_readers(scheduler, output->ring);
    }
    return made;
}

/* Releases what the firing read and consumed, and returns the samples consumed of all inputs. */
static gint64
release_inputs(CtScheduler *scheduler, CtRunNode *node)
{
    gint64 released = 0;
    for (guint i = 0; i < node->n_inputs; i++) {
        const CtRunInput *input = &node->inputs[i];
        if (!input->ring)
            continue;
        const gint64 consumed = input->is_static ? 0 : node->arrivals[i].consumed;
        ct_ring_release(input->ring, input->reader, consumed);
        released += consumed;
        /* Even a firing that consumed nothing has kept the writer from the samples it saw. */
        if (!input->is_static || !input->ring->ended || input->ring->feed)
            ct_scheduler_released(scheduler, input->ring);
    }
    return released;
}

gint64
ct_scheduler_progress(const CtRunNode *node)
{
    return ct_run_node_is_source(node) ? node->totals.samples : node->totals.consumed;
}

/* Counts the samples that the firing consumed and made. */
static void
count_samples(CtScheduler *scheduler, CtRunNode *node)
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

/* Publishes and releases the samples of a firing whose work is done or enqueued. The submission
 * comes between both, so that the rings know what it still reads before that is released. */
static void
close_firing(CtScheduler *scheduler, CtRunNode *node)
{
    const gint64 made = publish_outputs(scheduler, node);
    const gboolean is_in_flight = node->place->submit(scheduler, node);
    const gboolean moved = made + release_inputs(scheduler, node) > 0;
    node->totals.firings += moved;
    count_samples(scheduler, node);
    node->status = node->is_last ? CT_NODE_RETIRING : CT_NODE_IDLE;
    /* There may be more input; a source says itself when it has ended. */
    node->pending |= !node->is_last && (moved || ct_run_node_is_source(node));
    if (!is_in_flight)
        ct_scheduler_retire(scheduler, node, node->is_last);
}

void
ct_scheduler_finish_firing(CtScheduler *scheduler, CtRunNode *node)
{
    gint64 invalid;
    GError *cause = NULL;
    pthread_mutex_unlock(&scheduler->lock);
    const gint64 from = work_time(scheduler);
    const gboolean good = node->place->end(node, &invalid, &cause);
    const gint64 spent = work_time(scheduler) - from;
    pthread_mutex_lock(&scheduler->lock);
    node->totals.core_ns += spent;
    node->totals.invalid += invalid;
    if (good)
        close_firing(scheduler, node);
    else
        ct_scheduler_fail_node(scheduler, node, cause);
}

/* ---- all steps at once ---- */

/* Without the lock. Decides what the firing does, and enqueues it. */
static gboolean
enqueue(CtScheduler *scheduler, CtRunner *runner, CtRunNode *node, gboolean ends, gint64 *invalid,
        GError **error)
{
    if (!decide(scheduler, node, ends, error))
        return FALSE;
    node->claimed = node->done = 0;
    if (node->n_items > 0) {
        CtWork part = claim(runner, node);
        if (!node->place->work(node, &part, error))
            return FALSE;
    }
    return node->place->end(node, invalid, error);
}

void
ct_scheduler_fire(CtScheduler *scheduler, CtRunner *runner, CtRunNode *node)
{
    gint64 invalid = 0;
    GError *cause = NULL;
    gboolean ends;
    if (!gather(scheduler, node, &ends))
        return;
    pthread_mutex_unlock(&scheduler->lock);
    const gint64 from = work_time(scheduler);
    const gboolean good = enqueue(scheduler, runner, node, ends, &invalid, &cause);
    const gint64 spent = work_time(scheduler) - from;
    pthread_mutex_lock(&scheduler->lock);
    node->totals.core_ns += spent;
    node->totals.invalid += invalid;
    count_events(node, node->advance_counters);
    count_events(node, runner->counters);
    if (good)
        close_firing(scheduler, node);
    else
        ct_scheduler_fail_node(scheduler, node, cause);
}

/* ---- retire ---- */

void
ct_scheduler_reached_sink(CtScheduler *scheduler)
{
    if (scheduler->first == 0)
        scheduler->first = ct_scheduler_now();
}

void
ct_scheduler_retire(CtScheduler *scheduler, CtRunNode *node, gboolean is_last)
{
    if (node->n_outputs == 0 && node->totals.firings > 0)
        ct_scheduler_reached_sink(scheduler);
    if (is_last)
        ct_scheduler_finish_node(scheduler, node);
}
