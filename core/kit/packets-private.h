/* SPDX-License-Identifier: BSD-3-Clause */
/* The packets of files before they are arranged. */
#pragma once

#include "cornerturn/packets.h"
#include "cornerturn/stage.h"

/* A file that has been searched for packets. */
typedef struct {
    const char *path;
    int fd;
    gsize header_bytes, bytes; /* of each packet */
} CtScannedFile;

/* Keeps what comparing and reading packets of file number `file` needs. `path` and `fd` must stay
 * valid. */
void ct_packets_add_file(CtPackets *packets, guint file, CtScannedFile scanned);

/* The samples that are taken from an arranged packet, *begin … *end − 1: all that the packet before
 * it in its lane does not have. There may be none. */
void ct_packets_bounds(const CtPackets *packets, const CtPacket *packet, gint64 *begin,
                       gint64 *end);
