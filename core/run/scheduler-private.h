/* SPDX-License-Identifier: BSD-3-Clause */
/* The scheduler's state, shared by its files. */
#pragma once

#include "firing.h"
#include "place.h"
#include "run-device.h"
#include "scheduler.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* Workers that serve the same nodes. There is one team, unless nodes name NUMA nodes: then the
 * workers of each NUMA node are a team. */
struct CtTeam {
    gint numa; /* CT_NO_NUMA: it is the only team */
    guint n_workers;
    pthread_cond_t work; /* its workers without work sleep here */
    guint sleeping;
};

struct CtRunner {
    CtScheduler *scheduler;
    guint index;
    CtRunNode *node; /* the only node that the thread serves; NULL: it serves several */
    gboolean serves; /* serves those nodes whose own[] it is: of a device, or `node`; FALSE: it is a
                        worker */
    CtTeam *team;    /* of a worker */
    GThread *thread;
    atomic_uint *generation;    /* raised when the runner might find something to do */
    atomic_uint own_generation; /* `generation` of a runner that is no worker */
    gboolean sleeps;
    pthread_cond_t wake; /* of a runner that is no worker */
    gpointer scratch;
    guint64 *counters;
    GPtrArray *joint;    /* of CtRunNode: of a device's thread, the firings on one queue that are
                            enqueued and will be submitted together … */
    CtCuEvent joint_end; /* … with this event */
    gint64 joint_begun;  /* ct_scheduler_now() before the first was enqueued */
};

/* A firing, or a splice of blocks that the program feeds, that a watcher is to retire. */
typedef struct {
    guint node;
    CtCuEvent ran; /* the same for firings that were submitted together; NULL: it is a splice */
    gint64 begun;  /* ct_scheduler_now() before these were enqueued; 0: the firing is timed */
} CtWatched;

/* Watches a queue of a device: submissions there are retired in the order in which they were
 * enqueued. */
typedef struct {
    CtScheduler *scheduler;
    guint index; /* index of the queue */
    GThread *thread;
    pthread_cond_t wake;
    gboolean sleeps;   /* until it is woken */
    GArray *in_flight; /* of CtWatched; a circular list, as long as the most submissions that can
                          be in flight */
    guint first;
    guint n;
    gint64 idle;        /* ct_scheduler_now() when the last of them was retired */
    GArray *transients; /* of guint: rings of the queue's transient links */
} CtWatcher;

/* Reads the files of parameters again; see reread.c. */
typedef struct CtReread CtReread;

/* The device part of a node whose work the program does. */
typedef struct {
    CtRunQueue *queue;
    GPtrArray *others; /* of CtRunQueue: the queues beside `queue` that read blocks which the
                          program feeds, or write those that it takes */
    CtQueue *own;      /* for splices */
    CtCuEvent event;   /* marks the work that the program has enqueued */
    CtCuStream stream; /* the program's stream; NULL: the host waits */
    GPtrArray *after;
    CtCuEvent spliced[CT_PIPELINE_QUEUE]; /* the ends of splices, used in turn */
    guint next_splice;                    /* of the feeder */
    guint oldest_splice;                  /* of the watcher: the oldest in flight */
} CtEndpoint;

struct CtScheduler {
    const CtPlan *plan;
    CtRunOptions options;
    guint n_nodes;
    CtRunNode *nodes;
    guint n_rings;
    CtRing **rings;
    guint n_workers;
    guint n_teams;
    CtTeam *teams;
    gboolean spins;  /* runners without work poll before they sleep */
    guint n_runners; /* workers first */
    CtRunner *runners;
    gsize scratch_bytes; /* of each runner */
    CtRunner **own; /* [node] thread of a node that waits or of its device; NULL: the workers */
    CtReread *reread;
    CtEnergyMeter *energy;  /* NULL: it is not counted, or the run has not started */
    CtRunDevices *devices;  /* NULL: the plan has none */
    CtWatcher *watchers;    /* [queue] */
    CtEndpoint **endpoints; /* [node] NULL: it is not fed or taken by the program, or on the host */

    pthread_mutex_t lock;     /* of POSIX, which thread checkers know */
    pthread_mutex_t changing; /* held while a change of a parameter is prepared; taken first */
    pthread_cond_t over;
    pthread_cond_t program; /* the program waits here for room or samples */
    guint n_external;       /* nodes whose work the program does, and that have not ended */
    atomic_uint generation; /* raised when a worker might find something to do */
    guint alive;            /* runners that have not returned */
    guint sleeping;         /* runners that wait for a change */
    guint unfinished;       /* nodes that have not ended */
    guint n_finished;       /* of those, nodes that only need to be completed */
    guint n_watching;       /* watchers that have not returned */
    guint n_in_flight;      /* submissions, and splices on devices */
    gboolean interrupted;
    gboolean is_concluded; /* nodes now only need to be closed and completed */
    guint n_closing;       /* nodes still to be closed before any is completed */
    gboolean stop;
    gboolean started;
    gboolean rests;  /* no new firing may begin */
    guint stepper;   /* the node whose progress ends a step, that is, sets `rests` … */
    gint64 step_end; /* … when it reaches this number of samples */
    gint64 begun;    /* ct_scheduler_now() at the beginning of ct_scheduler_new() … */
    gint64 first;    /* … and when a sink first got samples; 0: none has */
    gint64 running;  /* ct_scheduler_now() at the start … */
    gint64 finished; /* … and at the end of the last node; 0: it has not ended */
    guint64 n_rests; /* calls of ct_scheduler_pulse() while no node worked */
    GError *error;
    CtSetupStats setup;  /* without what happens later */
    GPtrArray *warnings; /* of CtWarning: of the run */
};

