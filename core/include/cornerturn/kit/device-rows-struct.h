/* SPDX-License-Identifier: BSD-3-Clause */
/* A firing as rows, shared by host and kernels: for work whose tables vary along the axes other
 * than time and are constant, or change slowly, along time. The host fills it (device-rows.h) and
 * passes it by value, kernels run it (device-rows-kernel.h). */
#pragma once

#include <cornerturn/kit/device-map-struct.h>

enum { CT_DEVICE_ROWS_THREADS = 256 };

/* A row consists of the axes inside time; the axes outside it count groups of rows. A block of
 * threads handles a tile of `rows` · unroll consecutive rows, or a piece of each if rows are long.
 * A thread handles the same element of `unroll` rows, which are `rows` apart. */
typedef struct {
    const void *in;
    void *out;
    long long n_times;
    long long in_time, out_time; /* bytes from a row to the next */
    unsigned row;                /* elements */
    unsigned rows;
    CtDeviceDivisor row_threads; /* threads for a row, or for a piece of it */
    CtDeviceDivisor row_tiles;   /* tiles side by side, for the pieces of a row */
    CtDeviceDivisor time_tiles;
    unsigned n_outer;
    CtDeviceMapAxis outer[CT_DEVICE_MAP_AXES]; /* the fastest first */
} CtDeviceRows;
