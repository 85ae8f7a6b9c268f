/* SPDX-License-Identifier: BSD-3-Clause */
/* All formats in which a plan is described. */
#pragma once

#include "plan.h"

/* Describes the plan in a format: "text", "dot", "svg", "json", "explain", "explain-json",
 * "capacity" or "capacity-json"; allocated. Registry and options must be those that the plan was
 * made with. */
char *ct_plan_describe(const CtPlan *plan, CtRegistry *registry, const CtPlanOptions *options,
                       const char *format, GError **error);
