/* SPDX-License-Identifier: BSD-3-Clause */
/* The processors on which the threads of a run stay, and the NUMA nodes of its memory. */
#pragma once

#include "plan.h"

#include <cornerturn/json.h>

/* Finds the processors for the graph, and places the workers on them. */
gboolean ct_plan_processors_find(CtPlanProcessors *found, const CtGraph *graph,
                                 const CtPlanOptions *options, GError **error);
void ct_plan_processors_clear(CtPlanProcessors *self);
/* The NUMA node that the graph names for a node; CT_NO_NUMA: none. */
gint ct_plan_asked_numa(const CtGraph *graph, const CtGraphNode *node);
/* Sets the NUMA nodes of devices, nodes and links, whose places are known. */
void ct_plan_set_numas(CtPlan *plan, const CtMachine *machine);

/* What `cornerturn plan` says of them: nothing where the machine has one NUMA node and the run uses
 * all processors. */
void ct_plan_print_processors(GString *text, const CtPlan *plan);
void ct_plan_add_processors(CtJson *json, const CtPlan *plan);
