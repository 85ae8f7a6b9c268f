/* SPDX-License-Identifier: BSD-3-Clause */
/* The beamformer by matrix instructions of a warpgroup, for integers whose stations are contiguous;
 * the products, and the order of sums, are those of beamform-mma.cu.
 *
 * A block stays on its multiprocessor and makes one tile after the other. Its producers load
 * voltages to registers, and store them to the stages, slab by slab. Two warpgroups, the consumers,
 * multiply: one matrix are the voltages of all columns of the tile, the other, in registers, are
 * the rows of their beams, those of a warp of eight. Producers go on to the next tile while
 * consumers write the sums of one. Stages may be attached behind it.
 *
 * A stage has the pieces of the columns, all first ones, all second ones and so on. Those of eight
 * columns are contiguous, as the instructions want them. The distance to the next pieces lets the
 * threads that store together use different banks.
 *
 * Compiled with the definitions of beamform-matrix.h, and STAGES. */
#include "beamform-matrix.h"
#include "cornerturn/warpgroup.h"

static constexpr int n_consumers = 256, n_producers = 128, n_threads = n_consumers + n_producers;
/* Registers of a thread, on average those of the launch; to fold takes more than to store. */
static constexpr int consumer_registers = CELL ? 200 : 184, producer_registers = CELL ? 104 : 136;

static constexpr int group_bytes = 8 * 16;
static constexpr int piece_bytes = TILE_COLUMNS / 8 * group_bytes + 32;
static constexpr int stage_bytes = DEPTH / piece * piece_bytes;

static_assert(is_integer && !X_ALONG, "rows of contiguous stations");
static_assert(TILE_BEAMS == n_consumers / 32 * WARP_BEAMS && WARP_BEAMS == 8, "a row for a row");
static_assert(TILE_COLUMNS == 256 && WARP_COLUMNS == 256, "one instruction");

typedef CtStageBarriers<STAGES> Barriers;
typedef CtStageTurn<STAGES> Turn;

__device__ inline int
count_tiles(int n_tiles)
{
    return beam_tiles * n_tiles * n_elements;
}

/* ---- producers ---- */

static constexpr int n_vectors = TILE_COLUMNS * DEPTH / vector;
static constexpr int n_each = n_vectors / n_producers;
/* Vectors of a time, and the times between the vectors of a thread. */
static constexpr int row_vectors = DEPTH * N_POLS / vector;
static constexpr int row_step = n_producers / row_vectors;

static_assert(row_step % 8 == 0, "whole groups of columns");

/* The slabs that come next: of this tile, and of those after it. */
struct Source {
    Voltages voltages;
    int block, d;
};

/* These do not change from tile to tile. */
struct Node {
    const uint8 *x;
    int n_times, n_tiles, wide;
    const Strides &strides;
};

__device__ inline void
find_voltages(Source &source, const Node &node)
{
    if (source.block >= count_tiles(node.n_tiles))
        return;
    const Tile tile = find_tile(source.block, node.n_tiles, node.strides);
    source.voltages = {node.x + tile.x + tile.first_time * node.strides.x_time,
                       node.n_times - tile.first_time, node.strides.x_time, node.strides.x_station,
                       (node.wide & 1) != 0};
}

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

/* Loads the next slab, if there is one, and goes on. */
__device__ inline void
fetch(Source &source, const Node &node, Vector (&raw)[n_each])
{
    const int thread = (int)threadIdx.x - n_consumers;
    const Voltages &voltages = source.voltages;
    const int t = time_of(thread), v = thread % row_vectors, s = source.d * DEPTH;
    if (source.block >= count_tiles(node.n_tiles))
        return;
    if (voltages.is_full(s)) {
        const uint8 *own =
            voltages.from + t * voltages.time + (s * N_POLS + v * vector) * (int)sizeof(Element);
#pragma unroll
        for (int k = 0; k < n_each; k++)
            raw[k] = *(const Vector *)(own + k * row_step * voltages.time);
    } else {
#pragma unroll
        for (int k = 0; k < n_each; k++)
            voltages.gather(raw[k], t + k * row_step, s + v * vector_stations);
    }
    source.d++;
    if (source.d == n_slabs) {
        source.d = 0;
        source.block += (int)gridDim.x;
        find_voltages(source, node);
    }
}

__device__ inline void
store(char *stage, const Vector (&raw)[n_each])
{
    const int thread = (int)threadIdx.x - n_consumers;
    const int row = row_of(thread), v = thread % row_vectors;
    char *own = stage + row / 8 * group_bytes + row % 8 * 16 +
                (is_split ? v / 2 * piece_bytes + v % 2 * 8 : v * piece_bytes);
#pragma unroll
    for (int k = 0; k < n_each; k++, own += row_step / 8 * group_bytes) {
        const uint4 x = expand(raw[k]);
        if (is_split) {
            *(uint2 *)own = {__byte_perm(x.x, x.y, 0x5410), __byte_perm(x.z, x.w, 0x5410)};
            *(uint2 *)(own + tile_times / 8 * group_bytes) = {__byte_perm(x.x, x.y, 0x7632),
                                                              __byte_perm(x.z, x.w, 0x7632)};
        } else {
            *(uint4 *)own = x;
        }
    }
}

