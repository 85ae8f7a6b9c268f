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
    const float most = CT_Y_MOST;
    for (int i = 0; i < CT_X_PARTS; i++) {
        const float rounded = ct_round_scaled(from[i], self->scale);
        const float number = rounded == rounded ? rounded : 0;
        const float low = number < -most ? -most : number;
        *clipped |= !(ct_absolute(rounded) <= most);
        to[i] = (ct_y_part)(int)(low > most ? most : low); /* by way of int: faster */
    }
}
CT_COUNTED_MAP(quantise, Quantise)
#endif
