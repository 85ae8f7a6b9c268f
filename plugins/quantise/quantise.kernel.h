/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantisation: y = clip(round(scale · x)), for real and imaginary part each. */
#include <cornerturn/kit/kernel.h>

typedef struct {
    float scale;
} Quantise;

#ifdef CT_KERNEL
/* The product is rounded once, half to even; NaN becomes 0. Counts a sample of which a part is
 * beyond the largest level. */
CT_KERNEL void
quantise(const Quantise *self, const ct_x *x, ct_y *y, uint32_t *clipped)
{
    const ct_x_part *from = (const ct_x_part *)x;
    ct_y_part *to = (ct_y_part *)y;
    for (int i = 0; i < CT_X_PARTS; i++)
        to[i] = (ct_y_part)ct_quantise(from[i], self->scale, CT_Y_MOST, clipped);
}
CT_QUANTISE_MAP(quantise, Quantise)
#endif
