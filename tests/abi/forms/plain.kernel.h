/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of one input: the forms of <cornerturn/kit/kernel.h>, and the functions that it offers.
 * The results of small integers are exact. */
#include <cornerturn/kit/kernel.h>

typedef struct {
    float factor;
} Settings;

#ifdef CT_KERNEL
CT_KERNEL void
scale(const Settings *self, const ct_x *x, ct_y *y)
{
    *y = self->factor * *x;
}
CT_MAP(scale, Settings)

/* Counts the samples with |x| ≥ 4. */
CT_KERNEL void
large(const Settings *self, const ct_x *x, ct_y *y, uint32_t *count)
{
    *y = ct_round_scaled(*x, self->factor);
    *count += ct_absolute(*x) >= sqrt(16);
}
CT_COUNTED_MAP(large, Settings)

CT_KERNEL void
group(const Settings *self, const ct_x *x, ct_y *y)
{
    y[0] = ct_multiply_add(self->factor, x[0], x[1]);
    y[1] = x[0] - x[1];
}
CT_GROUP(group, Settings, 2, 2)

typedef struct {
    float sum;
} Sum;

CT_KERNEL void
fold_start(const Settings *self, Sum *sum)
{
    (void)self;
    sum->sum = 0;
}

CT_KERNEL void
fold_add(const Settings *self, Sum *sum, const ct_x *x)
{
    sum->sum = ct_multiply_add(self->factor, *x, sum->sum);
}

CT_KERNEL void
fold_merge(const Settings *self, Sum *sum, const Sum *other)
{
    (void)self;
    sum->sum += other->sum;
}

CT_KERNEL bool
fold_give(const Settings *self, const Sum *sum, uint32_t n, ct_y *y)
{
    (void)self;
    *y = sum->sum + (float)n;
    return true;
}
CT_FOLD(fold, Settings, Sum, CT_FOLD_ALL)

typedef struct {
    double all;
} Sums;

CT_KERNEL void
sums_add(const Settings *self, Sums *sums, const ct_x *x)
{
    sums->all += self->factor * *x;
}

CT_KERNEL bool
sums_give(const Settings *self, const Sums *sums, uint32_t n, ct_y *y)
{
    (void)self;
    *y = (float)sums->all + (float)n;
    return true;
}
CT_SUMS(sums, Settings, Sums, CT_FOLD_VALID)

CT_KERNEL void
window(const Settings *self, const ct_taps *x, ct_y *y)
{
    *y = 0;
    for (size_t k = 0; k < x->n; k++)
        *y = ct_add(*y, self->factor * ct_tap(x, k));
}
CT_WINDOW(window, Settings)

CT_KERNEL void
moved(const Settings *self, const ct_x *x, ct_y *y)
{
    *y = self->factor * *x;
}
CT_SHIFT_SUM(moved, Settings)
#endif
