/* SPDX-License-Identifier: BSD-3-Clause */
/* The scheduler's own state, which the program's side of it shares. */
#pragma once

#include "scheduler.h"
#include "submission.h"

#include <pthread.h>

typedef struct {
    CtScheduler *scheduler;
    guint index;
    CtRunNode *node; /* a thread of its own, for this one; NULL: of several nodes */
    gboolean serves; /* those that own[] says: of a device; otherwise a worker */
    GThread *thread;
    guint *generation;    /* atomic: raised when it might find something to do */
    guint own_generation; /* … unless it shares that of the workers */
    gboolean sleeps;
    pthread_cond_t wake; /* of its own where it is no worker */
    gpointer scratch;
    guint64 *counters;
} CtRunner;

/* Watches a queue of a device: firings that are in flight there land in the order in which they
 * were enqueued. */
typedef struct {
    CtScheduler *scheduler;
    guint index; /* of the queue */
    GThread *thread;
    pthread_cond_t wake;
    GArray *flying; /* of guint: nodes, a ring of as many as can be in flight */
    guint first;
    guint n;
    GArray *transients; /* of guint: rings of the queue's transient links */
} CtWatcher;

/* The device's part of a node whose work is the program's. */
typedef struct {
    CtRunQueue *queue;
    GPtrArray *others; /* of CtRunQueue: those that read what the program feeds, or write what it
                          takes, beside `queue` */
    CtQueue *own;      /* for splices */
    CtCuEvent event;   /* what the program has enqueued */
    CtCuStream stream; /* the program's; NULL: the host waits */
    GPtrArray *after;
    CtCuEvent spliced[CT_PIPELINE_QUEUE]; /* in turns: the ends of splices */
    guint next_splice;                    /* the feeder's */
    guint oldest_splice;                  /* the watcher's: of those in flight */
} CtEndpoint;

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
    gsize scratch_bytes; /* of each */
    CtRunner **own; /* [node] its thread: of a node that waits, of a device; NULL: the workers' */
    CtRunDevices *devices;  /* NULL: the plan has none */
    CtWatcher *watchers;    /* [queue] */
    CtEndpoint **endpoints; /* [node] NULL: it is not the program's, or on the host */

    pthread_mutex_t lock; /* POSIX's, which thread checkers know */
    pthread_cond_t work;  /* workers without any sleep here */
    pthread_cond_t over;
    pthread_cond_t program; /* the program waits for room in an input, or samples of an output */
    guint n_external;       /* nodes whose work is the program's, and that have not ended */
    guint generation;       /* atomic: raised when a worker might find something to do */
    guint alive;            /* runners that have not returned */
    guint sleeping;         /* of those, the ones that wait for a change */
    guint sleeping_workers;
    guint unfinished;  /* nodes */
    guint n_finished;  /* of those, the ones that only have to be completed */
    guint n_watching;  /* watchers that have not returned */
    guint n_in_flight; /* firings */
    gboolean interrupted;
    gboolean is_concluded; /* all that is left is to close and to complete */
    guint n_closing;       /* nodes that are still to be closed before any is completed */
    gboolean stop;
    gboolean started;
    gboolean rests;   /* no firing begins */
    guint stepper;    /* the node that brings this about … */
    gint64 step_end;  /* … when it has got so far */
    gint64 begun;     /* now() at the beginning of ct_scheduler_new … */
    gint64 ready;     /* … at its end */
    gint64 first;     /* … and when a sink was first given something; 0: none was */
    gint64 running;   /* now() at the start … */
    gint64 finished;  /* … and at the end of the last node; 0: it has not ended */
    gint64 preparing; /* nanoseconds of it that stages took */
    GError *error;
    GPtrArray *warnings; /* of CtWarning: of the run */
};

/* The monotonic clock, in nanoseconds. */
gint64 ct_scheduler_now(void);

/* ---- what threads do: scheduler-work.c ---- */

/* The body of a runner's thread; `runner` is a CtRunner. */
gpointer ct_scheduler_run(gpointer runner);
/* With the lock. Whoever sleeps looks again: all threads, and the program. */
void ct_scheduler_wake_all(CtScheduler *scheduler);
/* With the lock. Something changed for `node`. */
void ct_scheduler_wake(CtScheduler *scheduler, guint node);
void ct_scheduler_wake_readers(CtScheduler *scheduler, const CtRing *ring);
/* With the lock. The first error is kept, and ends the run. Owns `error`. */
void ct_scheduler_fail(CtScheduler *scheduler, GError *error);
/* The same for what a node has failed of: puts its place in front. */
void ct_scheduler_fail_node(CtScheduler *scheduler, const CtRunNode *node, GError *cause);
/* With the lock. Lets go on who waits for more than stands, where nobody is at work. */
gboolean ct_scheduler_hurry(CtScheduler *scheduler);
/* With the lock. Fails where nothing runs and nothing can. */
void ct_scheduler_check_stall(CtScheduler *scheduler);
/* With the lock. Who waits for what in a graph that stands still; *culprit is a node that waits for
 * nothing, else the first of those that have not ended: scheduler-stall.c. */
