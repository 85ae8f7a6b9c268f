/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the host and the kernel of stack. */
#pragma once

#include <cornerturn/kit/device-map-struct.h>

/* Threads of a block, and the 16-byte words of each thread. */
enum { STACK_THREADS = 256, STACK_UNROLL = 4 };

/* An input: runs of bytes, from byte `offset` of a row of the output on. The kernel multiplies by
 * `row` for each piece, which takes longer with 64 bits. */
typedef struct {
    const unsigned char *data; /* NULL: zeros */
    long long group;           /* bytes from a group of rows to the next */
    unsigned row;              /* bytes from a row to the next */
    unsigned offset;
} StackSource;

/* The output: groups of packed rows. */
typedef struct {
    unsigned char *data;
    long long group;         /* bytes from a group to the next */
    unsigned long long rows; /* of a group */
    CtDeviceDivisor row;     /* bytes of a row */
    CtDeviceDivisor tiles;   /* blocks of threads of a group */
} StackTarget;
