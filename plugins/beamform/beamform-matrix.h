/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of the beamformer on matrix units share this: the tile of a block, voltages of 8
 * bits, rows of weights, and what becomes of the sums.
 *
 * Compiled with
 *   WEIGHTS_AS IS_NIBBLES  how weights are quantised; 1: voltages are ci4
 *   N_STATIONS N_BEAMS ROWS N_STEPS  ROWS and N_STEPS: of the fragments; a step is a slab
 *   N_POLS              polarisations in the columns: 1 or 2
 *   POL_WEIGHTS         1: each of them has its own weights; POL_SETS: the sets between them
 *   N_AXES LENGTHS      the axes that pass through and are not columns
 *   X_ALONG             1: columns are contiguous, otherwise stations
 *   Y_PAIRS             1: two sums may be stored at once
 *   TILE_BEAMS TILE_COLUMNS DEPTH  the tile, and the stations of a slab
 *   WARP_BEAMS WARP_COLUMNS  the part of a warp
 *   CELL                times that a warp folds together, if the epilogue folds; otherwise 0 */
#pragma once

#include "beamform-quantise.h"

#include <cornerturn/kit/epilogue-kernel.h>

/* Bytes between neighbours; of weights, sets. */
struct Strides {
    int64 x_time, x_station, y_time, y_beam;
    int64 x[N_AXES + 1], y[N_AXES + 1], w[N_AXES + 1];
};

static constexpr bool is_integer = WEIGHTS_AS == BEAMFORM_CI8;
/* Polarisations lie apart in shared memory if they have weights of their own, or if stations are
 * contiguous: then a thread has both of a beam and time all the same. */
static constexpr bool is_split = N_POLS == 2 && (POL_WEIGHTS || !X_ALONG);
static constexpr int tile_times = TILE_COLUMNS / N_POLS, warp_times = WARP_COLUMNS / N_POLS;
static constexpr int beam_tiles = ROWS / TILE_BEAMS;
static constexpr int n_slabs = (N_STATIONS + DEPTH - 1) / DEPTH;
static constexpr int weight_pols = POL_WEIGHTS ? 2 : 1;
/* Fragments of a warp: of 8 beams, and of 8 columns. */
static constexpr int n_a = WARP_BEAMS / 8, n_b = WARP_COLUMNS / 8;

/* A piece are 8 stations, 16 bytes of a column. A product is as deep as two of them in integers, as
 * one in half precision; a slab are two products. */
static constexpr int piece = 8;
static constexpr int product_pieces = is_integer ? 2 : 1;
static constexpr int product_bytes = 256, fragment_bytes = 2 * product_bytes;

static_assert(n_slabs == N_STEPS && ROWS % TILE_BEAMS == 0, "whole tiles");
static_assert(DEPTH == 2 * product_pieces * piece, "two products");

template <bool> struct SumOf {
    typedef float type;
};
template <> struct SumOf<true> {
    typedef int type;
};
typedef SumOf<is_integer>::type Sum;
typedef Sum Sums[n_a][n_b][4];

/* The rows of a product from its words of a fragment. */
__device__ inline void
make_rows(unsigned (&rows)[4], uint2 fragment)
{
    const unsigned words[2] = {fragment.x, fragment.y};
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const unsigned w = words[half], odd = 0xff00ff00;
        if (is_integer) {
            /* The negatives of the odd bytes; carries beyond them are left out. */
            const unsigned negative = (~w & odd) + 0x01000100;
            rows[2 * half] = (negative & odd) | (w & ~odd);
            rows[2 * half + 1] = __byte_perm(w, 0, 0x2301);
        } else {
            rows[2 * half] = w ^ 0x80000000;
            rows[2 * half + 1] = __byte_perm(w, 0, 0x1032);
        }
    }
}

/* ---- voltages ---- */

/* Elements that are contiguous in memory and are loaded at once. */
static constexpr int vector = 8;
static constexpr int vector_stations = X_ALONG ? 1 : vector / N_POLS;
static constexpr int vector_times = X_ALONG ? vector / N_POLS : 1;

#if IS_NIBBLES
typedef uint2 Vector;
typedef uint8 Element;
#else
typedef uint4 Vector;
typedef uint16 Element;
#endif
static constexpr int element_bits = 8 * (int)sizeof(Element), word_elements = 64 / element_bits;

__device__ inline void
make_vector(uint2 &vector, uint64 low, uint64)
{
    vector = {(unsigned)low, (unsigned)(low >> 32)};
}

__device__ inline void
make_vector(uint4 &vector, uint64 low, uint64 high)
{
    vector = {(unsigned)low, (unsigned)(low >> 32), (unsigned)high, (unsigned)(high >> 32)};
}

