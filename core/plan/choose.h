/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice: how each node runs, and what stands between. */
#pragma once

#include "candidates.h"
#include "conversion.h"
#include "planner.h"

/* Readers of an output that data flows to. */
typedef struct {
    guint node; /* in the graph */
    guint port;
    GArray *readers; /* of CtPlanReader, with nodes of the graph */
} CtFanOut;

/* The fan-outs of all nodes that anybody reads, by node and port; free with g_ptr_array_unref. */
GPtrArray *ct_fan_outs_new(const CtGraph *graph);

/* What was chosen, for all nodes and fan-outs together. */
typedef struct {
    guint n_nodes, n_fan_outs;
    const CtCandidate **candidates;           /* [node] */
    const CtImplementation **implementations; /* [node] which of the candidate's */
    CtConversion **conversions; /* [fan-out][reader] from the writer's placement to the reader's;
                           without steps inside a candidate */
    gdouble seconds;            /* that keep the busiest resource busy, for a second of stream */
    gdouble least; /* no choice takes less: `seconds`, unless the graph is too entangled */
} CtChoice;

CtChoice *ct_planner_choose(CtPlanner *planner, const CtCandidates *candidates,
                            const GPtrArray *fan_outs, GError **error);
void ct_choice_free(CtChoice *choice);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtChoice, ct_choice_free)
