/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets as they are found, before they are arranged. */
#pragma once

#include "cornerturn/packets.h"

/* A file whose packets were found. */
typedef struct {
    const char *path;
    int fd;
    gsize header_bytes, bytes; /* of each packet */
} CtScannedFile;
