/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of all pairs of inputs of 8 and 4 bits, whose time is in blocks, by matrix instructions
 * of a warpgroup, exact.
 *
 * These multiply 64 rows by up to 128 columns, both contiguous along time with parts. A column is
 * an input j, (re_j, im_j, re_j, im_j, …): a block of voltages as it is. An input i has two rows,
 * (re_i, im_i, …) for re V and (im_i, ~re_i, …) for im V:
 *
 *     Σ re V = re_i · re_j +  im_i · im_j,
 *     Σ im V = im_i · re_j + ~re_i · im_j + Σ im_j,
 *
 * since ~x = −x − 1: the negative of −128 does not fit 8 bits. Rows go through registers, where the
 * second one is made of the first; so stages hold each voltage once. Thread 4 g + t of a warp has
 * both rows of an input g, and both parts of its sums.
 *
 * Producers read halves of blocks into registers, where they sum im of the columns, and store them
 * to the stages. Spectra of a block that do not belong to the job need only be 0 in columns.
 *
 * ci4 is expanded to 8 bits: nibbles stay in the high bits, so values are 16 times as large. */
#include "correlate-blocks.h"
#include "correlate-warpgroup.h"

/* Registers of a thread, on average those of the launch. */
constexpr int consumer_registers = 192, producer_registers = 64;

/* A slab is, of the columns and, if the rows are other inputs, of these, the first halves of all
 * inputs, then the second ones. Threads that store both store to different banks. */
constexpr int to_second = TILE * slab + 64;
constexpr int side_bytes = 2 * to_second;
constexpr int slab_bytes = n_sides * side_bytes;
constexpr int unit_bytes = n_slabs * slab_bytes;
constexpr int stage_bytes = n_units * unit_bytes;

/* Σ im_j of a job, in parts: by the slabs of a stage that its producers read at once. They are
 * behind the stages, and come with the job's last stage. */
constexpr int slab_producers = 2 * TILE;
constexpr int n_sum_parts = unit_producers / slab_producers;
struct ColumnSums {
    int at[n_units][n_sum_parts][TILE];
};

__device__ inline ColumnSums &
sums_of(const char *stages, int stage)
{
    return ((ColumnSums *)(stages + STAGES * stage_bytes))[stage];
}

/* The place of input m in its side of a slab. */
__device__ inline int
place_of(int m)
{
    return m * slab;
}

/* ---- producers ---- */

static_assert(slab == BLOCK && unit_producers % slab_producers == 0 && n_slabs % n_sum_parts == 0,
              "a half of each slab, or of some of them, for each thread");

/* The slabs of a stage of which a thread reads a half, from either side, and their distance. */
constexpr int n_own = n_slabs / n_sum_parts;
constexpr int own_spectra = n_sum_parts * slab, own_bytes = n_sum_parts * slab_bytes;
/* A thread fetches so many vectors ahead, its halves of one side of a step. */
constexpr int n_ahead = IS_NIBBLES ? 4 : 2;

struct Fetched {
    Half at[n_own];
};

/* The halves of one side that a thread reads, of the same input. */
struct Source {
    const char *from; /* of the next step */
    int n;            /* spectra of the job from there on; none if the input does not exist */
};

/* A thread's place in a stage of its unit. */
struct Own {
    int part, m, second; /* its first slab, its input, and which half */
};

__device__ inline Source
make_source(const CorrelatePiece &piece, const Job &job, const Own &own, int first)
{
    const int m = first + own.m;
    return {half_at(piece, job.voltages, m, own.second) + own.part * piece.from_time,
            m < n_inputs && job.n > 0 ? find_lead(piece, job) + job.n - own.part * slab : 0};
}

/* Reads the halves of a step, and goes on to the next one. */
__device__ inline void
fetch(const CorrelatePiece &piece, Source &source, Fetched &fetched)
{
    const int64 apart = n_sum_parts * piece.from_time;
    const char *from = source.from;
    if (piece.width < half_bytes) {
#pragma unroll
        for (int k = 0; k < n_own; k++)
            fetched.at[k] = k * own_spectra < source.n ? gather_half(from + k * apart) : Half();
    } else {
#pragma unroll
        for (int k = 0; k < n_own; k++, from += apart) {
            fetched.at[k] = {};
            if (k * own_spectra < source.n)
                fetched.at[k] = *(const Half *)from;
        }
    }
    source.from += n_slabs * piece.from_time;
    source.n -= DEPTH;
}

