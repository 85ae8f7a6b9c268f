/* SPDX-License-Identifier: BSD-3-Clause */
/* The scheduler's own state, which the program's side of it shares. */
#pragma once

#include "firing.h"
#include "scheduler.h"

#include <pthread.h>

typedef struct {
    CtScheduler *scheduler;
    guint index;
    CtRunNode *node; /* a thread of its own; NULL: a worker */
    GThread *thread;
    pthread_cond_t wake; /* of its own where `node` is set */
    gpointer scratch;
    guint64 *counters;
} CtRunner;

struct CtScheduler {
    const CtPlan *plan;
    CtRunOptions options;
    guint n_nodes;
    CtRunNode *nodes;
    guint n_rings;
    CtRing **rings;
    guint n_workers;
    guint n_runners; /* workers first */
    CtRunner *runners;
    CtRunner **own; /* [node] its thread; NULL: the workers' */

    pthread_mutex_t lock; /* POSIX's, which thread checkers know */
    pthread_cond_t work;  /* workers without any sleep here */
    pthread_cond_t over;
    pthread_cond_t program; /* the program waits for room in an input, or samples of an output */
    guint n_external;       /* nodes whose work is the program's, and that have not ended */
    guint generation;       /* atomic: raised when a worker might find something to do */
    guint alive;            /* runners that have not returned */
    guint sleeping;         /* of those, the ones that wait for a change */
    guint sleeping_workers;
    guint unfinished; /* nodes */
    gboolean interrupted;
    gboolean stop;
    gboolean started;
    GError *error;
};

/* With the lock. Something changed for `node`. */
void ct_scheduler_wake(CtScheduler *scheduler, guint node);
void ct_scheduler_wake_readers(CtScheduler *scheduler, const CtRing *ring);
/* With the lock. Takes the node out of the graph: nobody waits for it any more. */
void ct_scheduler_end_node(CtScheduler *scheduler, CtRunNode *node);
/* With the lock. A reader has let go of samples of `ring`. */
void ct_scheduler_released(CtScheduler *scheduler, CtRing *ring);
/* Fills `until` with the monotonic time in so many seconds. */
void ct_scheduler_deadline(struct timespec *until, gdouble seconds);
