/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways to run the nodes of a graph. */
#pragma once

#include "planner.h"

typedef struct {
    const CtVariant *variant;
    const CtRow *row;
    CtEstimate estimate;
    CtCost cost; /* by the estimate */
} CtImplementation;

/* One way of running a node, or a row of them: a variant with all its layouts. */
typedef struct {
    const CtVariant *variant;
    const CtRow *row;
    CtEstimate estimate;
    GArray *implementations; /* of CtImplementation: of all variants that do it, the cheapest first,
                                as above */
    guint n_nodes;
    guint *nodes;      /* in the graph; each feeds the next */
    gint place;        /* where it runs, and its ports lie */
    CtLayout *inputs;  /* [inputs of the first] empty where no data flows */
    CtLayout *outputs; /* [outputs of the last] */
    CtLoad load;
    CtCost cost; /* by the estimate */
} CtCandidate;

typedef struct {
    GPtrArray *all;    /* of CtCandidate */
    GPtrArray **nodes; /* [graph nodes] of those that cover the node, borrowed */
    guint n_nodes;
} CtCandidates;

/* The candidates of every node, of the same layouts the cheapest: rows of the variants that may
 * run, in the orders that the neighbours name. */
CtCandidates *ct_candidates_new(CtPlanner *planner, GError **error);
void ct_candidates_free(CtCandidates *candidates);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtCandidates, ct_candidates_free)
/* Ways to run all nodes, of so many ways [of `all`] to run each candidate. */
gdouble ct_candidates_count(const CtCandidates *candidates, const gdouble *n_ways);
