/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run has done so far, for people and for programs. */
#pragma once

#include "scheduler.h"

/* A line per node: seconds, samples, bytes and operations per second, queue; then what was lost,
 * whether the run is complete, and its warnings (of CtWarning). */
char *ct_stats_to_text(const CtPlan *plan, CtScheduler *scheduler, const GPtrArray *warnings);
char *ct_stats_to_json(const CtPlan *plan, CtScheduler *scheduler, const GPtrArray *warnings);
/* The fullest queues now, in the order of the graph. */
char *ct_stats_queues_to_text(const CtPlan *plan, CtScheduler *scheduler);
