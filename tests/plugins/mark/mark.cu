/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes samples on and marks those of much power. */
#include "cornerturn/kernel.h"

#define MAX_AXES 6

/* As in mark.c. */
struct Axis {
    int64 length, in, out, lane;
};

struct Shape {
    Axis axes[MAX_AXES];
    int64 n_axes, n_elements, time_in, time_out, n_parts, stride;
    double limit;
};

extern "C" __global__ void
mark(const __grid_constant__ Shape shape, const char *in, char *out, uint8 *validity,
     int64 n_samples)
{
    int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x, lane = 0;
    const int64 t = i / shape.n_elements;
    if (t >= n_samples)
        return;
    in += t * shape.time_in;
    out += t * shape.time_out;
    for (int64 a = shape.n_axes; a-- > 0;) {
        const Axis &axis = shape.axes[a];
        in += i % axis.length * axis.in;
        out += i % axis.length * axis.out;
        lane += i % axis.length * axis.lane;
        i /= axis.length;
    }
    const float *x = (const float *)in;
    double power = 0;
    for (int64 p = 0; p < shape.n_parts; p++)
        power += (double)x[p] * x[p];
    if (power > shape.limit)
        validity[lane * shape.stride + t] = 0;
    else
        for (int64 p = 0; p < shape.n_parts; p++)
            ((float *)out)[p] = x[p];
}
