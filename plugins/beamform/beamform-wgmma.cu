/* SPDX-License-Identifier: BSD-3-Clause */
/* The beamformer by matrix instructions of a warpgroup, for voltages whose stations are contiguous;
 * the products, and the order of sums, are those of beamform-mma.cu.
 *
 * A block stays on its multiprocessor and makes one tile after the other. Its producers load
 * voltages to registers, and store them to the stages, slab by slab, in half precision if weights
 * are. Two warpgroups, the consumers, multiply: one matrix are the voltages of all columns of the
 * tile, the other, in registers, are the rows of their beams, of which each warp has eight in a
 * product. Producers go on to the next tile while consumers write the sums of one. Stages may be
 * attached behind it.
 *
 * A stage has the pieces of the columns, all first ones, all second ones and so on. Those of eight
 * columns are contiguous, as the instructions want them. The distance to the next pieces lets the
 * threads that store together use different banks.
 *
 * Compiled with the definitions of beamform-matrix.h, and STAGES. */
#include "beamform-matrix.h"
#include "cornerturn/warpgroup.h"

/* With instructions of 256 columns, a kernel has at most 384 threads. */
static constexpr int n_consumers = 256, n_producers = TILE_COLUMNS == 256 ? 128 : 256;
static constexpr int n_threads = n_consumers + n_producers;
#ifdef CT_EPILOGUE
static constexpr bool has_maps = CELL == 0;
#else
static constexpr bool has_maps = false;
#endif
/* Registers of a thread; all together are those of the launch, which are 168 or 128 of each. */
static constexpr int consumer_registers = POL_WEIGHTS && !is_integer ? 208
                                          : POL_WEIGHTS || has_maps  ? 192
                                                                     : 184;
static constexpr int producer_registers =
    n_producers == 128 ? 3 * 168 - 2 * consumer_registers : 2 * 128 - consumer_registers;

/* A piece has 16 bytes of each column: 8 stations of integers, or 4 in half precision. */
static constexpr int group_bytes = 8 * 16;
static constexpr int piece_bytes = TILE_COLUMNS / 8 * group_bytes + 32;
static constexpr int stage_bytes = 4 * piece_bytes;

static_assert(!X_ALONG, "rows of contiguous stations");
static_assert(TILE_BEAMS == n_consumers / 32 * WARP_BEAMS, "a row for a row");
static_assert(WARP_COLUMNS == TILE_COLUMNS && n_a * TILE_COLUMNS == 256, "the sums of a thread");

typedef CtStageBarriers<STAGES> Barriers;
typedef CtStageTurn<STAGES> Turn;

/* The arguments of the kernel that producers read; they are the same for all tiles. */
struct Node {
    const uint8 *x;
    int n_times, n_tiles, wide;
    const Strides &strides;
};

__device__ inline int
count_tiles(int n_tiles)
{
    return beam_tiles * n_tiles * n_elements;
}

/* ---- producers ---- */

static constexpr int n_vectors = TILE_COLUMNS * DEPTH / vector;
static constexpr int n_each = n_vectors / n_producers;
/* Slabs on their way to a thread's registers. */
static constexpr int n_ahead = POL_WEIGHTS || n_each == 8 ? 2 : 4;
/* Vectors of a time, and the times between the vectors of a thread. */
static constexpr int row_vectors = DEPTH * N_POLS / vector;
static constexpr int row_step = n_producers / row_vectors;

static_assert(row_step % 8 == 0, "whole groups of columns");

/* The first of the thread's times, and its place among the columns: see put_beam. */
__device__ inline int
row_of(int thread)
{
    return thread / row_vectors;
}

__device__ inline int
time_of(int thread)
{
    const int row = row_of(thread), k = row % 8;
    return is_split ? row - k + k % 2 * 4 + k / 2 : row;
}

/* The slabs that come next: of this tile, and of those after it. */
struct Source {
    const Node &node;
    Voltages voltages;
    int block, d;
    bool is_full; /* all times of the tile exist, and vectors are aligned */

    __device__
    Source(const Node &node)
        : node(node), block((int)blockIdx.x), d(0)
    {
        begin();
    }

    __device__ bool
    has_slab() const
    {
        return block < count_tiles(node.n_tiles);
    }

    /* Finds the first slab of the tile. */
    __device__ void
    begin()
    {
        if (!has_slab())
            return;
        const Tile tile = find_tile(block, node.n_tiles, node.strides);
        voltages = {node.x + tile.x + tile.first_time * node.strides.x_time,
                    node.n_times - tile.first_time, node.strides.x_time, node.strides.x_station,
                    (node.wide & 1) != 0};
        is_full = voltages.is_wide && tile_times <= voltages.n_times;
    }

