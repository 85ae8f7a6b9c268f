/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a map of elements to elements; the base of elementwise kernels.
 *
 *     extern "C" __global__ void __launch_bounds__(CT_DEVICE_MAP_THREADS, CT_DEVICE_MAP_BLOCKS)
 *     twice(const CtDeviceMap map)
 *     {
 *         ct_map_each<ct_f32, ct_f32>(map, [](ct_f32 x) { return 2 * x; });
 *     } */
#pragma once

#include "cornerturn/kernel.h"

#include <cornerturn/kit/device-map-struct.h>

/* The blocks of a multiprocessor for __launch_bounds__. 0 leaves the number to the assembler, which
 * would rather spill registers than run few blocks when a thread has many loads in progress. */
#define CT_DEVICE_MAP_BLOCKS (CT_DEVICE_MAP_UNROLL > 4)

__device__ inline uint32
ct_device_divide(uint32 n, CtDeviceDivisor divisor)
{
    return (n + (uint32)((uint64)n * divisor.multiplier >> 32)) >> divisor.shift;
}

/* The words in which memory is moved. */
template <int BYTES> struct CtMapWord;
template <> struct CtMapWord<1> {
    uint8 x;
};
template <> struct CtMapWord<2> {
    uint16 x;
};
template <> struct CtMapWord<4> {
    uint32 x;
};
template <> struct alignas(8) CtMapWord<8> {
    uint32 x, y;
};
template <> struct alignas(16) CtMapWord<16> {
    uint32 x, y, z, w;
};

template <typename Element, int WIDTH> union CtMapUnit {
    CtMapWord<sizeof(Element) * WIDTH> word;
    Element element[WIDTH];
};

struct CtMapPlace {
    const uint8 *in;
    uint8 *out;
    uint32 n; /* elements */
};

/* The position of unit `unit`. */
__device__ inline CtMapPlace
ct_map_place(const CtDeviceMap &map, uint32 unit)
{
    int64 in = 0, out = 0;
    uint32 rest = unit, first = 0;
#pragma unroll 1
    for (uint32 a = 0; a < map.n_axes; a++) {
        const CtDeviceMapAxis &axis = map.axes[a];
        const uint32 next = a + 1 < map.n_axes ? ct_device_divide(rest, axis.length) : 0;
        const uint32 i = (rest - next * axis.length.by) * (a == 0 ? map.width : 1);
        first = a == 0 ? i : first;
        in += i * axis.in;
        out += i * axis.out;
        rest = next;
    }
    return {(const uint8 *)map.in + in, (uint8 *)map.out + out,
            map.run - first < map.width ? map.run - first : map.width};
}

/* Calls a function of an element, or of an element and the place where the result is stored. */
template <typename Function, typename In>
__device__ inline auto
ct_map_call(Function &function, In in, const void *to, int) -> decltype(function(in, to))
{
    return function(in, to);
}

template <typename Function, typename In>
__device__ inline auto
ct_map_call(Function &function, In in, const void *, long) -> decltype(function(in))
{
    return function(in);
}

template <typename In, typename Out, int WIDTH, typename Function>
__device__ inline void
ct_map_units(const CtDeviceMap &map, Function function)
{
    CtMapUnit<In, WIDTH> from[CT_DEVICE_MAP_UNROLL];
    CtMapPlace place[CT_DEVICE_MAP_UNROLL];
#pragma unroll
    for (int k = 0; k < CT_DEVICE_MAP_UNROLL; k++) {
        const uint32 unit =
            (blockIdx.x * CT_DEVICE_MAP_UNROLL + k) * CT_DEVICE_MAP_THREADS + threadIdx.x;
        from[k].word = {};
        place[k].n = 0;
        if (unit >= map.n_units)
            continue;
        place[k] = ct_map_place(map, unit);
        const In *in = (const In *)place[k].in;
        if (map.in && place[k].n == WIDTH)
            from[k].word = *(const CtMapWord<sizeof(In) * WIDTH> *)in;
        else if (map.in)
            for (uint32 i = 0; i < WIDTH; i++)
                if (i < place[k].n)
                    from[k].element[i] = in[i];
    }
#pragma unroll
    for (int k = 0; k < CT_DEVICE_MAP_UNROLL; k++) {
        CtMapUnit<Out, WIDTH> to;
        Out *out = (Out *)place[k].out;
        if (place[k].n == WIDTH) {
            for (int i = 0; i < WIDTH; i++)
                to.element[i] = ct_map_call(function, from[k].element[i], out + i, 0);
            *(CtMapWord<sizeof(Out) * WIDTH> *)out = to.word;
        } else {
            for (uint32 i = 0; i < WIDTH; i++)
                if (i < place[k].n)
                    out[i] = ct_map_call(function, from[k].element[i], out + i, 0);
        }
    }
}

/* Computes function(In) for every element, once; or function(In, const void *), with the place
 * where the result is stored. */
template <typename In, typename Out, typename Function>
__device__ inline void
ct_map_each(const CtDeviceMap &map, Function function)
{
    /* 16 bytes of the wider side, as in map_init() of kit/device-map.c */
    constexpr int WIDTH = 16 / (sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out));
    if (WIDTH > 1 && map.width == 1)
        ct_map_units<In, Out, 1>(map, function);
    else
        ct_map_units<In, Out, WIDTH>(map, function);
}
