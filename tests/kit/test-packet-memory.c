/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory into which packets are received: all of it is there before they come. */
#define _GNU_SOURCE /* mincore */
#include "cornerturn/error.h"
#include "kit/packet-memory.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HUGE_BYTES = 2 << 20 };

/* Pages of the memory that are not there. */
static gsize
count_absent(const CtPacketMemory *memory)
{
    const gsize n = memory->n / (gsize)sysconf(_SC_PAGESIZE);
    g_autofree guint8 *present = g_malloc0(n);
    g_assert_cmpint(mincore(memory->bytes, memory->n, present), ==, 0);
    gsize absent = 0;
    for (gsize i = 0; i < n; i++)
        absent += !(present[i] & 1);
    return absent;
}

static void
test_touch(void)
{
    CtPacketMemory memory = {0};
    ct_packet_memory_unmap(&memory);
    g_assert_true(ct_packet_memory_map(&memory, 3 * HUGE_BYTES + 1, NULL));
    g_assert_cmpuint(memory.n, ==, 4 * HUGE_BYTES);
    ct_packet_memory_touch(&memory);
    g_assert_cmpuint(count_absent(&memory), ==, 0);
    memset(memory.bytes, 1, memory.n);
    ct_packet_memory_unmap(&memory);
    g_assert_null(memory.bytes);
}

/* An error, before the kernel ends processes because memory lacks. */
static void
test_too_much(void)
{
    CtPacketMemory memory = {0};
    g_autoptr(GError) error = NULL;
    g_assert_false(ct_packet_memory_map(&memory, (gsize)1 << 46, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_MEMORY);
    g_assert_cmpstr(error->message, ==, "no memory for packets: 70368744177664 bytes");
    g_assert_null(memory.bytes);
}

static guint64
count_reserved(void)
{
    g_autofree char *text = NULL;
    const char *found = g_file_get_contents("/proc/meminfo", &text, NULL, NULL)
                            ? strstr(text, "HugePages_Free:")
                            : NULL;
    return found ? g_ascii_strtoull(found + strlen("HugePages_Free:"), NULL, 10) : 0;
}

static void
test_reserved_pages(void)
{
    const guint64 before = count_reserved();
    if (before < 2) {
        g_test_skip("no huge pages are reserved");
        return;
    }
    CtPacketMemory memory = {0};
    g_assert_true(ct_packet_memory_map(&memory, 2 * HUGE_BYTES, NULL));
    ct_packet_memory_touch(&memory);
    g_assert_cmpuint(count_reserved(), <, before);
    ct_packet_memory_unmap(&memory);
}

int
main(int n, char **words)
{
    g_test_init(&n, &words, NULL);
    g_test_add_func("/packet-memory/touch", test_touch);
    g_test_add_func("/packet-memory/too-much", test_too_much);
    g_test_add_func("/packet-memory/reserved-pages", test_reserved_pages);
    return g_test_run();
}
