/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of all pairs of inputs of 8 and 4 bits by matrix instructions of a warpgroup, exact.
 *
 * A block stays on its multiprocessor and does one job after the other. Its producers read voltages
 * and store matrices to the stages, for which correlate-wgmma-small.h and correlate-wgmma-large.h
 * have two ways. Two warpgroups, the consumers, multiply; each has half of the rows of a tile or,
 * in tiles of 32 inputs, a unit of its own. Producers go on to the next job while consumers write
 * the results of one.
 *
 * Sums of up to 65535 spectra fit 32 bits. The host gives a range at most 2^15, and open sums that
 * it begins with fewer.
 *
 * ci4 is expanded to 8 bits: nibbles stay in the high bits, so values are 16 times as large.
 *
 * Further constants: IS_NIBBLES, STAGES, DEPTH (spectra of a stage). */
#include "cornerturn/warpgroup.h"
#include "correlate-bytes.h"
#include "correlate-square.h"

constexpr int n_consumers = 256;
constexpr int n_sides = n_tiles > 1 ? 2 : 1;
/* The groups of a tile's inputs; each warpgroup has one of them as rows. */
constexpr int n_groups = TILE == 32 ? 1 : 2;
constexpr int group = TILE / n_groups;
constexpr int n_units = 2 / n_groups;

static_assert(TILE == 128 || TILE == 64 || TILE == 32, "rows of warpgroups");

struct Barriers {
    uint64 full[STAGES], empty[STAGES];
};

/* The stage in use, and how often all of them have been. */
struct Turn {
    int stage;
    unsigned parity;
};

__device__ inline void
advance(Turn &turn)
{
    turn.stage = turn.stage + 1 < STAGES ? turn.stage + 1 : 0;
    turn.parity ^= turn.stage == 0;
}

/* Blocks do jobs in rounds; one that has had a tile on the diagonal, which costs less, does not get
 * the same in every round. */
__device__ inline unsigned
count_jobs(const CorrelatePiece &piece)
{
    return (unsigned)n_tiles * N_ITEMS * piece.n_ranges;
}

__device__ inline unsigned
count_rounds(const CorrelatePiece &piece)
{
    return (count_jobs(piece) + n_units * gridDim.x - 1) / (n_units * gridDim.x);
}

/* The number of the jobs, `n_units` of them, that this block does in a round. */
__device__ inline unsigned
find_turn(unsigned round)
{
    return round * gridDim.x + (blockIdx.x + round) % gridDim.x;
}

/* The steps of the jobs that a block does together. */
__device__ inline int
count_steps(const CorrelatePiece &piece, const Job &job)
{
    return ((n_units == 1 ? job.n : longest_range(piece)) + DEPTH - 1) / DEPTH;
}

/* Whether the sums of 32 bits of an integration are continued: a piece that does this has no other
 * integration. Those of parts are added up elsewhere. */
__device__ inline bool
goes_on(const CorrelatePiece &piece)
{
    return piece.adds_open && !piece.parts;
}

/* Fetches sums that consumers go on with to the L2 cache. */
__device__ inline void
prefetch_open(const CorrelatePiece &piece, const Job &job, int thread, int n_threads)
{
    const char *open = (const char *)open_of(piece, job);
    constexpr int line = 128, n_bytes = (int)(tile_elements * sizeof(ct_ci32));
    for (int at = thread * line; at < n_bytes; at += n_threads * line)
        ct_prefetch(open + at);
}

__device__ inline void
release(Barriers &barriers, int stage)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        ct_phases_arrive(&barriers.empty[stage]);
}

/* Passes the stages of a job of which this warpgroup needs nothing. */
__device__ inline void
skip(int n_steps, Barriers &barriers, Turn &turn)
{
    for (int step = 0; step < n_steps; step++, advance(turn)) {
        ct_phases_wait(&barriers.full[turn.stage], turn.parity);
        release(barriers, turn.stage);
    }
}

#if TILE == 128
#include "correlate-wgmma-large.h"
#else
#include "correlate-wgmma-small.h"
#endif

/* ---- the ends of jobs ---- */

constexpr bool is_cf32 = sizeof(OUTPUT) == sizeof(ct_cf32);

/* The place in open sums, or in parts, of a thread's pair in the first block and group of rows;
 * threads of a warp have neighbouring places. `row`: the warp's first. */
constexpr int block_elements = SQUARE * SQUARE, row_elements = TILE * SQUARE;

static_assert(SQUARE == 8, "as the sums of a warp");

__device__ inline int4 *
place_pairs(ct_ci32 *tile, int row)
{
    return (int4 *)(tile + element_at(row, 0)) + threadIdx.x % 32;
}

__device__ inline int4 *
place_pair(int4 *first, int block, int h)
{
    return first + (block * block_elements + h * row_elements) / 2;
}

/* Begins with the sums of as many blocks, or with zero. Without branches: ptxas lets products wait
 * for one another where others than they write their registers. */
__device__ inline void
load_pairs(int4 *first, int n_blocks, Products &products)
{
    products = {};
#pragma unroll
    for (int block = 0; block < TILE / 8; block++)
#pragma unroll
        for (int h = 0; h < n_thread_rows; h++) {
            int4 pair = {0, 0, 0, 0};
            if (block < n_blocks)
                pair = *place_pair(first, block, h);
            products.at[re_at(block, h, 0)] = pair.x;
            products.at[im_at(block, h, 0)] = pair.y;
            products.at[re_at(block, h, 1)] = pair.z;
            products.at[im_at(block, h, 1)] = pair.w;
        }
}

