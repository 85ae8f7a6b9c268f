/* @STAGE@: y[t] = the mean of x[t … t + n − 1]. */
#include <cornerturn/kit/kernel.h>

#ifdef CT_KERNEL
/* Compiled for each combination of types in meson.build, each instruction set, and devices. */
CT_KERNEL void
smooth(const CtNoSettings *none, const ct_taps *x, ct_y *y)
{
    ct_y sum = ct_tap(x, 0);
    for (size_t k = 1; k < x->n; k++)
        sum = ct_add(sum, ct_tap(x, k));
    ct_y_part *parts = (ct_y_part *)&sum; /* a complex number has two parts */
    for (int i = 0; i < CT_Y_PARTS; i++)
        parts[i] /= (ct_y_part)x->n;
    *y = sum;
}
CT_WINDOW(smooth, CtNoSettings)
#endif
