/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantisation; compiled once per instruction set. */
#include "quantise-kernels.h"

#include <stdint.h>

/* A sum with 1.5 · 2^(bits of the mantissa − 1) has no fractional bits: the fraction is rounded
 * half to even, and only once, since the product before it is exact, inside a fused multiply-add or
 * in double precision. */
#if defined(__FMA__) || defined(__FP_FAST_FMAF)
#define ROUND(x, scale) (__builtin_fmaf((x), (scale), 0x1.8p23f) - 0x1.8p23f)
#else
#define ROUND(x, scale) ((float)((double)(x) * (double)(scale) + 0x1.8p52 - 0x1.8p52))
#endif

/* The value nearest to x within ±most; sets `clipped` if x is beyond. Too large a product is not
 * rounded as above, but stays too large. NaN fails all comparisons and becomes zero. */
static inline int
quantise(float x, float scale, float most, uint32_t *clipped)
{
    const float rounded = ROUND(x, scale);
    const float number = rounded == rounded ? rounded : 0;
    const float low = number < -most ? -most : number;
    *clipped |= !(__builtin_fabsf(rounded) <= most);
    return (int)(low > most ? most : low);
}

#define DEFINE(name, type, n_parts, most)                                                          \
    static gsize name(const float *restrict x, float scale, void *restrict target, gsize n)        \
    {                                                                                              \
        type *y = target;                                                                          \
        uint32_t count = 0;                                                                        \
        for (gsize i = 0; i < n; i++) {                                                            \
            uint32_t clipped = 0;                                                                  \
            for (gsize k = 0; k < n_parts; k++)                                                    \
                y[n_parts * i + k] = (type)quantise(x[n_parts * i + k], scale, most, &clipped);    \
            count += clipped;                                                                      \
        }                                                                                          \
        return count;                                                                              \
    }

DEFINE(quantise_i8, int8_t, 1, 127.f)
DEFINE(quantise_i16, int16_t, 1, 32767.f)
DEFINE(quantise_ci8, int8_t, 2, 127.f)
DEFINE(quantise_ci16, int16_t, 2, 32767.f)

static gsize
quantise_ci4(const float *restrict x, float scale, void *restrict target, gsize n)
{
    uint8_t *y = target;
    uint32_t count = 0;
    for (gsize i = 0; i < n; i++) {
        uint32_t clipped = 0;
        const int real = quantise(x[2 * i], scale, 7, &clipped);
        const int imaginary = quantise(x[2 * i + 1], scale, 7, &clipped);
        y[i] = (uint8_t)((unsigned)real << 4 | ((unsigned)imaginary & 15));
        count += clipped;
    }
    return count;
}

QuantiseRun
CT_ISA(quantise_run)(CtType type)
{
    static const QuantiseRun runs[CT_N_TYPES] = {
        [CT_CI4] = quantise_ci4, [CT_CI8] = quantise_ci8, [CT_CI16] = quantise_ci16,
        [CT_I8] = quantise_i8,   [CT_I16] = quantise_i16,
    };
    return runs[type];
}
