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
    CT_KERNEL void name_##_loop(const CtFormRun *run, const ptrdiff_t step)                        \
    {                                                                                              \
        const size_t n = run->n, n_taps = run->window->n_taps;                                     \
        const settings_ settings = *(const settings_ *)run->settings;                              \
        const CT_X_ELEMENT *restrict x = run->x[0];                                                \
        CT_Y_ELEMENT *restrict y = run->y[0];                                                      \
        for (size_t i = 0; i < n; i++) {                                                           \
            const ct_taps taps = {x + i, step, n_taps};                                            \
            ct_y to;                                                                               \
            name_(&settings, &taps, &to);                                                          \
            y[i] = CT_Y_STORE(to);                                                                 \
        }                                                                                          \
    }                                                                                              \
    static void name_##_run(const CtFormRun *run)                                                  \
    {                                                                                              \
        if (run->window->tap_step == 1)                                                            \
            name_##_loop(run, 1);                                                                  \
        else                                                                                       \
            name_##_loop(run, (ptrdiff_t)run->window->tap_step);                                   \
    }                                                                                              \
    CT_FORM_KERNEL(name_, CT_FORM_WINDOW, settings_, 1, 1, 0)

/* `call_` sets `term` from `settings`, `from` and an entry w[at] of the table. Sums are in the
 * order of the terms. */
#define CT_SHIFT_PASSES(name_, settings_, call_)                                                   \
    CT_KERNEL void name_##_pass(const CtFormRun *run, const size_t first, const size_t n_terms,    \
                                const bool adds, const size_t w_step)                              \
    {                                                                                              \
        const size_t n = run->n;                                                                   \
        const settings_ settings = *(const settings_ *)run->settings;                              \
        const ct_w_element *w = (const ct_w_element *)run->w + first;                              \
        const CT_X_ELEMENT *x[CT_SHIFT_TERMS];                                                     \
        CT_Y_ELEMENT *restrict y = run->y[0];                                                      \
        for (size_t j = 0; j < n_terms; j++)                                                       \
            x[j] = run->x[first + j];                                                              \
        (void)w;                                                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            ct_y sum;                                                                              \
            for (size_t j = 0; j < n_terms; j++) {                                                 \
                const ct_x from = CT_X_LOAD(x[j][i]);                                              \
                const size_t at = j + w_step * i;                                                  \
                ct_y term;                                                                         \
                (void)at;                                                                          \
                call_;                                                                             \
                sum = j > 0 ? ct_add(sum, term) : adds ? ct_add(CT_Y_LOAD(y[i]), term) : term;     \
            }                                                                                      \
            y[i] = CT_Y_STORE(sum);                                                                \
        }                                                                                          \
    }                                                                                              \
    static void name_##_run(const CtFormRun *run)                                                  \
    {                                                                                              \
        const size_t n_terms = run->window->n_terms;                                               \
        const bool adds = run->window->adds;                                                       \
        if (run->w_step == 1)                                                                      \
            name_##_pass(run, 0, 1, false, 1);                                                     \
        else if (n_terms == CT_SHIFT_TERMS && adds)                                                \
            name_##_pass(run, 0, CT_SHIFT_TERMS, true, 0);                                         \
        else if (n_terms == CT_SHIFT_TERMS)                                                        \
            name_##_pass(run, 0, CT_SHIFT_TERMS, false, 0);                                        \
        else                                                                                       \
            for (size_t j = 0; j < n_terms; j++)                                                   \
                if (adds || j > 0)                                                                 \
                    name_##_pass(run, j, 1, true, 0);                                              \
                else                                                                               \
                    name_##_pass(run, j, 1, false, 0);                                             \
    }                                                                                              \
    CT_FORM_KERNEL(name_, CT_FORM_SHIFT, settings_, 1, 1, 0)

#define CT_SHIFT_SUM(name_, settings_)                                                             \
    CT_SHIFT_PASSES(name_, settings_, name_(&settings, &from, &term))
#define CT_TABLE_SHIFT_SUM(name_, settings_)                                                       \
    CT_SHIFT_PASSES(name_, settings_, name_(&settings, &from, &w[at], &term))

#ifdef CT_W
typedef CT_W_ELEMENT ct_w_element;
#else
typedef CT_Y_ELEMENT ct_w_element;
#endif
#endif
