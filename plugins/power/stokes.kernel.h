/* SPDX-License-Identifier: BSD-3-Clause */
/* Stokes parameters of two polarisations; see README.md for the signs. */
#include <cornerturn/kit/kernel.h>

typedef struct {
    int is_circular; /* the polarisations are R, L, not X, Y */
} Stokes;

#ifdef CT_KERNEL
#ifdef CT_KERNEL_FILE
#include "stokes-host.h"
#endif

CT_KERNEL ct_y
square(const ct_x *x)
{
    return x->re * x->re + x->im * x->im;
}

CT_KERNEL void
stokes_i(const Stokes *self, const ct_x *x, ct_y *y)
{
    y[0] = square(&x[0]) + square(&x[1]);
}
CT_GROUP(stokes_i, Stokes, 2, 1)

CT_KERNEL void
stokes_iquv(const Stokes *self, const ct_x *x, ct_y *y)
{
    const ct_y difference = square(&x[0]) - square(&x[1]);
    const ct_y re = 2 * (x[0].re * x[1].re + x[0].im * x[1].im);
    const ct_y im = 2 * (x[0].im * x[1].re - x[0].re * x[1].im);
    y[0] = square(&x[0]) + square(&x[1]);
    y[1] = self->is_circular ? re : difference;
    y[2] = self->is_circular ? im : re;
    y[3] = self->is_circular ? difference : im;
}
CT_GROUP_BY(stokes_iquv, Stokes, 2, 4, stokes_vectors)
#endif
