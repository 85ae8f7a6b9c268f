/* SPDX-License-Identifier: BSD-3-Clause */
/* The forms window and shift of <cornerturn/kit/kernel.h> on devices, see form-kernel.h.
 *
 * CT_WINDOW_MADE: indices of the new axis of a thread; CT_DEVICE_ROWS_UNROLL: its times. */
#pragma once

#include <cornerturn/kit/form-kernel.h>
#include <cornerturn/kit/window-struct.h>

#ifndef CT_WINDOW_MADE
#define CT_WINDOW_MADE 1
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

#define CT_WINDOW(name_, settings_)                                                                \
    extern "C" __global__ void __launch_bounds__(CT_DEVICE_ROWS_THREADS)                           \
        name_##_window(const CtDeviceRows rows, const settings_ settings, const uint64 n_taps)     \
    {                                                                                              \
        const CtRowsPlace place = ct_rows_place<CT_IN, CT_OUT, CT_DEVICE_ROWS_UNROLL>(rows);       \
        for (int k = 0; k < place.n_times; k++) {                                                  \
            const int64 time = place.time + k * (int64)rows.rows;                                  \
            const ct_taps taps = {place.in + time * rows.in_time, rows.in_time, n_taps};           \
            ct_y y;                                                                                \
            name_(&settings, &taps, &y);                                                           \
            *(CT_OUT *)(place.out + time * rows.out_time) = ct_form_store<CT_OUT>(y);              \
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
    extern "C" __global__ void __launch_bounds__(CT_DEVICE_ROWS_THREADS) name_##_shift(            \
        const CtDeviceRows rows, const settings_ settings, const ct_w *table, const int64 *shifts) \
    {                                                                                              \
        const CtRowsPlace place = ct_rows_place<CT_IN, CT_OUT, CT_DEVICE_ROWS_UNROLL>(rows);       \
        if (place.n_times == 0)                                                                    \
            return;                                                                                \
        const int64 shift = shifts ? shifts[place.element] : 0;                                    \
        const uint8 *in = place.in + (place.time + shift) * rows.in_time;                          \
        uint8 *out = place.out + place.time * rows.out_time;                                       \
        const int64 in_step = rows.rows * rows.in_time, out_step = rows.rows * rows.out_time;      \
        CT_IN loaded[CT_DEVICE_ROWS_UNROLL];                                                       \
        _Pragma("unroll") for (int k = 0; k < CT_DEVICE_ROWS_UNROLL; k++) if (k < place.n_times)   \
            loaded[k] = *(const CT_IN *)(in + k * in_step);                                        \
        const ct_w w = table ? table[place.element] : ct_w();                                      \
        (void)w;                                                                                   \
        _Pragma("unroll") for (int k = 0; k < CT_DEVICE_ROWS_UNROLL; k++) if (k < place.n_times)   \
        {                                                                                          \
            const ct_x from = ct_convert<ct_x>(loaded[k]);                                         \
            ct_y term;                                                                             \
            call_;                                                                                 \
            *(CT_OUT *)(out + k * out_step) = ct_form_store<CT_OUT>(term);                         \
        }                                                                                          \
    }                                                                                              \
    /* spans: [series][n_spans]; series: [element]; factors: [element], or NULL */                 \
    extern "C" __global__ void __launch_bounds__(CT_DEVICE_ROWS_THREADS)                           \
        name_##_lines(const CtDeviceRows rows, const settings_ settings, const double *factors,    \
                      const CtWindowSpan *spans, const uint32 n_spans, const uint32 *series)       \
    {                                                                                              \
        const CtRowsPlace place = ct_rows_place<CT_IN, CT_OUT, CT_DEVICE_ROWS_UNROLL>(rows);       \
        if (place.n_times == 0)                                                                    \
            return;                                                                                \
        const CtWindowSpan *span = spans + (uint64)series[place.element] * n_spans;                \
        CtWindowPlace line = {span, span + n_spans - 1, -1};                                       \
        const double factor = factors ? factors[place.element] : 0;                                \
        CT_IN loaded[CT_DEVICE_ROWS_UNROLL];                                                       \
        double value[CT_DEVICE_ROWS_UNROLL];                                                       \
        _Pragma("unroll") for (int k = 0; k < CT_DEVICE_ROWS_UNROLL; k++)                          \
        {                                                                                          \
            if (k >= place.n_times)                                                                \
                break;                                                                             \
            const int64 time = place.time + k * (int64)rows.rows;                                  \
            ct_window_seek(line, time, rows.n_times);                                              \
            loaded[k] = *(const CT_IN *)(place.in + (time + line.span->shift) * rows.in_time);     \
            value[k] = factor * line.span->first +                                                 \
                       (double)(time - line.span->since) * (factor * line.span->step);             \
        }                                                                                          \
        _Pragma("unroll") for (int k = 0; k < CT_DEVICE_ROWS_UNROLL; k++) if (k < place.n_times)   \
        {                                                                                          \
            const ct_x from = ct_convert<ct_x>(loaded[k]);                                         \
            const ct_w w = ct_convert<ct_w>(value[k]);                                             \
            (void)w;                                                                               \
            ct_y term;                                                                             \
            call_;                                                                                 \
            *(CT_OUT *)(place.out + (place.time + k * (int64)rows.rows) * rows.out_time) =         \
                ct_form_store<CT_OUT>(term);                                                       \
        }                                                                                          \
    }

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
    extern "C" __global__ void __launch_bounds__(CT_WINDOW_SUM_THREADS) name_##_sum(               \
        const CtWindowSums sums, const settings_ settings, const ct_w *table, const int32 *shifts) \
    {                                                                                              \
        const uint32 outer = ct_device_divide(blockIdx.x, sums.run_tiles);                         \
        const uint32 tile = blockIdx.x - outer * sums.run_tiles.by;                                \
        const uint32 made = blockIdx.y * CT_WINDOW_MADE;                                           \
        const uint32 i = tile * (CT_WINDOW_SUM_THREADS * CT_DEVICE_ROWS_UNROLL) + threadIdx.x;     \
        const uint8 *in = (const uint8 *)sums.in;                                                  \
        uint8 *out = (uint8 *)sums.out + (int64)made * sums.out_made;                              \
        int64 entry = 0;                                                                           \
        uint32 rest = outer;                                                                       \
        _Pragma("unroll 1") for (uint32 a = 0; a < sums.n_outer; a++)                              \
        {                                                                                          \
            const uint32 next = ct_device_divide(rest, sums.outer[a].length);                      \
            const int64 at = rest - next * sums.outer[a].length.by;                                \
            in += at * sums.outer[a].in;                                                           \
            out += at * sums.outer[a].out;                                                         \
            entry += at * sums.outer[a].table;                                                     \
            rest = next;                                                                           \
        }                                                                                          \
        if (i >= sums.n)                                                                           \
            return;                                                                                \
        in += (int64)i * sums.run_in;                                                              \
        out += (int64)i * sums.run_out;                                                            \
        const int64 step = CT_WINDOW_SUM_THREADS * sums.run_in;                                    \
        const int n_mine =                                                                         \
            (int)((sums.n - i + CT_WINDOW_SUM_THREADS - 1) / CT_WINDOW_SUM_THREADS);               \
        typedef CtWindowShifts<CT_WINDOW_MADE> Shifts;                                             \
        const Shifts *shift =                                                                      \
            (const Shifts *)(shifts + entry * sums.n_terms * sums.made_room + made);               \
        ct_y sum[CT_DEVICE_ROWS_UNROLL][CT_WINDOW_MADE];                                           \
        uint32 fast = 0;                                                                           \
        _Pragma("unroll 1") for (uint32 j = 0; j < sums.n_terms; j++)                              \
        {                                                                                          \
            const Shifts now = *shift;                                                             \
            const ct_w w = table ? table[entry * sums.n_terms + j] : ct_w();                       \
            (void)w;                                                                               \
            _Pragma("unroll") for (int m = 0; m < CT_WINDOW_MADE; m++)                             \
            {                                                                                      \
                const uint8 *x = in + now.at[m] * sums.in_time;                                    \
                _Pragma("unroll") for (int k = 0; k < CT_DEVICE_ROWS_UNROLL; k++) if (k < n_mine)  \
                {                                                                                  \
                    const ct_x from = ct_convert<ct_x>(*(const CT_IN *)(x + k * step));            \
                    ct_y term;                                                                     \
                    call_;                                                                         \
                    sum[k][m] = j > 0 ? ct_add(sum[k][m], term) : term;                            \
                }                                                                                  \
            }                                                                                      \
            in += sums.in_term[1];                                                                 \
            if (++fast == sums.n_fast) {                                                           \
                fast = 0;                                                                          \
                in += sums.in_term[0] - sums.n_fast * sums.in_term[1];                             \
            }                                                                                      \
            shift = (const Shifts *)((const int32 *)shift + sums.made_room);                       \
        }                                                                                          \
        _Pragma("unroll") for (int m = 0; m < CT_WINDOW_MADE; m++) if (made + m < sums.n_made)     \
                _Pragma("unroll") for (int k = 0; k < CT_DEVICE_ROWS_UNROLL;                       \
                                       k++) if (k < n_mine) *                                      \
            (CT_OUT *)(out + m * sums.out_made + k * CT_WINDOW_SUM_THREADS * sums.run_out) =       \
            ct_form_store<CT_OUT>(sum[k][m]);                                                      \
    }

#define CT_SHIFT_SUM(name_, settings_)                                                             \
    CT_SHIFT_ROWS(name_, settings_, name_(&settings, &from, &term))                                \
    CT_SHIFT_SUMS(name_, settings_, name_(&settings, &from, &term))
#define CT_TABLE_SHIFT_SUM(name_, settings_)                                                       \
    CT_SHIFT_ROWS(name_, settings_, name_(&settings, &from, &w, &term))                            \
    CT_SHIFT_SUMS(name_, settings_, name_(&settings, &from, &w, &term))
