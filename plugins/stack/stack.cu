/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins short runs: every thread gathers words of the output from the inputs.
 *
 * UNIT: bytes that are contiguous and aligned in all inputs, 1 to 16. */
#include "stack-cuda.h"

#include <cornerturn/kit/device-map-kernel.h>

typedef CtMapWord<UNIT> Piece;

/* source_of: [bytes of a row / UNIT] */
extern "C" __global__ void
__launch_bounds__(STACK_THREADS, 4)
    stack_gather(const StackTarget target, const StackSource *sources, const uint16 *source_of)
{
    constexpr uint32 n_pieces = 16 / UNIT, tile_bytes = 16 * STACK_THREADS * STACK_UNROLL;
    const uint32 group = ct_device_divide(blockIdx.x, target.tiles);
    const uint64 begin = (uint64)(blockIdx.x - group * target.tiles.by) * tile_bytes;
    const uint64 left = target.rows * target.row.by - begin;
    uint8 *const out = target.data + group * target.group + begin;
    __shared__ uint64 first_row;
    if (threadIdx.x == 0)
        first_row = begin / target.row.by;
    __syncthreads();
    const uint32 first_byte = (uint32)(begin - first_row * target.row.by);
    CtMapUnit<Piece, n_pieces> y[STACK_UNROLL];
    uint32 n[STACK_UNROLL]; /* pieces */
#pragma unroll
    for (uint32 k = 0; k < STACK_UNROLL; k++) {
        const uint32 word = (k * STACK_THREADS + threadIdx.x) * 16;
        n[k] = word < left ? (left - word < 16 ? (uint32)(left - word) : 16) / UNIT : 0;
        uint32 row = ct_device_divide(first_byte + word, target.row);
        uint32 at = first_byte + word - row * target.row.by;
#pragma unroll
        for (uint32 i = 0; i < n_pieces; i++) {
            y[k].element[i] = {};
            if (i >= n[k])
                continue;
            const StackSource source = sources[source_of[at / UNIT]];
            if (source.data)
                y[k].element[i] =
                    *(const Piece *)(source.data + group * source.group +
                                     (first_row + row) * source.row + (at - source.offset));
            at += UNIT;
            if (at == target.row.by) {
                at = 0;
                row++;
            }
        }
    }
#pragma unroll
    for (uint32 k = 0; k < STACK_UNROLL; k++) {
        uint8 *const to = out + (k * STACK_THREADS + threadIdx.x) * 16;
        if (n[k] == n_pieces && (uint64)out % 16 == 0)
            *(CtMapWord<16> *)to = y[k].word;
        else
            for (uint32 i = 0; i < n_pieces; i++)
                if (i < n[k])
                    *(Piece *)(to + i * UNIT) = y[k].element[i];
    }
}
