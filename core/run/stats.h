/* SPDX-License-Identifier: BSD-3-Clause */
/* The statistics of a run so far, as text and as JSON. */
#pragma once

#include "scheduler.h"

/* A line per node with seconds, samples, bytes and operations per second, and how full the
 * fullest of its input rings is ("queue"); then the lost samples, whether the run is complete, and
 * its warnings (of CtWarning). */
char *ct_stats_to_text(const CtPlan *plan, CtScheduler *scheduler, const GPtrArray *warnings);
char *ct_stats_to_json(const CtPlan *plan, CtScheduler *scheduler, const GPtrArray *warnings,
                       gboolean is_pretty);
/* The shares of the sources' samples that are invalid so far. */
char *ct_stats_losses_to_text(const CtPlan *plan, CtScheduler *scheduler);
/* How full the fullest rings are now, in the order of the graph. */
char *ct_stats_queues_to_text(const CtPlan *plan, CtScheduler *scheduler);
