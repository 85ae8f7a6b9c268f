/* SPDX-License-Identifier: BSD-3-Clause */
/* The processors that a thread may use, and the NUMA nodes of the machine: the groups of processors
 * that have memory of their own. Graphs have nodes, too; so variables of a NUMA node are named
 * `numa`. */
#pragma once

#include <glib.h>

/* In place of the number of a NUMA node: none, or not known. */
#define CT_NO_NUMA (-1)

typedef struct {
    guint number; /* as the kernel counts */
    gint numa;    /* its NUMA node */
} CtProcessor;

/* The processors that the calling thread may use, by their numbers: an array of CtProcessor, for
 * g_array_unref. */
GArray *ct_topology_processors(void);
/* The numbers of the machine's NUMA nodes that have processors: an array of guint in ascending
 * order, for g_array_unref. It has one, 0, where they are not known. */
GArray *ct_topology_numas(void);
/* The reason why they are not known; NULL: they are. */
const char *ct_topology_lack(void);
/* The NUMA node next to a device, whose bus is "0000:01:00.0"; CT_NO_NUMA: not known. */
gint ct_topology_numa_of_bus(const char *bus);
/* Makes the kernel prefer a NUMA node for the pages of this memory, and moves those that it already
 * has. FALSE with errno. */
gboolean ct_topology_bind(gpointer memory, gsize bytes, gint numa);
/* Whether the processors are those of this machine. hwloc can be told to describe another one
 * (HWLOC_SYNTHETIC, HWLOC_XMLFILE); threads and memory are then not bound. */
gboolean ct_topology_is_here(void);

/* ---- lists as "0-3,8" ---- */

/* The numbers: an array of guint in ascending order, each once, for g_array_unref. */
GArray *ct_processors_parse(const char *text, GError **error);
/* The processors of an array of CtProcessor that are of this NUMA node; CT_NO_NUMA: all.
 * Allocated. */
char *ct_processors_to_text(const GArray *processors, gint numa);
