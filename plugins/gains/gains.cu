/* SPDX-License-Identifier: BSD-3-Clause */
/* Gains: y[t] = g · x[t].
 *
 * ELEMENT: ct_cf32 or ct_cf64, of samples and factors; UNROLL: times of a thread. */
#include <cornerturn/kit/device-rows-kernel.h>

/* a b + c, rounded once, so that all threads round alike. */
__device__ inline float
multiply_add(float a, float b, float c)
{
    return fmaf(a, b, c);
}

__device__ inline double
multiply_add(double a, double b, double c)
{
    return fma(a, b, c);
}

extern "C" __global__ void
__launch_bounds__(CT_DEVICE_ROWS_THREADS) gains(const CtDeviceRows rows, const ELEMENT *factors)
{
    const CtRowsPlace place = ct_rows_place<ELEMENT, ELEMENT, UNROLL>(rows);
    if (place.n_times == 0)
        return;
    const uint8 *in = place.in + place.time * rows.in_time;
    uint8 *out = place.out + place.time * rows.out_time;
    const int64 in_step = rows.rows * rows.in_time, out_step = rows.rows * rows.out_time;
    ELEMENT x[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; k++)
        if (k < place.n_times)
            x[k] = *(const ELEMENT *)(in + k * in_step);
    const ELEMENT g = factors[place.element];
#pragma unroll
    for (int k = 0; k < UNROLL; k++)
        if (k < place.n_times)
            *(ELEMENT *)(out + k * out_step) = {multiply_add(x[k].re, g.re, -(x[k].im * g.im)),
                                                multiply_add(x[k].re, g.im, x[k].im * g.re)};
}