/* Fills the stages with the slabs of all tiles of the block, two of them on their way. */
__device__ inline void
produce(const Node &node, Barriers &barriers, char *stages)
{
    Source source = {{}, (int)blockIdx.x, 0};
    Vector ahead[2][n_each];
    Turn turn = {0, 0};
    find_voltages(source, node);
    fetch(source, node, ahead[0]);
    fetch(source, node, ahead[1]);
    const int n_all = count_tiles(node.n_tiles);
    const int n = n_slabs * ((n_all - (int)blockIdx.x + (int)gridDim.x - 1) / (int)gridDim.x);
    for (int at = 0; at < n; at += 2) {
#pragma unroll
        for (int k = 0; k < 2; k++) {
            if (at + k >= n)
                break;
            ct_phases_wait(&barriers.empty[turn.stage], turn.parity ^ 1);
            store(stages + turn.stage * stage_bytes, ahead[k]);
            fetch(source, node, ahead[k]);
            ct_wgmma_publish();
            __syncwarp();
            if (threadIdx.x % 32 == 0)
                ct_phases_arrive(&barriers.full[turn.stage]);
            turn.advance();
        }
    }
}

/* ---- consumers ---- */

/* A thread's words of a slab, of each polarisation that has weights and of both products. */
struct Words {
    uint2 at[weight_pols][2];
};

/* The fragments of a warp's rows of a tile begin here for this thread. */
__device__ inline const uint8 *
find_fragments(const uint8 *w, const Tile &tile)
{
    const int64 fragment = tile.set * (ROWS / 8) + tile.first_beam / 8 + (int)threadIdx.x / 32;
    return w + fragment * (N_STEPS * fragment_bytes) + (int)threadIdx.x % 32 * 8;
}

__device__ inline void
read_words(Words &words, const uint8 *fragments, int d)
{
#pragma unroll
    for (int k = 0; k < 2 * weight_pols; k++)
        words.at[k / 2][k % 2] =
            *(const uint2 *)(fragments + d * fragment_bytes + k % 2 * product_bytes +
                             k / 2 * (int64)POL_SETS * (ROWS / 8) * (N_STEPS * fragment_bytes));
}

/* Starts the products of a slab. */
__device__ inline void
multiply(int *sums, const Words &words, uint64 columns)
{
    constexpr int n = TILE_COLUMNS / weight_pols;
    unsigned rows[weight_pols][2][4];
#pragma unroll
    for (int p = 0; p < weight_pols; p++) {
        make_rows(rows[p][0], words.at[p][0]);
        make_rows(rows[p][1], words.at[p][1]);
    }
    ct_wgmma_begin();
#pragma unroll
    for (int product = 0; product < 2; product++)
#pragma unroll
        for (int p = 0; p < weight_pols; p++)
            ct_wgmma_s8<n>(
                sums + p * n / 2, rows[p][product],
                ct_wgmma_further(columns, product * 2 * piece_bytes + p * (n / 8) * group_bytes));
    ct_wgmma_commit();
}

/* Multiplies the slabs of a tile. `words`: of its first two slabs, then those of the next tile. */
__device__ inline void
consume(Barriers &barriers, const char *stages, Turn &turn, int *sums, Words (&words)[2],
        const uint8 *fragments, const uint8 *next)
{
    const uint64 first = ct_wgmma_matrix(stages, piece_bytes, group_bytes);
#pragma unroll 1
    for (int d = 0; d < n_slabs; d += 2) {
#pragma unroll
        for (int k = 0; k < 2; k++) {
            if (d + k >= n_slabs)
                break;
            ct_phases_wait(&barriers.full[turn.stage], turn.parity);
            multiply(sums, words[k], ct_wgmma_further(first, turn.stage * stage_bytes));
            if (d + k + 2 < n_slabs)
                read_words(words[k], fragments, d + k + 2);
            else if (k < n_slabs)
                read_words(words[k], next, k);
            ct_wgmma_wait<0>();
            __syncwarp();
            if (threadIdx.x % 32 == 0)
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
            ct_phases_begin(&barriers.full[s], n_producers / 32);
            ct_phases_begin(&barriers.empty[s], n_consumers / 32);
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
    Words words[2];
    for (int k = 0; k < 2 && k < n_slabs; k++)
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
        for (int k = 0; k < n_b * 4; k++)
            ct_keep(sums[0][k / 4][k % 4]);
        put({y, states, scales, n_times, (wide & 2) != 0, strides}, epilogue, tile, warp_beam, 0,
            sums);
        tile = find_tile(after, n_tiles, strides);
    }
    epilogue.end();
}