/* Keeps what belongs to the job, spectra first … last − 1 from the thread's first one on. */
__device__ inline void
keep_job(Fetched &fetched, int first, int last)
{
    if (first <= 0 && last >= DEPTH)
        return;
#pragma unroll
    for (int k = 0; k < n_own; k++)
        fetched.at[k] =
            keep_spectra(fetched.at[k], first - k * own_spectra, last - k * own_spectra);
}

/* Stores halves; returns the sum with their im. */
__device__ inline int
store(const Fetched &fetched, char *to, int sum)
{
#pragma unroll
    for (int k = 0; k < n_own; k++) {
        const uint4 x = widen(fetched.at[k]);
        *(uint4 *)(to + k * own_bytes) = x;
        sum = add_odd_bytes(x.x, add_odd_bytes(x.y, add_odd_bytes(x.z, add_odd_bytes(x.w, sum))));
    }
    return sum;
}

/* Fills the stages with the spectra of one job: in each step `each` sides, the columns, then, if
 * they are other inputs, the rows. */
template <int each>
__device__ inline void
produce_sides(const CorrelatePiece &piece, const Job &job, Barriers &barriers, char *stages, int u,
              Turn &turn)
{
    const int thread = threadIdx.x % unit_producers;
    const HalfPlace place = find_half(thread % slab_producers);
    const Own own = {thread / slab_producers, place.m, place.second};
    const int first = find_lead(piece, job) - own.part * slab - own.second * half;
    const int n = count_steps(piece, job) * each;
    Source columns = make_source(piece, job, own, job.j),
           rows = make_source(piece, job, own, job.i);
    char *to =
        stages + u * unit_bytes + own.part * slab_bytes + own.second * to_second + place_of(own.m);
    Fetched ahead[n_ahead];
    int sum = 0;
#pragma unroll
    for (int k = 0; k < n_ahead; k++)
        if (k < n)
            fetch(piece, k % each == 1 ? rows : columns, ahead[k]);
    if (goes_on(piece, job) && job.is_there)
        prefetch_open(piece, job, thread);
    for (int at = 0; at < n; at += n_ahead) {
#pragma unroll
        for (int a = 0; a < n_ahead; a++) {
            const int k = at + a;
            const bool is_row = a % each == 1;
            if (k >= n)
                break;
            char *stage = to + turn.stage * stage_bytes;
            if (!is_row) {
                const int done = k / each * DEPTH;
                ct_phases_wait(&barriers.empty[turn.stage], turn.parity ^ 1);
                keep_job(ahead[a], first - done, first + job.n - done);
                sum = store(ahead[a], stage, sum);
            } else {
                store(ahead[a], stage + side_bytes, 0);
            }
            if (k + n_ahead < n)
                fetch(piece, is_row ? rows : columns, ahead[a]);
            if (a % each < each - 1)
                continue;
            if (k + 1 == n) {
                sum += __shfl_xor_sync(~0u, sum, 1);
                sums_of(stages, turn.stage).at[u][own.part][own.m] = sum;
            }
            publish(barriers, turn.stage);
            turn.advance();
        }
    }
}

__device__ inline void
produce(const CorrelatePiece &piece, const Job &job, Barriers &barriers, char *stages, int u,
        Turn &turn)
{
    if (n_sides == 2 && job.i != job.j)
        produce_sides<n_sides>(piece, job, barriers, stages, u, turn);
    else
        produce_sides<1>(piece, job, barriers, stages, u, turn);
}

/* ---- consumers ---- */

/* Rows of 32 inputs are multiplied at once; their inputs are `row_distance` apart. The sums of a
 * thread, as ct_wgmma_s8 has them: of 8 columns, two re and two im. */
constexpr int row_distance = 32, n_thread_rows = group / row_distance, warp_rows = 8;

struct Products {
    int at[n_thread_rows][TILE / 2];
};

/* The rows of a slab, as ct_wgmma_s8 takes them from registers. */
struct Fragments {
    unsigned at[n_thread_rows][4];
};

/* (re, im, re, im) as (im, ~re, im, ~re) */
__device__ inline unsigned
turn_parts(unsigned x)
{
    return pick_bytes(x, 0, 0x2301) ^ 0xff00ff00;
}

