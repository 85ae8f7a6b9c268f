/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums whose merge is wrong: it drops the samples of the other state. */
#include <cornerturn/kit/kernel.h>

#ifdef CT_KERNEL
typedef struct {
    double sum;
} Unmerged;

CT_KERNEL void
unmerged_start(const CtNoSettings *none, Unmerged *state)
{
    state->sum = 0;
}

CT_KERNEL void
unmerged_add(const CtNoSettings *none, Unmerged *state, const ct_x *x)
{
    state->sum += *x;
}

CT_KERNEL void
unmerged_merge(const CtNoSettings *none, Unmerged *state, const Unmerged *other)
{
}

CT_KERNEL bool
unmerged_give(const CtNoSettings *none, const Unmerged *state, uint32_t n, ct_y *y)
{
    *y = (ct_y)state->sum;
    return true;
}
CT_FOLD(unmerged, CtNoSettings, Unmerged, CT_FOLD_ALL)
#endif
