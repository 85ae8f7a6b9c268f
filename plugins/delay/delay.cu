/* SPDX-License-Identifier: BSD-3-Clause */
/* Delays: y[t] = x[t + shift] · exp(−2πi f τ(t)), or the shift alone.
 *
 * ELEMENT: ct_cf32, or ct_f32, which is only shifted; SHIFTS: 1 if there are shifts; UNROLL: times
 * of a thread. */
#include "delay-cuda.h"

#include <cornerturn/kit/device-rows-kernel.h>

#define IS_COMPLEX (sizeof(ELEMENT) == sizeof(ct_cf32))

/* Turns as a fraction of 2⁶⁴; whole turns vanish. */
__device__ inline uint64
fraction_of(double turns)
{
    return (uint64)(int64)((turns - rint(turns)) * 0x1p63) << 1;
}

/* exp(−2πi turns): the nearest quarter, and polynomials for the rest. */
__device__ inline ct_cf32
phasor(uint32 turns)
{
    const uint32 quarter = (turns + 0x20000000u) >> 30;
    const float x = (float)(int32)(turns - (quarter << 30)) * 1.4629180792671596e-9f; /* 2π 2⁻³² */
    const float square = x * x;
    float s = square * -1.9515295891e-4f + 8.3321608736e-3f;
    s = (s * square - 1.6666654611e-1f) * square * x + x;
    float c = square * 2.443315711809948e-5f - 1.388731625493765e-3f;
    c = (c * square + 4.166664568298827e-2f) * square * square - 0.5f * square + 1;
    const float sine = quarter & 1 ? c : s, cosine = quarter & 1 ? s : c;
    return {(quarter + 1) & 2 ? -cosine : cosine, quarter & 2 ? sine : -sine};
}

__device__ inline ct_cf32
turned(ct_cf32 x, ct_cf32 by)
{
    return {fmaf(x.re, by.re, -(x.im * by.im)), fmaf(x.re, by.im, x.im * by.re)};
}

__device__ inline ct_f32
turned(ct_f32 x, ct_cf32)
{
    return x;
}

/* factors: [element], of complex samples; shifts: [element], where there are any. */
extern "C" __global__ void
__launch_bounds__(CT_DEVICE_ROWS_THREADS)
    delay_constant(const CtDeviceRows rows, const ct_cf32 *factors, const int64 *shifts)
{
    const CtRowsPlace place = ct_rows_place<ELEMENT, ELEMENT, UNROLL>(rows);
    if (place.n_times == 0)
        return;
    const int64 shift = SHIFTS ? shifts[place.element] : 0;
    const uint8 *in = place.in + (place.time + shift) * rows.in_time;
    uint8 *out = place.out + place.time * rows.out_time;
    const int64 in_step = rows.rows * rows.in_time, out_step = rows.rows * rows.out_time;
    ELEMENT x[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; k++)
        if (k < place.n_times)
            x[k] = *(const ELEMENT *)(in + k * in_step);
    ct_cf32 factor = {};
    if (IS_COMPLEX)
        factor = factors[place.element];
#pragma unroll
    for (int k = 0; k < UNROLL; k++)
        if (k < place.n_times)
            *(ELEMENT *)(out + k * out_step) = turned(x[k], factor);
}

/* spans: [series][n_spans]; series: [element]; frequencies: [element], hertz. */
extern "C" __global__ void
__launch_bounds__(CT_DEVICE_ROWS_THREADS)
    delay_changing(const CtDeviceRows rows, const DelaySpan *spans, const uint32 n_spans,
                   const uint32 *series, const double *frequencies)
{
    const CtRowsPlace place = ct_rows_place<ELEMENT, ELEMENT, UNROLL>(rows);
    if (place.n_times == 0)
        return;
    const DelaySpan *span = spans + (uint64)series[place.element] * n_spans;
    const DelaySpan *const last = span + n_spans - 1;
    const double frequency = IS_COMPLEX ? frequencies[place.element] : 0;
    uint64 phase = 0, step = 0;
    int64 first = 0, shift = 0, end = -1;
    ELEMENT x[UNROLL];
    uint32 turns[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; k++) {
        if (k >= place.n_times)
            break;
        const int64 time = place.time + k * (int64)rows.rows;
        if (time >= end) {
            while (span < last && span[1].begin <= time)
                span++;
            if (IS_COMPLEX) {
                phase = fraction_of(frequency * span->seconds);
                step = fraction_of(frequency * span->per_sample);
            }
            first = span->first;
            shift = SHIFTS ? span->shift : 0;
            end = span < last ? span[1].begin : rows.n_times;
        }
        x[k] = *(const ELEMENT *)(place.in + (time + shift) * rows.in_time);
        turns[k] = (uint32)((phase + step * (uint64)(time - first)) >> 32);
    }
#pragma unroll
    for (int k = 0; k < UNROLL; k++)
        if (k < place.n_times)
            *(ELEMENT *)(place.out + (place.time + k * (int64)rows.rows) * rows.out_time) =
                turned(x[k], phasor(turns[k]));
}
