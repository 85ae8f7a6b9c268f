/* SPDX-License-Identifier: BSD-3-Clause */
/* What footprints say of a plan before it runs. */
#pragma once

#include "plan.h"

/* The table of latencies and gaps, and an empty line; nothing where data flows along no time. */
void ct_plan_print_footprints(GString *text, const CtPlan *plan);
/* The key `footprints` of an object, a comma in front of it. */
void ct_plan_append_footprints(GString *text, const CtPlan *plan);