/* The voltages of a tile. */
struct Voltages {
    const uint8 *from; /* of the tile's first time, station 0 */
    int n_times;       /* from that time on */
    int64 time, station;
    bool is_wide; /* vectors are aligned */

    /* Whether all vectors of the slab from station s on can be loaded at once. */
    __device__ bool
    is_full(int s) const
    {
        return is_wide && s + DEPTH <= N_STATIONS && tile_times <= n_times;
    }

    /* Loads a vector some of whose elements do not exist, or are not aligned. */
    __device__ void
    gather(Vector &raw, int first_time, int first_station) const
    {
        uint64 low = 0, high = 0;
#pragma unroll 1
        for (int e = 0; e < vector; e++) {
            const int t = first_time + (X_ALONG ? e / N_POLS : 0);
            const int s = first_station + (X_ALONG ? 0 : e / N_POLS);
            if (t >= n_times || s >= N_STATIONS)
                continue;
            const Element *pols = (const Element *)(from + t * time + s * station);
            const uint64 bits = (uint64)pols[e % N_POLS] << e % word_elements * element_bits;
            low |= e < word_elements ? bits : 0;
            high |= e < word_elements ? 0 : bits;
        }
        make_vector(raw, low, high);
    }
};

/* Parts of 8 bits. */
__device__ inline uint4
expand(const Vector &raw)
{
#if IS_NIBBLES
    const unsigned low = raw.x, high = raw.y, mask = 0xf0f0f0f0;
    return {__byte_perm(low & mask, low << 4 & mask, 0x5140),
            __byte_perm(low & mask, low << 4 & mask, 0x7362),
            __byte_perm(high & mask, high << 4 & mask, 0x5140),
            __byte_perm(high & mask, high << 4 & mask, 0x7362)};
#else
    return raw;
#endif
}

/* The difference of two numbers of half precision each. */
__device__ inline unsigned
subtract_halves(unsigned a, unsigned b)
{
#ifdef CT_EMULATED
    const float low = ct_half_to_float((uint16)a) - ct_half_to_float((uint16)b);
    const float high = ct_half_to_float((uint16)(a >> 16)) - ct_half_to_float((uint16)(b >> 16));
    return ct_float_to_half(low) | (unsigned)ct_float_to_half(high) << 16;
#else
    unsigned difference;
    asm("sub.f16x2 %0, %1, %2;" : "=r"(difference) : "r"(a), "r"(b));
    return difference;
#endif
}

/* Four integers in half precision: 0x6400 + u is 1024 + u, here of u = x + 128. */
__device__ inline void
make_halves(unsigned (&halves)[2], unsigned bytes)
{
    const unsigned u = bytes ^ 0x80808080, offset = 0x64806480;
    halves[0] = subtract_halves(__byte_perm(u, 0x64646464, 0x4140), offset);
    halves[1] = subtract_halves(__byte_perm(u, 0x64646464, 0x4342), offset);
}

/* ---- the tile of a block ---- */

/* Tiles are counted [element of the axes that pass through][tile of columns][tile of beams]. */
struct Tile {
    int first_beam, first_time;
    int element;
    int64 x, y, set; /* of the element: bytes, and the set of weights */
};

__device__ inline Tile
find_tile(int block, int n_tiles, const Strides &strides)
{
    constexpr int lengths[N_AXES + 1] = {LENGTHS};
    const int rest = block / beam_tiles;
    int element = rest / n_tiles;
    Tile tile = {block % beam_tiles * TILE_BEAMS, rest % n_tiles * tile_times, element, 0, 0, 0};
#pragma unroll
    for (int a = 0; a < N_AXES; a++) {
        const int i = element % lengths[a];
        element /= lengths[a];
        tile.x += i * strides.x[a];
        tile.y += i * strides.y[a];
        tile.set += i * strides.w[a];
    }
    return tile;
}

__device__ constexpr int
count_elements()
{
    constexpr int lengths[N_AXES + 1] = {LENGTHS};
    int n = 1;
    for (int a = 0; a < N_AXES; a++)
        n *= lengths[a];
    return n;
}

static constexpr int n_elements = count_elements();

/* ---- beams ---- */

/* The time of a thread's sum i of fragment f of the columns; of the first fragment of its
 * polarisation if these lie apart. */
__device__ inline int
time_of_sum(int f, int i)
{
    const int thread = (int)threadIdx.x % 4;
    return is_split && !X_ALONG ? f * 8 + 4 * i + thread
                                : (f * 8 + 2 * thread + i) / (is_split ? 1 : N_POLS);
}

