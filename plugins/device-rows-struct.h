/* SPDX-License-Identifier: BSD-3-Clause */
/* A firing as rows, as host and kernels see it: for what differs along the axes other than time and
 * is the same, or changes slowly, along it. The host fills it (device-rows.h) and passes it by
 * value, kernels run it (device-rows-kernel.h). */
#pragma once

#include "device-map-struct.h"

enum { DEVICE_ROWS_THREADS = 256 };

/* A row is what lies inside of time; the axes outside of it count groups of rows. A block of
 * threads takes a tile: `rows` rows side by side, `unroll` times, a thread one element of each. */
typedef struct {
    const void *in;
    void *out;
    long long n_times;
    long long in_time, out_time; /* bytes from a row to the next */
    unsigned row;                /* elements */
    unsigned rows;
    DeviceDivisor row_threads; /* threads for a row, or for a piece of it */
    DeviceDivisor row_tiles;   /* tiles side by side in a row */
    DeviceDivisor time_tiles;
    unsigned n_outer;
    DeviceMapAxis outer[DEVICE_MAP_AXES]; /* the fastest first */
} DeviceRows;
