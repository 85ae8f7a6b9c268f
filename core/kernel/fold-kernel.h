/* SPDX-License-Identifier: BSD-3-Clause */
/* Folds on devices.
 *
 * Compiled with the definitions of form-kernel.h and of fold-cells-kernel.h, or with
 * CT_FOLD_ACROSS. */
#pragma once

#include <cornerturn/kit/form-kernel.h>

#if defined(CT_FOLD_ACROSS)
/* Along another axis than time: a thread adds the m elements of one sum, `step` bytes apart.
 * `table` of the map has the numbers of valid elements of the sums; without it, all are valid. In a
 * loop over several sums, ptxas of CUDA 13.0 lets the load of a count that is not used overwrite a
 * register of the next sum (sm_90). */
#define CT_FOLD(name_, settings_, state_, samples_)                                                \
    extern "C" __global__ void __launch_bounds__(CT_DEVICE_MAP_THREADS)                            \
        name_##_across(const CtDeviceMap ct_own_map, const settings_ ct_own_settings,              \
                       uint64 ct_own_m, int64 ct_own_step)                                         \
    {                                                                                              \
        const uint32 ct_own_unit = blockIdx.x * CT_DEVICE_MAP_THREADS + threadIdx.x;               \
        if (ct_own_unit >= ct_own_map.n_units)                                                     \
            return;                                                                                \
        const CtMapPlace ct_own_place = ct_map_place(ct_own_map, ct_own_unit);                     \
        const uint8 *ct_own_in = ct_own_place.in;                                                  \
        state_ ct_own_state;                                                                       \
        ct_y ct_own_y;                                                                             \
        name_##_start(&ct_own_settings, &ct_own_state);                                            \
        for (uint64 ct_own_i = 0; ct_own_i < ct_own_m; ct_own_i++, ct_own_in += ct_own_step) {     \
            const ct_x ct_own_x = ct_convert<ct_x>(*(const CT_IN *)ct_own_in);                     \
            name_##_add(&ct_own_settings, &ct_own_state, &ct_own_x);                               \
        }                                                                                          \
        const uint32 ct_own_n =                                                                    \
            ct_own_map.table ? ct_fold_count(ct_own_map, ct_own_unit) : (uint32)ct_own_m;          \
        name_##_give(&ct_own_settings, &ct_own_state, ct_own_n, &ct_own_y);                        \
        *(CT_OUT *)ct_own_place.out = ct_form_store<CT_OUT>(ct_own_y);                             \
    }

/* The count of unit `unit`, in the map's table. */
__device__ inline uint32
ct_fold_count(const CtDeviceMap &map, uint32 unit)
{
    const uint8 *count = (const uint8 *)map.table;
    for (uint32 a = 0; a < map.n_axes; a++) {
        const uint32 next = a + 1 < map.n_axes ? ct_device_divide(unit, map.axes[a].length) : 0;
        count += (unit - next * map.axes[a].length.by) * map.axes[a].table;
        unit = next;
    }
    return *(const uint32 *)count;
}
#elif !defined(CT_FOLD_HOP)
/* The file is compiled for another form. */
#define CT_FOLD(name_, settings_, state_, samples_)
#else

typedef CT_IN CtFoldRead;

#include <cornerturn/kit/fold-cells-kernel.h>

#if CT_FOLD_IS_STAGED
/* With 8 blocks of a multiprocessor, 64 registers: some states and types need more than 32. */
#define CT_FOLD_STAGE(name_, settings_)                                                            \
    extern "C" __global__ void __launch_bounds__(CT_FOLD_THREADS, 8)                               \
        name_##_stage(const CtFoldFiring ct_own_firing, const settings_ ct_own_settings,           \
                      uint32 ct_own_block_cells, uint32 ct_own_block_groups)                       \
    {                                                                                              \
        ct_fold_stage(name_##_fold{ct_own_settings}, ct_own_firing, ct_own_block_cells,            \
                      ct_own_block_groups);                                                        \
    }
#else
#define CT_FOLD_STAGE(name_, settings_)
#endif

#define CT_FOLD(name_, settings_, state_, samples_)                                                \
    struct name_##_fold {                                                                          \
        typedef state_ CtState;                                                                    \
        static constexpr bool ADDS_ALL = (samples_) == CT_FOLD_ALL;                                \
        const settings_ &ct_own_settings;                                                          \
        __device__ void                                                                            \
        start(CtState &ct_own_state) const                                                         \
        {                                                                                          \
            name_##_start(&ct_own_settings, &ct_own_state);                                        \
        }                                                                                          \
        __device__ CT_IN                                                                           \
        read(const uint8 *ct_own_from) const                                                       \
        {                                                                                          \
            return *(const CT_IN *)ct_own_from;                                                    \
        }                                                                                          \
        __device__ void                                                                            \
        add(CtState &ct_own_state, CT_IN ct_own_in) const                                          \
        {                                                                                          \
            const ct_x ct_own_x = ct_convert<ct_x>(ct_own_in);                                     \
            name_##_add(&ct_own_settings, &ct_own_state, &ct_own_x);                               \
        }                                                                                          \
        __device__ void                                                                            \
        merge(CtState &ct_own_state, const CtState &ct_own_other) const                            \
        {                                                                                          \
            name_##_merge(&ct_own_settings, &ct_own_state, &ct_own_other);                         \
        }                                                                                          \
        __device__ bool                                                                            \
        give(void *ct_own_to, const CtState &ct_own_state, uint32 ct_own_n) const                  \
        {                                                                                          \
            ct_y ct_own_y;                                                                         \
            const bool ct_own_is_valid =                                                           \
                name_##_give(&ct_own_settings, &ct_own_state, ct_own_n, &ct_own_y);                \
            *(CT_OUT *)ct_own_to = ct_form_store<CT_OUT>(ct_own_y);                                \
            return ct_own_is_valid;                                                                \
        }                                                                                          \
    };                                                                                             \
    extern "C" __global__ void __launch_bounds__(CT_FOLD_ROW_THREADS)                              \
        name_##_rows(const CtFoldFiring ct_own_firing, const settings_ ct_own_settings)            \
    {                                                                                              \
        ct_fold_rows(name_##_fold{ct_own_settings}, ct_own_firing);                                \
    }                                                                                              \
    CT_FOLD_STAGE(name_, settings_)                                                                \
    extern "C" __global__ void __launch_bounds__(CT_FOLD_MERGE_THREADS)                            \
        name_##_merges(const CtFoldFiring ct_own_firing, const settings_ ct_own_settings)          \
    {                                                                                              \
        ct_fold_merge(name_##_fold{ct_own_settings}, ct_own_firing);                               \
    }
#endif