/* The sum of a beam, with its scale. */
__device__ inline ct_cf32
scaled(const Sum (&sums)[4], int i, float scale)
{
    /* The first product is exact. */
    constexpr float unit = IS_NIBBLES ? 1.0f / 16 : 1;
    return {(float)sums[i] * unit * scale, (float)sums[i + 2] * unit * scale};
}

#if CELL
#include "beamform-fold.h"
#else
/* Two elements that are stored at once. */
typedef CtStored<ct_cf32> Stored;
struct alignas(2 * sizeof(Stored) < 16 ? 2 * sizeof(Stored) : 16) Pair {
    Stored a, b;
};

struct Beams {
    uint8 *to;            /* of the warp's first beam and time */
    int n_beams, n_times; /* from there on */
    int64 time, beam;
    CtEpilogue &epilogue;

    /* Stores two neighbours: polarisations of time t, or times t and t + 1. */
    template <bool is_whole>
    __device__ void
    put(uint8 *row, int t, CtEpilogue::Element element, const ct_cf32 &a, const ct_cf32 &b)
    {
        uint8 *first = row + t * time;
        const int64 apart = N_POLS == 2 ? (int64)sizeof(Stored) : time;
#if Y_PAIRS
        if (is_whole) {
#ifdef CT_EPILOGUE
            *(Pair *)first = {epilogue.make(first, a, element),
                              epilogue.make(first + apart, b, element + (N_POLS - 1))};
#else
            epilogue.store(first, Pair{a, b});
#endif
            return;
        }
#endif
        /* Comparisons are made again for each beam, rather than kept. */
        int left = n_times - t;
        ct_keep(left);
        if (is_whole || left > 0)
            epilogue.store(first, a, element);
        if (is_whole || left > 2 - N_POLS)
            epilogue.store(first + apart, b, element + (N_POLS - 1));
    }
    /* The sums of a beam. */
    template <bool is_whole>
    __device__ void
    put_beam(const Sum (&sums)[n_b][4], int b, const float *scales)
    {
        uint8 *row = to + b * beam;
        const CtEpilogue::Element element = epilogue.element(row);
        const float scale = scales[b];
        const float other = POL_WEIGHTS ? scales[(int64)POL_SETS * ROWS + b] : scale;
        if (is_split) {
#pragma unroll
            for (int f = 0; f < n_b / 2; f++)
#pragma unroll
                for (int i = 0; i < 2; i++)
                    put<is_whole>(row, time_of_sum(f, i), element, scaled(sums[f], i, scale),
                                  scaled(sums[f + n_b / 2], i, other));
        } else {
#pragma unroll
            for (int f = 0; f < n_b; f++)
                put<is_whole>(row, time_of_sum(f, 0), element, scaled(sums[f], 0, scale),
                              scaled(sums[f], 1, scale));
        }
    }
    template <bool is_whole>
    __device__ void
    put_all(const Sums &sums, const float *scales)
    {
#pragma unroll
        for (int e = 0; e < n_a; e++) {
            const int b = e * 8 + (int)threadIdx.x % 32 / 4;
            if (b < n_beams)
                put_beam<is_whole>(sums[e], b, scales);
        }
    }
};

#endif

/* The output of a firing. */
struct Output {
    uint8 *y;
    void *states; /* of cells, see beamform-fold.h */
    const float *scales;
    int n_times;
    bool is_wide; /* pairs of sums are aligned */
    const Strides &strides;
};

/* Stores the sums of a warp, or folds them: those from these beams and times of a tile on. */
__device__ inline void
put(const Output &output, CtEpilogue &epilogue, const Tile &tile, int warp_beam, int warp_time,
    const Sums &sums)
{
    const Strides &strides = output.strides;
    const int beam = tile.first_beam + warp_beam, time = tile.first_time + warp_time;
    const float *scales = output.scales + tile.set * ROWS + beam;
    uint8 *to = output.y + tile.y + beam * strides.y_beam;
    const int n_beams = N_BEAMS - beam, n_times = output.n_times - time;
#if CELL
    Folds beams = {to,
                   (State *)output.states + ((int64)tile.element * ROWS + beam) * N_POLS,
                   n_beams,
                   n_times,
                   time / CELL,
                   strides.y_time,
                   strides.y_beam,
                   epilogue};
    const bool is_whole = n_times >= warp_times && n_beams >= WARP_BEAMS;
#else
    Beams beams = {
        to + time * strides.y_time, n_beams, n_times, strides.y_time, strides.y_beam, epilogue};
    const bool is_whole = n_times >= warp_times && (!Y_PAIRS || output.is_wide);
#endif
    if (is_whole)
        beams.put_all<true>(sums, scales);
    else
        beams.put_all<false>(sums, scales);
}
