/* SPDX-License-Identifier: BSD-3-Clause */
/* level: the factor that brings samples, or their powers, to a wanted mean power. */
#include <cornerturn/kit/kernel.h>

typedef struct {
    double wanted; /* the mean power */
    int of_powers; /* the factor is of powers, not of samples */
} Level;

#ifdef CT_KERNEL
/* 0 where there is no power, or NaN. */
CT_KERNEL void
level(const Level *self, const ct_x *x, ct_y *y)
{
    const double mean = *x, quotient = self->wanted / mean;
    *y = (ct_y)(!(mean > 0) ? 0 : self->of_powers ? quotient : sqrt(quotient));
}
CT_MAP(level, Level)
#endif
