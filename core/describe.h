/* SPDX-License-Identifier: BSD-3-Clause */
/* All forms in which a plan is told. */
#pragma once

#include "plan.h"

/* "text", "dot", "json", "capacity", "capacity-json"; allocated. */
char *ct_plan_describe(const CtPlan *plan, const char *format, GError **error);
