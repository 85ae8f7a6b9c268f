/* SPDX-License-Identifier: BSD-3-Clause */
/* Right kernels that the stages of misuse.c use wrongly. */
#include <cornerturn/kit/kernel.h>

#ifdef CT_KERNEL
CT_KERNEL void
copy(const CtNoSettings *none, const ct_x *x, ct_y *y)
{
    *y = (ct_y)*x;
}
CT_MAP(copy, CtNoSettings)

CT_KERNEL void
tally(const CtNoSettings *none, const ct_x *x, ct_y *y, uint32_t *n)
{
    *y = (ct_y)*x;
    *n = 1;
}
CT_COUNTED_MAP(tally, CtNoSettings)

CT_KERNEL void
swap(const CtNoSettings *none, const ct_x *x, ct_y *y)
{
    y[0] = (ct_y)x[1];
    y[1] = (ct_y)x[0];
}
CT_GROUP(swap, CtNoSettings, 2, 2)

typedef struct {
    double sum;
} Sum;

CT_KERNEL void
total_add(const CtNoSettings *none, Sum *sum, const ct_x *x)
{
    sum->sum += *x;
}

/* Marks sums below 0. */
CT_KERNEL bool
total_give(const CtNoSettings *none, const Sum *sum, uint32_t n, ct_y *y)
{
    *y = (ct_y)sum->sum;
    return sum->sum >= 0;
}
CT_SUMS(total, CtNoSettings, Sum, CT_FOLD_ALL)

#ifdef CT_W
CT_KERNEL void
weigh(const CtNoSettings *none, const ct_x *x, const ct_w *w, ct_y *y)
{
    *y = (ct_y)(*w * *x);
}
CT_TABLE_MAP(weigh, CtNoSettings)

/* Marks x below w. */
CT_KERNEL void
mark(const CtNoSettings *none, const ct_x *x, const ct_w *w, ct_y *y, ct_mark *valid)
{
    *y = (ct_y)*x;
    *valid = *x >= *w;
}
CT_MARKED_JOIN(mark, CtNoSettings)
#endif
#endif
