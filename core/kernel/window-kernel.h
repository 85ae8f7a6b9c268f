/* SPDX-License-Identifier: BSD-3-Clause */
/* The forms window and shift of <cornerturn/kit/kernel.h> on devices, see form-kernel.h.
 *
 * CT_WINDOW_MADE: indices of the new axis of a thread; CT_WINDOW_LINES: shifts change along time;
 * CT_DEVICE_ROWS_UNROLL: times of a thread. */
#pragma once

#include <cornerturn/kit/form-kernel.h>
#include <cornerturn/kit/window-struct.h>

#ifndef CT_WINDOW_MADE
#define CT_WINDOW_MADE 1
#endif

#define CT_WINDOW(name_, settings_)                                                                \
    extern "C" __global__ void __launch_bounds__(CT_DEVICE_ROWS_THREADS)                           \
        name_##_window(const CtDeviceRows ct_own_rows, const settings_ ct_own_settings,            \
                       const uint64 ct_own_n_taps)                                                 \
    {                                                                                              \
        const CtRowsPlace ct_own_place =                                                           \
            ct_rows_place<CT_IN, CT_OUT, CT_DEVICE_ROWS_UNROLL>(ct_own_rows);                      \
        for (int ct_own_k = 0; ct_own_k < ct_own_place.n_times; ct_own_k++) {                      \
            const int64 ct_own_time = ct_own_place.time + ct_own_k * (int64)ct_own_rows.rows;      \
            const ct_taps ct_own_taps = {ct_own_place.in + ct_own_time * ct_own_rows.in_time,      \
                                         ct_own_rows.in_time, ct_own_n_taps};                      \
            ct_y ct_own_y;                                                                         \
            name_(&ct_own_settings, &ct_own_taps, &ct_own_y);                                      \
            *(CT_OUT *)(ct_own_place.out + ct_own_time * ct_own_rows.out_time) =                   \
                ct_form_store<CT_OUT>(ct_own_y);                                                   \
        }                                                                                          \
    }

/* A place of a thread in lines: the span of its series that holds the latest time. */
struct CtWindowPlace {
    const CtWindowSpan *span, *last;
    int64 end;
};

__device__ inline void
ct_window_seek(CtWindowPlace &place, int64 time, int64 n_times)
{
    if (time < place.end)
        return;
    while (place.span < place.last && place.span[1].begin <= time)
        place.span++;
    place.end = place.span < place.last ? place.span[1].begin : n_times;
}

/* Shifts of [element] from the window's first sample; NULL: none. table: [element]. */
#define CT_SHIFT_ROWS(name_, settings_, call_)                                                     \
    extern "C" __global__ void __launch_bounds__(CT_DEVICE_ROWS_THREADS)                           \
        name_##_shift(const CtDeviceRows ct_own_rows, const settings_ ct_own_settings,             \
                      const ct_w *ct_own_table, const int64 *ct_own_shifts)                        \
    {                                                                                              \
        const CtRowsPlace ct_own_place =                                                           \
            ct_rows_place<CT_IN, CT_OUT, CT_DEVICE_ROWS_UNROLL>(ct_own_rows);                      \
        if (ct_own_place.n_times == 0)                                                             \
            return;                                                                                \
        const int64 ct_own_shift = ct_own_shifts ? ct_own_shifts[ct_own_place.element] : 0;        \
        const uint8 *ct_own_in =                                                                   \
            ct_own_place.in + (ct_own_place.time + ct_own_shift) * ct_own_rows.in_time;            \
        uint8 *ct_own_out = ct_own_place.out + ct_own_place.time * ct_own_rows.out_time;           \
        const int64 ct_own_in_step = ct_own_rows.rows * ct_own_rows.in_time,                       \
                    ct_own_out_step = ct_own_rows.rows * ct_own_rows.out_time;                     \
        CT_IN ct_own_loaded[CT_DEVICE_ROWS_UNROLL];                                                \
        _Pragma("unroll") for (int ct_own_k = 0; ct_own_k < CT_DEVICE_ROWS_UNROLL;                 \
                               ct_own_k++) if (ct_own_k < ct_own_place.n_times)                    \
            ct_own_loaded[ct_own_k] = *(const CT_IN *)(ct_own_in + ct_own_k * ct_own_in_step);     \
        const ct_w ct_own_w = ct_own_table ? ct_own_table[ct_own_place.element] : ct_w();          \
        (void)ct_own_w;                                                                            \
        _Pragma("unroll") for (int ct_own_k = 0; ct_own_k < CT_DEVICE_ROWS_UNROLL;                 \
                               ct_own_k++) if (ct_own_k < ct_own_place.n_times)                    \
        {                                                                                          \
            const ct_x ct_own_from = ct_convert<ct_x>(ct_own_loaded[ct_own_k]);                    \
            ct_y ct_own_term;                                                                      \
            call_;                                                                                 \
            *(CT_OUT *)(ct_own_out + ct_own_k * ct_own_out_step) =                                 \
                ct_form_store<CT_OUT>(ct_own_term);                                                \
        }                                                                                          \
    }

