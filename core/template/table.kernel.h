/* @STAGE@: y = w · x, with a weight w for each station. */
#include <cornerturn/kit/kernel.h>

#ifdef CT_KERNEL
/* Compiled for each combination of types in meson.build, each instruction set, and devices. */
CT_KERNEL void
weigh(const CtNoSettings *none, const ct_x *x, const ct_w *w, ct_y *y)
{
    y->re = *w * x->re;
    y->im = *w * x->im;
}
CT_TABLE_MAP(weigh, CtNoSettings)
#endif
