/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums in double precision, and their means. */
#include <cornerturn/kit/kernel.h>

typedef struct {
    int averages; /* divide by the number of valid samples */
} Integrate;

#ifdef CT_KERNEL
typedef struct {
#if CT_X_PARTS == 2
    double re, im;
#else
    double re;
#endif
} Sum;

CT_KERNEL void
integrate_add(const Integrate *self, Sum *sum, const ct_x *x)
{
#if CT_X_PARTS == 2
    sum->re += x->re;
    sum->im += x->im;
#else
    sum->re += *x;
#endif
}

CT_KERNEL bool
integrate_give(const Integrate *self, const Sum *sum, uint32_t n, ct_y *y)
{
    Sum mean = *sum;
    if (self->averages) {
        /* The sum of no samples is 0, and so is its mean. */
        n = n > 0 ? n : 1;
        mean.re /= n;
#if CT_X_PARTS == 2
        mean.im /= n;
#endif
    }
#if CT_X_PARTS == 2
    y->re = (ct_y_part)mean.re;
    y->im = (ct_y_part)mean.im;
#else
    *y = (ct_y)mean.re;
#endif
    return true;
}
CT_SUMS(integrate, Integrate, Sum, CT_FOLD_ALL)
#endif
