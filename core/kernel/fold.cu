/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of valid samples of a fold's hops, as a stream.
 *
 * Compiled with CT_FOLD_N_AXES, CT_FOLD_LENGTHS and CT_FOLD_LANES: the axes but time, and the step
 * of the lane along each. */
#include "cornerturn/kernel.h"

#include <cornerturn/kit/fold-struct.h>

/* As in kit/fold-device.c. */
struct Weights {
    const uint32 *counts; /* [hop][lane] */
    uint8 *to;
    uint32 n, n_lanes;
    int64 time; /* strides */
    int64 axes[CT_FOLD_AXES];
};

/* Threads: [hop][lane]. */
extern "C" __global__ void
__launch_bounds__(CT_FOLD_ROW_THREADS) ct_fold_weights(const Weights weights)
{
    constexpr uint32 lengths[CT_FOLD_N_AXES + 1] = {CT_FOLD_LENGTHS};
    constexpr uint32 lanes[CT_FOLD_N_AXES + 1] = {CT_FOLD_LANES};
    const uint32 thread = blockIdx.x * CT_FOLD_ROW_THREADS + threadIdx.x;
    if (thread >= weights.n)
        return;
    uint8 *to = weights.to + thread / weights.n_lanes * weights.time;
#pragma unroll
    for (int a = 0; a < CT_FOLD_N_AXES; a++)
        if (lanes[a] > 0)
            to += thread % weights.n_lanes / lanes[a] % lengths[a] * weights.axes[a];
    *(uint32 *)to = weights.counts[thread];
}
