/* SPDX-License-Identifier: BSD-3-Clause */
/* Two proofs of the planner. Whether a graph's plan is the best: all combinations that could be
 * better run as whole graphs; for small graphs. And whether the costs of reading and of writing are
 * independent. */
#pragma once

#include "graph/registry.h"
#include "plan/plan.h"

typedef struct {
    const CtGraph *graph;
    CtRegistry *registry;
    const CtPlanOptions *plan;
    guint n_repetitions; /* of the last, fastest combinations */
    gdouble seconds;     /* of a full run, approximately */
    gdouble budget;      /* seconds; 0: no limit */
    gboolean shows_progress;
} ExhaustOptions;

/* Prints the number of combinations of the ways to run each stage, with the conversions that the
 * planner inserts. Runs each way in some whole graph, then all combinations that could be the best
 * if each of their parts did as well as it ever did; then the fastest in turn, until few are left,
 * and these with the plan. Returns a report, allocated. */
char *exhaust_run(const ExhaustOptions *options, GError **error);

/* Measures all pairs of what a stage of an `any` row reads and writes, and fits a(in) + b(out).
 * Returns a line for each stage, allocated. Results are kept in the cost database. */
char *independence_measure(const ExhaustOptions *options, GError **error);
