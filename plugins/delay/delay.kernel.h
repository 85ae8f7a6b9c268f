/* SPDX-License-Identifier: BSD-3-Clause */
/* Delays of shifted samples: a rotation by a constant phasor, or by a phase in turns. */
#include <cornerturn/kit/kernel.h>

#ifdef CT_KERNEL
#if CT_W_PARTS == 2
CT_KERNEL void
delay_constant(const CtNoSettings *none, const ct_x *x, const ct_w *w, ct_y *y)
{
    y->re = ct_multiply_add(x->re, w->re, -(x->im * w->im));
    y->im = ct_multiply_add(x->re, w->im, x->im * w->re);
}
CT_PRODUCT_SHIFT_SUM(delay_constant, CtNoSettings)

#else
/* x · exp(−2πi turns), with polynomials on both sides of the nearest quarter. */
CT_KERNEL void
delay_changing(const CtNoSettings *none, const ct_x *x, const ct_w *turns, ct_y *y)
{
    /* sums with 1.5 · 2⁵² and 1.5 · 2²³ round to whole turns and quarters */
    const double whole = (*turns + 0x1.8p52) - 0x1.8p52;
    const float quarters = (float)(*turns - whole) * 4;
    const float rounded = (quarters + 0x1.8p23f) - 0x1.8p23f;
    const int32_t quarter = (int32_t)rounded;
    const float angle = (quarters - rounded) * 1.57079632679489662f, square = angle * angle;
    float s = square * -1.9515295891e-4f + 8.3321608736e-3f;
    s = (s * square - 1.6666654611e-1f) * square * angle + angle;
    /* One product to each sum, so that vectors and the rest of a loop round alike. */
    float c = square * 2.443315711809948e-5f - 1.388731625493765e-3f;
    c = (c * square + 4.166664568298827e-2f) * square * square + ct_multiply_add(square, -0.5f, 1);
    float sine = quarter & 1 ? c : s, cosine = quarter & 1 ? s : c;
    sine = quarter & 2 ? -sine : sine;
    cosine = (quarter + 1) & 2 ? -cosine : cosine;
    y->re = ct_multiply_add(x->re, cosine, x->im * sine);
    y->im = ct_multiply_add(x->im, cosine, -(x->re * sine));
}
CT_TABLE_SHIFT_SUM(delay_changing, CtNoSettings)
#endif
#endif
