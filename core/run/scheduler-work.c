/* SPDX-License-Identifier: BSD-3-Clause */
/* The scheduler's threads: they look for nodes that can fire, take their firings through the steps
 * in scheduler-firing.c, and sleep while there is nothing to do. */
#include "place.h"
#include "scheduler-private.h"

/* The number of times that a worker without work polls the generation before it sleeps: some ten
 * microseconds. */
#define SPINS 2000

/* ---- waking ---- */

/* Wakes a worker of each team that serves the node, or all of them, as several can share the
 * work. */
static void
wake_workers(CtScheduler *scheduler, const CtRunNode *node, gboolean all)
{
    atomic_fetch_add(&scheduler->generation, 1);
    for (guint t = 0; t < scheduler->n_teams; t++) {
        CtTeam *team = &scheduler->teams[t];
        if ((node->team && node->team != team) || team->sleeping == 0)
            continue;
        if (all)
            pthread_cond_broadcast(&team->work);
        else
            pthread_cond_signal(&team->work);
    }
}

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
        atomic_fetch_add(own->generation, 1);
        if (own->sleeps)
            pthread_cond_signal(&own->wake);
        return;
    }
    wake_workers(scheduler, &scheduler->nodes[node], FALSE);
}

void
ct_scheduler_wake_readers(CtScheduler *scheduler, const CtRing *ring)
{
    for (guint r = 0; r < ring->link->readers->len; r++)
        ct_scheduler_wake(scheduler, g_array_index(ring->link->readers, CtPlanReader, r).node);
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
    /* A program that waits for room is not woken before there is any. */
    if (!ring->feed || ct_ring_can_feed(ring))
        ct_scheduler_wake(scheduler, ring->link->writer);
}

void
ct_scheduler_wake_all(CtScheduler *scheduler)
{
    atomic_fetch_add(&scheduler->generation, 1);
    for (guint t = 0; t < scheduler->n_teams; t++)
        pthread_cond_broadcast(&scheduler->teams[t].work);
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
    node->place->suspect(scheduler, node, cause);
    ct_run_node_blame(node, &error, cause);
    ct_scheduler_fail(scheduler, error);
}

/* ---- threads ---- */

/* The node nearest to the sinks that has something to do, of those that the runner serves. */
static CtRunNode *
pick(CtScheduler *scheduler, const CtRunner *runner)
{
    const CtRunner *own = runner->serves ? runner : NULL;
    for (guint i = scheduler->n_nodes; i-- > 0;) {
        CtRunNode *node = &scheduler->nodes[i];
        if (scheduler->own[i] != own || (node->team && node->team != runner->team))
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

/* If no node is at work, nodes that wait for more input take what there is, so that neither a slow
 * stream nor a program that feeds and takes in turn is held up. */
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
        runner->team->sleeping++;
        pthread_cond_wait(&runner->team->work, &scheduler->lock);
        runner->team->sleeping--;
    }
    scheduler->sleeping--;
}

/* A runner without work polls for a change for a while before it sleeps, as blocks follow
 * closely. */
static gboolean
spin(CtScheduler *scheduler, const CtRunner *runner)
{
    const guint seen = atomic_load(runner->generation);
    gboolean changed = FALSE;
    pthread_mutex_unlock(&scheduler->lock);
    for (guint i = 0; i < SPINS && !changed; i++) {
        changed = atomic_load(runner->generation) != seen;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    pthread_mutex_lock(&scheduler->lock);
    return changed;
}

/* Begins a firing, or works on the next range of one that has begun. */
static void
serve(CtScheduler *scheduler, CtRunner *runner, CtRunNode *node)
{
    if (node->status == CT_NODE_IDLE) {
        if (!ct_scheduler_begin_firing(scheduler, node))
            return;
        if (node->n_items == 0)
            ct_scheduler_finish_firing(scheduler, node);
        else if (node->n_items > node->chunk)
            wake_workers(scheduler, node, TRUE);
    } else if (ct_scheduler_work(scheduler, runner, node)) {
        ct_scheduler_finish_firing(scheduler, node);
    }
}

static void
worker_loop(CtScheduler *scheduler, CtRunner *runner)
{
    gboolean spun = FALSE;
    while (!scheduler->stop) {
        CtRunNode *node = pick(scheduler, runner);
        if (!node) {
            if (ct_scheduler_submit_joint(scheduler, runner))
                continue;
            if (!spun && scheduler->spins)
                spin(scheduler, runner);
            else
                sleep_until_changed(scheduler, runner);
            spun = !spun;
            continue;
        }
        spun = FALSE;
        if (node->status == CT_NODE_COMPLETING)
            ct_scheduler_complete_node(scheduler, node);
        else if (node->place->enqueues)
            ct_scheduler_fire(scheduler, runner, node);
        else
            serve(scheduler, runner, node);
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
        else if (ct_scheduler_begin_firing(scheduler, node) &&
                 (node->n_items == 0 || ct_scheduler_work(scheduler, runner, node)))
            ct_scheduler_finish_firing(scheduler, node);
    }
}

gpointer
ct_scheduler_run(gpointer data)
{
    CtRunner *runner = data;
    CtScheduler *scheduler = runner->scheduler;
    ct_scheduler_bind_runner(runner);
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
