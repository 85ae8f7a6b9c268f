/* SPDX-License-Identifier: BSD-3-Clause */
/* Dedispersion: y[t, dm] = Σ_c x[t + shift[dm, c], c]. A sum costs an addition for every channel
 * and DM. On a device, threads load n_dms · n_channels samples for each of the output's times from
 * their first cache, and 1/`made` of these from memory, if the shifts of `made` neighbouring DMs
 * differ by less than a tile. */
#include <cornerturn/kit/kernel.h>

#ifdef CT_KERNEL
CT_KERNEL void
dedisperse(const CtNoSettings *none, const ct_x *x, ct_y *y)
{
    *y = (ct_y)*x;
}
CT_SHIFT_SUM(dedisperse, CtNoSettings)
#endif
