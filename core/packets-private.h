/* SPDX-License-Identifier: BSD-3-Clause */
/* What finding packets leaves for arranging them. */
#pragma once

#include "cornerturn/packets.h"

/* A file whose packets were found. */
typedef struct {
    const char *path;
    int fd;
    gsize header_bytes, bytes; /* of each packet */
} CtScannedFile;
