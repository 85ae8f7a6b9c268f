/* SPDX-License-Identifier: BSD-3-Clause */
/* Gains: y = g · x. */
#include <cornerturn/kit/kernel.h>

#ifdef CT_KERNEL
CT_KERNEL void
gains(const CtNoSettings *none, const ct_x *x, const ct_w *g, ct_y *y)
{
#if CT_X_PARTS == 2
    y->re = ct_multiply_add(x->re, g->re, -(x->im * g->im));
    y->im = ct_multiply_add(x->re, g->im, x->im * g->re);
#else
    *y = *x * *g;
#endif
}
CT_PRODUCT_MAP(gains, CtNoSettings)
#endif
