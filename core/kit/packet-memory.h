/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory into which packets are received. A page is slow when it is first touched, and packets
 * do not wait: so all pages are touched before. */
#pragma once

#include <glib.h>

typedef struct {
    guint8 *bytes; /* NULL: none is mapped */
    gsize n;
} CtPacketMemory;

/* Maps so many bytes, of huge pages where the machine has reserved enough of them, and otherwise of
 * those that the kernel makes huge by itself. */
gboolean ct_packet_memory_map(CtPacketMemory *memory, gsize n, GError **error);
/* Touches all pages: they get memory near the core of this thread. */
void ct_packet_memory_touch(const CtPacketMemory *memory);
void ct_packet_memory_unmap(CtPacketMemory *memory);
