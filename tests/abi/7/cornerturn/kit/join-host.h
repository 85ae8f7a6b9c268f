/* SPDX-License-Identifier: BSD-3-Clause */
/* The joins of <cornerturn/kit/kernel.h> on the host; form-host.h includes this header. */
#pragma once

#define CT_FORM_JOIN_LOOPS(name_, settings_, kind_, call_)                                         \
    CT_KERNEL void name_##_loop(const CtFormRun *ct_own_run, const size_t ct_own_w_step)           \
    {                                                                                              \
        const size_t ct_own_n = ct_own_run->n;                                                     \
        const settings_ ct_own_settings = *(const settings_ *)ct_own_run->settings;                \
        const CT_X_ELEMENT *restrict ct_own_x = ct_own_run->x[0];                                  \
        const CT_W_ELEMENT *restrict ct_own_w = ct_own_run->w;                                     \
        CT_Y_ELEMENT *restrict ct_own_y = ct_own_run->y[0];                                        \
        ct_mark *restrict ct_own_marks = ct_own_run->marks;                                        \
        for (size_t ct_own_i = 0; ct_own_i < ct_own_n; ct_own_i++) {                               \
            const ct_x ct_own_from = CT_X_LOAD(ct_own_x[ct_own_i]);                                \
            const ct_w ct_own_of = CT_W_LOAD(ct_own_w[ct_own_w_step * ct_own_i]);                  \
            ct_y ct_own_to;                                                                        \
            call_;                                                                                 \
            ct_own_y[ct_own_i] = CT_Y_STORE(ct_own_to);                                            \
        }                                                                                          \
    }                                                                                              \
    static void name_##_run(const CtFormRun *ct_own_run)                                           \
    {                                                                                              \
        if (ct_own_run->w_step == 0)                                                               \
            name_##_loop(ct_own_run, 0);                                                           \
        else                                                                                       \
            name_##_loop(ct_own_run, 1);                                                           \
    }                                                                                              \
    CT_FORM_KERNEL(name_, kind_, settings_, 1, 1, 0)

#define CT_JOIN(name_, settings_)                                                                  \
    CT_FORM_JOIN_LOOPS(name_, settings_, CT_FORM_JOIN, {                                           \
        (void)ct_own_marks;                                                                        \
        name_(&ct_own_settings, &ct_own_from, &ct_own_of, &ct_own_to);                             \
    })

#define CT_MARKED_JOIN(name_, settings_)                                                           \
    CT_FORM_JOIN_LOOPS(name_, settings_, CT_FORM_MARKED_JOIN, {                                    \
        ct_mark ct_own_valid = 1;                                                                  \
        name_(&ct_own_settings, &ct_own_from, &ct_own_of, &ct_own_to, &ct_own_valid);              \
        ct_own_marks[ct_own_i] = ct_own_valid;                                                     \
    })
