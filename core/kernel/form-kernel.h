/* SPDX-License-Identifier: BSD-3-Clause */
/* The forms of <cornerturn/kit/kernel.h> on devices.
 *
 * CT_IN and CT_OUT are the types of elements in memory; CT_X, CT_Y and CT_W, their parts and their
 * numbers of parts are as on the host. */
#pragma once

#include <cornerturn/kit/convert-kernel.h>
#include <cornerturn/kit/device-map-kernel.h>
#include <cornerturn/kit/device-rows-kernel.h>
#include <cornerturn/kit/functions-kernel.h>
#include <cornerturn/kit/group-kernel.h>
#include <cornerturn/kit/types-kernel.h>

/* ---- elements in memory ---- */

#ifdef CT_Y_IS_CI4
/* The kernel keeps within CT_Y_MOST, as on the host. */
template <typename Out>
__device__ inline Out
ct_form_store(ct_y y)
{
    return {(uint8)((uint32)y.re << 4 | ((uint32)y.im & 15))};
}
#else
template <typename Out>
__device__ inline Out
ct_form_store(ct_y y)
{
    return ct_convert<Out>(y);
}
#endif

/* ---- maps ---- */

#define CT_FORM_BOUNDS __launch_bounds__(CT_DEVICE_MAP_THREADS, CT_DEVICE_MAP_BLOCKS)

#define CT_MAP(name_, settings_)                                                                   \
    extern "C" __global__ void CT_FORM_BOUNDS name_##_map(const CtDeviceMap ct_own_map,            \
                                                          const settings_ ct_own_settings)         \
    {                                                                                              \
        ct_map_each<CT_IN, CT_OUT>(ct_own_map, [&](CT_IN ct_own_in) {                              \
            const ct_x ct_own_x = ct_convert<ct_x>(ct_own_in);                                     \
            ct_y ct_own_y;                                                                         \
            name_(&ct_own_settings, &ct_own_x, &ct_own_y);                                         \
            return ct_form_store<CT_OUT>(ct_own_y);                                                \
        });                                                                                        \
    }

#define CT_COUNTED_MAP(name_, settings_)                                                           \
    extern "C" __global__ void CT_FORM_BOUNDS name_##_map(                                         \
        const CtDeviceMap ct_own_map, const settings_ ct_own_settings, uint64 *ct_own_counters)    \
    {                                                                                              \
        __shared__ uint32 ct_own_block_sum;                                                        \
        uint32 ct_own_sum = 0;                                                                     \
        if (threadIdx.x == 0)                                                                      \
            ct_own_block_sum = 0;                                                                  \
        __syncthreads();                                                                           \
        ct_map_each<CT_IN, CT_OUT>(ct_own_map, [&](CT_IN ct_own_in) {                              \
            const ct_x ct_own_x = ct_convert<ct_x>(ct_own_in);                                     \
            uint32 ct_own_count = 0;                                                               \
            ct_y ct_own_y;                                                                         \
            name_(&ct_own_settings, &ct_own_x, &ct_own_y, &ct_own_count);                          \
            ct_own_sum += ct_own_count;                                                            \
            return ct_form_store<CT_OUT>(ct_own_y);                                                \
        });                                                                                        \
        if (ct_own_sum > 0)                                                                        \
            atomicAdd(&ct_own_block_sum, ct_own_sum);                                              \
        __syncthreads();                                                                           \
        if (threadIdx.x == 0 && ct_own_block_sum > 0)                                              \
            atomicAdd(ct_own_counters, (uint64)ct_own_block_sum);                                  \
    }

/* ---- maps with a table: a thread reads an entry once for several times ---- */

