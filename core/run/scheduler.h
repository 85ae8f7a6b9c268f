/* SPDX-License-Identifier: BSD-3-Clause */
/* The scheduler: fires the nodes of a plan on pinned workers until the sources end. */
#pragma once

#include "energy.h"
#include "plan/plan.h"

#include <cornerturn/pipeline.h>

typedef struct CtScheduler CtScheduler;

typedef struct {
    gdouble duration;        /* seconds of stream after which sources end; 0: at their own end */
    gboolean poison;         /* fill every output with NaN before work, to find unwritten samples */
    gboolean pin;            /* pin workers to processors */
    guint8 *const *memory;   /* [link] link->bytes bytes of the caller's for the ring; NULL: none */
    gboolean strict;         /* warnings at the end of the run are errors */
    const GPtrArray *warned; /* of CtWarning: earlier warnings of the graph; NULL: none */
    gboolean steps;          /* run only in ct_scheduler_step() */
    gboolean rereads;        /* read the files of nodes again that the graph says */
    gboolean processor_time; /* measure nodes on the host in processor time, without the time that
                                other processes take */
    gboolean counts_energy;  /* of the processor and the devices */
    GHashTable *sends;       /* node → CtSinkSend of <kit/faults.h>; NULL: none */
} CtRunOptions;

/* The statistics of a node so far. */
typedef struct {
    const CtPlanNode *node;
    guint64 firings;
    gint64 samples;       /* of the first output; of a sink's first input */
    gint64 consumed;      /* samples of the first input that flows; 0: there is none */
    gint64 invalid;       /* invalid lanes × samples of the first output */
    gdouble work_seconds; /* over all workers */
    gdouble core_seconds; /* advance, histories, validity */
    gdouble fill;         /* of the fullest input ring, 0 to 1 */
    gboolean ended;
    guint n_counters;
    guint64 counters[CT_MAX_COUNTERS];
} CtNodeStats;

/* A change of a parameter that has taken effect. */
typedef struct {
    char *shown; /* "gains.gain=2" */
    gint64 tick;
} CtChangeStats;

/* Seconds that the preparation took, by cause, counted from the beginning of ct_scheduler_new(). */
typedef struct {
    gdouble devices; /* opening the devices */
    gdouble memory;  /* allocating memory on devices, and pinning */
    gdouble compile; /* compiling kernels that were not in the cache */
    gdouble load;    /* loading kernels */
    gdouble stages;  /* other preparation by stages: tables, plans of libraries */
    gdouble all;
    gdouble first;   /* until the first sample reached a sink; 0: none has */
    gdouble running; /* from the start to the end or until now */
    guint n_compiled;
    guint n_cached;
} CtSetupStats;

/* Prepares every node and allocates every ring. The plan must outlive the scheduler. */
CtScheduler *ct_scheduler_new(const CtPlan *plan, const CtRunOptions *options, GError **error);
/* Called with a smaller plan that has taken the place of another one; FALSE: it is not wanted. */
typedef gboolean (*CtPlanTaken)(const CtPlan *plan, gpointer data);
/* The same. If a device has too little memory, smaller plans of the graph, made by `how`, take the
 * place of *plan one after another until a run can be prepared. The error is that of the first
 * plan. `taken` may be NULL. */
CtScheduler *ct_scheduler_new_that_fits(CtPlan **plan, CtRegistry *registry,
                                        const CtPlanOptions *how, const CtRunOptions *options,
                                        CtPlanTaken taken, gpointer data, GError **error);
/* Stops the run if it has not ended, and frees it. */
void ct_scheduler_free(CtScheduler *scheduler);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtScheduler, ct_scheduler_free)

/* Starts the threads. If one cannot be started, the others end. */
gboolean ct_scheduler_start(CtScheduler *scheduler, GError **error);
/* Ends the run like a failure of a node. Owns `error`. */
void ct_scheduler_stop(CtScheduler *scheduler, GError *error);
/* With `steps`: runs until node `i` has consumed (a source: produced) `n` more samples, and waits
 * until all firings begun by then are done, so that statistics are of whole firings. After
 * `seconds` no more firings begin. FALSE: the run has ended. */
gboolean ct_scheduler_step(CtScheduler *scheduler, guint i, gint64 n, gdouble seconds);
/* Ends the sources now; the samples that they gave flow on to the sinks. May be called from any
 * thread, but not from a signal handler. */
void ct_scheduler_interrupt(CtScheduler *scheduler);
/* A number that changes from call to call, unless nothing but one and the same block of a node that
 * waits for nothing outside has been worked on meanwhile. */
