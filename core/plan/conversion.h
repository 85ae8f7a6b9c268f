/* SPDX-License-Identifier: BSD-3-Clause */
/* From layout to layout, and from place to place. */
#pragma once

#include "placement.h"
#include "planner.h"

typedef struct {
    const CtStage *stage;
    const CtVariant *variant;
    const CtRow *row;
    gint place; /* where it runs: a copy on the device that it goes to or, to the host or another
                   device, comes from */
    CtPlacement to;
    CtLoad load;
    CtEstimate estimate;
    CtCost cost; /* by the estimate */
} CtConversionStep;

/* The parameters of an inserted stage that lead to this layout. */
CtValue *ct_conversion_params(const CtStage *stage, const CtLayout *to);

/* What must stand between a writer and a reader: at most a transpose, a conversion, and two copies
 * through the host. */
typedef struct {
    guint n_steps;
    CtConversionStep steps[4];
    CtCost cost; /* of all steps */
} CtConversion;

/* The ways (CtConversion) for `stream` from one placement to the memory of another, of which none
 * asks for more than another everywhere; types may widen. */
GArray *ct_conversions_new(CtPlanner *planner, const CtStream *stream, const CtPlacement *from,
                           const CtPlacement *to);
/* The same, of those that the planner keeps, if it keeps them: not to be written to. */
GArray *ct_conversions_known(CtPlanner *planner, const CtStream *stream, const CtPlacement *from,
                             const CtPlacement *to);
/* From now on; the machine must stay as it is. */
void ct_planner_keep_conversions(CtPlanner *planner);
