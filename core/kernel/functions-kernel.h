/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that kernels of <cornerturn/kit/kernel.h> may call, on devices. */
#pragma once

#include "cornerturn/kernel.h"

typedef int8 int8_t;
typedef uint8 uint8_t;
typedef int16 int16_t;
typedef uint16 uint16_t;
typedef int32 int32_t;
typedef uint32 uint32_t;
typedef int64 int64_t;
typedef uint64 uint64_t;

#define CT_KERNEL __device__ __forceinline__

__device__ inline float
ct_multiply_add(float a, float b, float c)
{
    return fmaf(a, b, c);
}

__device__ inline double
ct_multiply_add(double a, double b, double c)
{
    return fma(a, b, c);
}

/* A sum with 1.5 · 2^23 has no fractional bits, and is rounded once. */
__device__ inline float
ct_round_scaled(float x, float scale)
{
    return fmaf(x, scale, 0x1.8p23f) - 0x1.8p23f;
}

/* The byte, at least −127, that is nearest to a number; 0 for NaN. */
#ifndef CT_EMULATED
__device__ inline int32
ct_saturate_to_byte(float x)
{
    float within;
    int32 byte;
    asm("max.NaN.f32 %0, %1, 0fC2FE0000;" : "=f"(within) : "f"(x)); /* −127 */
    asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(byte) : "f"(within));
    return byte;
}
#else
__device__ inline int32
ct_saturate_to_byte(float x)
{
    return x != x ? 0 : (int32)fminf(fmaxf(x, -127), 127);
}
#endif

/* Conversions to bytes saturate. Otherwise the number stands in the low bits of its sum with 1.5 ·
 * 2^23: this takes less time than a conversion with limits of its own. */
__device__ inline int32
ct_quantise(float x, float scale, float most, uint32_t *clipped)
{
    if (most == 127) {
        const float whole = ct_round_scaled(x, scale);
        if (!(fabsf(whole) <= most))
            *clipped = 1;
        return ct_saturate_to_byte(whole);
    }
    const float middle = 0x1.8p23f, rounded = fmaf(x, scale, middle);
    float within = fminf(fmaxf(rounded, middle - most), middle + most);
    if (!(within == rounded)) {
        *clipped = 1;
        if (rounded != rounded)
            within = middle;
    }
    return __float_as_int(within) - 0x4b400000;
}

__device__ inline float
ct_absolute(float x)
{
    return fabsf(x);
}

__device__ inline double
ct_absolute(double x)
{
    return fabs(x);
}
