/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels and types whose names the macros might use themselves: each kernel makes y = 2 x. */
#include <cornerturn/kit/kernel.h>

typedef struct {
    float factor;
} settings;

#ifdef CT_KERNEL
#define SCALE(name_)                                                                               \
    CT_KERNEL void name_(const settings *self, const ct_x *from, ct_y *to)                         \
    {                                                                                              \
        *to = (ct_y)(self->factor * *from);                                                        \
    }
SCALE(run)
CT_MAP(run, settings)
SCALE(x)
CT_MAP(x, settings)
SCALE(n)
CT_MAP(n, settings)
SCALE(i)
CT_MAP(i, settings)
SCALE(in)
CT_MAP(in, settings)
SCALE(map)
CT_MAP(map, settings)
SCALE(shift)
CT_SHIFT_SUM(shift, settings)

CT_KERNEL void
sum(const settings *self, const ct_x *from, ct_y *to, uint32_t *n_clipped)
{
    *to = (ct_y)(self->factor * *from);
    *n_clipped = 1;
}
CT_COUNTED_MAP(sum, settings)

CT_KERNEL void
group(const settings *self, const ct_x *from, ct_y *to)
{
    to[0] = (ct_y)(self->factor * from[0]);
}
CT_GROUP(group, settings, 1, 1)

CT_KERNEL void
taps(const settings *self, const ct_taps *from, ct_y *to)
{
    *to = (ct_y)(self->factor * ct_tap(from, 0));
}
CT_WINDOW(taps, settings)

typedef struct {
    double sum;
} state;

CT_KERNEL void
states_add(const settings *self, state *sums, const ct_x *from)
{
    sums->sum += self->factor * *from;
}

CT_KERNEL bool
states_give(const settings *self, const state *sums, uint32_t count, ct_y *to)
{
    *to = (ct_y)sums->sum;
    return true;
}
CT_SUMS(states, settings, state, CT_FOLD_ALL)

#ifdef CT_W
CT_KERNEL void
table(const settings *self, const ct_x *from, const ct_w *of, ct_y *to)
{
    *to = (ct_y)(self->factor * *from * *of);
}
CT_TABLE_MAP(table, settings)

CT_KERNEL void
rows(const settings *self, const ct_x *from, const ct_w *of, ct_y *to)
{
    *to = (ct_y)(self->factor * *from * *of);
}
CT_JOIN(rows, settings)

CT_KERNEL void
term(const settings *self, const ct_x *from, const ct_w *of, ct_y *to)
{
    *to = (ct_y)(self->factor * *from * *of);
}
CT_TABLE_SHIFT_SUM(term, settings)
#endif
#endif
