/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory into which packets are received. */
#define _GNU_SOURCE /* MADV_HUGEPAGE, MAP_HUGETLB */
#include "packet-memory.h"

#include "cornerturn/error.h"

#include <sys/mman.h>
#include <unistd.h>

enum { HUGE_BYTES = 2 << 20 };

/* Whether this machine has so many bytes; pages that are touched beyond would end the process. */
static gboolean
is_there(gsize n)
{
    return n / (gsize)sysconf(_SC_PAGESIZE) < (gsize)sysconf(_SC_PHYS_PAGES);
}

static void *
map(gsize n, int flags)
{
    return mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

gboolean
ct_packet_memory_map(CtPacketMemory *memory, gsize n, GError **error)
{
    n = (n + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    void *bytes = is_there(n) ? map(n, MAP_HUGETLB) : MAP_FAILED;
    if (bytes == MAP_FAILED && is_there(n) && (bytes = map(n, 0)) != MAP_FAILED)
        madvise(bytes, n, MADV_HUGEPAGE);
    if (bytes == MAP_FAILED) {
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY,
                    "no memory for packets: %" G_GSIZE_FORMAT " bytes", n);
        return FALSE;
    }
    *memory = (CtPacketMemory){bytes, n};
    return TRUE;
}

void
ct_packet_memory_touch(const CtPacketMemory *memory)
{
    const gsize step = (gsize)sysconf(_SC_PAGESIZE);
    for (gsize at = 0; at < memory->n; at += step)
        *(volatile guint8 *)(memory->bytes + at) = 0;
}

void
ct_packet_memory_unmap(CtPacketMemory *memory)
{
    if (memory->bytes)
        munmap(memory->bytes, memory->n);
    *memory = (CtPacketMemory){0};
}