GError *ct_scheduler_explain_stall(const CtScheduler *scheduler, const CtRunNode **culprit);
/* With the lock. How far a node has got, for steps: samples. */
gint64 ct_scheduler_progress(const CtRunNode *node);
/* With the lock. Between steps: everything that was begun is done. */
gboolean ct_scheduler_is_at_rest(const CtScheduler *scheduler);
/* With the lock. Counts what a firing of the node consumes and makes. */
void ct_scheduler_count(CtScheduler *scheduler, CtRunNode *node);
/* With the lock. Sinks that were given something. */
void ct_scheduler_reached_sink(CtScheduler *scheduler);
/* With the lock. Lets go of what the firing read and consumed; returns how many samples it consumed
 * of all inputs. */
gint64 ct_scheduler_release_inputs(CtScheduler *scheduler, CtRunNode *node);
/* With the lock. A reader has let go of samples of `ring`. */
void ct_scheduler_released(CtScheduler *scheduler, CtRing *ring);
/* Fills `until` with the monotonic time in so many seconds. */
void ct_scheduler_deadline(struct timespec *until, gdouble seconds);

/* ---- the end of the run: scheduler-end.c ---- */

/* With the lock. Takes the node out of the graph: nobody waits for it any more. */
void ct_scheduler_end_node(CtScheduler *scheduler, CtRunNode *node);
/* With the lock. The node's last firing is done: it ends, at once or when it is completed. */
void ct_scheduler_finish_node(CtScheduler *scheduler, CtRunNode *node);
/* With the lock, which it lets go in between: makes the node's result final. */
void ct_scheduler_complete_node(CtScheduler *scheduler, CtRunNode *node);

/* ---- nodes that run on devices: scheduler-device.c ---- */

/* Opens the devices of the plan. */
gboolean ct_scheduler_open_devices(CtScheduler *scheduler, GError **error);
/* Marks the rings that device nodes write or read. */
void ct_scheduler_connect_devices(CtScheduler *scheduler);
/* Prepares node `i`, on whatever place it runs. */
gboolean ct_scheduler_prepare_node(CtScheduler *scheduler, guint i, gsize *scratch, GError **error);
/* With the lock. */
gboolean ct_scheduler_start_watchers(CtScheduler *scheduler, GError **error);
/* Joins the watchers and waits until nothing runs on any device. */
void ct_scheduler_stop_watchers(CtScheduler *scheduler);
/* With the lock. Adds to what a node failed of which others of its device may be the cause. */
void ct_scheduler_widen_blame(CtScheduler *scheduler, const CtRunNode *node, GError *cause);
/* With the lock. Whether the node may fire as far as its device goes: firings in flight, and memory
 * that links share. Where it may not, it is woken when that may have changed. */
gboolean ct_scheduler_may_fire(CtScheduler *scheduler, CtRunNode *node);
/* With the lock. A firing of the node is in flight, or a splice of what the program feeds. */
void ct_scheduler_fly(CtScheduler *scheduler, const CtRunNode *node);
/* With the lock, which it lets go in between: what work has enqueued is in flight. */
void ct_scheduler_take_off(CtScheduler *scheduler, CtRunNode *node);

/* ---- nodes of the program's on devices: endpoint-device.c ---- */

CtEndpoint *ct_endpoint_new(CtRunQueue *queue, GError **error);
void ct_endpoint_free(CtEndpoint *endpoint);
/* Another queue works on the same memory. */
void ct_endpoint_share(CtEndpoint *endpoint, CtRunQueue *queue);
/* The queues run on after what the program's stream has been given so far. */
gboolean ct_endpoint_follow(CtEndpoint *endpoint, GError **error);
/* A splice was enqueued on `queue`: the other queues run on after it. */
gboolean ct_endpoint_spliced(CtEndpoint *endpoint, GError **error);
/* Waits until the oldest splice in flight is made. */
gboolean ct_endpoint_wait(CtEndpoint *endpoint, GError **error);
/* Waits until the program's stream has done what ct_endpoint_follow was called for. */
gboolean ct_endpoint_finish(CtEndpoint *endpoint, GError **error);
/* The program has what is described by `block` of `ring`: its stream waits for it, or the host does
 * where it has set none. The events are those of ct_ring_read_after. */
gboolean ct_endpoint_lead(CtEndpoint *endpoint, GError **error);
