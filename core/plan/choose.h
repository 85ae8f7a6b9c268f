/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice: how each node runs, and what stands between. */
#pragma once

#include "bridge.h"
#include "candidates.h"
#include "planner.h"

/* Readers of an output that data flows to. */
typedef struct {
    guint node; /* in the graph */
    guint port;
    GArray *readers; /* of CtPlanReader, with nodes of the graph */
} CtOutlet;

/* The outlets of all nodes that anybody reads, by node and port; free with g_ptr_array_unref. */
GPtrArray *ct_outlets_new(const CtGraph *graph);

/* What was chosen, for all nodes and outlets together. */
typedef struct {
    guint n_nodes, n_outlets;
    const CtArrangement **arrangements; /* [node] */
    const CtOffer **offers;             /* [node] which of the arrangement's */
    CtBridge **bridges; /* [outlet][reader] from the writer's spot to the reader's; without steps
                           inside an arrangement */
    gdouble seconds;    /* that keep the busiest resource busy, for a second of stream */
    gdouble least;      /* no choice takes less: `seconds`, unless the graph is too entangled */
} CtChoice;

CtChoice *ct_planner_choose(CtPlanner *planner, const CtCandidates *candidates,
                            const GPtrArray *outlets, GError **error);
void ct_choice_free(CtChoice *choice);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtChoice, ct_choice_free)
