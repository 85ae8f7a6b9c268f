/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels with a table. */
#include <cornerturn/kit/kernel.h>

#ifdef CT_KERNEL
CT_KERNEL void
weigh(const CtNoSettings *none, const ct_x *x, const ct_w *w, ct_y *y)
{
    (void)none;
    *y = *w * *x;
}
CT_TABLE_MAP(weigh, CtNoSettings)

CT_KERNEL void
trials(const CtNoSettings *none, const ct_x *x, const ct_w *w, ct_y *y)
{
    (void)none;
    *y = *w * *x;
}
CT_TABLE_SHIFT_SUM(trials, CtNoSettings)
#endif