guint64 ct_scheduler_pulse(CtScheduler *scheduler);
/* Whether the run has ended; waits for that at most `seconds` (negative: for ever). */
gboolean ct_scheduler_wait(CtScheduler *scheduler, gdouble seconds);
/* Whether the run, which has ended, was good; FALSE with the first error. */
gboolean ct_scheduler_result(CtScheduler *scheduler, GError **error);

/* Changes a parameter of the graph's node `node`, which exists, from *tick on; see
 * ct_pipeline_set_at(). The value is copied; its place is that of errors. `shown` stands for the
 * change in statistics. */
gboolean ct_scheduler_change(CtScheduler *scheduler, const char *node, const char *param,
                             const CtValue *value, const char *shown, gint64 *tick, GError **error);
/* The tick of a change that takes effect as soon as possible, which is replaced by that tick. */
#define CT_CHANGE_NOW G_MININT64

/* A parameter that can change during the run. */
typedef struct {
    const char *node; /* of the graph */
    const CtParam *param;
    char *value;        /* as the graph would give it, or by default; NULL: none is given */
    GArray *pending;    /* of CtChangeStats: changes that are not in effect yet, in their order */
    const CtStream *of; /* the stream on whose clock ticks count; NULL: the node has no output */
    gint64 next;        /* the first tick from which it can still change; G_MAXINT64: the node has
                           ended */
} CtLiveParam;

/* The parameters that can change: an array of CtLiveParam, for g_array_unref. */
GArray *ct_scheduler_live_params(CtScheduler *scheduler);

/* Whether an interrupt ended a node before its own end. */
gboolean ct_scheduler_is_interrupted(CtScheduler *scheduler);
/* Adds the warnings of the run, which are complete once all nodes have ended. */
void ct_scheduler_join_warnings(CtScheduler *scheduler, GPtrArray *warnings);

/* Fills `stats` for node `i` of the plan. */
void ct_scheduler_stats(CtScheduler *scheduler, guint i, CtNodeStats *stats);
/* The accounts that node `i` has told of its parts, *n; to be freed, or NULL. */
CtAccount *ct_scheduler_accounts(CtScheduler *scheduler, guint i, guint *n);
/* The newest picture that node `i` has shown (ct_work_show), with its NUL; NULL: none yet. Sets *n
 * to the number of pictures so far. */
GBytes *ct_scheduler_picture(CtScheduler *scheduler, guint i, guint64 *n);
/* The changes that have taken effect so far, of each node in the order of their ticks: an array of
 * CtChangeStats, for g_array_unref. Sets the number of earlier ones that are no longer listed. */
GArray *ct_scheduler_changes(CtScheduler *scheduler, guint64 *n_dropped);
void ct_scheduler_setup(CtScheduler *scheduler, CtSetupStats *setup);
/* The energy of the run so far, of the processor (CT_HOST) or a device. */
void ct_scheduler_energy(CtScheduler *scheduler, gint place, CtEnergy *energy);
/* The seconds of stream that the source which is farthest has produced. */
gdouble ct_scheduler_stream_seconds(CtScheduler *scheduler);
/* The seconds of stream that it will have produced at its end; 0: not known. */
gdouble ct_scheduler_length_seconds(const CtScheduler *scheduler);

/* ---- nodes whose work is the program's: variants without work ---- */

/* How a block is fed; see ct_pipeline_feed() and ct_pipeline_try_feed(). */
typedef struct {
    gdouble seconds;     /* to wait for room at most; negative: without limit */
    CtReleased released; /* NULL: nobody is told */
    gpointer user_data;
    guint *n_unread; /* is set; NULL: nobody asks */
} CtFeed;

/* Queues a packed block for node `i`; waits while the queue is full. FALSE without an error: the
 * time is up. */
gboolean ct_scheduler_feed(CtScheduler *scheduler, guint i, const CtBlock *block, const CtFeed *how,
                           GError **error);
void ct_scheduler_feed_end(CtScheduler *scheduler, guint i);
/* Gives the samples for node `i`; waits for them; see ct_pipeline_take(). */
gboolean ct_scheduler_take(CtScheduler *scheduler, guint i, gdouble seconds, CtBlock *block,
                           GError **error);
/* See ct_pipeline_set_stream(). */
gboolean ct_scheduler_set_stream(CtScheduler *scheduler, guint i, gpointer stream, GError **error);
void ct_scheduler_give_back(CtScheduler *scheduler, guint i);
