/* SPDX-License-Identifier: BSD-3-Clause */
/* The scheduler: fires the nodes of a plan on pinned workers until the sources end. */
#pragma once

#include "plan/plan.h"

#include <cornerturn/pipeline.h>

typedef struct CtScheduler CtScheduler;

typedef struct {
    gdouble duration;      /* seconds of stream after which sources end; 0: theirs */
    gboolean poison;       /* fill every output with NaN before work, to find what is not written */
    gboolean pin;          /* workers to processors */
    guint8 *const *memory; /* [link] of the caller's for its ring, link->bytes each; NULL: none */
    gboolean strict;       /* what the run warns of at its end is an error */
    const GPtrArray *warned; /* of CtWarning: what the graph has warned of before; NULL: nothing */
    gboolean steps;          /* go on only as ct_scheduler_step says */
    gboolean processor_time; /* nodes' seconds on the host are those of the processor: what others
                                take of it meanwhile does not count */
} CtRunOptions;

/* What a node has done so far. */
typedef struct {
    const CtPlanNode *node;
    guint64 firings;
    gint64 samples;       /* of the first output; of a sink's first input */
    gint64 consumed;      /* samples of the first input that flows; 0: there is none */
    gint64 invalid;       /* of those, lanes × samples */
    gdouble work_seconds; /* over all workers */
    gdouble core_seconds; /* advance, histories, validity */
    gdouble fill;         /* of the fullest input ring, 0 to 1 */
    gboolean ended;
    guint n_counters;
    guint64 counters[CT_MAX_COUNTERS];
} CtNodeStats;

/* Seconds from the beginning of ct_scheduler_new, by cause, and what they went to. */
typedef struct {
    gdouble devices; /* contexts of the devices */
    gdouble memory;  /* on devices, and pinned */
    gdouble compile; /* of kernels that were not in the cache */
    gdouble load;    /* of kernels */
    gdouble stages;  /* what else the stages prepared: tables, plans of libraries */
    gdouble all;
    gdouble first;   /* until the first sample reached a sink; 0: none has */
    gdouble running; /* from the start to the end, or until now */
    guint n_compiled;
    guint n_cached;
} CtSetupStats;

/* Prepares every node and allocates every ring. The plan must outlive the scheduler. */
CtScheduler *ct_scheduler_new(const CtPlan *plan, const CtRunOptions *options, GError **error);
/* Called with a smaller plan that has taken the place of another one; FALSE: it is not wanted. */
typedef gboolean (*CtPlanTaken)(const CtPlan *plan, gpointer data);
/* The same, but where a device has too little memory, smaller plans of the graph, made by `how`,
 * take the place of *plan one after another until a run by one can be prepared. The error is that
 * of the first plan. `taken` may be NULL. */
CtScheduler *ct_scheduler_new_that_fits(CtPlan **plan, CtRegistry *registry,
                                        const CtPlanOptions *how, const CtRunOptions *options,
                                        CtPlanTaken taken, gpointer data, GError **error);
/* Stops and joins where it still runs. */
void ct_scheduler_free(CtScheduler *scheduler);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtScheduler, ct_scheduler_free)

/* Starts the threads. Where one cannot be, those that have been started end. */
gboolean ct_scheduler_start(CtScheduler *scheduler, GError **error);
/* Ends the run as a failure of a node does. Owns `error`. */
void ct_scheduler_stop(CtScheduler *scheduler, GError *error);
/* With `steps`: goes on until node `i` has consumed `n` samples more (a source: has produced them),
 * and waits until everything that was begun by then is done, so that statistics are of whole
 * firings. After so many `seconds` nothing more is begun. FALSE: the run has ended. */
gboolean ct_scheduler_step(CtScheduler *scheduler, guint i, gint64 n, gdouble seconds);
/* Sources end now; what they gave flows to the sinks. From any thread (not from a signal handler).
 */
void ct_scheduler_interrupt(CtScheduler *scheduler);
/* Whether it has ended; waits for that at most `seconds` (negative: for ever). */
gboolean ct_scheduler_wait(CtScheduler *scheduler, gdouble seconds);
/* After the end: the first error, FALSE; or TRUE. */
gboolean ct_scheduler_result(CtScheduler *scheduler, GError **error);

/* Whether an interrupt ended a node before its own end. */
gboolean ct_scheduler_is_interrupted(CtScheduler *scheduler);
/* Adds what the run warns of: of nodes that ended, once all have. */
void ct_scheduler_join_warnings(CtScheduler *scheduler, GPtrArray *warnings);

/* Fills `stats` for node `i` of the plan. */
void ct_scheduler_stats(CtScheduler *scheduler, guint i, CtNodeStats *stats);
void ct_scheduler_setup(CtScheduler *scheduler, CtSetupStats *setup);
/* Seconds of stream that the sources have produced, by the farthest. */
gdouble ct_scheduler_stream_seconds(CtScheduler *scheduler);

/* ---- nodes whose work is the program's: variants without work ---- */

/* Queues a packed block for node `i`, waiting while the queue is full; see ct_pipeline_feed. */
gboolean ct_scheduler_feed(CtScheduler *scheduler, guint i, const CtBlock *block,
                           CtReleased released, gpointer user_data, GError **error);
void ct_scheduler_feed_end(CtScheduler *scheduler, guint i);
/* What stands for node `i`, waiting for it; see ct_pipeline_take. */
gboolean ct_scheduler_take(CtScheduler *scheduler, guint i, gdouble seconds, CtBlock *block,
                           GError **error);
/* See ct_pipeline_set_stream. */
gboolean ct_scheduler_set_stream(CtScheduler *scheduler, guint i, gpointer stream, GError **error);
void ct_scheduler_give_back(CtScheduler *scheduler, guint i);
