/* SPDX-License-Identifier: BSD-3-Clause */
/* NUMA nodes in a build without hwloc: there is one, as far as is known. */
#define _GNU_SOURCE
#include "topology-private.h"

#include <errno.h>

gint
ct_topology_numa_of(G_GNUC_UNUSED guint number)
{
    return 0;
}

GArray *
ct_topology_numas(void)
{
    GArray *numas = g_array_new(FALSE, TRUE, sizeof(guint));
    return g_array_set_size(numas, 1);
}

const char *
ct_topology_lack(void)
{
    return "this build lacks hwloc (libhwloc-dev)";
}

gint
ct_topology_numa_of_bus(G_GNUC_UNUSED const char *bus)
{
    return CT_NO_NUMA;
}

gboolean
ct_topology_bind(G_GNUC_UNUSED gpointer memory, G_GNUC_UNUSED gsize bytes, G_GNUC_UNUSED gint numa)
{
    errno = ENOSYS;
    return FALSE;
}

gboolean
ct_topology_is_here(void)
{
    return TRUE;
}

void
ct_topology_described(G_GNUC_UNUSED cpu_set_t *processors)
{
}