/* The monotonic clock, in nanoseconds. */
gint64 ct_scheduler_now(void);

/* ---- what threads do: scheduler-work.c ---- */

/* The body of a runner's thread; `runner` is a CtRunner. */
gpointer ct_scheduler_run(gpointer runner);
/* With the lock. Wakes all threads that sleep, and the program. */
void ct_scheduler_wake_all(CtScheduler *scheduler);
/* With the lock. Wakes the threads that serve `node`, for which something has changed. */
void ct_scheduler_wake(CtScheduler *scheduler, guint node);
void ct_scheduler_wake_readers(CtScheduler *scheduler, const CtRing *ring);
/* With the lock. Keeps the error, if it is the first, and ends the run. Owns `error`. */
void ct_scheduler_fail(CtScheduler *scheduler, GError *error);
/* The same for the failure of a node, whose place is added to the error. */
void ct_scheduler_fail_node(CtScheduler *scheduler, const CtRunNode *node, GError *cause);
/* With the lock. If no node is at work, lets nodes fire that wait for more input than there is.
 * FALSE: there are none. */
gboolean ct_scheduler_hurry(CtScheduler *scheduler);
/* With the lock. Fails the run if it stands still. */
void ct_scheduler_check_stall(CtScheduler *scheduler);
/* With the lock. Describes what each node waits for in a graph that stands still. *culprit is
 * set to a node that waits for nothing, else to the first node that has not ended:
 * scheduler-stall.c. */
GError *ct_scheduler_explain_stall(const CtScheduler *scheduler, const CtRunNode **culprit);
/* With the lock. Whether, between steps, all firings that were begun are done. */
gboolean ct_scheduler_is_at_rest(const CtScheduler *scheduler);
/* With the lock. Notes that a reader has released samples of `ring`. */
void ct_scheduler_released(CtScheduler *scheduler, CtRing *ring);
/* Sets `until` to the monotonic time in `seconds` seconds. */
void ct_scheduler_deadline(struct timespec *until, gdouble seconds);

/* ---- the steps of a firing: scheduler-firing.c ---- */

/* With the lock, which it releases meanwhile. Begins a firing of the node; TRUE if there is one. A
 * firing without items has no work, and is finished next. */
gboolean ct_scheduler_begin_firing(CtScheduler *scheduler, CtRunNode *node);
/* With the lock, which it releases meanwhile. Works on the next range; TRUE if all ranges are then
 * done. */
gboolean ct_scheduler_work(CtScheduler *scheduler, CtRunner *runner, CtRunNode *node);
/* With the lock, which it releases meanwhile. Publishes what the firing made, and releases what it
 * read. */
void ct_scheduler_finish_firing(CtScheduler *scheduler, CtRunNode *node);
/* With the lock, which it releases meanwhile. Does all of these steps on the thread of a device, if
 * the node can fire: what is enqueued for one firing stays together. */
void ct_scheduler_fire(CtScheduler *scheduler, CtRunner *runner, CtRunNode *node);
/* With the lock. Follows when the work of a finished firing is done: on the host at once, on a
 * device when its submission has been retired. Ends the node after its last firing. */
void ct_scheduler_retire(CtScheduler *scheduler, CtRunNode *node, gboolean is_last);
/* With the lock. Notes that a sink has got samples. */
void ct_scheduler_reached_sink(CtScheduler *scheduler);
/* With the lock. The progress of a node for steps, in samples. */
gint64 ct_scheduler_progress(const CtRunNode *node);

/* ---- the end of the run: scheduler-end.c ---- */

/* With the lock. Takes the node out of the graph, so that no other node waits for it. */
void ct_scheduler_end_node(CtScheduler *scheduler, CtRunNode *node);
/* With the lock. Ends the node after its last firing, at once or when it is completed. */
void ct_scheduler_finish_node(CtScheduler *scheduler, CtRunNode *node);
/* With the lock, which it releases meanwhile: makes the node's result final. */
void ct_scheduler_complete_node(CtScheduler *scheduler, CtRunNode *node);

/* ---- processors and NUMA nodes: run-processors.c ---- */

