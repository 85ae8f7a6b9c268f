/* @STAGE@: y = x − factor · w, for every element x of one stream and w of another. */
#include <cornerturn/kit/kernel.h>

/* The stage fills in these settings, in @PLUGIN@.c, and the kernel gets them with every call. */
typedef struct {
    float factor;
} Settings;

#ifdef CT_KERNEL
/* Compiled for each combination of types in meson.build, each instruction set, and devices. */
CT_KERNEL void
subtract(const Settings *self, const ct_x *x, const ct_w *w, ct_y *y)
{
    *y = ct_multiply_add(-self->factor, *w, *x);
}
CT_JOIN(subtract, Settings)
#endif
