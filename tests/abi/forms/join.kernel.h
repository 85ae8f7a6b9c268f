/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of two streams. */
#include <cornerturn/kit/kernel.h>

#ifdef CT_KERNEL
CT_KERNEL void
join(const CtNoSettings *none, const ct_x *x, const ct_w *w, ct_y *y)
{
    (void)none;
    *y = *x - *w;
}
CT_JOIN(join, CtNoSettings)

CT_KERNEL void
mark(const CtNoSettings *none, const ct_x *x, const ct_w *w, ct_y *y, ct_mark *valid)
{
    (void)none;
    *y = *x;
    *valid = *x < *w;
}
CT_MARKED_JOIN(mark, CtNoSettings)
#endif