void ct_scheduler_create_teams(CtScheduler *scheduler);
CtTeam *ct_scheduler_team_of_worker(const CtScheduler *scheduler, guint worker);
/* NULL: all teams serve the node, or no worker does. */
CtTeam *ct_scheduler_team_of_node(const CtScheduler *scheduler, const CtPlanNode *node);
void ct_scheduler_free_teams(CtScheduler *scheduler);
/* On a thread of the run, without the lock: binds it to its processors. */
void ct_scheduler_bind_runner(CtRunner *runner);
void ct_scheduler_bind_watcher(const CtWatcher *watcher);
/* Puts the memory of a new ring on its NUMA node. */
void ct_scheduler_bind_ring(CtScheduler *scheduler, const CtRing *ring);
/* The thread of the program goes to where a node of the run works, and back: what the node's stage
 * allocates is then near, and the threads that it starts stay there. Node −1: all of the run. */
typedef struct {
    gboolean moved;
    cpu_set_t home;
} CtVisit;
void ct_scheduler_visit(CtScheduler *scheduler, CtVisit *visit, gint node);
void ct_scheduler_return(const CtVisit *visit);

/* ---- preparation: scheduler.c ---- */

/* Adds a thread that serves only what it is given. */
CtRunner *ct_scheduler_add_runner(CtScheduler *scheduler);

/* ---- files that are read again: reread.c ---- */

/* To be called before the nodes are prepared, so that no change of a file is missed. */
CtReread *ct_reread_new(CtScheduler *scheduler);
/* Starts its thread, if the graph has such files. The thread ends with the run. */
gboolean ct_reread_start(CtReread *self, GError **error);
/* Accepts NULL. */
void ct_reread_free(CtReread *self);

/* ---- devices and their watchers: scheduler-device.c ---- */

/* Opens the devices of the plan. */
gboolean ct_scheduler_open_devices(CtScheduler *scheduler, GError **error);
/* Marks the rings that device nodes write or read. */
void ct_scheduler_connect_devices(CtScheduler *scheduler);
/* Makes room for `n` more submissions in flight on the node's queue. */
void ct_scheduler_expect(CtScheduler *scheduler, const CtRunNode *node, guint n);
/* With the lock. Starts the threads of the watchers. */
gboolean ct_scheduler_start_watchers(CtScheduler *scheduler, GError **error);
/* Lets changes of parameters use the memory of earlier ones, so that no device waits for them. */
void ct_scheduler_reuse_memory(CtScheduler *scheduler);
/* Joins the watchers, waits until all devices are idle, and frees what the nodes have there. */
void ct_scheduler_clear_devices(CtScheduler *scheduler);
/* With the lock. Tells the queue's watcher of a firing of the node that ends with the event `ran`;
 * NULL: of a splice of blocks that the program feeds. `begun`: when the firings that it was
 * submitted together with began; 0: it is by itself. */
void ct_scheduler_watch(CtScheduler *scheduler, const CtRunNode *node, CtCuEvent ran, gint64 begun);

/* ---- firings that are submitted together: scheduler-joint.c ---- */

/* With the lock. Adds the enqueued firing of the node to those that will be submitted together,
 * with the event `joint`. */
void ct_scheduler_join(CtScheduler *scheduler, CtRunNode *node, CtCuEvent joint);
/* Without the lock, on the thread of the node's device. Submits the firings that were joined,
 * unless the node's next firing joins them. A failure ends the run. */
void ct_scheduler_make_way(CtScheduler *scheduler, CtRunNode *node);
/* With the lock, which it releases meanwhile. Submits the firings that the runner has joined.
 * FALSE: there were none. */
gboolean ct_scheduler_submit_joint(CtScheduler *scheduler, CtRunner *runner);

/* ---- nodes of the program's on devices: endpoint-device.c ---- */

CtEndpoint *ct_endpoint_new(CtRunQueue *queue, GError **error);
void ct_endpoint_free(CtEndpoint *endpoint);
/* Adds a queue that works on the same memory. */
void ct_endpoint_share(CtEndpoint *endpoint, CtRunQueue *queue);
/* Makes the queues wait for the work that the program's stream has so far. */
gboolean ct_endpoint_follow(CtEndpoint *endpoint, GError **error);
/* Makes the other queues wait for the splice that was enqueued on `queue`. */
gboolean ct_endpoint_spliced(CtEndpoint *endpoint, GError **error);
/* Waits until the oldest splice in flight is finished. */
gboolean ct_endpoint_wait(CtEndpoint *endpoint, GError **error);
/* Waits until the program's stream has done the work that the last ct_endpoint_follow() was
 * about. */
gboolean ct_endpoint_finish(CtEndpoint *endpoint, GError **error);
/* Makes the program's stream, or the host if the program has set none, wait for the events in
 * `after`. These are the events of ct_ring_read_after() for a block that the program is about to
 * get. */
gboolean ct_endpoint_lead(CtEndpoint *endpoint, GError **error);
