/* SPDX-License-Identifier: BSD-3-Clause */
/* The unbound rows of a graph: the rows of variants that can be bound to its nodes, before any
 * order is chosen. */
#pragma once

#include "candidates.h"
#include "planner.h"

enum { CT_FROM_WRITERS, CT_FROM_READERS, CT_N_SIDES };

/* A row of layouts over a row of nodes, with the variants that have it. */
typedef struct {
    GArray *implementations; /* of CtImplementation, without estimates */
    const CtRowPatterns *patterns;
    gint place;
    guint n_nodes;
    guint *nodes;
    CtNode *covered; /* [n_nodes] shallow copies */
    guint n_ports;
    CtRowPort *ports; /* inputs of the first node, outputs of the last */
    CtRowPorts row_ports;
    CtLayout *canonical; /* [n_ports] bound to no order of the neighbours' */
    CtLoad load;
    gdouble seconds;           /* of the cheapest, so bound */
    guint n_tried[CT_N_SIDES]; /* orders that it was bound to */
    const CtFixed *fixed;      /* bound to no others than these; NULL: it is free */
} CtUnboundRow;

typedef struct {
    CtPlanner *planner;
    guint n_nodes;
    GPtrArray **nodes; /* [node] of CtUnboundRow, those that begin with the node */
    GPtrArray *fan_outs;
    GPtrArray *failed; /* patterns that do not fit the node at hand; borrowed */
    gint *fixed_from;  /* [node] the first of those that are fixed with it; −1: it is free */
} CtUnboundRows;

/* Those of `planner`, which must outlive them. reasons[node], of GString: why what is not among
 * them is not; of variants that nobody wants, only where that is all there is to tell. */
CtUnboundRows *ct_unbound_rows_new(CtPlanner *planner, GPtrArray *reasons, GError **error);
void ct_unbound_rows_free(CtUnboundRows *unbound_rows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtUnboundRows, ct_unbound_rows_free)

/* What the implementation's variant costs in these layouts of all ports. */
void ct_unbound_row_estimate(const CtUnboundRow *unbound, CtPlanner *planner,
                             CtImplementation *implementation, const CtLayout *inputs,
                             const CtLayout *outputs);
