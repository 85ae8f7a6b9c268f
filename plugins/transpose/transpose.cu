/* SPDX-License-Identifier: BSD-3-Clause */
/* Transposes tiles in shared memory.
 *
 * UNIT_BYTES: bytes that are moved together, 1, 2, 4, 8 or 16; GROUP: units of a word, 1, 2 or 4.
 * TILE_BYTES: the most bytes of a tile; THREADS; AHEAD: the most loads that a thread has in
 * progress. */
#include "transpose-turn-struct.h"

#include <cornerturn/kit/device-map-kernel.h>

typedef CtMapWord<UNIT_BYTES> Unit;
typedef CtMapWord<UNIT_BYTES * GROUP> Word;

constexpr uint32 MOST_WORDS = TURN_ROUNDS * THREADS;
constexpr uint32 TILE_WORDS =
    TILE_BYTES / sizeof(Word) < MOST_WORDS ? TILE_BYTES / sizeof(Word) : MOST_WORDS;
constexpr uint32 ROUNDS = TILE_WORDS < THREADS ? 1 : TILE_WORDS / THREADS;
/* Words, and squares of them, that a thread has in progress. */
constexpr uint32 UNDER_WAY = AHEAD < ROUNDS ? AHEAD : ROUNDS;
constexpr uint32 SQUARES = UNDER_WAY < GROUP ? 1 : UNDER_WAY / GROUP;

/* The blocks of a multiprocessor. 0 leaves the number to the assembler, which would rather spill
 * registers than run few blocks when a thread has many loads in progress. */
constexpr int MIN_BLOCKS = AHEAD > 8;

/* The bounds of a tile along its edges, in units. */
struct Bounds {
    int low, high;
};

__device__ inline uint32
low_halves(uint32 a, uint32 b)
{
    return (a & 0xffff) | b << 16;
}

__device__ inline uint32
high_halves(uint32 a, uint32 b)
{
    return a >> 16 | (b & 0xffff0000);
}

/* Transposes a square: unit k of word j becomes unit j of word k. */
__device__ inline void
turn_square(CtMapWord<UNIT_BYTES> (&)[1])
{
}

/* two units of 1 byte */
__device__ inline void
turn_square(CtMapWord<2> (&words)[2])
{
    const uint32 a = words[0].x, b = words[1].x;
    words[0].x = (uint16)((a & 0xff) | b << 8);
    words[1].x = (uint16)(a >> 8 | (b & 0xff00));
}

/* two units of 2 bytes */
__device__ inline void
turn_square(CtMapWord<4> (&words)[2])
{
    const uint32 a = words[0].x, b = words[1].x;
    words[0].x = low_halves(a, b);
    words[1].x = high_halves(a, b);
}

/* two units of 4 bytes */
__device__ inline void
turn_square(CtMapWord<8> (&words)[2])
{
    const uint32 swapped = words[0].y;
    words[0].y = words[1].x;
    words[1].x = swapped;
}

/* four units of 1 byte */
__device__ inline void
turn_square(CtMapWord<4> (&words)[4])
{
    constexpr uint32 EVEN = 0x00ff00ff, ODD = 0xff00ff00;
    const uint32 a = words[0].x, b = words[1].x, c = words[2].x, d = words[3].x;
    const uint32 even_ab = (a & EVEN) | (b << 8 & ODD), odd_ab = (a >> 8 & EVEN) | (b & ODD);
    const uint32 even_cd = (c & EVEN) | (d << 8 & ODD), odd_cd = (c >> 8 & EVEN) | (d & ODD);
    words[0].x = low_halves(even_ab, even_cd);
    words[1].x = low_halves(odd_ab, odd_cd);
    words[2].x = high_halves(even_ab, even_cd);
    words[3].x = high_halves(odd_ab, odd_cd);
}

