/* SPDX-License-Identifier: BSD-3-Clause */
/* The sizes of firings, as far as they follow from the graph. */
#pragma once

#include "planner.h"

/* The least ratio of a firing's input to the output of a sum, in bytes: a sum reads and writes its
 * output as a whole in every firing. */
enum { CT_INPUT_TO_SUM = 4 };

void ct_planner_find_firings(CtPlanner *planner);
/* The `block` of CtLoad for a reader or writer of a stream of the graph at a place. On the host it
 * counts for the source's own streams, and for others where the block is smaller than a firing
 * would be without it. */
gint64 ct_planner_block(const CtPlanner *planner, const CtStream *stream, gint place);
/* The `held` of CtLoad for a writer of a stream of the graph at a place. */
gint64 ct_planner_held(const CtPlanner *planner, const CtStream *stream, gint place);
