/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a map of groups of elements to groups of elements (CtGroup), which lie along an axis of
 * input and output that is not among those of the map. */
#pragma once

#include <cornerturn/kit/device-map-kernel.h>

template <> struct alignas(16) CtMapWord<32> {
    uint32 x, y, z, w, a, b, c, d;
};

/* Makes element i of the units of a group's outputs, of which the first lies at `out`. */
template <typename In, typename Out, int N_X, int N_Y, int WIDTH, typename Function>
__device__ inline void
ct_group_make(Function &function, const CtMapUnit<In, WIDTH> (&from)[N_X],
              CtMapUnit<Out, WIDTH> (&to)[N_Y], int i, const Out *out)
{
    CtGroup<In, N_X> group;
    for (int j = 0; j < N_X; j++)
        group.element[j] = from[j].element[i];
    const CtGroup<Out, N_Y> made = ct_map_call(function, group, out, 0);
    for (int j = 0; j < N_Y; j++)
        to[j].element[i] = made.element[j];
}

/* Inputs of a group are `x_stride` bytes apart, and outputs `y_stride`; the function is as in
 * ct_map_each. */
template <typename In, typename Out, int N_X, int N_Y, int WIDTH, typename Function>
__device__ inline void
ct_group_units(const CtDeviceMap &map, int64 x_stride, int64 y_stride, Function function)
{
    typedef CtMapWord<sizeof(In) * WIDTH> InWord;
    typedef CtMapWord<sizeof(Out) * WIDTH> OutWord;
    CtMapUnit<In, WIDTH> from[CT_DEVICE_MAP_UNROLL][N_X];
    CtMapPlace place[CT_DEVICE_MAP_UNROLL];
#pragma unroll
    for (int k = 0; k < CT_DEVICE_MAP_UNROLL; k++) {
        const uint32 unit =
            (blockIdx.x * CT_DEVICE_MAP_UNROLL + k) * CT_DEVICE_MAP_THREADS + threadIdx.x;
        for (int j = 0; j < N_X; j++)
            from[k][j].word = {};
        place[k].n = 0;
        if (unit >= map.n_units)
            continue;
        place[k] = ct_map_place(map, unit);
        for (int j = 0; j < N_X; j++) {
            const uint8 *in = place[k].in + j * x_stride;
            if (place[k].n == WIDTH)
                from[k][j].word = *(const InWord *)in;
            else
                for (uint32 i = 0; i < WIDTH; i++)
                    if (i < place[k].n)
                        from[k][j].element[i] = ((const In *)in)[i];
        }
    }
#pragma unroll
    for (int k = 0; k < CT_DEVICE_MAP_UNROLL; k++) {
        CtMapUnit<Out, WIDTH> to[N_Y];
        Out *out = (Out *)place[k].out;
        if (place[k].n == WIDTH) {
#pragma unroll
            for (int i = 0; i < WIDTH; i++)
                ct_group_make(function, from[k], to, i, out + i);
            for (int j = 0; j < N_Y; j++)
                *(OutWord *)((uint8 *)out + j * y_stride) = to[j].word;
        } else {
#pragma unroll
            for (int i = 0; i < WIDTH; i++) {
                if (i >= (int)place[k].n)
                    continue;
                ct_group_make(function, from[k], to, i, out + i);
                for (int j = 0; j < N_Y; j++)
                    *(Out *)((uint8 *)(out + i) + j * y_stride) = to[j].element[i];
            }
        }
    }
}

/* Computes function(CtGroup<In, N_X>), or with the place of the first output as in ct_map_each, for
 * every group. */
template <typename In, typename Out, int N_X, int N_Y, typename Function>
__device__ inline void
ct_group_planes(const CtDeviceMap &map, int64 x_stride, int64 y_stride, Function function)
{
    constexpr int WIDTH = 16 / (sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out));
    if (WIDTH > 1 && map.width == 1)
        ct_group_units<In, Out, N_X, N_Y, 1>(map, x_stride, y_stride, function);
    else
        ct_group_units<In, Out, N_X, N_Y, WIDTH>(map, x_stride, y_stride, function);
}

template <int BYTES> struct CtIsWord {
    static constexpr bool value = BYTES <= 32 && (BYTES & (BYTES - 1)) == 0;
};

/* The same where the elements of a group are contiguous, and aligned as a whole. */
template <typename From, typename To, typename Function>
__device__ inline void
ct_group_together(const CtDeviceMap &map, Function function)
{
    if constexpr (!CtIsWord<sizeof(From)>::value || !CtIsWord<sizeof(To)>::value)
        return; /* the host does not launch it */
    else if constexpr (sizeof(From) > 16 || sizeof(To) > 16)
        ct_map_units<From, To, 1>(map, function);
    else
        ct_map_each<From, To>(map, function);
}