/* The sums of row h and two neighbours, (re, im, re, im). */
__device__ inline int4
find_pair(const Products &products, int block, int h)
{
    const ct_ci32 first = find_sum(products, block, h, 0), second = find_sum(products, block, h, 1);
    return {first.re, first.im, second.re, second.im};
}

__device__ inline float4
scaled(int4 x)
{
    return {(float)(x.x >> SCALE_BITS), (float)(x.y >> SCALE_BITS), (float)(x.z >> SCALE_BITS),
            (float)(x.w >> SCALE_BITS)};
}

/* Writes visibilities of one range, rounded from 32 bits: most are. `offset`: of the job's in the
 * piece's. Threads that share a baseline or have neighbouring ones write together. */
__device__ inline void
write_rounded(const CorrelatePiece &piece, const Job &job, int64 offset, int row, int column,
              const Products &products)
{
#pragma unroll
    for (int h = 0; h < n_thread_rows; h++) {
        const int m = job.i + row + 8 * h, i = m / 2, n = i - (job.j + column) / 2;
        char *to = (char *)piece.visibilities + offset + m % 2 * piece.to_p +
                   ((int64)i * (i + 1) / 2 + (job.j + column) / 2) * piece.to_baseline;
        const int n_blocks = m >= n_inputs || n < 0 ? 0 : n / 4 + 1;
#pragma unroll
        for (int block = 0; block < TILE / 8; block++, to += 4 * piece.to_baseline)
            if (block < n_blocks)
                *(float4 *)to = scaled(find_pair(products, block, h));
    }
}

/* Stores sums as parts, or until the integration goes on. */
__device__ inline void
store_pairs(int4 *first, int n_blocks, const Products &products)
{
#pragma unroll
    for (int block = 0; block < TILE / 8; block++)
#pragma unroll
        for (int h = 0; h < n_thread_rows; h++)
            if (block < n_blocks)
                *place_pair(first, block, h) = find_pair(products, block, h);
}

/* Ends the range of a job. `warp_row`: the warp's first. */
__device__ inline void
finish(const CorrelatePiece &piece, const Job &job, int64 offset, int warp_row, int n_blocks,
       const Products &products)
{
    const int lane = threadIdx.x % 32;
    const int row = warp_row + lane / 4, column = lane % 4 * 2;
    const bool due = is_due(piece, job.range);
    if (piece.parts || (!due && piece.keeps_open)) {
        ct_ci32 *tile = piece.parts ? (ct_ci32 *)piece.parts + part_of(job) : open_of(piece, job);
        store_pairs(place_pairs(tile, warp_row), n_blocks, products);
        return;
    }
    if (is_cf32 && N_POLS == 2 && piece.are_packed && due && !piece.adds_sums) {
        write_rounded(piece, job, offset, row, column, products);
        return;
    }
#pragma unroll
    for (int block = 0; block < TILE / 8; block++)
#pragma unroll
        for (int h = 0; h < n_thread_rows; h++)
            if (block < n_blocks)
                finish_pair(piece, job, row + 8 * h, column + 8 * block,
                            find_pair(products, block, h));
}

/* ---- the kernel ---- */

__device__ inline void
run_consumers(const CorrelatePiece &piece, Job *jobs, int64 *offsets, Barriers &barriers,
              char *stages)
{
    const int g = n_groups == 1 ? 0 : threadIdx.x / 128;
    const int u = n_units == 1 ? 0 : threadIdx.x / 128;
    const char *unit = stages + u * unit_bytes;
    /* In shared memory, a job needs no registers while products are summed. */
    Job &job = jobs[threadIdx.x / 32];
    int64 &offset = offsets[threadIdx.x / 32];
    Turn turn = {0, 0};
    for (unsigned round = 0; round < count_rounds(piece); round++) {
        const unsigned k = find_turn(round);
        if (k * n_units >= count_jobs(piece))
            continue;
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            job = find_job(piece, k * n_units + u);
            offset = job.visibilities - (const char *)piece.visibilities;
        }
        __syncwarp();
        const bool is_square = job.i == job.j, is_above = is_square && n_groups == 2 && g == 0;
        const int n_steps = count_steps(piece, job), first = g * group;
        if (!job.is_there || job.i + first >= n_inputs) {
            skip(n_steps, barriers, turn);
            continue;
        }
        const int n_blocks = (is_above ? group : TILE) / 8;
        const int warp_row = first + threadIdx.x % 128 / 32 * warp_rows;
        Products products;
        load_pairs(place_pairs(open_of(piece, job), warp_row), goes_on(piece) ? n_blocks : 0,
                   products);
        const int side = is_square ? 0 : 1;
        if (is_above)
            consume<false>(n_steps, barriers, unit, side, first, turn, products);
        else
            consume<true>(n_steps, barriers, unit, side, first, turn, products);
        finish(piece, job, offset, warp_row, n_blocks, products);
    }
}

extern "C" __global__ void
__launch_bounds__(n_threads, 1) correlate_wgmma(const CorrelatePiece piece)
{
    extern __shared__ uint4 shared_vectors[];
    __shared__ Barriers barriers;
    __shared__ Job jobs[n_consumers / 32];
    __shared__ int64 offsets[n_consumers / 32];

    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) {
            ct_phases_begin(&barriers.full[s], n_producers / 32);
            ct_phases_begin(&barriers.empty[s], n_consumers / 32);
        }
    __syncthreads();
    if (threadIdx.x < n_consumers) {
        ct_registers_take<consumer_registers>();
        run_consumers(piece, jobs, offsets, barriers, (char *)shared_vectors);
    } else {
        ct_registers_give<producer_registers>();
        run_producers(piece, barriers, (char *)shared_vectors);
    }
}
