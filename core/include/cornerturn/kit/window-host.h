/* SPDX-License-Identifier: BSD-3-Clause */
/* The forms window and shift of <cornerturn/kit/kernel.h> on the host, see form-host.h. */
#pragma once

#ifdef CT_KERNEL_FILE
/* The samples of a window. */
typedef struct {
    const CT_X_ELEMENT *first;
    ptrdiff_t step;
    size_t n;
} ct_taps;

CT_KERNEL ct_x
ct_tap(const ct_taps *x, size_t k)
{
    return CT_X_LOAD(x->first[(ptrdiff_t)k * x->step]);
}

CT_KERNEL ct_y
ct_add(ct_y a, ct_y b)
{
#if CT_Y_PARTS == 2
    return (ct_y){a.re + b.re, a.im + b.im};
#else
    return a + b;
#endif
}

#define CT_WINDOW(name_, settings_)                                                                \
    CT_KERNEL void name_##_loop(const CtFormRun *ct_own_run, const ptrdiff_t ct_own_step)          \
    {                                                                                              \
        const size_t ct_own_n = ct_own_run->n, ct_own_n_taps = ct_own_run->window->n_taps;         \
        const settings_ ct_own_settings = *(const settings_ *)ct_own_run->settings;                \
        const CT_X_ELEMENT *restrict ct_own_x = ct_own_run->x[0];                                  \
        CT_Y_ELEMENT *restrict ct_own_y = ct_own_run->y[0];                                        \
        for (size_t ct_own_i = 0; ct_own_i < ct_own_n; ct_own_i++) {                               \
            const ct_taps ct_own_taps = {ct_own_x + ct_own_i, ct_own_step, ct_own_n_taps};         \
            ct_y ct_own_to;                                                                        \
            name_(&ct_own_settings, &ct_own_taps, &ct_own_to);                                     \
            ct_own_y[ct_own_i] = CT_Y_STORE(ct_own_to);                                            \
        }                                                                                          \
    }                                                                                              \
    static void name_##_run(const CtFormRun *ct_own_run)                                           \
    {                                                                                              \
        if (ct_own_run->window->tap_step == 1)                                                     \
            name_##_loop(ct_own_run, 1);                                                           \
        else                                                                                       \
            name_##_loop(ct_own_run, (ptrdiff_t)ct_own_run->window->tap_step);                     \
    }                                                                                              \
    CT_FORM_KERNEL(name_, CT_FORM_WINDOW, settings_, 1, 1, 0)

/* `call_` sets `term` from `settings`, `from` and an entry w[at] of the table. Sums are in the
 * order of the terms. `first_` makes the first elements without a sum, and returns how many. */
#define CT_SHIFT_PASSES(name_, settings_, first_, call_)                                           \
    CT_KERNEL void name_##_pass(const CtFormRun *ct_own_run, const size_t ct_own_begin,            \
                                const size_t ct_own_first, const size_t ct_own_n_terms,            \
                                const bool ct_own_adds, const size_t ct_own_w_step)                \
    {                                                                                              \
        const size_t ct_own_n = ct_own_run->n;                                                     \
        const settings_ ct_own_settings = *(const settings_ *)ct_own_run->settings;                \
        const ct_w_element *ct_own_w = (const ct_w_element *)ct_own_run->w + ct_own_first;         \
        const CT_X_ELEMENT *ct_own_x[CT_SHIFT_TERMS];                                              \
        CT_Y_ELEMENT *restrict ct_own_y = ct_own_run->y[0];                                        \
        for (size_t ct_own_j = 0; ct_own_j < ct_own_n_terms; ct_own_j++)                           \
            ct_own_x[ct_own_j] = ct_own_run->x[ct_own_first + ct_own_j];                           \
        (void)ct_own_w;                                                                            \
        for (size_t ct_own_i = ct_own_begin; ct_own_i < ct_own_n; ct_own_i++) {                    \
            ct_y ct_own_sum;                                                                       \
            for (size_t ct_own_j = 0; ct_own_j < ct_own_n_terms; ct_own_j++) {                     \
                const ct_x ct_own_from = CT_X_LOAD(ct_own_x[ct_own_j][ct_own_i]);                  \
                const size_t ct_own_at = ct_own_j + ct_own_w_step * ct_own_i;                      \
                ct_y ct_own_term;                                                                  \
                (void)ct_own_at;                                                                   \
                call_;                                                                             \
                ct_own_sum = ct_own_j > 0  ? ct_add(ct_own_sum, ct_own_term)                       \
                             : ct_own_adds ? ct_add(CT_Y_LOAD(ct_own_y[ct_own_i]), ct_own_term)    \
                                           : ct_own_term;                                          \
            }                                                                                      \
            ct_own_y[ct_own_i] = CT_Y_STORE(ct_own_sum);                                           \
        }                                                                                          \
    }                                                                                              \
    static void name_##_run(const CtFormRun *ct_own_run)                                           \
    {                                                                                              \
        const size_t ct_own_n_terms = ct_own_run->window->n_terms;                                 \
        const bool ct_own_adds = ct_own_run->window->adds;                                         \
        size_t ct_own_made = 0;                                                                    \
        if (ct_own_n_terms == 1 && !ct_own_adds)                                                   \
            ct_own_made = first_(ct_own_run->x[0], ct_own_run->w, ct_own_run->w_step,              \
                                 ct_own_run->y[0], ct_own_run->n);                                 \
        if (ct_own_run->w_step == 1)                                                               \
            name_##_pass(ct_own_run, ct_own_made, 0, 1, false, 1);                                 \
        else if (ct_own_n_terms == CT_SHIFT_TERMS && ct_own_adds)                                  \
            name_##_pass(ct_own_run, 0, 0, CT_SHIFT_TERMS, true, 0);                               \
        else if (ct_own_n_terms == CT_SHIFT_TERMS)                                                 \
            name_##_pass(ct_own_run, 0, 0, CT_SHIFT_TERMS, false, 0);                              \
        else                                                                                       \
            for (size_t ct_own_j = 0; ct_own_j < ct_own_n_terms; ct_own_j++)                       \
                if (ct_own_adds || ct_own_j > 0)                                                   \
                    name_##_pass(ct_own_run, 0, ct_own_j, 1, true, 0);                             \
                else                                                                               \
                    name_##_pass(ct_own_run, ct_own_made, ct_own_j, 1, false, 0);                  \
    }                                                                                              \
    CT_FORM_KERNEL(name_, CT_FORM_SHIFT, settings_, 1, 1, 0)

#define CT_SHIFT_SUM(name_, settings_)                                                             \
    CT_SHIFT_PASSES(name_, settings_, ct_products_none,                                            \
                    name_(&ct_own_settings, &ct_own_from, &ct_own_term))
#define CT_TABLE_SHIFT_SUM_BY(name_, settings_, first_)                                            \
    CT_SHIFT_PASSES(name_, settings_, first_,                                                      \
                    name_(&ct_own_settings, &ct_own_from, &ct_own_w[ct_own_at], &ct_own_term))
#define CT_TABLE_SHIFT_SUM(name_, settings_)                                                       \
    CT_TABLE_SHIFT_SUM_BY(name_, settings_, ct_products_none)
#define CT_PRODUCT_SHIFT_SUM(name_, settings_) CT_TABLE_SHIFT_SUM_BY(name_, settings_, ct_products)

#ifdef CT_W
typedef CT_W_ELEMENT ct_w_element;
#else
typedef CT_Y_ELEMENT ct_w_element;
#endif
#endif
