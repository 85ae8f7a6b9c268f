/* SPDX-License-Identifier: BSD-3-Clause */
/* The packets of files before they are arranged. */
#pragma once

#include "cornerturn/packets.h"

/* A file that has been searched for packets. */
typedef struct {
    const char *path;
    int fd;
    gsize header_bytes, bytes; /* of each packet */
} CtScannedFile;