/* Shifts that change along time. spans: [series][n_spans]; series: [element]; factors: [element],
 * or NULL. */
#ifdef CT_WINDOW_LINES
#define CT_LINE_ROWS(name_, settings_, call_)                                                      \
    extern "C" __global__ void __launch_bounds__(CT_DEVICE_ROWS_THREADS)                           \
        name_##_lines(const CtDeviceRows ct_own_rows, const settings_ ct_own_settings,             \
                      const double *ct_own_factors, const CtWindowSpan *ct_own_spans,              \
                      const uint32 ct_own_n_spans, const uint32 *ct_own_series)                    \
    {                                                                                              \
        const CtRowsPlace ct_own_place =                                                           \
            ct_rows_place<CT_IN, CT_OUT, CT_DEVICE_ROWS_UNROLL>(ct_own_rows);                      \
        if (ct_own_place.n_times == 0)                                                             \
            return;                                                                                \
        const CtWindowSpan *ct_own_span =                                                          \
            ct_own_spans + (uint64)ct_own_series[ct_own_place.element] * ct_own_n_spans;           \
        CtWindowPlace ct_own_line = {ct_own_span, ct_own_span + ct_own_n_spans - 1, -1};           \
        const double ct_own_factor = ct_own_factors ? ct_own_factors[ct_own_place.element] : 0;    \
        CT_IN ct_own_loaded[CT_DEVICE_ROWS_UNROLL];                                                \
        double ct_own_value[CT_DEVICE_ROWS_UNROLL];                                                \
        _Pragma("unroll") for (int ct_own_k = 0; ct_own_k < CT_DEVICE_ROWS_UNROLL; ct_own_k++)     \
        {                                                                                          \
            if (ct_own_k >= ct_own_place.n_times)                                                  \
                break;                                                                             \
            const int64 ct_own_time = ct_own_place.time + ct_own_k * (int64)ct_own_rows.rows;      \
            ct_window_seek(ct_own_line, ct_own_time, ct_own_rows.n_times);                         \
            ct_own_loaded[ct_own_k] =                                                              \
                *(const CT_IN *)(ct_own_place.in +                                                 \
                                 (ct_own_time + ct_own_line.span->shift) * ct_own_rows.in_time);   \
            ct_own_value[ct_own_k] = ct_own_factor * ct_own_line.span->first +                     \
                                     (double)(ct_own_time - ct_own_line.span->since) *             \
                                         (ct_own_factor * ct_own_line.span->step);                 \
        }                                                                                          \
        _Pragma("unroll") for (int ct_own_k = 0; ct_own_k < CT_DEVICE_ROWS_UNROLL;                 \
                               ct_own_k++) if (ct_own_k < ct_own_place.n_times)                    \
        {                                                                                          \
            const ct_x ct_own_from = ct_convert<ct_x>(ct_own_loaded[ct_own_k]);                    \
            const ct_w ct_own_w = ct_convert<ct_w>(ct_own_value[ct_own_k]);                        \
            (void)ct_own_w;                                                                        \
            ct_y ct_own_term;                                                                      \
            call_;                                                                                 \
            *(CT_OUT *)(ct_own_place.out +                                                         \
                        (ct_own_place.time + ct_own_k * (int64)ct_own_rows.rows) *                 \
                            ct_own_rows.out_time) = ct_form_store<CT_OUT>(ct_own_term);            \
        }                                                                                          \
    }
