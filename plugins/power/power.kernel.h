/* SPDX-License-Identifier: BSD-3-Clause */
/* Squared moduli. */
#include <cornerturn/kit/kernel.h>

#ifdef CT_KERNEL
CT_KERNEL void
power(const CtNoSettings *none, const ct_x *x, ct_y *y)
{
#if CT_X_PARTS == 2
    *y = x->re * x->re + x->im * x->im;
#else
    *y = *x * *x;
#endif
}
CT_MAP(power, CtNoSettings)
#endif
