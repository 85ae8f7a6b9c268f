/* SPDX-License-Identifier: BSD-3-Clause */
/* Folds on the host: loops over contiguous elements and their states, compiled for each instruction
 * set and each combination of types (form-host.h includes this header). */
#pragma once

#include <cornerturn/kit/fold.h>

/* Merges the second `half` states into the first. */
#define CT_FOLD_HALVE(name_, states_, half_)                                                       \
    CT_INDEPENDENT                                                                                 \
    for (size_t ct_own_j = 0; ct_own_j < (half_); ct_own_j++)                                      \
        name_##_merge(&ct_own_settings, &(states_)[ct_own_j], &(states_)[(half_) + ct_own_j]);

/* Defines the functions of a CtFoldKernel. `adds` adds four rows for each load of the states. */
#define CT_FOLD(name_, settings_, state_, samples_)                                                \
    static void name_##_starts(gconstpointer ct_own_given, gpointer ct_own_states, gsize ct_own_n) \
    {                                                                                              \
        const settings_ ct_own_settings = *(const settings_ *)ct_own_given;                        \
        for (size_t ct_own_i = 0; ct_own_i < ct_own_n; ct_own_i++)                                 \
            name_##_start(&ct_own_settings, (state_ *)ct_own_states + ct_own_i);                   \
    }                                                                                              \
    CT_KERNEL void name_##_adds_few(const CtFoldAdd *ct_own_run)                                   \
    {                                                                                              \
        const size_t ct_own_m = ct_own_run->m;                                                     \
        const settings_ ct_own_settings = *(const settings_ *)ct_own_run->settings;                \
        const char *ct_own_row = ct_own_run->x;                                                    \
        state_ ct_own_states[CT_FOLD_FEW];                                                         \
        memcpy(ct_own_states, ct_own_run->states, sizeof ct_own_states);                           \
        for (size_t ct_own_t = 0; ct_own_t < ct_own_m;                                             \
             ct_own_t++, ct_own_row += ct_own_run->stride)                                         \
            for (size_t ct_own_i = 0; ct_own_i < CT_FOLD_FEW; ct_own_i++) {                        \
                const ct_x ct_own_x =                                                              \
                    CT_X_LOAD(((const CT_X_ELEMENT *)(const void *)ct_own_row)[ct_own_i]);         \
                name_##_add(&ct_own_settings, &ct_own_states[ct_own_i], &ct_own_x);                \
            }                                                                                      \
        memcpy(ct_own_run->states, ct_own_states, sizeof ct_own_states);                           \
    }                                                                                              \
    static void name_##_adds(const CtFoldAdd *ct_own_run)                                          \
    {                                                                                              \
        if (ct_own_run->n == CT_FOLD_FEW)                                                          \
            return name_##_adds_few(ct_own_run);                                                   \
        const size_t ct_own_n = ct_own_run->n, ct_own_m = ct_own_run->m;                           \
        const settings_ ct_own_settings = *(const settings_ *)ct_own_run->settings;                \
        const char *ct_own_row = ct_own_run->x;                                                    \
        state_ *restrict ct_own_states = ct_own_run->states;                                       \
        size_t ct_own_t = 0;                                                                       \
        for (; ct_own_t + 4 <= ct_own_m; ct_own_t += 4, ct_own_row += 4 * ct_own_run->stride) {    \
            const CT_X_ELEMENT *ct_own_a = (const void *)ct_own_row,                               \
                               *ct_own_b = (const void *)(ct_own_row + ct_own_run->stride);        \
            const CT_X_ELEMENT *ct_own_c = (const void *)(ct_own_row + 2 * ct_own_run->stride);    \
            const CT_X_ELEMENT *ct_own_d = (const void *)(ct_own_row + 3 * ct_own_run->stride);    \
            CT_INDEPENDENT                                                                         \
            for (size_t ct_own_i = 0; ct_own_i < ct_own_n; ct_own_i++) {                           \
                const ct_x ct_own_x[4] = {                                                         \
                    CT_X_LOAD(ct_own_a[ct_own_i]), CT_X_LOAD(ct_own_b[ct_own_i]),                  \
                    CT_X_LOAD(ct_own_c[ct_own_i]), CT_X_LOAD(ct_own_d[ct_own_i])};                 \
                state_ ct_own_state = ct_own_states[ct_own_i];                                     \
                name_##_add(&ct_own_settings, &ct_own_state, &ct_own_x[0]);                        \
                name_##_add(&ct_own_settings, &ct_own_state, &ct_own_x[1]);                        \
                name_##_add(&ct_own_settings, &ct_own_state, &ct_own_x[2]);                        \
                name_##_add(&ct_own_settings, &ct_own_state, &ct_own_x[3]);                        \
                ct_own_states[ct_own_i] = ct_own_state;                                            \
            }                                                                                      \
        }                                                                                          \
        for (; ct_own_t < ct_own_m; ct_own_t++, ct_own_row += ct_own_run->stride) {                \
            const CT_X_ELEMENT *ct_own_a = (const void *)ct_own_row;                               \
            CT_INDEPENDENT                                                                         \
            for (size_t ct_own_i = 0; ct_own_i < ct_own_n; ct_own_i++) {                           \
                const ct_x ct_own_x = CT_X_LOAD(ct_own_a[ct_own_i]);                               \
                name_##_add(&ct_own_settings, &ct_own_states[ct_own_i], &ct_own_x);                \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void name_##_gives(const CtFoldGive *ct_own_run)                                        \
    {                                                                                              \
        const size_t ct_own_n = ct_own_run->n, ct_own_counts_step = ct_own_run->counts_step;       \
        const settings_ ct_own_settings = *(const settings_ *)ct_own_run->settings;                \
        state_ *restrict ct_own_states = ct_own_run->states;                                       \
        const uint32_t *restrict ct_own_counts = ct_own_run->counts;                               \
        CT_Y_ELEMENT *restrict ct_own_y = ct_own_run->y;                                           \
        uint8_t *restrict ct_own_valid = ct_own_run->valid;                                        \
        for (size_t ct_own_p = ct_own_run->n_partials / 2; ct_own_p > 0; ct_own_p /= 2)            \
            CT_FOLD_HALVE(name_, ct_own_states, ct_own_p *ct_own_n)                                \
        for (size_t ct_own_i = 0; ct_own_i < ct_own_n; ct_own_i++) {                               \
            ct_y ct_own_to;                                                                        \
            ct_own_valid[ct_own_i] =                                                               \
                name_##_give(&ct_own_settings, &ct_own_states[ct_own_i],                           \
                             ct_own_counts[ct_own_counts_step * ct_own_i], &ct_own_to);            \
            ct_own_y[ct_own_i] = CT_Y_STORE(ct_own_to);                                            \
        }                                                                                          \
    }                                                                                              \
    static void name_##_makes(const CtFoldMake *ct_own_run)                                        \
    {                                                                                              \
        const size_t ct_own_n = ct_own_run->n, ct_own_n_samples = ct_own_run->hop * ct_own_n;      \
        const settings_ ct_own_settings = *(const settings_ *)ct_own_run->settings;                \
        const CT_X_ELEMENT *ct_own_x = ct_own_run->x;                                              \
        bool ct_own_refuses = false;                                                               \
        for (size_t ct_own_o = 0; ct_own_o < ct_own_run->n_hops;                                   \
             ct_own_o++, ct_own_x += ct_own_n_samples) {                                           \
            state_ ct_own_states[CT_FOLD_FEW];                                                     \
            size_t ct_own_i = 0;                                                                   \
            for (size_t ct_own_k = 0; ct_own_k < CT_FOLD_FEW; ct_own_k++)                          \
                name_##_start(&ct_own_settings, &ct_own_states[ct_own_k]);                         \
            for (; ct_own_i + CT_FOLD_FEW <= ct_own_n_samples; ct_own_i += CT_FOLD_FEW)            \
                for (size_t ct_own_k = 0; ct_own_k < CT_FOLD_FEW; ct_own_k++) {                    \
                    const ct_x ct_own_from = CT_X_LOAD(ct_own_x[ct_own_i + ct_own_k]);             \
                    name_##_add(&ct_own_settings, &ct_own_states[ct_own_k], &ct_own_from);         \
                }                                                                                  \
            if (ct_own_i < ct_own_n_samples) {                                                     \
                state_ ct_own_rest[CT_FOLD_FEW];                                                   \
                memcpy(ct_own_rest, ct_own_states, sizeof ct_own_rest);                            \
                for (size_t ct_own_k = 0; ct_own_i < ct_own_n_samples; ct_own_i++, ct_own_k++) {   \
                    const ct_x ct_own_from = CT_X_LOAD(ct_own_x[ct_own_i]);                        \
                    name_##_add(&ct_own_settings, &ct_own_rest[ct_own_k], &ct_own_from);           \
                }                                                                                  \
                memcpy(ct_own_states, ct_own_rest, sizeof ct_own_rest);                            \
            }                                                                                      \
            CT_FOLD_HALVE(name_, ct_own_states, CT_FOLD_FEW / 2)                                   \
            if (ct_own_n <= CT_FOLD_FEW / 4)                                                       \
                CT_FOLD_HALVE(name_, ct_own_states, CT_FOLD_FEW / 4)                               \
            if (ct_own_n <= CT_FOLD_FEW / 8)                                                       \
                CT_FOLD_HALVE(name_, ct_own_states, CT_FOLD_FEW / 8)                               \
            if (ct_own_n <= CT_FOLD_FEW / 16)                                                      \
                CT_FOLD_HALVE(name_, ct_own_states, CT_FOLD_FEW / 16)                              \
            CT_Y_ELEMENT *ct_own_y =                                                               \
                (void *)((char *)ct_own_run->y + (gint64)ct_own_o * ct_own_run->y_stride);         \
            for (size_t ct_own_e = 0; ct_own_e < ct_own_n; ct_own_e++) {                           \
                ct_y ct_own_to;                                                                    \
                const uint32_t ct_own_count =                                                      \
                    ct_own_run->counts[ct_own_o * ct_own_run->counts_step];                        \
                const bool ct_own_is_valid = name_##_give(                                         \
                    &ct_own_settings, &ct_own_states[ct_own_e], ct_own_count, &ct_own_to);         \
                ct_own_y[ct_own_e] = CT_Y_STORE(ct_own_to);                                        \
                ct_own_refuses |= !ct_own_is_valid && ct_own_count > 0;                            \
            }                                                                                      \
        }                                                                                          \
        if (ct_own_refuses)                                                                        \
            *ct_own_run->valid = 0;                                                                \
    }                                                                                              \
    _Static_assert(sizeof(state_) <= CT_FOLD_STATE_BYTES,                                          \
                   "the state of kernel " #name_ " has more than 64 bytes");                       \
    static const CtFoldKernel name_##_fold = {                                                     \
        .state_bytes = sizeof(state_),                                                             \
        .adds_all = (samples_) == CT_FOLD_ALL,                                                     \
        .start = name_##_starts,                                                                   \
        .add = name_##_adds,                                                                       \
        .give = name_##_gives,                                                                     \
        .make = name_##_makes,                                                                     \
    };                                                                                             \
    CT_FORM_REGISTER(name_, CT_FORM_FOLD, settings_, 1, 1, 0, .fold = &name_##_fold)