/* four units of 2 bytes */
__device__ inline void
turn_square(CtMapWord<8> (&words)[4])
{
    const CtMapWord<8> a = words[0], b = words[1], c = words[2], d = words[3];
    words[0] = {low_halves(a.x, b.x), low_halves(c.x, d.x)};
    words[1] = {high_halves(a.x, b.x), high_halves(c.x, d.x)};
    words[2] = {low_halves(a.y, b.y), low_halves(c.y, d.y)};
    words[3] = {high_halves(a.y, b.y), high_halves(c.y, d.y)};
}

union UnitsOfWord {
    Word word;
    Unit unit[GROUP];
};

/* Units low … high − 1 of a word. */
__device__ inline Word
read_units(const uint8 *at, int low, int high)
{
    UnitsOfWord units;
    units.word = {};
#pragma unroll
    for (int i = 0; i < GROUP; i++)
        if (i >= low && i < high)
            units.unit[i] = ((const Unit *)at)[i];
    return units.word;
}

__device__ inline void
write_units(uint8 *at, Word word, int low, int high)
{
    UnitsOfWord units;
    units.word = word;
#pragma unroll
    for (int i = 0; i < GROUP; i++)
        if (i >= low && i < high)
            ((Unit *)at)[i] = units.unit[i];
}

/* The units of a square that exist, in the input's words and in the output's: low to high − 1. */
struct Square {
    int in_low, in_high, out_low, out_high;
};

/* Finds a square's units; FALSE if none exists. */
__device__ inline bool
find_square(const TurnWalk &walk, uint32 number, const Bounds *bounds, Square &square)
{
    bool exists = true;
    square = {0, GROUP, 0, GROUP};
#pragma unroll
    for (uint32 i = 0; i < TURN_EDGES; i++) {
        if (i >= walk.n_indices)
            break;
        const TurnIndex &index = walk.indices[i];
        const int at = (int)(number >> index.shift & index.mask);
        const Bounds &edge = bounds[index.edge];
        const int low = edge.low * index.per_unit - at * GROUP;
        const int high = edge.high * index.per_unit - at * GROUP;
        if (index.kind == TURN_UNITS) {
            exists = exists && at >= edge.low && at < edge.high;
        } else if (index.kind == TURN_IN_WORDS) {
            square.in_low = max(square.in_low, low);
            square.in_high = min(square.in_high, high);
        } else {
            square.out_low = max(square.out_low, low);
            square.out_high = min(square.out_high, high);
        }
    }
    return exists;
}

template <bool WHOLE>
__device__ inline Word
read_word(const TurnWalk &walk, const uint8 *at, uint32 number, const Bounds *bounds)
{
    Square square;
    if (WHOLE)
        return *(const Word *)at;
    if (!find_square(walk, number, bounds, square))
        return {};
    if (square.in_low == 0 && square.in_high == GROUP)
        return *(const Word *)at;
    return read_units(at, square.in_low, square.in_high);
}

template <bool WHOLE>
__device__ inline void
write_square(const Turn &turn, Word (&words)[GROUP], uint8 *at, uint32 number, const Bounds *bounds)
{
    Square square;
    if (!WHOLE && !find_square(turn.written, number, bounds, square))
        return;
    turn_square(words);
#pragma unroll
    for (int k = 0; k < GROUP; k++)
        if (WHOLE || (k >= square.in_low && k < square.in_high && square.out_low == 0 &&
                      square.out_high == GROUP))
            *(Word *)(at + turn.in_group[k]) = words[k];
        else if (k >= square.in_low && k < square.in_high)
            write_units(at + turn.in_group[k], words[k], square.out_low, square.out_high);
}

/* Finds the offsets of a thread's word, or square, of round 0. */
__device__ inline void
find_start(const TurnWalk &walk, int64 &offset, uint32 &shared)
{
    offset = 0;
    shared = 0;
#pragma unroll
    for (uint32 b = 0; b < TURN_THREAD_BITS; b++)
        if (threadIdx.x >> b & 1) {
            offset += walk.thread_bits[b];
            shared ^= walk.thread_bits_shared[b];
        }
}

