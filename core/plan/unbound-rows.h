/* SPDX-License-Identifier: BSD-3-Clause */
/* The unbound rows of a graph: the rows of variants that can be bound to its nodes, before any
 * order is chosen. */
#pragma once

#include "candidates.h"
#include "planner.h"

enum { CT_FROM_WRITERS, CT_FROM_READERS, CT_N_SIDES };

/* A row of layouts that fits a chain of nodes, with the variants that offer it. */
typedef struct {
    GArray *implementations; /* of CtImplementation, without estimates */
    const CtRowPatterns *patterns;
    gint place;
    guint n_nodes;
    guint *nodes;
    CtNode *covered; /* [n_nodes] shallow copies */
    guint n_ports;
    CtRowPort *ports; /* the inputs of the first node, then the outputs of the last */
    CtRowPorts row_ports;
    CtLayout *canonical; /* [n_ports] the layouts when bound to no order of a neighbour */
    CtLoad load;
    gdouble seconds;           /* of the cheapest implementation in the canonical layouts */
    guint n_tried[CT_N_SIDES]; /* number of orders that it was already bound to */
    const CtFixed *fixed;      /* if set, the only layouts to which it is bound; NULL: it is free */
} CtUnboundRow;

typedef struct {
    CtPlanner *planner;
    guint n_nodes;
    GPtrArray **nodes; /* [node] of CtUnboundRow: the rows that begin with the node */
    GPtrArray *fan_outs;
    GPtrArray *failed; /* patterns that do not fit the node being processed; borrowed */
    gint *fixed_from; /* [node] the first node of the chain that is fixed with it; −1: it is free */
} CtUnboundRows;

/* Finds the unbound rows of the planner's graph. The planner must outlive them. reasons[node], of
 * GString, is set to the reasons why variants are not among them; variants that graph or options
 * exclude are named only where there is no other reason. */
CtUnboundRows *ct_unbound_rows_new(CtPlanner *planner, GPtrArray *reasons, GError **error);
void ct_unbound_rows_free(CtUnboundRows *unbound_rows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtUnboundRows, ct_unbound_rows_free)

/* Estimates the cost of the implementation in these layouts of all ports. */
void ct_unbound_row_estimate(const CtUnboundRow *unbound, CtPlanner *planner,
                             CtImplementation *implementation, const CtLayout *inputs,
                             const CtLayout *outputs);