    /* Loads the next slab, if there is one, and goes on. */
    __device__ void
    fetch(Vector (&raw)[n_each])
    {
        if (!has_slab())
            return;
        const int thread = (int)threadIdx.x - n_consumers;
        const int t = time_of(thread), v = thread % row_vectors;
        if (is_full && (N_STATIONS % DEPTH == 0 || d < N_STATIONS / DEPTH)) {
            const int64 step = row_step * voltages.time;
            const uint8 *own = voltages.from + t * voltages.time + v * (int)sizeof(Vector) +
                               d * (DEPTH * N_POLS * (int)sizeof(Element));
#pragma unroll
            for (int k = 0; k < n_each; k++, own += step)
                raw[k] = *(const Vector *)own;
        } else {
#pragma unroll
            for (int k = 0; k < n_each; k++)
                voltages.gather(raw[k], t + k * row_step, d * DEPTH + v * vector_stations);
        }
        if (++d == n_slabs) {
            d = 0;
            block += (int)gridDim.x;
            begin();
        }
    }
};

/* Stores the stations of a vector to their places in two pieces: in half precision, the even ones
 * of eight come before the odd ones. */
__device__ inline void
store_vector(char *own, const uint4 &x)
{
    constexpr int to_pol = tile_times / 8 * group_bytes;
    if (is_integer && is_split) {
        *(uint2 *)own = {__byte_perm(x.x, x.y, 0x5410), __byte_perm(x.z, x.w, 0x5410)};
        *(uint2 *)(own + to_pol) = {__byte_perm(x.x, x.y, 0x7632), __byte_perm(x.z, x.w, 0x7632)};
    } else if (is_integer) {
        *(uint4 *)own = x;
    } else {
        unsigned halves[4][2];
        make_halves(halves[0], x.x);
        make_halves(halves[1], x.y);
        make_halves(halves[2], x.z);
        make_halves(halves[3], x.w);
#pragma unroll
        for (int k = 0; k < 2; k++) {
            if (is_split) {
                *(uint2 *)(own + k * to_pol) = {halves[0][k], halves[2][k]};
                *(uint2 *)(own + k * to_pol + piece_bytes) = {halves[1][k], halves[3][k]};
            } else {
                *(uint4 *)(own + k * piece_bytes) = {halves[0][k], halves[1][k], halves[2][k],
                                                     halves[3][k]};
            }
        }
    }
}

__device__ inline void
store(char *stage, const Vector (&raw)[n_each])
{
    /* Pieces of the stations that a vector is in. */
    constexpr int n_pieces = is_integer ? 1 : 2;
    const int thread = (int)threadIdx.x - n_consumers;
    const int row = row_of(thread), v = thread % row_vectors;
    char *own =
        stage + row / 8 * group_bytes + row % 8 * 16 +
        (is_split ? v / 2 * n_pieces * piece_bytes + v % 2 * 8 : v * n_pieces * piece_bytes);
#pragma unroll
    for (int k = 0; k < n_each; k++, own += row_step / 8 * group_bytes)
        store_vector(own, expand(raw[k]));
}

/* Fills the stages with the slabs of all tiles of the block, some of them on their way. */
__device__ inline void
produce(const Node &node, Barriers &barriers, char *stages)
{
    Source source(node);
    Vector ahead[n_ahead][n_each];
    Turn turn = {0, 0};
#pragma unroll
    for (int k = 0; k < n_ahead; k++)
        source.fetch(ahead[k]);
    const int n_blocks = (int)gridDim.x;
    int left = n_slabs * ((count_tiles(node.n_tiles) - (int)blockIdx.x + n_blocks - 1) / n_blocks);
    for (; left > 0; left -= n_ahead) {
#pragma unroll
        for (int k = 0; k < n_ahead; k++) {
            if (k >= left)
                break;
            ct_phases_wait(&barriers.empty[turn.stage], turn.parity ^ 1);
            store(stages + turn.stage * stage_bytes, ahead[k]);
            source.fetch(ahead[k]);
            ct_wgmma_publish();
            ct_phases_arrive(&barriers.full[turn.stage]);
            turn.advance();
        }
    }
}

/* ---- consumers ---- */

/* Slabs whose words are in registers, or on their way there. */
static constexpr int words_ahead = POL_WEIGHTS ? 1 : 2;

/* A thread's words of a slab, of each polarisation that has weights, eight beams, and product. */
struct Words {
    uint2 at[weight_pols][n_a][2];
};

/* The fragments of a warp's rows of a tile begin here for this thread. */
__device__ inline const uint8 *
find_fragments(const uint8 *w, const Tile &tile)
{
    const int64 fragment =
        tile.set * (ROWS / 8) + tile.first_beam / 8 + (int)threadIdx.x / 32 * n_a;
    return w + fragment * (N_STEPS * fragment_bytes) + (int)threadIdx.x % 32 * 8;
}

__device__ inline void
read_words(Words &words, const uint8 *fragments, int d)
{
#pragma unroll
    for (int p = 0; p < weight_pols; p++)
#pragma unroll
        for (int e = 0; e < n_a; e++)
#pragma unroll
            for (int product = 0; product < 2; product++)
                words.at[p][e][product] =
                    *(const uint2 *)(fragments + d * fragment_bytes + product * product_bytes +
                                     (p * (int64)POL_SETS * (ROWS / 8) + e) *
                                         (N_STEPS * fragment_bytes));
}

