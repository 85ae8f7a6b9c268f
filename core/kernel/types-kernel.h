/* SPDX-License-Identifier: BSD-3-Clause */
/* The types of a kernel's numbers, from the definitions CT_X, CT_Y and CT_W, their parts, and
 * CT_IN. Included once for each kernel of an epilogue, in its namespace. */

typedef CT_X ct_x;
typedef CT_X_PART ct_x_part;
typedef CT_Y ct_y;
typedef CT_Y_PART ct_y_part;
#ifdef CT_W
typedef CT_W ct_w;
typedef CT_W_PART ct_w_part;
#else
typedef CT_Y ct_w;
#endif

/* The samples of a window; `step` in bytes. */
typedef struct {
    const uint8 *first;
    int64 step;
    uint64 n;
} ct_taps;

CT_KERNEL ct_x
ct_tap(const ct_taps *x, uint64 k)
{
    return ct_convert<ct_x>(*(const CT_IN *)(x->first + (int64)k * x->step));
}

CT_KERNEL ct_y
ct_add(ct_y a, ct_y b)
{
#if CT_Y_PARTS == 2
    return {(ct_y_part)(a.re + b.re), (ct_y_part)(a.im + b.im)};
#else
    return (ct_y)(a + b);
#endif
}
