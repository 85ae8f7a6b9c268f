/* SPDX-License-Identifier: BSD-3-Clause */
/* The queues of devices. */
#pragma once

#include "plan.h"

/* Which nodes of a device data flows between without leaving it, or (`over_peers`) without passing
 * through the host: [node] one of them that stands for all. Allocated. */
guint *ct_plan_components(const CtPlan *plan, gboolean over_peers);
/* Sets the queues, those of the nodes, and the number of devices. */
void ct_plan_set_queues(CtPlan *plan);
