/* SPDX-License-Identifier: BSD-3-Clause */
/* Latencies and gaps of a plan, from footprints, before it runs. */
#pragma once

#include "plan.h"

/* Appends the table of latencies and gaps and an empty line; nothing where no data flows along
 * time. */
void ct_plan_print_footprints(GString *text, const CtPlan *plan);
/* Appends a comma and the key `footprints` of a JSON object. */
void ct_plan_append_footprints(GString *text, const CtPlan *plan);
