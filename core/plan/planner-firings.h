/* SPDX-License-Identifier: BSD-3-Clause */
/* What the graph says of firings. */
#pragma once

#include "planner.h"

/* A sum reads and writes its output as a whole in every firing, so it wants so many times its
 * output's bytes of input in each. */
enum { CT_INPUT_TO_SUM = 4 };

void ct_planner_find_firings(CtPlanner *planner);
/* CtLoad's block, of what reads or writes a stream of the graph at a place. On the host it is that
 * of the source where it is what comes from there, or less than a firing would be anyway. */
gint64 ct_planner_block(const CtPlanner *planner, const CtStream *stream, gint place);
/* CtLoad's held, of what writes a stream of the graph at a place. */
gint64 ct_planner_held(const CtPlanner *planner, const CtStream *stream, gint place);