template <bool WHOLE>
__device__ inline void
read_tile(const TurnWalk &walk, const uint8 *in, uint8 *tile, const Bounds *bounds)
{
    int64 offset;
    uint32 shared;
    find_start(walk, offset, shared);
#pragma unroll(WHOLE ? ROUNDS / UNDER_WAY : 1)
    for (uint32 round = 0; round < ROUNDS; round += UNDER_WAY) {
        if (round >= walk.n_rounds)
            break;
        Word words[UNDER_WAY];
#pragma unroll
        for (uint32 k = round; k < round + UNDER_WAY; k++)
            if (k < walk.n_rounds)
                words[k - round] = read_word<WHOLE>(walk, in + offset + walk.rounds[k],
                                                    threadIdx.x + k * THREADS, bounds);
#pragma unroll
        for (uint32 k = round; k < round + UNDER_WAY; k++)
            if (k < walk.n_rounds)
                *(Word *)(tile + (shared ^ walk.rounds_shared[k])) = words[k - round];
    }
}

template <bool WHOLE>
__device__ inline void
write_tile(const Turn &turn, uint8 *out, const uint8 *tile, const Bounds *bounds)
{
    const TurnWalk &walk = turn.written;
    int64 offset;
    uint32 shared;
    find_start(walk, offset, shared);
#pragma unroll(WHOLE ? ROUNDS / SQUARES : 1)
    for (uint32 round = 0; round < ROUNDS; round += SQUARES) {
        if (round >= walk.n_rounds)
            break;
        Word words[SQUARES][GROUP];
#pragma unroll
        for (uint32 k = round; k < round + SQUARES; k++)
#pragma unroll
            for (uint32 j = 0; j < GROUP; j++)
                if (k < walk.n_rounds)
                    words[k - round][j] = *(
                        const Word *)(tile + (shared ^ walk.rounds_shared[k] ^ turn.out_group[j]));
#pragma unroll
        for (uint32 k = round; k < round + SQUARES; k++)
            if (k < walk.n_rounds)
                write_square<WHOLE>(turn, words[k - round], out + offset + walk.rounds[k],
                                    threadIdx.x + k * THREADS, bounds);
    }
}

template <bool WHOLE>
__device__ inline void
turn_tile(const Turn &turn, const uint8 *in, uint8 *out, uint8 *tile, const Bounds *bounds)
{
    if (threadIdx.x < turn.read.n_threads)
        read_tile<WHOLE>(turn.read, in, tile, bounds);
    __syncthreads();
    if (threadIdx.x < turn.written.n_threads)
        write_tile<WHOLE>(turn, out, tile, bounds);
}

extern "C" __global__ void
__launch_bounds__(THREADS, MIN_BLOCKS) transpose(const Turn turn, const uint8 *in, uint8 *out)
{
    __shared__ Word tile[TILE_WORDS];
    __shared__ Bounds bounds[TURN_EDGES];
    uint32 number = blockIdx.x;
    bool whole = true;
#pragma unroll 1
    for (uint32 a = 0; a < turn.n_axes; a++) {
        const TurnAxis &axis = turn.axes[a];
        const uint32 next = ct_device_divide(number, axis.tiles);
        const uint32 i = number - next * axis.tiles.by;
        in += i * axis.in;
        out += i * axis.out;
        number = next;
        if (axis.edge >= 0) {
            const int low = (int)axis.first - (int)(i * axis.tile);
            const int high = (int)axis.end - (int)(i * axis.tile);
            whole = whole && low <= 0 && high >= (int)axis.tile;
            if (threadIdx.x == 0)
                bounds[axis.edge] = {max(low, 0), min(high, (int)axis.tile)};
        }
    }
    if (whole) {
        turn_tile<true>(turn, in, out, (uint8 *)tile, bounds);
    } else {
        __syncthreads();
        turn_tile<false>(turn, in, out, (uint8 *)tile, bounds);
    }
}
