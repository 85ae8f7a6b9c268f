/* SPDX-License-Identifier: BSD-3-Clause */
/* NUMA nodes by hwloc. */
#define _GNU_SOURCE
#include "topology-private.h"

#include <errno.h>
#include <hwloc.h>
#include <sys/auxv.h>

/* By what the kernel says: to ask each processor (x86) takes twenty times as long. */
static hwloc_topology_t
load(gboolean with_buses)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return NULL;
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    if (with_buses)
        hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PCI_DEVICE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(topology) == 0)
        return topology;
    hwloc_topology_destroy(topology);
    return NULL;
}

/* hwloc loads plugins from folders that variables name. */
static gboolean
is_privileged(void)
{
    return getauxval(AT_SECURE) != 0;
}

static gpointer
load_once(gpointer with_buses)
{
    return is_privileged() ? NULL : load(with_buses != NULL);
}

/* NULL: nothing is known. */
static hwloc_topology_t
machine(void)
{
    static GOnce once = G_ONCE_INIT;
    return g_once(&once, load_once, NULL);
}

/* The same with the devices at its buses. */
static hwloc_topology_t
machine_with_buses(void)
{
    static GOnce once = G_ONCE_INIT;
    return g_once(&once, load_once, GINT_TO_POINTER(TRUE));
}

/* The first NUMA node that has one of the processors: where several have it, some are memory of
 * another kind. */
static gint
numa_of_set(hwloc_const_cpuset_t processors)
{
    gint numa = CT_NO_NUMA;
    for (hwloc_obj_t node = NULL;
         (node = hwloc_get_next_obj_by_type(machine(), HWLOC_OBJ_NUMANODE, node)) != NULL;)
        if (hwloc_bitmap_intersects(node->cpuset, processors) &&
            (numa == CT_NO_NUMA || (gint)node->os_index < numa))
            numa = (gint)node->os_index;
    return numa;
}

gint
ct_topology_numa_of(guint number)
{
    if (!machine())
        return 0;
    hwloc_bitmap_t only = hwloc_bitmap_alloc();
    hwloc_bitmap_only(only, number);
    const gint numa = numa_of_set(only);
    hwloc_bitmap_free(only);
    return MAX(numa, 0);
}

GArray *
ct_topology_numas(void)
{
    GArray *numas = g_array_new(FALSE, TRUE, sizeof(guint));
    if (!machine())
        return g_array_set_size(numas, 1);
    hwloc_bitmap_t found = hwloc_bitmap_alloc();
    hwloc_const_cpuset_t all = hwloc_topology_get_topology_cpuset(machine());
    for (gint number = hwloc_bitmap_first(all); number >= 0;
         number = hwloc_bitmap_next(all, number))
        hwloc_bitmap_set(found, (guint)ct_topology_numa_of((guint)number));
    for (gint numa = hwloc_bitmap_first(found); numa >= 0; numa = hwloc_bitmap_next(found, numa))
        g_array_append_val(numas, numa);
    hwloc_bitmap_free(found);
    return numas;
}

const char *
ct_topology_lack(void)
{
    return machine()         ? NULL
           : is_privileged() ? "a process with raised privileges does not ask hwloc"
                             : "hwloc does not know them";
}

gint
ct_topology_numa_of_bus(const char *bus)
{
    hwloc_topology_t buses = machine_with_buses();
    hwloc_obj_t device = buses ? hwloc_get_pcidev_by_busidstring(buses, bus) : NULL;
    hwloc_obj_t parent = device ? hwloc_get_non_io_ancestor_obj(buses, device) : NULL;
    /* A device that is as near to all of them is next to none. */
    if (!parent || hwloc_bitmap_isequal(parent->cpuset, hwloc_get_root_obj(buses)->cpuset))
        return CT_NO_NUMA;
    return numa_of_set(parent->cpuset);
}

gboolean
ct_topology_bind(gpointer memory, gsize bytes, gint numa)
{
    if (!machine()) {
        errno = ENOSYS;
        return FALSE;
    }
    hwloc_bitmap_t only = hwloc_bitmap_alloc();
    hwloc_bitmap_only(only, (guint)numa);
    const int failed = hwloc_set_area_membind(machine(), memory, bytes, only, HWLOC_MEMBIND_BIND,
                                              HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_MIGRATE);
    const int code = errno;
    hwloc_bitmap_free(only);
    errno = code;
    return !failed;
}

gboolean
ct_topology_is_here(void)
{
    return !machine() || hwloc_topology_is_thissystem(machine());
}

void
ct_topology_described(cpu_set_t *processors)
{
    hwloc_const_cpuset_t all = hwloc_topology_get_topology_cpuset(machine());
    for (gint number = hwloc_bitmap_first(all); number >= 0 && number < CPU_SETSIZE;
         number = hwloc_bitmap_next(all, number))
        CPU_SET((guint)number, processors);
}
