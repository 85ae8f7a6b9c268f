/* SPDX-License-Identifier: BSD-3-Clause */
/* A trial: one candidate by itself, run and timed as it would be in a graph.
 *
 * It stands between sources whose blocks lie ready with random elements, in exactly its layouts and
 * at its places, and sinks that drop what it makes; rings, firings, workers and queues are those of
 * any plan. It can be run for a while, rest while others are run, and go on. */
#pragma once

#include "cost/estimate.h"
#include "graph/registry.h"
#include "plan/plan.h"

typedef struct CtTrial CtTrial;

/* What a trial has shown so far. */
typedef struct {
    gdouble seconds; /* per sample of the first output (of a sink's first input): of the processor,
                        all workers added up, or of the device's queue */
    gdouble samples; /* in which it was measured */
    gboolean ended;  /* the node's stream is over: there is nothing more to measure */
} CtTrialResult;

/* Why `what` cannot be tried: it waits for the world, or does nothing along time. Allocated; NULL:
 * it can. */
char *ct_trial_refusal(const CtEstimated *what);

/* Plans and prepares; all that `what` points to, registry and options must outlive the trial.
 * `reads` has a bit for each output that somebody reads. An error is the variant's own, if it
 * cannot be prepared. */
CtTrial *ct_trial_new(const CtEstimated *what, guint64 reads, CtRegistry *registry,
                      const CtPlanOptions *options, GError **error);
void ct_trial_free(CtTrial *trial);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtTrial, ct_trial_free)

/* Runs on for about so many seconds, whole firings and, where they are not much longer, whole sums;
 * the first time after it has warmed up. */
gboolean ct_trial_run(CtTrial *trial, gdouble seconds, CtTrialResult *result, GError **error);
/* Bytes of its rings, on whichever place. */
gsize ct_trial_bytes(const CtTrial *trial);