#define CT_TABLE_MAP(name_, settings_)                                                             \
    extern "C" __global__ void __launch_bounds__(CT_DEVICE_ROWS_THREADS) name_##_table(            \
        const CtDeviceRows ct_own_rows, const settings_ ct_own_settings, const ct_w *ct_own_table) \
    {                                                                                              \
        const CtRowsPlace ct_own_place =                                                           \
            ct_rows_place<CT_IN, CT_OUT, CT_DEVICE_ROWS_UNROLL>(ct_own_rows);                      \
        if (ct_own_place.n_times == 0)                                                             \
            return;                                                                                \
        const uint8 *ct_own_in = ct_own_place.in + ct_own_place.time * ct_own_rows.in_time;        \
        uint8 *ct_own_out = ct_own_place.out + ct_own_place.time * ct_own_rows.out_time;           \
        const int64 ct_own_in_step = ct_own_rows.rows * ct_own_rows.in_time,                       \
                    ct_own_out_step = ct_own_rows.rows * ct_own_rows.out_time;                     \
        CT_IN ct_own_from[CT_DEVICE_ROWS_UNROLL];                                                  \
        _Pragma("unroll") for (int ct_own_k = 0; ct_own_k < CT_DEVICE_ROWS_UNROLL;                 \
                               ct_own_k++) if (ct_own_k < ct_own_place.n_times)                    \
            ct_own_from[ct_own_k] = *(const CT_IN *)(ct_own_in + ct_own_k * ct_own_in_step);       \
        const ct_w ct_own_w = ct_own_table[ct_own_place.element];                                  \
        _Pragma("unroll") for (int ct_own_k = 0; ct_own_k < CT_DEVICE_ROWS_UNROLL;                 \
                               ct_own_k++) if (ct_own_k < ct_own_place.n_times)                    \
        {                                                                                          \
            const ct_x ct_own_x = ct_convert<ct_x>(ct_own_from[ct_own_k]);                         \
            ct_y ct_own_y;                                                                         \
            name_(&ct_own_settings, &ct_own_x, &ct_own_w, &ct_own_y);                              \
            *(CT_OUT *)(ct_own_out + ct_own_k * ct_own_out_step) =                                 \
                ct_form_store<CT_OUT>(ct_own_y);                                                   \
        }                                                                                          \
    }

/* ---- groups ---- */

/* The function on elements in memory. */
#define CT_GROUP_FUNCTION(name_, n_x_, n_y_)                                                       \
    const auto ct_own_function = [&](const CtGroup<CT_IN, n_x_> &ct_own_from) {                    \
        ct_x ct_own_x[n_x_];                                                                       \
        ct_y ct_own_y[n_y_];                                                                       \
        CtGroup<CT_OUT, n_y_> ct_own_to;                                                           \
        for (int ct_own_j = 0; ct_own_j < n_x_; ct_own_j++)                                        \
            ct_own_x[ct_own_j] = ct_convert<ct_x>(ct_own_from.element[ct_own_j]);                  \
        name_(&ct_own_settings, ct_own_x, ct_own_y);                                               \
        for (int ct_own_j = 0; ct_own_j < n_y_; ct_own_j++)                                        \
            ct_own_to.element[ct_own_j] = ct_form_store<CT_OUT>(ct_own_y[ct_own_j]);               \
        return ct_own_to;                                                                          \
    };

/* NAME_planes: inputs and outputs anywhere. NAME_together: those of a group are contiguous, and
 * aligned as a whole. */
#define CT_GROUP(name_, settings_, n_x_, n_y_)                                                     \
    extern "C" __global__ void CT_FORM_BOUNDS name_##_planes(                                      \
        const CtDeviceMap ct_own_map, const settings_ ct_own_settings, int64 ct_own_x_stride,      \
        int64 ct_own_y_stride)                                                                     \
    {                                                                                              \
        CT_GROUP_FUNCTION(name_, n_x_, n_y_)                                                       \
        ct_group_planes<CT_IN, CT_OUT, n_x_, n_y_>(ct_own_map, ct_own_x_stride, ct_own_y_stride,   \
                                                   ct_own_function);                               \
    }                                                                                              \
    extern "C" __global__ void CT_FORM_BOUNDS name_##_together(                                    \
        const CtDeviceMap ct_own_map, const settings_ ct_own_settings, int64, int64)               \
    {                                                                                              \
        CT_GROUP_FUNCTION(name_, n_x_, n_y_)                                                       \
        ct_group_together<CtGroup<CT_IN, n_x_>, CtGroup<CT_OUT, n_y_>>(ct_own_map,                 \
                                                                       ct_own_function);           \
    }

#include <cornerturn/kit/join-kernel.h>
