/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves shifted samples, for windows without a function (<cornerturn/kit/window.h>). */
#include <cornerturn/kit/kernel.h>

CT_KERNEL void
ct_move(const CtNoSettings *, const ct_x *x, ct_y *y)
{
    *y = *x;
}
CT_SHIFT_SUM(ct_move, CtNoSettings)
