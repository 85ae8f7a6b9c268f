/* SPDX-License-Identifier: BSD-3-Clause */
/* Flags: y = x, marked where w is not within the limits; NaN is not. */
#include <cornerturn/kit/kernel.h>

typedef struct {
    double lower, upper;
} Limits;

#ifdef CT_KERNEL
CT_KERNEL void
flag(const Limits *limits, const ct_x *x, const ct_w *w, ct_y *y, ct_mark *valid)
{
    *y = *x;
    *valid = *w >= limits->lower && *w <= limits->upper;
}
CT_MARKED_JOIN(flag, Limits)
#endif
