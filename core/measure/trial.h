/* SPDX-License-Identifier: BSD-3-Clause */
/* A trial: one candidate, run by itself and timed as it would be in a graph.
 *
 * It runs between sources whose blocks of random elements are ready, in the candidate's layouts
 * and at its places, and sinks that drop its output; rings, firings, workers and queues are those
 * of any plan. A trial can pause while others run, and continue. */
#pragma once

#include "cost/estimate.h"
#include "graph/registry.h"
#include "plan/plan.h"

typedef struct CtTrial CtTrial;

/* The result of a trial so far. */
typedef struct {
    gdouble seconds; /* per sample of the first output (of a sink's first input): of all workers
                        together in processor time, or of the device's queue */
    gdouble samples; /* number of samples measured */
    gboolean ended;  /* the node's stream has ended: there is nothing more to measure */
} CtTrialResult;

/* The reason why `what` cannot be tried: it waits for files, the network or the program, or does
 * nothing along time. Allocated; NULL: it can be tried. */
char *ct_trial_refusal(const CtEstimated *what);

/* Plans and prepares the trial. Everything that `what` points to, the registry and the options must
 * outlive it. `reads` has a bit for each output that has a reader. An error is the variant's own,
 * if it cannot be prepared. */
CtTrial *ct_trial_new(const CtEstimated *what, guint64 reads, CtRegistry *registry,
                      const CtPlanOptions *options, GError **error);
void ct_trial_free(CtTrial *trial);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtTrial, ct_trial_free)

/* Continues for about `seconds`, in whole firings and, where that is not much longer, whole sums;
 * the first call warms up before. */
gboolean ct_trial_run(CtTrial *trial, gdouble seconds, CtTrialResult *result, GError **error);
/* The bytes of its rings, on the host and on devices. */
gsize ct_trial_bytes(const CtTrial *trial);
