/* @STAGE@ on a GPU: a thread for each element of a firing. */
#include "cornerturn/kernel.h"

/* As in @PLUGIN@-cuda.c. */
struct Axes {
    int64 length[3];  /* of time, station and pol */
    int64 x[3], y[3]; /* strides in bytes */
};

extern "C" __global__ void __launch_bounds__(256, 4)
    multiply(const uint8 *x, uint8 *y, const Axes axes, float factor)
{
    const int64 thread = blockIdx.x * (int64)blockDim.x + threadIdx.x;
    const int64 p = thread % axes.length[2], rest = thread / axes.length[2];
    const int64 s = rest % axes.length[1], t = rest / axes.length[1];
    if (t >= axes.length[0])
        return;
    const ct_cf32 from = *(const ct_cf32 *)(x + t * axes.x[0] + s * axes.x[1] + p * axes.x[2]);
    ct_cf32 *to = (ct_cf32 *)(y + t * axes.y[0] + s * axes.y[1] + p * axes.y[2]);
    *to = {factor * from.re, factor * from.im};
}
