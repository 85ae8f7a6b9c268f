/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of warpgroups share this after they have multiplied: the ends of ranges, the loops
 * over jobs, and the kernel. Before, a kernel defines
 *
 *   Products               the sums of a thread; in a row, those of columns 8 block +
 *                          thread_column() and the next one are a pair, (re, im, re, im)
 *   find_pair, set_pair
 *   n_thread_rows          the inputs among a thread's rows, `row_distance` apart; `warp_rows`: the
 *                          distance of those of the next warp
 *   consume, produce       for one job; `first`: the warpgroup's first row; `needs_all`: with the
 *                          columns beyond its own
 *   unit_bytes             of a stage; stages begin at a multiple of `alignment`
 *   consumer_registers, producer_registers */
#pragma once

constexpr bool is_cf32 = sizeof(OUTPUT) == sizeof(ct_cf32);

/* The place in kept sums, or in parts, of a thread's pair in the first block and group of rows;
 * threads of a warp have neighbouring places. `row`: the warp's first. */
constexpr int block_elements = SQUARE * SQUARE, row_elements = TILE * row_distance;

static_assert(SQUARE == 8, "as the sums of a warp");

__device__ inline Pair *
place_pairs(Part *tile, int row)
{
    return (Pair *)(tile + element_at(row + threadIdx.x % 32 / 4, thread_column()));
}

__device__ inline Pair *
place_pair(Pair *first, int block, int h)
{
    return first + (block * block_elements + h * row_elements) / 2;
}

/* Begins with the sums of as many blocks, or with zero. Without branches: ptxas lets products wait
 * for one another where others than they write their registers. */
__device__ inline void
load_pairs(Pair *first, int n_blocks, Products &products)
{
    products = {};
#pragma unroll
    for (int block = 0; block < TILE / 8; block++)
#pragma unroll
        for (int h = 0; h < n_thread_rows; h++) {
            Pair pair = {0, 0, 0, 0};
            if (block < n_blocks)
                pair = *place_pair(first, block, h);
            set_pair(products, block, h, pair);
        }
}

__device__ inline float4
scaled(int4 x)
{
    return {(float)(x.x >> SCALE_BITS), (float)(x.y >> SCALE_BITS), (float)(x.z >> SCALE_BITS),
            (float)(x.w >> SCALE_BITS)};
}

__device__ inline float4
scaled(float4 x)
{
    return x;
}

/* Writes visibilities of one range, rounded from 32 bits: most are. `offset`: of the job's in the
 * piece's. Threads that share a baseline or have neighbouring ones write together. */
__device__ inline void
write_rounded(const CorrelatePiece &piece, const Job &job, int64 offset, int row, int column,
              const Products &products)
{
#pragma unroll
    for (int h = 0; h < n_thread_rows; h++) {
        const int m = job.i + row + row_distance * h, i = m / 2, n = i - (job.j + column) / 2;
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
store_pairs(Pair *first, int n_blocks, const Products &products)
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
    const int row = warp_row + lane / 4, column = thread_column();
    const bool due = is_due(piece, job.range);
    if (piece.parts || (!due && (!EXACT || piece.keeps_open))) {
        Part *tile = piece.parts ? (Part *)piece.parts + part_of(job) : kept_of(piece, job);
        store_pairs(place_pairs(tile, warp_row), n_blocks, products);
        return;
    }
    if (is_cf32 && N_POLS == 2 && piece.are_packed && due && !(EXACT && piece.adds_sums)) {
        write_rounded(piece, job, offset, row, column, products);
        return;
    }
#pragma unroll
    for (int block = 0; block < TILE / 8; block++)
#pragma unroll
        for (int h = 0; h < n_thread_rows; h++)
            if (block < n_blocks)
                finish_pair(piece, job, row + row_distance * h, column + 8 * block,
                            find_pair(products, block, h));
}

/* ---- the kernel ---- */

/* Sums a job, whose products `consume_job` adds. `first`: the warpgroup's first row. */
template <typename Consume>
__device__ inline void
sum_job(const CorrelatePiece &piece, const Job &job, int64 offset, int first, int n_blocks,
        const Consume &consume_job)
{
    const int warp_row = first + threadIdx.x % 128 / 32 * warp_rows;
    Products products;
    load_pairs(place_pairs(kept_of(piece, job), warp_row), goes_on(piece, job) ? n_blocks : 0,
               products);
    consume_job(products);
    finish(piece, job, offset, warp_row, n_blocks, products);
}

__device__ inline void
run_consumers(const CorrelatePiece &piece, Job *jobs, int64 *offsets, Barriers &barriers,
              char *stages)
{
    const int g = n_groups == 1 ? 0 : threadIdx.x / 128;
    const int u = n_units == 1 ? 0 : threadIdx.x / 128;
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
#if EXACT
        sum_job(piece, job, offset, first, n_blocks, [&](Products &products) {
            consume(n_steps, barriers, stages, u, is_square, !is_above, first, turn, products);
        });
#else
        /* Each has registers of its own for the products. */
        if (!is_square)
            sum_job(piece, job, offset, first, n_blocks, [&](Products &products) {
                consume<OFF_DIAGONAL>(n_steps, barriers, stages, first, turn, products);
            });
        else if (is_above)
            sum_job(piece, job, offset, first, n_blocks, [&](Products &products) {
                consume<UPPER>(n_steps, barriers, stages, first, turn, products);
            });
        else
            sum_job(piece, job, offset, first, n_blocks, [&](Products &products) {
                consume<LOWER>(n_steps, barriers, stages, first, turn, products);
            });
#endif
    }
}

__device__ inline void
run_producers(const CorrelatePiece &piece, Barriers &barriers, char *stages)
{
    const int u = n_units == 1 ? 0 : (threadIdx.x - n_consumers) / unit_producers;
    Turn turn = {0, 0};
    for (unsigned round = 0; round < count_rounds(piece); round++) {
        const unsigned k = find_turn(round);
        if (k * n_units < count_jobs(piece))
            produce(piece, find_job(piece, k * n_units + u), barriers, stages, u, turn);
    }
}

extern "C" __global__ void
__launch_bounds__(n_threads, 1) CORRELATE_KERNEL(const CorrelatePiece piece)
{
    extern __shared__ uint4 shared_vectors[];
    __shared__ Barriers barriers;
    __shared__ Job jobs[n_consumers / 32];
    __shared__ int64 offsets[n_consumers / 32];
    char *stages =
        (char *)shared_vectors + (-ct_shared_address(shared_vectors) & (unsigned)(alignment - 1));

    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) {
            ct_phases_begin(&barriers.full[s], n_producers);
            ct_phases_begin(&barriers.empty[s], n_consumers);
        }
    __syncthreads();
    if (threadIdx.x < n_consumers) {
        ct_registers_take<consumer_registers>();
        run_consumers(piece, jobs, offsets, barriers, stages);
    } else {
        ct_registers_give<producer_registers>();
        run_producers(piece, barriers, stages);
    }
}
