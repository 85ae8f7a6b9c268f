/* SPDX-License-Identifier: BSD-3-Clause */
/* Half precision (IEEE binary16) in integers, for compilers and processors that lack it. */
#pragma once

#include <stdint.h>
#include <string.h>

static inline float
ct_half_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t exponent = half >> 10 & 31, mantissa = half & 1023;
    float value;
    if (exponent == 0) {
        value = (float)mantissa * 0x1p-24f;
        return sign ? -value : value;
    }
    const uint32_t bits = sign | (exponent == 31 ? 255u : exponent + 112) << 23 | mantissa << 13;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounds to nearest, ties to even; values that are too large become infinite. */
static inline uint16_t
ct_half_from_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    const int exponent = (int)(bits >> 52 & 2047) - 1023;
    const uint64_t mantissa = bits & 0xfffffffffffff;
    if (exponent == 1024)
        return (uint16_t)(sign | 0x7c00 | (mantissa ? 0x200 : 0));
    if (exponent > 15)
        return sign | 0x7c00;
    if (exponent < -25)
        return sign;
    /* Below the least normal number the unit is 2⁻²⁴. */
    const int drop = exponent < -14 ? 42 + (-14 - exponent) : 42;
    const uint64_t full = mantissa | 1ull << 52;
    uint64_t kept = full >> drop;
    const uint64_t rest = full & ((1ull << drop) - 1), tie = 1ull << (drop - 1);
    kept += rest > tie || (rest == tie && (kept & 1));
    /* A carry out of the mantissa increments the exponent. */
    return (uint16_t)(sign | (exponent < -14 ? kept : kept + ((uint64_t)(exponent + 14) << 10)));
}
