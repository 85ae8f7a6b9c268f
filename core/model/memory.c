/* SPDX-License-Identifier: BSD-3-Clause */
/* Large memory (page-aligned, cleared, in huge pages if the kernel provides them), and tables. */
#include "memory.h"

#include "quantity.h"

#include <errno.h>
#include <sys/mman.h>

/* Below this size, huge pages waste more than they gain. */
#define HUGE_FROM (gsize)(4 << 20)

guint8 *
ct_memory_new(gsize bytes, const char *what, GError **error)
{
    void *memory =
        mmap(NULL, MAX(bytes, 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        const int code = errno;
        g_autofree char *size = ct_format_bytes(bytes);
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY, "%s wants %s of memory: %s", what, size,
                    g_strerror(code));
        return NULL;
    }
    if (bytes >= HUGE_FROM)
        madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

void
ct_memory_free(guint8 *memory, gsize bytes)
{
    if (memory)
        munmap(memory, MAX(bytes, 1));
}

gpointer
ct_table_new(gsize n, gsize bytes, const char *what, GError **error)
{
    gpointer table = g_try_malloc0_n(MAX(n, 1), MAX(bytes, 1));
    if (!table)
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY,
                    "no memory for %s, %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " bytes each", what,
                    n, bytes);
    return table;
}
