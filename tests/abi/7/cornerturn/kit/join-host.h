/* SPDX-License-Identifier: BSD-3-Clause */
/* The joins of <cornerturn/kit/kernel.h> on the host; form-host.h includes this header. */
#pragma once

#define CT_FORM_JOIN_LOOPS(name_, settings_, kind_, call_)                                         \
    CT_KERNEL void name_##_loop(const CtFormRun *run, const size_t w_step)                         \
    {                                                                                              \
        const size_t n = run->n;                                                                   \
        const settings_ settings = *(const settings_ *)run->settings;                              \
        const CT_X_ELEMENT *restrict x = run->x[0];                                                \
        const CT_W_ELEMENT *restrict w = run->w;                                                   \
        CT_Y_ELEMENT *restrict y = run->y[0];                                                      \
        ct_mark *restrict marks = run->marks;                                                      \
        for (size_t i = 0; i < n; i++) {                                                           \
            const ct_x from = CT_X_LOAD(x[i]);                                                     \
            const ct_w of = CT_W_LOAD(w[w_step * i]);                                              \
            ct_y to;                                                                               \
            call_;                                                                                 \
            y[i] = CT_Y_STORE(to);                                                                 \
        }                                                                                          \
    }                                                                                              \
    static void name_##_run(const CtFormRun *run)                                                  \
    {                                                                                              \
        if (run->w_step == 0)                                                                      \
            name_##_loop(run, 0);                                                                  \
        else                                                                                       \
            name_##_loop(run, 1);                                                                  \
    }                                                                                              \
    CT_FORM_KERNEL(name_, kind_, settings_, 1, 1, 0)

#define CT_JOIN(name_, settings_)                                                                  \
    CT_FORM_JOIN_LOOPS(name_, settings_, CT_FORM_JOIN, {                                           \
        (void)marks;                                                                               \
        name_(&settings, &from, &of, &to);                                                         \
    })

#define CT_MARKED_JOIN(name_, settings_)                                                           \
    CT_FORM_JOIN_LOOPS(name_, settings_, CT_FORM_MARKED_JOIN, {                                    \
        ct_mark valid = 1;                                                                         \
        name_(&settings, &from, &of, &to, &valid);                                                 \
        marks[i] = valid;                                                                          \
    })
