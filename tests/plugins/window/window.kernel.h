/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows and shifts of which the tests of the form know the results to the bit. */
#include <cornerturn/kit/kernel.h>

typedef struct {
    float scale;
} Scale;

#ifdef CT_KERNEL
#ifdef CT_W
CT_KERNEL void
weigh(const Scale *self, const ct_x *x, const ct_w *w, ct_y *y)
{
    *y = self->scale * *x * *w;
}
CT_TABLE_SHIFT_SUM(weigh, Scale)
#else
/* The sample of the middle rank; of several equal ones, the first. */
CT_KERNEL void
median(const Scale *self, const ct_taps *x, ct_y *y)
{
    *y = 0;
    for (size_t k = 0; k < x->n; k++) {
        size_t rank = 0;
        for (size_t j = 0; j < x->n; j++)
            rank += ct_tap(x, j) < ct_tap(x, k) || (ct_tap(x, j) == ct_tap(x, k) && j < k);
        if (rank == x->n / 2)
            *y = self->scale * ct_tap(x, k);
    }
}
CT_WINDOW(median, Scale)
#endif
#endif
