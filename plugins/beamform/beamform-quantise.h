/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantised weights, by the same arithmetic on the processor and on devices. The parts of the
 * weights of a beam, for one element of the other axes, are levels times a scale in single
 * precision: integers from −127 to 127, or numbers of half precision. Included by both. */
#pragma once

#ifdef __CUDACC__
#include "cornerturn/kernel.h"
#define BEAMFORM_FUNCTION __device__ inline
#else
#include <cornerturn/kit/half.h>
#include <math.h>
#define BEAMFORM_FUNCTION static inline
#endif

/* The choices of `weights_as`, in their order. */
enum { BEAMFORM_GIVEN, BEAMFORM_CI8, BEAMFORM_CF16 };

/* The bits of a number in single precision. */
typedef union {
    float value;
    unsigned bits;
} BeamformBits;

/* The size of a part: sizes have the order of their bits, and those that are not finite come last.
 */
BEAMFORM_FUNCTION unsigned
beamform_size(float part)
{
    BeamformBits bits;
    bits.value = part;
    return bits.bits & 0x7fffffff;
}

/* The scale of a beam whose largest part has this size. Not a number: some part is not finite. */
BEAMFORM_FUNCTION float
beamform_scale(int as, unsigned largest)
{
    BeamformBits scale;
    scale.bits = largest;
    if (largest >= 0x7f800000) {
        scale.bits = 0x7fc00000;
    } else if (as == BEAMFORM_CI8) {
        /* A quotient below the normal numbers would not be exact enough to divide by. */
        scale.value /= 127;
        if (scale.bits < 0x00800000)
            scale.bits = 0;
    } else {
        /* A power of two that brings the largest part to 2¹⁴ … 2¹⁵, and is at least 2⁻¹¹². */
        const unsigned exponent = largest >> 23;
        scale.bits = (exponent < 29 ? 15 : exponent - 14) << 23;
    }
    return scale.value;
}

BEAMFORM_FUNCTION float
beamform_half(float x)
{
#ifdef __CUDACC__
    return ct_half_to_float(ct_float_to_half(x));
#else
    return ct_half_to_float(ct_half_from_double((double)x));
#endif
}

/* The level of a part, of which level times scale is used. All levels are 0 if the scale is no
 * number, so that the products with the scale are none. */
BEAMFORM_FUNCTION float
beamform_level(int as, float part, float scale)
{
    if (!(scale > 0))
        return 0;
    return as == BEAMFORM_CI8 ? rintf(part / scale) : beamform_half(part / scale);
}
