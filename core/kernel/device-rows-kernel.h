/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the rows of a firing: a thread handles one element of the axes other than time at several
 * times, and reads tables for the element once. */
#pragma once

#include <cornerturn/kit/device-map-kernel.h>
#include <cornerturn/kit/device-rows-struct.h>

struct CtRowsPlace {
    const uint8 *in; /* the element at time 0 */
    uint8 *out;
    uint32 element; /* index over all axes but time, in the input's order */
    int64 time;     /* the first of this thread; its times are rows.rows apart */
    int n_times;    /* of this thread; 0: it has no work */
};

/* For elements of these types, with TIMES times a thread. */
template <typename In, typename Out, int TIMES>
__device__ inline CtRowsPlace
ct_rows_place(const CtDeviceRows &rows)
{
    const uint32 above = ct_device_divide(blockIdx.x, rows.row_tiles);
    const uint32 row_tile = blockIdx.x - above * rows.row_tiles.by;
    const uint32 outer = ct_device_divide(above, rows.time_tiles);
    const uint32 time_tile = above - outer * rows.time_tiles.by;
    const uint32 row = ct_device_divide(threadIdx.x, rows.row_threads);
    const uint32 i = row_tile * rows.row_threads.by + (threadIdx.x - row * rows.row_threads.by);
    CtRowsPlace place;
    place.in = (const uint8 *)rows.in + (int64)i * sizeof(In);
    place.out = (uint8 *)rows.out + (int64)i * sizeof(Out);
    uint32 rest = outer;
#pragma unroll 1
    for (uint32 a = 0; a < rows.n_outer; a++) {
        const uint32 next = ct_device_divide(rest, rows.outer[a].length);
        place.in += (rest - next * rows.outer[a].length.by) * rows.outer[a].in;
        place.out += (rest - next * rows.outer[a].length.by) * rows.outer[a].out;
        rest = next;
    }
    place.element = outer * rows.row + i;
    place.time = (int64)time_tile * (TIMES * rows.rows) + row;
    const int64 left = rows.n_times - place.time;
    place.n_times = 0;
    if (row < rows.rows && i < rows.row && left > 0)
        place.n_times = left > (TIMES - 1) * (int64)rows.rows
                            ? TIMES
                            : (int)(((uint32)left + rows.rows - 1) / rows.rows);
    return place;
}
