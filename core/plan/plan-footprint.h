/* SPDX-License-Identifier: BSD-3-Clause */
/* Latencies and gaps of a plan, from footprints, before it runs. */
#pragma once

#include "plan.h"

#include <cornerturn/json.h>

/* Appends the table of latencies and gaps and an empty line; nothing where no data flows along
 * time. */
void ct_plan_print_footprints(GString *text, const CtPlan *plan);
/* Adds the latencies and gaps as the member `footprints`. */
void ct_plan_add_footprints(CtJson *json, const CtPlan *plan);
