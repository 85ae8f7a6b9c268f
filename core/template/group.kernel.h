/* @STAGE@: sum and difference of two polarisations. */
#include <cornerturn/kit/kernel.h>

#ifdef CT_KERNEL
/* Compiled for each combination of types in meson.build, each instruction set, and devices. */
CT_KERNEL void
combine(const CtNoSettings *none, const ct_x *x, ct_y *y)
{
    y[0].re = x[0].re + x[1].re;
    y[0].im = x[0].im + x[1].im;
    y[1].re = x[0].re - x[1].re;
    y[1].im = x[0].im - x[1].im;
}
CT_GROUP(combine, CtNoSettings, 2, 2)
#endif