/* `row`: the thread's, see below. */
__device__ inline void
load_rows(const char *row, Fragments &fragments)
{
    unsigned halves[2 * n_thread_rows];
    if (n_thread_rows == 2)
        ct_ldmatrix4(halves, row);
    else
        ct_ldmatrix2(halves, row);
#pragma unroll
    for (int k = 0; k < 2 * n_thread_rows; k++) {
        fragments.at[k / 2][k % 2 * 2] = halves[k];
        fragments.at[k / 2][k % 2 * 2 + 1] = turn_parts(halves[k]);
    }
}

/* The row of its warp's inputs whose address a thread gives: of the first halves, of the second
 * ones, and of the next block of rows. */
__device__ inline int
thread_row()
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
    return place_of(8 * warp + lane / 16 % n_thread_rows * row_distance) +
           lane / 8 % 2 * to_second + lane % 8 * slab;
}

/* Multiplies a slab. `needs_all`: by all columns, not only those of the first group. */
template <bool needs_all>
__device__ inline void
multiply(const Fragments &rows, uint64 columns, Products &products)
{
#pragma unroll
    for (int b = 0; b < n_thread_rows; b++)
        ct_wgmma_s8<needs_all ? TILE : group>(products.at[b], rows.at[b], columns);
}

/* Adds Σ im_j to im V. */
__device__ inline void
add_columns(const int (&sums)[n_sum_parts][TILE], Products &products)
{
    const int column = threadIdx.x % 4 * 2;
#pragma unroll
    for (int block = 0; block < TILE / 8; block++)
#pragma unroll
        for (int part = 0; part < n_sum_parts; part++) {
            const int2 im = *(const int2 *)&sums[part][8 * block + column];
#pragma unroll
            for (int b = 0; b < n_thread_rows; b++) {
                products.at[b][4 * block + 2] += im.x;
                products.at[b][4 * block + 3] += im.y;
            }
        }
}

/* Multiplies the spectra of one job. `first_row`: of the warpgroup. */
template <bool needs_all>
__device__ inline void
multiply_stages(int n_steps, Barriers &barriers, const char *stages, int u, bool is_square,
                int first_row, Turn &turn, Products &products)
{
    const char *columns = stages + u * unit_bytes;
    const char *rows = columns + (is_square ? 0 : side_bytes) + place_of(first_row);
    const uint64 first = ct_wgmma_matrix(columns, to_second, piece_bytes);
    const char *row = rows + thread_row();
    Fragments fragments[2];
    int last = -1;
    for (int step = 0; step < n_steps; step++) {
        const int offset = turn.stage * stage_bytes;
        ct_phases_wait(&barriers.full[turn.stage], turn.parity);
#pragma unroll
        for (int s = 0; s < n_slabs; s++) {
            load_rows(row + offset + s * slab_bytes, fragments[s % 2]);
            ct_wgmma_begin();
            multiply<needs_all>(fragments[s % 2], ct_wgmma_further(first, offset + s * slab_bytes),
                                products);
            ct_wgmma_commit();
            ct_wgmma_wait<1>();
            if (s == 0 && last >= 0)
                release(barriers, last);
        }
        last = turn.stage;
        turn.advance();
    }
    ct_wgmma_wait<0>();
#pragma unroll
    for (int b = 0; b < n_thread_rows; b++)
#pragma unroll
        for (int k = 0; k < TILE / 2; k++)
            ct_keep(products.at[b][k]);
    if (last >= 0) {
        add_columns(sums_of(stages, last).at[u], products);
        release(barriers, last);
    }
}

__device__ inline void
consume(int n_steps, Barriers &barriers, const char *stages, int u, bool is_square, bool needs_all,
        int first_row, Turn &turn, Products &products)
{
    if (needs_all)
        multiply_stages<true>(n_steps, barriers, stages, u, is_square, first_row, turn, products);
    else
        multiply_stages<false>(n_steps, barriers, stages, u, is_square, first_row, turn, products);
}

/* The sums of a row and two neighbours, (re, im, re, im). */
__device__ inline int4
find_pair(const Products &products, int block, int b)
{
    const int *sums = &products.at[b][4 * block];
    return {sums[0], sums[2], sums[1], sums[3]};
}

__device__ inline void
set_pair(Products &products, int block, int b, int4 pair)
{
    int *sums = &products.at[b][4 * block];
    sums[0] = pair.x;
    sums[2] = pair.y;
    sums[1] = pair.z;
    sums[3] = pair.w;
}

#define CORRELATE_KERNEL correlate_wgmma_blocks
#include "correlate-warpgroup-end.h"
