/* SPDX-License-Identifier: BSD-3-Clause */
/* Fills a block, or its invalid samples, with one byte. */
#include "cornerturn/kernel.h"

#define MAX_AXES 12

/* As in run/fill-device.c. */
struct Axis {
    int64 length, count, outer, inner;
};

struct Shape {
    Axis axes[MAX_AXES]; /* of units: samples of lanes, or elements */
    Axis rest[MAX_AXES]; /* within a unit */
    int64 n_units;
    int64 n_elements; /* of a unit */
    int32 n_axes;
    int32 n_rest;
    int32 threads; /* for a unit: a power of 2 */
    int32 bytes;
};

__device__ int64
offset_of(const Axis *axes, int n_axes, int64 i)
{
    int64 offset = 0;
    for (int a = n_axes; a-- > 0;) {
        const int64 at = i % axes[a].length;
        i /= axes[a].length;
        offset += at / axes[a].count * axes[a].outer + at % axes[a].count * axes[a].inner;
    }
    return offset;
}

/* `validity` is [unit]; NULL: nothing is valid. */
extern "C" __global__ void
ct_fill_invalid(const __grid_constant__ Shape shape, uint8 *data, uint8 value,
                const uint8 *__restrict__ validity)
{
    const int64 thread = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    const int64 step = (int64)gridDim.x * blockDim.x / shape.threads;
    for (int64 i = thread / shape.threads; i < shape.n_units; i += step) {
        if (validity && validity[i])
            continue;
        uint8 *unit = data + offset_of(shape.axes, shape.n_axes, i);
        for (int64 k = thread % shape.threads; k < shape.n_elements; k += shape.threads) {
            uint8 *element = unit + offset_of(shape.rest, shape.n_rest, k);
            for (int b = 0; b < shape.bytes; b++)
                element[b] = value;
        }
    }
}
