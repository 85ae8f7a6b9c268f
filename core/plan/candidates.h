/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways to run the nodes of a graph. */
#pragma once

#include "placement.h"
#include "planner.h"

typedef struct {
    const CtVariant *variant;
    const CtRow *row;
    CtEstimate estimate;
    CtCost cost; /* by the estimate */
} CtImplementation;

/* One way to run a node, or a chain of nodes, with all its layouts. */
typedef struct {
    const CtVariant *variant;
    const CtRow *row;
    CtEstimate estimate;
    GArray *implementations; /* of CtImplementation: all variants that do it, the cheapest first.
                                The variant, row, estimate and cost of the cheapest are repeated in
                                this struct */
    guint n_nodes;
    guint *nodes;      /* indices in the graph; each node feeds the next */
    gint place;        /* where it runs and where its ports lie … */
    guint n_flowing;   /* … except for the inputs from this one on, which lie on the host: those
                          with CT_PORT_PREPARED */
    CtLayout *inputs;  /* [inputs of the first] empty where no data flows */
    CtLayout *outputs; /* [outputs of the last] */
    CtLoad load;
    CtCost cost; /* by the estimate */
} CtCandidate;

/* The placement at which the candidate reads its input `port`. */
static inline CtPlacement
ct_candidate_reads(const CtCandidate *candidate, guint port)
{
    return (CtPlacement){candidate->inputs[port],
                         port < candidate->n_flowing ? candidate->place : CT_HOST};
}

typedef struct {
    GPtrArray *all;    /* of CtCandidate */
    GPtrArray **nodes; /* [graph nodes] the candidates that cover the node, borrowed */
    guint n_nodes;
} CtCandidates;

/* Finds the candidates of every node: the rows of the variants that may run, bound to the orders
 * that the neighbours name. Implementations with the same layouts at the same place form one
 * candidate. */
CtCandidates *ct_candidates_new(CtPlanner *planner, GError **error);
void ct_candidates_free(CtCandidates *candidates);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtCandidates, ct_candidates_free)
/* The number of ways to run all nodes; `n_ways` [of `all`] gives the number of ways to run each
 * candidate. */
gdouble ct_candidates_count(const CtCandidates *candidates, const gdouble *n_ways);
