/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of elements of any type as numbers, for reference variants. */
#pragma once

#include <cornerturn/kit/half.h>
#include <cornerturn/stage.h>

/* Part `part` (0 real, 1 imaginary) of the element at `x`; 64-bit integers are rounded. */
static inline gdouble
part_read(const guint8 *x, CtType type, guint part)
{
    switch (type) {
    case CT_CI4: /* a nibble moved to the top of a byte keeps its sign */
        return (gint8)(guint8)(part == 0 ? *x & 0xf0 : *x << 4) / 16;
    case CT_CI8:
    case CT_I8:
        return ((const gint8 *)x)[part];
    case CT_U8:
        return x[part];
    case CT_CI16:
    case CT_I16:
        return ((const gint16 *)x)[part];
    case CT_CI32:
    case CT_I32:
        return ((const gint32 *)x)[part];
    case CT_U32:
        return ((const guint32 *)x)[part];
    case CT_CI64:
    case CT_I64:
        return (gdouble)((const gint64 *)x)[part];
    case CT_CF16:
    case CT_F16:
        return (gdouble)ct_half_to_float(((const guint16 *)x)[part]);
    case CT_CF32:
    case CT_F32:
        return (gdouble)((const gfloat *)x)[part];
    case CT_CF64:
    case CT_F64:
        return ((const gdouble *)x)[part];
    case CT_TYPE_NONE:
    case CT_N_TYPES:
        break;
    }
    g_assert_not_reached();
}
