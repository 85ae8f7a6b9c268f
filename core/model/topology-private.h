/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that topology.c calls: of topology-hwloc.c or, in a build without hwloc, of
 * topology-missing.c. */
#pragma once

#include "topology.h"

#include <sched.h>

/* The NUMA node of a processor. */
gint ct_topology_numa_of(guint number);
/* The processors of the machine that hwloc was told to describe. */
void ct_topology_described(cpu_set_t *processors);
