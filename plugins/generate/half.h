/* SPDX-License-Identifier: BSD-3-Clause */
/* Half precision without a compiler's type for it. */
#pragma once

#include <glib.h>
#include <string.h>

/* The bits of the half nearest to `value`, ties to even; too large is infinite. Without branches,
 * so that loops over it vectorise. */
static inline guint16
ct_half_from_float(gfloat value)
{
    guint32 bits, sign;
    memcpy(&bits, &value, sizeof bits);
    sign = bits & 0x80000000u;
    bits ^= sign;

    /* below 2⁻¹⁴ the sum with ½ rounds to the subnormals' step of 2⁻²⁴ */
    gfloat small = 0;
    memcpy(&small, &bits, sizeof small);
    small += 0.5f;
    guint32 subnormal;
    memcpy(&subnormal, &small, sizeof subnormal);
    subnormal -= 0x3f000000u;

    guint32 normal = (bits + 0xc8000fffu + ((bits >> 13) & 1)) >> 13;
    guint32 infinite = bits > 0x7f800000u ? 0x7e00u : 0x7c00u;
    guint32 half = bits >= 0x47800000u ? infinite : bits < 0x38800000u ? subnormal : normal;
    return (guint16)(half | sign >> 16);
}
