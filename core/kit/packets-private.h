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

/* Fails if a member that this core does not know is set: a byte of the space `reserved` of
 * `what`. */
gboolean ct_reserved_check(const char *what, gconstpointer reserved, gsize n, GError **error);
