/* SPDX-License-Identifier: BSD-3-Clause */
/* The generalised spectral kurtosis, from sums of powers and of their squares. */
#include <cornerturn/kit/kernel.h>

typedef struct {
    double shape;        /* N d */
    double below, above; /* squared distances of the thresholds from 1, times the length */
} Kurtosis;

#ifdef CT_KERNEL
typedef struct {
    double sum, squares;
} Moments;

CT_KERNEL void
kurtosis_add(const Kurtosis *self, Moments *moments, const ct_x *x)
{
#if CT_X_PARTS == 2
    const double re = x->re, im = x->im, power = ct_multiply_add(re, re, im * im);
#else
    const double power = *x;
#endif
    moments->sum += power;
    moments->squares = ct_multiply_add(power, power, moments->squares);
}

/* With fewer than two samples, or if all powers are 0, the result is NaN, and is marked. */
CT_KERNEL bool
kurtosis_give(const Kurtosis *self, const Moments *moments, uint32_t n, ct_y *y)
{
    const double m = n, s1 = moments->sum, s2 = moments->squares;
    const double excess = (m * self->shape + 1) / (m - 1) * (m * s2 / (s1 * s1) - 1) - 1;
    *y = (ct_y)(1 + excess);
    return excess * excess * m <= (excess < 0 ? self->below : self->above);
}
CT_SUMS(kurtosis, Kurtosis, Moments, CT_FOLD_ALL)
#endif
