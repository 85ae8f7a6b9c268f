/* SPDX-License-Identifier: BSD-3-Clause */
/* Gathers words of the input, whose positions are in a table of indices, to 16 bytes of the output.
 *
 * In the map, `table` is the input, with strides by the axes that have no indices, and `marks` is
 * the table: [entry][N_INDICES] of 32 bits. WORD: the bytes that move together. */
#include <cornerturn/kit/device-map-kernel.h>

typedef struct {
    long long of[N_INDICES]; /* bytes from one index to the next */
} PickStrides;

typedef CtMapWord<WORD> Word;

__device__ inline Word
pick_word(const PickStrides &strides, const uint8 *in, const uint8 *entry)
{
    const int32 *index = (const int32 *)entry;
#pragma unroll
    for (int k = 0; k < N_INDICES; k++)
        in += index[k] * strides.of[k];
    return *(const Word *)in;
}

extern "C" __global__ void
__launch_bounds__(CT_DEVICE_MAP_THREADS)
    ct_pick_gather(const CtDeviceMap map, const PickStrides strides)
{
    constexpr uint32 n_words = 16 / WORD;
    CtMapUnit<Word, n_words> y[CT_DEVICE_MAP_UNROLL];
    uint8 *out[CT_DEVICE_MAP_UNROLL];
    uint32 n[CT_DEVICE_MAP_UNROLL];
#pragma unroll
    for (uint32 k = 0; k < CT_DEVICE_MAP_UNROLL; k++) {
        const uint32 unit =
            (blockIdx.x * CT_DEVICE_MAP_UNROLL + k) * CT_DEVICE_MAP_THREADS + threadIdx.x;
        const uint8 *in = (const uint8 *)map.table, *entry = map.marks;
        uint32 rest = unit, first = 0;
        n[k] = 0;
        out[k] = (uint8 *)map.out;
        if (unit >= map.n_units)
            continue;
#pragma unroll 1
        for (uint32 a = 0; a < map.n_axes; a++) {
            const CtDeviceMapAxis &axis = map.axes[a];
            const uint32 next = a + 1 < map.n_axes ? ct_device_divide(rest, axis.length) : 0;
            const uint32 i = (rest - next * axis.length.by) * (a == 0 ? map.width : 1);
            first = a == 0 ? i : first;
            in += i * axis.table;
            entry += i * axis.mark;
            out[k] += i * axis.out;
            rest = next;
        }
        n[k] = map.run - first < map.width ? map.run - first : map.width;
#pragma unroll
        for (uint32 i = 0; i < n_words; i++)
            if (i < n[k])
                y[k].element[i] =
                    pick_word(strides, in + i * map.axes[0].table, entry + i * map.axes[0].mark);
    }
#pragma unroll
    for (uint32 k = 0; k < CT_DEVICE_MAP_UNROLL; k++) {
        if (n[k] == n_words && map.width == n_words)
            *(CtMapWord<16> *)out[k] = y[k].word;
        else
            for (uint32 i = 0; i < n_words; i++)
                if (i < n[k])
                    *(Word *)(out[k] + i * WORD) = y[k].element[i];
    }
}
