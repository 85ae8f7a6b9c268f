/* @STAGE@: y = factor · x, for every element by itself. */
#include <cornerturn/kit/kernel.h>

/* The stage fills in these settings, in @PLUGIN@.c, and the kernel gets them with every call. */
typedef struct {
    float factor;
} Settings;

#ifdef CT_KERNEL
/* Compiled for each combination of types in meson.build, each instruction set, and devices. */
CT_KERNEL void
scale(const Settings *self, const ct_x *x, ct_y *y)
{
    const ct_x_part *from = (const ct_x_part *)x; /* a complex number has two parts */
    ct_y_part *to = (ct_y_part *)y;
    for (int i = 0; i < CT_X_PARTS; i++)
        to[i] = self->factor * from[i];
}
CT_MAP(scale, Settings)
#endif
