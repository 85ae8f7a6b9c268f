/* SPDX-License-Identifier: BSD-3-Clause */
/* What a plan is made of. */
#pragma once

#include "model/row.h"
#include "plan.h"

/* What the choice is made of, for one graph. */
typedef struct {
    const CtGraph *graph;
    CtRegistry *registry;
    const CtPlanOptions *options;
    CtMachine machine;
    guint n_in_flight;       /* firings of a device's node */
    gboolean is_block_tuned; /* machine.device_bytes was found by tuning */
    CtEstimates *estimates;
    GHashTable *firings;           /* see planner-firings.c */
    GHashTable *patterns;          /* text of a row → CtRowPatterns, parsed once */
    GHashTable *conversions_known; /* see ct_planner_keep_conversions; NULL: none are kept */
    const CtStage *inserted[CT_N_INSERTED]; /* stages; NULL: not installed */
} CtPlanner;

void ct_planner_init(CtPlanner *planner, const CtGraph *graph, CtRegistry *registry,
                     const CtPlanOptions *options);
void ct_planner_clear(CtPlanner *planner);
/* Goes by the firings that the plan has come to, for want of memory perhaps. */
void ct_planner_resume(CtPlanner *planner, const CtPlan *plan);
/* By which the database keeps what firings on devices should aim at in this graph: a CtCeiling of
 * the first device, in bytes. Allocated. */
char *ct_planner_block_name(const CtGraph *graph);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtPlanner, ct_planner_clear)

/* The patterns of a row of a variant that the registry has taken. */
const CtRowPatterns *ct_planner_row(CtPlanner *planner, const CtRow *row);
