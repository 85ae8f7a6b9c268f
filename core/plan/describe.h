/* SPDX-License-Identifier: BSD-3-Clause */
/* All forms in which a plan is told. */
#pragma once

#include "plan.h"

/* "text", "dot", "json", "explain", "explain-json", "capacity", "capacity-json"; allocated. With
 * the registry and the options that the plan was made of. */
char *ct_plan_describe(const CtPlan *plan, CtRegistry *registry, const CtPlanOptions *options,
                       const char *format, GError **error);
