/* SPDX-License-Identifier: BSD-3-Clause */
/* The joins of <cornerturn/kit/kernel.h> on devices: maps whose table is the second input.
 *
 * CT_W_ELEMENT is the type of the second input's elements in memory. */
#pragma once

#include <cornerturn/kit/device-map-kernel.h>

/* The offsets of a unit's first element in the table and the marks. */
struct CtJoinPlace {
    int64 table, mark;
};

__device__ inline CtJoinPlace
ct_join_place(const CtDeviceMap &map, uint32 unit)
{
    CtJoinPlace place = {0, 0};
    uint32 rest = unit;
#pragma unroll 1
    for (uint32 a = 0; a < map.n_axes; a++) {
        const CtDeviceMapAxis &axis = map.axes[a];
        const uint32 next = a + 1 < map.n_axes ? ct_device_divide(rest, axis.length) : 0;
        const uint32 i = (rest - next * axis.length.by) * (a == 0 ? map.width : 1);
        place.table += i * axis.table;
        place.mark += i * axis.mark;
        rest = next;
    }
    return place;
}

/* Computes function(In, W, valid) for units of WIDTH elements, and stores a valid of 0. */
template <typename In, typename W, typename Out, int WIDTH, bool MARKS, typename Function>
__device__ inline void
ct_join_units(const CtDeviceMap &map, Function function)
{
    CtMapUnit<In, WIDTH> from[CT_DEVICE_MAP_UNROLL];
    CtMapPlace place[CT_DEVICE_MAP_UNROLL];
    CtJoinPlace second[CT_DEVICE_MAP_UNROLL];
    const int64 step = map.axes[0].table;
#pragma unroll
    for (int k = 0; k < CT_DEVICE_MAP_UNROLL; k++) {
        const uint32 unit =
            (blockIdx.x * CT_DEVICE_MAP_UNROLL + k) * CT_DEVICE_MAP_THREADS + threadIdx.x;
        from[k].word = {};
        place[k].n = 0;
        second[k].table = 0;
        if (unit >= map.n_units)
            continue;
        place[k] = ct_map_place(map, unit);
        second[k] = ct_join_place(map, unit);
        if (place[k].n == WIDTH)
            from[k].word = *(const CtMapWord<sizeof(In) * WIDTH> *)place[k].in;
        else
            for (uint32 i = 0; i < WIDTH; i++)
                if (i < place[k].n)
                    from[k].element[i] = ((const In *)place[k].in)[i];
    }
#pragma unroll
    for (int k = 0; k < CT_DEVICE_MAP_UNROLL; k++) {
        CtMapUnit<Out, WIDTH> to;
        Out *out = (Out *)place[k].out;
        const uint8 *w = (const uint8 *)map.table + second[k].table;
#pragma unroll
        for (uint32 i = 0; i < WIDTH; i++) {
            ct_mark valid = 1;
            if (i >= place[k].n)
                continue;
            to.element[i] = function(from[k].element[i], *(const W *)(w + i * step), valid);
            if (MARKS && !valid)
                map.marks[second[k].mark + i * map.axes[0].mark] = 0;
        }
        if (place[k].n == WIDTH)
            *(CtMapWord<sizeof(Out) * WIDTH> *)out = to.word;
        else
            for (uint32 i = 0; i < WIDTH; i++)
                if (i < place[k].n)
                    out[i] = to.element[i];
    }
}

/* Calls the function once for every element. */
template <typename In, typename W, typename Out, bool MARKS, typename Function>
__device__ inline void
ct_join_each(const CtDeviceMap &map, Function function)
{
    constexpr int WIDTH = 16 / (sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out));
    if (WIDTH > 1 && map.width == 1)
        ct_join_units<In, W, Out, 1, MARKS>(map, function);
    else
        ct_join_units<In, W, Out, WIDTH, MARKS>(map, function);
}

#define CT_FORM_JOIN(name_, settings_, marks_, call_)                                              \
    extern "C" __global__ void CT_FORM_BOUNDS name_##_join(const CtDeviceMap ct_own_map,           \
                                                           const settings_ ct_own_settings)        \
    {                                                                                              \
        const auto ct_own_function = [&](CT_IN ct_own_in, CT_W_ELEMENT ct_own_second,              \
                                         ct_mark &ct_own_valid) {                                  \
            const ct_x ct_own_x = ct_convert<ct_x>(ct_own_in);                                     \
            const ct_w ct_own_w = ct_convert<ct_w>(ct_own_second);                                 \
            ct_y ct_own_y;                                                                         \
            (void)ct_own_valid;                                                                    \
            call_;                                                                                 \
            return ct_form_store<CT_OUT>(ct_own_y);                                                \
        };                                                                                         \
        ct_join_each<CT_IN, CT_W_ELEMENT, CT_OUT, marks_>(ct_own_map, ct_own_function);            \
    }

#define CT_JOIN(name_, settings_)                                                                  \
    CT_FORM_JOIN(name_, settings_, false, name_(&ct_own_settings, &ct_own_x, &ct_own_w, &ct_own_y))
#define CT_MARKED_JOIN(name_, settings_)                                                           \
    CT_FORM_JOIN(name_, settings_, true,                                                           \
                 name_(&ct_own_settings, &ct_own_x, &ct_own_w, &ct_own_y, &ct_own_valid))
