/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves rows of bytes from one place of a device to another. */
#include "cornerturn/kernel.h"

#define MAX_MOVES 2

/* As in mover.h. */
struct Move {
    uint8 *to;
    const uint8 *from;
    uint64 to_pitch, from_pitch;
    uint64 bytes, rows;
};

/* As in mover.c. */
struct Moves {
    Move move[MAX_MOVES];
    int32 width[MAX_MOVES]; /* bytes at a time: of which all the above is a multiple */
};

template <typename Word>
__device__ inline void
move_rows(const Move &move)
{
    const uint64 n = move.bytes / sizeof(Word);
    const uint64 first = (uint64)blockIdx.x * blockDim.x + threadIdx.x;
    const uint64 step = (uint64)gridDim.x * blockDim.x;
    uint64 row = (uint64)blockIdx.y * blockDim.y + threadIdx.y;
    for (; row < move.rows; row += (uint64)gridDim.y * blockDim.y) {
        Word *to = (Word *)(move.to + row * move.to_pitch);
        const Word *from = (const Word *)(move.from + row * move.from_pitch);
        for (uint64 i = first; i < n; i += step)
            to[i] = from[i];
    }
}

/* Threads and blocks x along a row, y over rows; blocks z are the moves. */
extern "C" __global__ void
ct_move_rows(const __grid_constant__ Moves moves)
{
    const Move &move = moves.move[blockIdx.z];
    switch (moves.width[blockIdx.z]) {
    case 16:
        move_rows<ct_ci64>(move);
        break;
    case 8:
        move_rows<ct_ci32>(move);
        break;
    case 4:
        move_rows<ct_ci16>(move);
        break;
    case 2:
        move_rows<ct_ci8>(move);
        break;
    default:
        move_rows<uint8>(move);
    }
}
