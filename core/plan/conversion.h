/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversions from one placement to another. */
#pragma once

#include "placement.h"
#include "planner.h"

typedef struct {
    const CtStage *stage;
    const CtVariant *variant;
    const CtRow *row;
    gint place; /* where it runs; a copy runs on the device to which it copies from the host, else
                   on the device from which it copies */
    CtPlacement to;
    CtLoad load;
    CtEstimate estimate;
    CtCost cost; /* from the estimate */
} CtConversionStep;

/* The parameters with which an inserted stage gives this layout. */
CtValue *ct_conversion_params(const CtStage *stage, const CtLayout *to);

/* The steps between a writer and a reader: at most a transpose, a conversion of the type, and two
 * copies (through the host). */
typedef struct {
    guint n_steps;
    CtConversionStep steps[4];
    CtCost cost; /* of all steps */
} CtConversion;

/* The ways (CtConversion) to bring `stream` from one placement to the memory of another, without
 * those that another way is within (ct_cost_within); types may widen. */
GArray *ct_conversions_new(CtPlanner *planner, const CtStream *stream, const CtPlacement *from,
                           const CtPlacement *to);
/* The same, from the planner's cache if it has one; the array must not be changed. */
GArray *ct_conversions_known(CtPlanner *planner, const CtStream *stream, const CtPlacement *from,
                             const CtPlacement *to);
/* Makes the planner cache conversions from now on; its machine must not change afterwards. */
void ct_planner_keep_conversions(CtPlanner *planner);
