/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the host and the kernel of stack. */
#pragma once

#include <cornerturn/kit/device-map-struct.h>

/* Threads of a block, and the 16-byte words of each thread. */
enum { STACK_THREADS = 256, STACK_UNROLL = 4 };

/* An input: runs of bytes, from byte `offset` of a row of the output on. */
typedef struct {
    const unsigned char *data; /* NULL: zeros */
    long long group, row;      /* bytes from a group of rows to the next, and from a row */
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
