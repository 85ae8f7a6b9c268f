/* SPDX-License-Identifier: BSD-3-Clause */
/* level: the factor that brings a mean power to a wanted one. */
#include <cornerturn/kit/kernel.h>

typedef struct {
    double power; /* wanted */
} Level;

#ifdef CT_KERNEL
/* 0 where there is no power, or NaN. */
CT_KERNEL void
level(const Level *self, const ct_x *x, ct_y *y)
{
    const double power = *x;
    *y = (ct_y)(power > 0 ? sqrt(self->power / power) : 0);
}
CT_MAP(level, Level)
#endif
