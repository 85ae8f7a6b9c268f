/* SPDX-License-Identifier: BSD-3-Clause */
/* The planner's state while it makes a plan. */
#pragma once

#include "model/row.h"
#include "plan-processors.h"

/* The state for one graph. */
typedef struct {
    const CtGraph *graph;
    CtRegistry *registry;
    const CtPlanOptions *options;
    CtMachine machine;
    guint n_in_flight;       /* firings in flight of a node on a device */
    gboolean is_block_tuned; /* machine.device_bytes was found by tuning */
    CtPlanProcessors processors;
    GError *processors_fault; /* why they are not those that the user asked for; NULL: they are */
    CtEstimates *estimates;
    GHashTable *firings;           /* see planner-firings.c */
    GHashTable *patterns;          /* text of a row → CtRowPatterns, parsed once */
    GHashTable *conversions_known; /* see ct_planner_keep_conversions; NULL: none are kept */
    const CtStage *inserted[CT_N_INSERTED]; /* the stages for inserted nodes; NULL: not installed */
} CtPlanner;

void ct_planner_init(CtPlanner *planner, const CtGraph *graph, CtRegistry *registry,
                     const CtPlanOptions *options);
void ct_planner_clear(CtPlanner *planner);
/* Takes the sizes of firings from the plan, in which they may be smaller because memory was
 * short. */
void ct_planner_resume(CtPlanner *planner, const CtPlan *plan);
/* The name under which the cost database keeps the size that firings on devices should aim at in
 * this graph: a CtCeiling of the first device, in bytes. Allocated. */
char *ct_planner_block_name(const CtGraph *graph);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtPlanner, ct_planner_clear)

/* The parsed patterns of a row, which the registry has checked. */
const CtRowPatterns *ct_planner_row(CtPlanner *planner, const CtRow *row);
