/* SPDX-License-Identifier: BSD-3-Clause */
/* Butterflies of transforms of powers of two, by threads that hold a few of its values each. The
 * kernels of fft, and of fir and fft in one, share them.
 *
 * Passes are those of Stockham. Behind passes whose radices have the product s, a pass of radix q
 * moves the values j + i·P/q of a spectrum to j % s + i·s + j / s·s·q.
 *
 * Constants of the compilation: N_CHANNELS, P; N_BITS, its logarithm; N_PASSES. */
#pragma once

#include "cornerturn/kernel.h"

static_assert(N_CHANNELS == 1 << N_BITS, "a power of two");

/* The logarithm of a pass's radix. The largest radices come first, since the first pass has no
 * factors. */
__device__ constexpr int
radix_bits(int pass)
{
    return N_BITS / N_PASSES + (pass < N_BITS % N_PASSES);
}

/* Product of the radices before `pass`. */
__device__ constexpr int
span_bits(int pass)
{
    return pass == 0 ? 0 : span_bits(pass - 1) + radix_bits(pass - 1);
}

/* Waits for the n threads that share transforms. They are a part of a warp, or all of the block. */
template <int n>
__device__ inline void
wait()
{
    if constexpr (n <= 32)
        __syncwarp();
    else
        __syncthreads();
}

__device__ inline ct_cf32
add(ct_cf32 a, ct_cf32 b)
{
    return {a.re + b.re, a.im + b.im};
}

__device__ inline ct_cf32
subtract(ct_cf32 a, ct_cf32 b)
{
    return {a.re - b.re, a.im - b.im};
}

__device__ inline ct_cf32
multiply(ct_cf32 a, ct_cf32 b)
{
    return {fmaf(a.re, b.re, -(a.im * b.im)), fmaf(a.re, b.im, a.im * b.re)};
}

/* a · exp(−2πi m / 16), m known to the compiler. */
__device__ inline ct_cf32
rotate(ct_cf32 a, int m)
{
    const float cosine = 0.92387953251128675613f, sine = 0.38268343236508977173f;
    const float half = 0.70710678118654752440f;

    if (m % 4 == 1)
        a = multiply(a, {cosine, -sine});
    else if (m % 4 == 2)
        a = {half * (a.re + a.im), half * (a.im - a.re)};
    else if (m % 4 == 3)
        a = multiply(a, {sine, -cosine});
    if (m & 8)
        a = {-a.re, -a.im};
    if (m & 4)
        a = {a.im, -a.re};
    return a;
}

/* Transforms of 2 and 4 values `apart`. */
__device__ inline void
transform2(ct_cf32 *v, int apart)
{
    const ct_cf32 a = v[0], b = v[apart];

    v[0] = add(a, b);
    v[apart] = subtract(a, b);
}

__device__ inline void
transform4(ct_cf32 *v, int apart)
{
    const ct_cf32 a = add(v[0], v[2 * apart]), b = subtract(v[0], v[2 * apart]);
    const ct_cf32 c = add(v[apart], v[3 * apart]), d = rotate(subtract(v[apart], v[3 * apart]), 4);

    v[0] = add(a, c);
    v[apart] = add(b, d);
    v[2 * apart] = subtract(a, c);
    v[3 * apart] = subtract(b, d);
}

/* Factors of the input of a butterfly of `inner` by `outer` values: value inner·a + b is multiplied
 * by w^(inner·a) · w^b. */
template <int pass> struct Factors {
    static constexpr int radix = 1 << radix_bits(pass), span = 1 << span_bits(pass);
    static constexpr int inner = radix < 4 ? radix : 4, outer = radix / inner;
    ct_cf32 low[inner], high[outer];

    /* table: exp(−2πi m / P) */
    __device__ void
    init(const ct_cf32 *table, int index)
    {
        const int step = index % span * (N_CHANNELS / (span * radix));
#pragma unroll
        for (int b = 1; b < inner; b++)
            low[b] = table[b * step];
#pragma unroll
        for (int a = 1; a < outer; a++)
            high[a] = table[a * inner * step];
    }

    __device__ void
    await()
    {
#pragma unroll
        for (int b = 1; b < inner; b++) {
            ct_await(low[b].re);
            ct_await(low[b].im);
        }
#pragma unroll
        for (int a = 1; a < outer; a++) {
            ct_await(high[a].re);
            ct_await(high[a].im);
        }
    }

    /* Value i of the transform stands at place(i) afterwards. */
    static __device__ constexpr int
    place(int i)
    {
        return i % outer * inner + i / outer;
    }

    __device__ void
    transform(ct_cf32 *v) const
    {
#pragma unroll
        for (int b = 0; b < inner; b++) {
            if (pass > 0)
#pragma unroll
                for (int a = 1; a < outer; a++)
                    v[a * inner + b] = multiply(v[a * inner + b], high[a]);
            if (outer == 2)
                transform2(v + b, inner);
            else if (outer == 4)
                transform4(v + b, inner);
#pragma unroll
            for (int a = 0; a < outer && b > 0; a++) {
                if (pass > 0)
                    v[a * inner + b] = multiply(v[a * inner + b], low[b]);
                v[a * inner + b] = rotate(v[a * inner + b], a * b * (16 / radix));
            }
        }
#pragma unroll
        for (int a = 0; a < outer; a++)
            if (inner == 2)
                transform2(v + a * inner, 1);
            else
                transform4(v + a * inner, 1);
    }
};
