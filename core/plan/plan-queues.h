/* SPDX-License-Identifier: BSD-3-Clause */
/* The queues of devices. */
#pragma once

#include "plan.h"

/* Groups the nodes between which data flows without leaving the device or (`over_peers`) without
 * passing through the host. Returns [node] the node that stands for its group; allocated. */
guint *ct_plan_components(const CtPlan *plan, gboolean over_peers);
/* Sets the plan's queues, the queue of each node, and the number of devices. */
void ct_plan_set_queues(CtPlan *plan);