template <int n>
__device__ inline void
multiply_rows(int *sums, const unsigned (&rows)[4], uint64 columns)
{
    ct_wgmma_s8<n>(sums, rows, columns);
}

template <int n>
__device__ inline void
multiply_rows(float *sums, const unsigned (&rows)[4], uint64 columns)
{
    ct_wgmma_f16<n, CT_ALONG_DEPTH>(sums, rows, columns);
}

/* Starts the products of a slab. */
__device__ inline void
multiply(Sum *sums, const Words &words, uint64 columns)
{
    constexpr int n = TILE_COLUMNS / weight_pols;
    unsigned rows[weight_pols][n_a][2][4];
#pragma unroll
    for (int i = 0; i < weight_pols * n_a * 2; i++)
        make_rows(rows[i / 2 / n_a][i / 2 % n_a][i % 2], words.at[i / 2 / n_a][i / 2 % n_a][i % 2]);
    ct_wgmma_begin();
#pragma unroll
    for (int product = 0; product < 2; product++)
#pragma unroll
        for (int e = 0; e < n_a; e++)
#pragma unroll
            for (int p = 0; p < weight_pols; p++)
                multiply_rows<n>(sums + (e * weight_pols + p) * n / 2, rows[p][e][product],
                                 ct_wgmma_further(columns, product * 2 * piece_bytes +
                                                               p * (n / 8) * group_bytes));
    ct_wgmma_commit();
}

/* Multiplies the slabs of a tile. `words`: of its first slabs, then those of the next tile. */
__device__ inline void
consume(Barriers &barriers, const char *stages, Turn &turn, Sum *sums, Words (&words)[words_ahead],
        const uint8 *fragments, const uint8 *next)
{
    const uint64 first = ct_wgmma_matrix(stages, piece_bytes, group_bytes);
#pragma unroll 1
    for (int d = 0; d < n_slabs; d += words_ahead) {
#pragma unroll
        for (int k = 0; k < words_ahead; k++) {
            if (d + k >= n_slabs)
                break;
            ct_phases_wait(&barriers.full[turn.stage], turn.parity);
            multiply(sums, words[k], ct_wgmma_further(first, turn.stage * stage_bytes));
            if (d + k + words_ahead < n_slabs)
                read_words(words[k], fragments, d + k + words_ahead);
            else if (k < n_slabs)
                read_words(words[k], next, k);
            ct_wgmma_wait<0>();
            ct_phases_arrive(&barriers.empty[turn.stage]);
            turn.advance();
        }
    }
}

extern "C" __global__ void
__launch_bounds__(n_threads, 1)
    beamform_wgmma(const uint8 *x, const uint8 *w, const float *scales, uint8 *y, void *states,
                   int n_times, int n_tiles, int wide, Strides strides,
                   const CtEpilogueSettings settings)
{
    extern __shared__ uint4 shared[];
    __shared__ Barriers barriers;
    char *stages = (char *)shared;

    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) {
            ct_phases_begin(&barriers.full[s], n_producers);
            ct_phases_begin(&barriers.empty[s], n_consumers);
        }
    __syncthreads();
    if (threadIdx.x >= n_consumers) {
        ct_registers_give<producer_registers>();
        produce({x, n_times, n_tiles, wide, strides}, barriers, stages);
        CtEpilogue(settings).end();
        return;
    }
    ct_registers_take<consumer_registers>();
    const int n_all = count_tiles(n_tiles), warp_beam = (int)threadIdx.x / 32 * WARP_BEAMS;
    CtEpilogue epilogue(settings);
    Turn turn = {0, 0};
    Tile tile = find_tile((int)blockIdx.x, n_tiles, strides);
    Words words[words_ahead];
    for (int k = 0; k < words_ahead && k < n_slabs; k++)
        read_words(words[k], find_fragments(w, tile), k);
#pragma unroll 1
    for (int block = (int)blockIdx.x; block < n_all; block += (int)gridDim.x) {
        const int after = block + (int)gridDim.x;
        /* After the last tile, its own words are read again. */
        const uint8 *fragments = find_fragments(w, tile), *next = fragments;
        if (after < n_all)
            next = find_fragments(w, find_tile(after, n_tiles, strides));
        Sums sums = {};
        /* Behind this, the assembler sees that sums are set before any product. */
        ct_wgmma_begin();
        consume(barriers, stages, turn, &sums[0][0][0], words, fragments, next);
#pragma unroll
        for (int k = 0; k < n_a * n_b * 4; k++)
            ct_keep(sums[k / 4 / n_b][k / 4 % n_b][k % 4]);
        put({y, states, scales, n_times, (wide & 2) != 0, strides}, epilogue, tile, warp_beam, 0,
            sums);
        tile = find_tile(after, n_tiles, strides);
    }
    epilogue.end();
}