#else
#define CT_LINE_ROWS(name_, settings_, call_)
#endif

/* Shifts of a few neighbours on the new axis. */
template <int N> struct alignas(N > 4 ? 16 : 4 * N) CtWindowShifts {
    int32 at[N];
};

/* A thread sums terms for elements `step` bytes apart on the input and CT_WINDOW_MADE indices of
 * the new axis. The samples that a block of threads loads for neighbouring indices overlap, but for
 * the differences of their shifts, and come from the first cache: for M indices and T elements of a
 * tile, a term costs T + (largest − least shift) elements from memory, M · T loads from the cache
 * and M · T sums. Shifts: [outer][term][made], from the window's first sample; table:
 * [outer][term]. */
#define CT_SHIFT_SUMS(name_, settings_, call_)                                                     \
    extern "C" __global__ void __launch_bounds__(CT_WINDOW_SUM_THREADS)                            \
        name_##_sum(const CtWindowSums ct_own_sums, const settings_ ct_own_settings,               \
                    const ct_w *ct_own_table, const int32 *ct_own_shifts)                          \
    {                                                                                              \
        const uint32 ct_own_outer = ct_device_divide(blockIdx.x, ct_own_sums.run_tiles);           \
        const uint32 ct_own_tile = blockIdx.x - ct_own_outer * ct_own_sums.run_tiles.by;           \
        const uint32 ct_own_made = blockIdx.y * CT_WINDOW_MADE;                                    \
        const uint32 ct_own_i =                                                                    \
            ct_own_tile * (CT_WINDOW_SUM_THREADS * CT_DEVICE_ROWS_UNROLL) + threadIdx.x;           \
        const uint8 *ct_own_in = (const uint8 *)ct_own_sums.in;                                    \
        uint8 *ct_own_out = (uint8 *)ct_own_sums.out + (int64)ct_own_made * ct_own_sums.out_made;  \
        int64 ct_own_entry = 0;                                                                    \
        uint32 ct_own_rest = ct_own_outer;                                                         \
        _Pragma("unroll 1") for (uint32 ct_own_a = 0; ct_own_a < ct_own_sums.n_outer; ct_own_a++)  \
        {                                                                                          \
            const uint32 ct_own_next =                                                             \
                ct_device_divide(ct_own_rest, ct_own_sums.outer[ct_own_a].length);                 \
            const int64 ct_own_at =                                                                \
                ct_own_rest - ct_own_next * ct_own_sums.outer[ct_own_a].length.by;                 \
            ct_own_in += ct_own_at * ct_own_sums.outer[ct_own_a].in;                               \
            ct_own_out += ct_own_at * ct_own_sums.outer[ct_own_a].out;                             \
            ct_own_entry += ct_own_at * ct_own_sums.outer[ct_own_a].table;                         \
            ct_own_rest = ct_own_next;                                                             \
        }                                                                                          \
        if (ct_own_i >= ct_own_sums.n)                                                             \
            return;                                                                                \
        ct_own_in += (int64)ct_own_i * ct_own_sums.run_in;                                         \
        ct_own_out += (int64)ct_own_i * ct_own_sums.run_out;                                       \
        const int64 ct_own_step = CT_WINDOW_SUM_THREADS * ct_own_sums.run_in;                      \
        const int ct_own_n_mine =                                                                  \
            (int)((ct_own_sums.n - ct_own_i + CT_WINDOW_SUM_THREADS - 1) / CT_WINDOW_SUM_THREADS); \
        typedef CtWindowShifts<CT_WINDOW_MADE> Shifts;                                             \
        const Shifts *ct_own_shift =                                                               \
            (const Shifts *)(ct_own_shifts +                                                       \
                             ct_own_entry * ct_own_sums.n_terms * ct_own_sums.made_room +          \
                             ct_own_made);                                                         \
        ct_y ct_own_sum[CT_DEVICE_ROWS_UNROLL][CT_WINDOW_MADE];                                    \
        uint32 ct_own_fast = 0;                                                                    \
        _Pragma("unroll 1") for (uint32 ct_own_j = 0; ct_own_j < ct_own_sums.n_terms; ct_own_j++)  \
        {                                                                                          \
            const Shifts ct_own_now = *ct_own_shift;                                               \
            const ct_w ct_own_w =                                                                  \
                ct_own_table ? ct_own_table[ct_own_entry * ct_own_sums.n_terms + ct_own_j]         \
                             : ct_w();                                                             \
            (void)ct_own_w;                                                                        \
            _Pragma("unroll") for (int ct_own_m = 0; ct_own_m < CT_WINDOW_MADE; ct_own_m++)        \
            {                                                                                      \
                const uint8 *ct_own_x = ct_own_in + ct_own_now.at[ct_own_m] * ct_own_sums.in_time; \
                _Pragma("unroll") for (int ct_own_k = 0; ct_own_k < CT_DEVICE_ROWS_UNROLL;         \
                                       ct_own_k++) if (ct_own_k < ct_own_n_mine)                   \
                {                                                                                  \
                    const ct_x ct_own_from =                                                       \
                        ct_convert<ct_x>(*(const CT_IN *)(ct_own_x + ct_own_k * ct_own_step));     \
                    ct_y ct_own_term;                                                              \
                    call_;                                                                         \
                    ct_own_sum[ct_own_k][ct_own_m] =                                               \
                        ct_own_j > 0 ? ct_add(ct_own_sum[ct_own_k][ct_own_m], ct_own_term)         \
                                     : ct_own_term;                                                \
                }                                                                                  \
            }                                                                                      \
            ct_own_in += ct_own_sums.in_term[1];                                                   \
            if (++ct_own_fast == ct_own_sums.n_fast) {                                             \
                ct_own_fast = 0;                                                                   \
                ct_own_in += ct_own_sums.in_term[0] - ct_own_sums.n_fast * ct_own_sums.in_term[1]; \
            }                                                                                      \
            ct_own_shift = (const Shifts *)((const int32 *)ct_own_shift + ct_own_sums.made_room);  \
        }                                                                                          \
        _Pragma("unroll") for (int ct_own_m = 0; ct_own_m < CT_WINDOW_MADE;                        \
                               ct_own_m++) if (ct_own_made + ct_own_m < ct_own_sums.n_made)        \
                _Pragma("unroll") for (int ct_own_k = 0; ct_own_k < CT_DEVICE_ROWS_UNROLL;         \
                                       ct_own_k++) if (ct_own_k < ct_own_n_mine) *                 \
            (CT_OUT *)(ct_own_out + ct_own_m * ct_own_sums.out_made +                              \
                       ct_own_k * CT_WINDOW_SUM_THREADS * ct_own_sums.run_out) =                   \
            ct_form_store<CT_OUT>(ct_own_sum[ct_own_k][ct_own_m]);                                 \
    }

#define CT_SHIFT_SUM(name_, settings_)                                                             \
    CT_SHIFT_ROWS(name_, settings_, name_(&ct_own_settings, &ct_own_from, &ct_own_term))           \
    CT_LINE_ROWS(name_, settings_, name_(&ct_own_settings, &ct_own_from, &ct_own_term))            \
    CT_SHIFT_SUMS(name_, settings_, name_(&ct_own_settings, &ct_own_from, &ct_own_term))
#define CT_TABLE_SHIFT_SUM(name_, settings_)                                                       \
    CT_SHIFT_ROWS(name_, settings_,                                                                \
                  name_(&ct_own_settings, &ct_own_from, &ct_own_w, &ct_own_term))                  \
    CT_LINE_ROWS(name_, settings_, name_(&ct_own_settings, &ct_own_from, &ct_own_w, &ct_own_term)) \
    CT_SHIFT_SUMS(name_, settings_, name_(&ct_own_settings, &ct_own_from, &ct_own_w, &ct_own_term))
