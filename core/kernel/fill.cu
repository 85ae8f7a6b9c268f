/* SPDX-License-Identifier: BSD-3-Clause */
/* Fills a block, or its invalid samples, with one byte. */
#include "cornerturn/kernel.h"

#define MAX_AXES 12

/* As in run/submission.c. */
struct Shape {
    int64 length[MAX_AXES];
    int64 stride[MAX_AXES];
    int64 time[MAX_AXES]; /* samples by which a step along the axis advances */
    int64 lane[MAX_AXES]; /* lanes */
    int64 n_elements;
    int64 n_samples;
    int32 n_axes;
    int32 bytes;
};

/* `validity` is [lane][n_samples]; NULL: nothing is valid. */
extern "C" __global__ void
ct_fill_invalid(const __grid_constant__ Shape shape, uint8 *data, uint8 value,
                const uint8 *__restrict__ validity)
{
    const int64 step = (int64)gridDim.x * blockDim.x;
    for (int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x; i < shape.n_elements; i += step) {
        int64 left = i, offset = 0, time = 0, lane = 0;
        for (int a = shape.n_axes; a-- > 0;) {
            const int64 at = left % shape.length[a];
            left /= shape.length[a];
            offset += at * shape.stride[a];
            time += at * shape.time[a];
            lane += at * shape.lane[a];
        }
        if (validity && time < shape.n_samples && validity[lane * shape.n_samples + time])
            continue;
        for (int b = 0; b < shape.bytes; b++)
            data[offset + b] = value;
    }
}
