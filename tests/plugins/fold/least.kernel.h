/* SPDX-License-Identifier: BSD-3-Clause */
/* The least of some samples, among which no zeros of invalid ones may be. */
#include <cornerturn/kit/kernel.h>

typedef struct {
    unsigned needed; /* valid samples */
} Least;

#ifdef CT_KERNEL
typedef struct {
    float least, added;
} Sample;

CT_KERNEL void
least_start(const Least *self, Sample *sample)
{
    sample->least = 1e30f;
    sample->added = 0;
}

CT_KERNEL void
least_add(const Least *self, Sample *sample, const ct_x *x)
{
    sample->least = *x < sample->least ? *x : sample->least;
    sample->added += 1;
}

CT_KERNEL void
least_merge(const Least *self, Sample *sample, const Sample *other)
{
    sample->least = other->least < sample->least ? other->least : sample->least;
    sample->added += other->added;
}

/* −1 shows that not the n valid samples were added. */
CT_KERNEL bool
least_give(const Least *self, const Sample *sample, uint32_t n, ct_y *y)
{
    *y = sample->added == (float)n ? sample->least : -1;
    return n >= self->needed;
}
CT_FOLD(least, Least, Sample, CT_FOLD_VALID)
#endif
