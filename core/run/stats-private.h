/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the statistics of a run. */
#pragma once

#include "scheduler.h"

#include <cornerturn/json.h>

/* The output samples that a node has worked for. Sums count as far as they have come: the last one
 * may be short, and one that goes on is not given yet. */
gdouble ct_stats_samples(const CtNodeStats *counts);

/* Nothing if the node's stage tells of no parts. */
void ct_stats_print_accounts(GString *text, const CtPlanNode *node, CtScheduler *scheduler,
                             guint i);
void ct_stats_add_accounts(CtJson *json, const CtPlanNode *node, CtScheduler *scheduler, guint i);

void ct_stats_print_energy(GString *text, const CtPlan *plan, CtScheduler *scheduler);
void ct_stats_add_energy(CtJson *json, const CtPlan *plan, CtScheduler *scheduler);
