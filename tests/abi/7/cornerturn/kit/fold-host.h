/* SPDX-License-Identifier: BSD-3-Clause */
/* Folds on the host: loops over contiguous elements and their states, compiled for each instruction
 * set and each combination of types (form-host.h includes this header). */
#pragma once

#include <cornerturn/kit/fold.h>

/* Merges the second `half` states into the first. */
#define CT_FOLD_HALVE(name_, states_, half_)                                                       \
    CT_INDEPENDENT                                                                                 \
    for (size_t j = 0; j < (half_); j++)                                                           \
        name_##_merge(&settings, &(states_)[j], &(states_)[(half_) + j]);

/* Adds four rows for each load of the states. */
#define CT_FOLD(name_, settings_, state_, samples_)                                                \
    static void name_##_starts(gconstpointer given, gpointer states, gsize n)                      \
    {                                                                                              \
        const settings_ settings = *(const settings_ *)given;                                      \
        for (size_t i = 0; i < n; i++)                                                             \
            name_##_start(&settings, (state_ *)states + i);                                        \
    }                                                                                              \
    CT_KERNEL void name_##_adds_few(const CtFoldAdd *run)                                          \
    {                                                                                              \
        const size_t m = run->m;                                                                   \
        const settings_ settings = *(const settings_ *)run->settings;                              \
        const char *row = run->x;                                                                  \
        state_ states[CT_FOLD_FEW];                                                                \
        memcpy(states, run->states, sizeof states);                                                \
        for (size_t t = 0; t < m; t++, row += run->stride)                                         \
            for (size_t i = 0; i < CT_FOLD_FEW; i++) {                                             \
                const ct_x x = CT_X_LOAD(((const CT_X_ELEMENT *)(const void *)row)[i]);            \
                name_##_add(&settings, &states[i], &x);                                            \
            }                                                                                      \
        memcpy(run->states, states, sizeof states);                                                \
    }                                                                                              \
    static void name_##_adds(const CtFoldAdd *run)                                                 \
    {                                                                                              \
        if (run->n == CT_FOLD_FEW)                                                                 \
            return name_##_adds_few(run);                                                          \
        const size_t n = run->n, m = run->m;                                                       \
        const settings_ settings = *(const settings_ *)run->settings;                              \
        const char *row = run->x;                                                                  \
        state_ *restrict states = run->states;                                                     \
        size_t t = 0;                                                                              \
        for (; t + 4 <= m; t += 4, row += 4 * run->stride) {                                       \
            const CT_X_ELEMENT *a = (const void *)row, *b = (const void *)(row + run->stride);     \
            const CT_X_ELEMENT *c = (const void *)(row + 2 * run->stride);                         \
            const CT_X_ELEMENT *d = (const void *)(row + 3 * run->stride);                         \
            CT_INDEPENDENT                                                                         \
            for (size_t i = 0; i < n; i++) {                                                       \
                const ct_x x[4] = {CT_X_LOAD(a[i]), CT_X_LOAD(b[i]), CT_X_LOAD(c[i]),              \
                                   CT_X_LOAD(d[i])};                                               \
                state_ state = states[i];                                                          \
                name_##_add(&settings, &state, &x[0]);                                             \
                name_##_add(&settings, &state, &x[1]);                                             \
                name_##_add(&settings, &state, &x[2]);                                             \
                name_##_add(&settings, &state, &x[3]);                                             \
                states[i] = state;                                                                 \
            }                                                                                      \
        }                                                                                          \
        for (; t < m; t++, row += run->stride) {                                                   \
            const CT_X_ELEMENT *a = (const void *)row;                                             \
            CT_INDEPENDENT                                                                         \
            for (size_t i = 0; i < n; i++) {                                                       \
                const ct_x x = CT_X_LOAD(a[i]);                                                    \
                name_##_add(&settings, &states[i], &x);                                            \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void name_##_gives(const CtFoldGive *run)                                               \
    {                                                                                              \
        const size_t n = run->n, counts_step = run->counts_step;                                   \
        const settings_ settings = *(const settings_ *)run->settings;                              \
        state_ *restrict states = run->states;                                                     \
        const uint32_t *restrict counts = run->counts;                                             \
        CT_Y_ELEMENT *restrict y = run->y;                                                         \
        uint8_t *restrict valid = run->valid;                                                      \
        for (size_t p = run->n_partials / 2; p > 0; p /= 2)                                        \
            CT_FOLD_HALVE(name_, states, p *n)                                                     \
        for (size_t i = 0; i < n; i++) {                                                           \
            ct_y to;                                                                               \
            valid[i] = name_##_give(&settings, &states[i], counts[counts_step * i], &to);          \
            y[i] = CT_Y_STORE(to);                                                                 \
        }                                                                                          \
    }                                                                                              \
    static void name_##_makes(const CtFoldMake *run)                                               \
    {                                                                                              \
        const size_t n = run->n, n_samples = run->hop * n;                                         \
        const settings_ settings = *(const settings_ *)run->settings;                              \
        const CT_X_ELEMENT *x = run->x;                                                            \
        bool refuses = false;                                                                      \
        for (size_t o = 0; o < run->n_hops; o++, x += n_samples) {                                 \
            state_ states[CT_FOLD_FEW];                                                            \
            size_t i = 0;                                                                          \
            for (size_t k = 0; k < CT_FOLD_FEW; k++)                                               \
                name_##_start(&settings, &states[k]);                                              \
            for (; i + CT_FOLD_FEW <= n_samples; i += CT_FOLD_FEW)                                 \
                for (size_t k = 0; k < CT_FOLD_FEW; k++) {                                         \
                    const ct_x from = CT_X_LOAD(x[i + k]);                                         \
                    name_##_add(&settings, &states[k], &from);                                     \
                }                                                                                  \
            if (i < n_samples) {                                                                   \
                state_ rest[CT_FOLD_FEW];                                                          \
                memcpy(rest, states, sizeof rest);                                                 \
                for (size_t k = 0; i < n_samples; i++, k++) {                                      \
                    const ct_x from = CT_X_LOAD(x[i]);                                             \
                    name_##_add(&settings, &rest[k], &from);                                       \
                }                                                                                  \
                memcpy(states, rest, sizeof rest);                                                 \
            }                                                                                      \
            CT_FOLD_HALVE(name_, states, CT_FOLD_FEW / 2)                                          \
            if (n <= CT_FOLD_FEW / 4)                                                              \
                CT_FOLD_HALVE(name_, states, CT_FOLD_FEW / 4)                                      \
            if (n <= CT_FOLD_FEW / 8)                                                              \
                CT_FOLD_HALVE(name_, states, CT_FOLD_FEW / 8)                                      \
            if (n <= CT_FOLD_FEW / 16)                                                             \
                CT_FOLD_HALVE(name_, states, CT_FOLD_FEW / 16)                                     \
            CT_Y_ELEMENT *y = (void *)((char *)run->y + (gint64)o * run->y_stride);                \
            for (size_t e = 0; e < n; e++) {                                                       \
                ct_y to;                                                                           \
                const uint32_t count = run->counts[o * run->counts_step];                          \
                const bool is_valid = name_##_give(&settings, &states[e], count, &to);             \
                y[e] = CT_Y_STORE(to);                                                             \
                refuses |= !is_valid && count > 0;                                                 \
            }                                                                                      \
        }                                                                                          \
        if (refuses)                                                                               \
            *run->valid = 0;                                                                       \
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
