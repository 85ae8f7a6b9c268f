/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of a candidate for each node and of the conversions between them. */
#pragma once

#include "candidates.h"
#include "conversion.h"
#include "planner.h"

/* An output and its readers, without those that only read its description. */
typedef struct {
    guint node; /* index in the graph */
    guint port;
    GArray *readers; /* of CtPlanReader, with indices of the graph's nodes */
} CtFanOut;

/* The fan-outs of all outputs that are read, by node and port; free with g_ptr_array_unref. */
GPtrArray *ct_fan_outs_new(const CtGraph *graph);

/* The chosen candidates, implementations and conversions. */
typedef struct {
    guint n_nodes, n_fan_outs;
    const CtCandidate **candidates;           /* [node] */
    const CtImplementation **implementations; /* [node] the chosen one of the candidate's */
    CtConversion **conversions; /* [fan-out][reader] from the writer's placement to the reader's;
                                   without steps between nodes of one candidate */
    gdouble seconds;            /* for which the busiest resource is busy, for a second of stream */
    gdouble least;              /* lower bound of every choice; equals `seconds` unless the search
                                   met a limit */
} CtChoice;

CtChoice *ct_planner_choose(CtPlanner *planner, const CtCandidates *candidates,
                            const GPtrArray *fan_outs, GError **error);
void ct_choice_free(CtChoice *choice);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtChoice, ct_choice_free)
