/* SPDX-License-Identifier: BSD-3-Clause */
/* The processors on which the threads of a run stay, the teams of its workers, and the NUMA nodes
 * on which its rings lie. A refusal of the kernel, as in some containers, is a warning. */
#define _GNU_SOURCE
#include "model/thread.h"
#include "scheduler-private.h"

#include <errno.h>

/* ---- teams ---- */

static CtTeam *
find_team(const CtScheduler *scheduler, gint numa)
{
    for (guint t = 0; t < scheduler->n_teams; t++)
        if (scheduler->teams[t].numa == CT_NO_NUMA || scheduler->teams[t].numa == numa)
            return &scheduler->teams[t];
    return NULL;
}

void
ct_scheduler_create_teams(CtScheduler *scheduler)
{
    const CtPlanProcessors *processors = &scheduler->plan->processors;
    scheduler->teams = g_new0(CtTeam, processors->workers->len);
    for (guint w = 0; w < processors->workers->len; w++) {
        const gint numa = g_array_index(processors->workers, CtProcessor, w).numa;
        CtTeam *team = find_team(scheduler, numa);
        if (!team) {
            team = &scheduler->teams[scheduler->n_teams++];
            team->numa = processors->is_divided ? numa : CT_NO_NUMA;
            pthread_cond_init(&team->work, NULL);
        }
        team->n_workers++;
    }
}

void
ct_scheduler_free_teams(CtScheduler *scheduler)
{
    for (guint t = 0; t < scheduler->n_teams; t++)
        pthread_cond_destroy(&scheduler->teams[t].work);
    g_free(scheduler->teams);
}

CtTeam *
ct_scheduler_team_of_worker(const CtScheduler *scheduler, guint worker)
{
    const GArray *workers = scheduler->plan->processors.workers;
    return find_team(scheduler, g_array_index(workers, CtProcessor, worker).numa);
}

CtTeam *
ct_scheduler_team_of_node(const CtScheduler *scheduler, const CtPlanNode *node)
{
    const gboolean is_assigned =
        scheduler->plan->processors.is_divided && node->numa != CT_NO_NUMA && !node->variant->waits;
    return is_assigned ? find_team(scheduler, node->numa) : NULL;
}

/* ---- threads ---- */

/* Takes the lock. A warning with the same text is added once. */
static void
warn(CtScheduler *scheduler, const char *what)
{
    const char *why = g_strerror(errno);
    pthread_mutex_lock(&scheduler->lock);
    ct_warnings_add(scheduler->warnings, CT_WARNING_PLAN, NULL, NULL, "%s: %s", what, why);
    pthread_mutex_unlock(&scheduler->lock);
}

static gboolean
may_bind(const CtScheduler *scheduler)
{
    return scheduler->options.pin && ct_topology_is_here();
}

/* Whether threads that are no workers are bound: otherwise they stay where the process is. */
static gboolean
binds_others(const CtScheduler *scheduler)
{
    const CtPlanProcessors *processors = &scheduler->plan->processors;
    return (processors->is_limited || processors->n_numas > 1) && may_bind(scheduler);
}

/* Binds the calling thread to the processors of the run that are of the NUMA node. */
static void
bind_to(CtScheduler *scheduler, gint numa)
{
    const GArray *all = scheduler->plan->processors.processors;
    if (!ct_thread_bind((const CtProcessor *)(gpointer)all->data, all->len, numa))
        warn(scheduler, "threads cannot be bound to their processors");
}

/* The NUMA node of the threads that serve a node of the plan. */
static gint
numa_of_node(const CtScheduler *scheduler, const CtPlanNode *node)
{
    return node->place == CT_HOST ? node->numa : scheduler->plan->numas[node->place];
}

void
ct_scheduler_bind_runner(CtRunner *runner)
{
    CtScheduler *scheduler = runner->scheduler;
    const CtPlan *plan = scheduler->plan;
    if (runner->node) {
        if (binds_others(scheduler))
            bind_to(scheduler, numa_of_node(scheduler, runner->node->plan));
    } else if (runner->serves) {
        if (binds_others(scheduler))
            bind_to(scheduler, plan->numas[runner->index - scheduler->n_workers]);
    } else if (may_bind(scheduler) &&
               !ct_thread_bind(&g_array_index(plan->processors.workers, CtProcessor, runner->index),
                               1, CT_NO_NUMA)) {
        warn(scheduler, "workers cannot be pinned to their processors");
    }
}

void
ct_scheduler_bind_watcher(const CtWatcher *watcher)
{
    CtScheduler *scheduler = watcher->scheduler;
    const CtPlan *plan = scheduler->plan;
    if (binds_others(scheduler))
        bind_to(scheduler,
                plan->numas[g_array_index(plan->queues, CtPlanQueue, watcher->index).device]);
}

void
ct_scheduler_visit(CtScheduler *scheduler, CtVisit *visit, gint node)
{
    if (!binds_others(scheduler))
        return;
    visit->moved = visit->moved || sched_getaffinity(0, sizeof visit->home, &visit->home) == 0;
    if (visit->moved)
        bind_to(scheduler,
                node < 0 ? CT_NO_NUMA : numa_of_node(scheduler, scheduler->nodes[node].plan));
}

void
ct_scheduler_return(const CtVisit *visit)
{
    if (visit->moved)
        sched_setaffinity(0, sizeof visit->home, &visit->home);
}

/* ---- memory ---- */

void
ct_scheduler_bind_ring(CtScheduler *scheduler, const CtRing *ring)
{
    const gint numa = ring->link->numa;
    if (numa == CT_NO_NUMA || !ring->owns_memory || !may_bind(scheduler))
        return;
    const gsize lanes = (gsize)(ring->n_lanes * (ring->history + ring->capacity));
    if (!ct_topology_bind(ring->memory, ring->bytes, numa) ||
        !ct_topology_bind(ring->validity, lanes, numa))
        warn(scheduler, "rings cannot be put on their NUMA nodes");
}
