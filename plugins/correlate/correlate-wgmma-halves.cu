/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of all pairs of inputs of cf16 by matrix instructions of a warpgroup, summed in single
 * precision.
 *
 * Stages hold spectra as they come: of an input, its parts are two rows of a matrix that is
 * contiguous along rows, (re, im, re, im, …), which are the columns of the product. Rows of the
 * product go through registers, so that thread 4 g + t of a warp has re and im of an input as rows
 * g and g + 8. It then holds all four sums of a pair, re_i re_j, re_i im_j, im_i re_j and im_i
 * im_j.
 *
 * A stage is a chunk. The four sums of blocks of 32 inputs times 32 others begin anew in each, one
 * block after the other, and are added to the running sums of V of all blocks, which stay in
 * registers: the next block is multiplied meanwhile. Blocks above the diagonal are left out. As for
 * warps, neither the spectra that an instruction sums nor the order of additions depend on where
 * the stream is cut. */
#include "correlate-copy.h"
#include "correlate-warpgroup.h"

/* Registers of a thread, on average those of the launch. */
constexpr int consumer_registers = TILE == 128 ? 240 : 216;
constexpr int producer_registers = 504 - 2 * consumer_registers;

static_assert(DEPTH == CHUNK && n_units == 1, "a stage is a chunk of one tile");

/* A stage is, of the columns and, if the rows are other inputs, of these, blocks of 32 inputs: 128
 * bytes of each spectrum, groups of pieces as ct_wgmma_matrix_of_groups describes them. */
constexpr int block_inputs = 32, spectrum_bytes = block_inputs * (int)sizeof(INPUT);
constexpr int block_bytes = DEPTH * spectrum_bytes;
constexpr int side_bytes = TILE / block_inputs * block_bytes;
constexpr int unit_bytes = n_sides * side_bytes, stage_bytes = unit_bytes;

/* The place in a side of spectrum t of input m. */
__device__ inline int
place_of(int m, int t)
{
    return m / block_inputs * block_bytes + t * spectrum_bytes +
           (m % block_inputs / copied ^ t % 8) * 16 + m % copied * (int)sizeof(INPUT);
}

/* ---- producers ---- */

/* A thread copies the same inputs of every `row_step`th spectrum, from both sides. */
constexpr int n_vectors = TILE / copied, row_step = n_producers / n_vectors;

static_assert(row_step <= 8 && 8 % row_step == 0, "the same places in every 8 spectra");

/* The spectra of a side of which a thread copies some inputs. */
struct Source {
    const char *from; /* of the next step that is full and has none left over */
    unsigned bytes;   /* 0: no such input */
    int m;
};

__device__ inline Source
make_source(const CorrelatePiece &piece, const Job &job, int first, int own, int row, int t)
{
    const int m = first + own;
    const bool is_there = m < n_inputs;
    return {is_there ? job.voltages + (int)sizeof(INPUT) * m + (row + t) * piece.from_time
                     : job.voltages,
            is_there ? 16u : 0u, m};
}

/* Starts the copies of a side of a step. */
__device__ inline void
copy_side(const CorrelatePiece &piece, const Job &job, Source &source, char *side, int row, int t,
          bool is_whole)
{
    const int64 apart = row_step * piece.from_time;
    const int own = threadIdx.x % n_vectors * copied;
    if (is_whole) {
        char *first = side + place_of(own, row), *second = side + place_of(own, row + 4);
        const char *from = source.from;
        const unsigned bytes = source.bytes;
#pragma unroll
        for (int r = 0; r < DEPTH; r += row_step, from += apart)
            ct_cp_async16_zfill((r % 8 != 0 ? second : first) + r / 8 * 8 * spectrum_bytes, from,
                                bytes);
        source.from = from;
        return;
    }
#pragma unroll 1
    for (int r = row; r < DEPTH; r += row_step)
        copy(piece, job, side + place_of(own, r), source.m, t + r);
}

/* Fills the stages with the spectra of one job. A stage is published when the copies of the next
 * one have started. */
__device__ inline void
produce(const CorrelatePiece &piece, const Job &job, Barriers &barriers, char *stages, int,
        Turn &turn)
{
    const int own = threadIdx.x % n_vectors * copied, row = (threadIdx.x - n_consumers) / n_vectors;
    const int n = count_steps(piece, job);
    const int first = (count_left(piece, job) + DEPTH - 1) / DEPTH;
    const int n_whole = piece.width == 16 ? job.n / DEPTH : 0;
    const bool is_square = job.i == job.j;
    Source columns = make_source(piece, job, job.j, own, row, first * DEPTH),
           rows = make_source(piece, job, job.i, own, row, first * DEPTH);
    int last = -1;
    for (int step = 0; step < n; step++) {
        const bool is_whole = step >= first && step < n_whole;
        char *stage = stages + turn.stage * stage_bytes;
        ct_phases_wait(&barriers.empty[turn.stage], turn.parity ^ 1);
        copy_side(piece, job, columns, stage, row, step * DEPTH, is_whole);
        if (n_sides == 2 && !is_square)
            copy_side(piece, job, rows, stage + side_bytes, row, step * DEPTH, is_whole);
        ct_cp_async_commit();
        if (last >= 0) {
            ct_cp_async_wait<1>();
            publish(barriers, last);
        }
        last = turn.stage;
        turn.advance();
    }
    ct_cp_async_wait<0>();
    if (last >= 0)
        publish(barriers, last);
}

/* ---- consumers ---- */

/* Rows of 32 inputs are multiplied at once; their inputs are `row_distance` apart, as are the
 * blocks of columns. */
constexpr int row_distance = block_inputs, n_thread_rows = group / row_distance, warp_rows = 8;
constexpr int block_columns = 2 * block_inputs, block_sums = block_columns / 2;

/* The running sums of a thread: of 8 columns re and im of one and, 4 columns further, of another.
 */
struct Products {
    float at[n_thread_rows][TILE / 8][4];
};

/* The rows of a chunk in registers, by 16 spectra. */
struct Fragments {
    unsigned at[DEPTH / 16][4];
};

/* `even`, `odd`: the thread's input in the first two of its spectra. */
__device__ inline void
load_rows(const char *even, const char *odd, Fragments &rows)
{
#pragma unroll
    for (int k = 0; k < DEPTH / 16; k++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            const int further = (2 * k + e) * 8 * spectrum_bytes;
            const unsigned x = *(const unsigned *)(even + further),
                           y = *(const unsigned *)(odd + further);
            rows.at[k][2 * e] = pick_bytes(x, y, 0x5410);
            rows.at[k][2 * e + 1] = pick_bytes(x, y, 0x7632);
        }
}

/* Starts the products of a chunk with a block of columns. */
__device__ inline void
multiply_block(const Fragments &rows, uint64 columns, float (&sums)[block_sums])
{
    ct_wgmma_begin();
#pragma unroll
    for (int k = 0; k < DEPTH / 16; k++)
        ct_wgmma_f16<block_columns, CT_ALONG_ROWS>(
            sums, rows.at[k], ct_wgmma_further(columns, k * 16 * spectrum_bytes), k > 0);
    ct_wgmma_commit();
}

/* Adds the four sums of each pair, rows re and im times columns re and im, to those of V. */
__device__ inline void
add_block(float (&sums)[block_sums], float (*running)[4])
{
#pragma unroll
    for (int k = 0; k < block_sums; k++)
        ct_keep(sums[k]);
#pragma unroll
    for (int c = 0; c < block_sums / 4; c++) {
        float &re = running[c / 2][c % 2 * 2], &im = running[c / 2][c % 2 * 2 + 1];
        re += sums[4 * c] + sums[4 * c + 3];
        im += sums[4 * c + 2] - sums[4 * c + 1];
        ct_keep(re);
        ct_keep(im);
    }
}

/* The rows of a warpgroup: of a tile off the diagonal, or one half of those of one on it. */
enum Share { OFF_DIAGONAL, UPPER, LOWER };

/* The blocks of columns that a block of rows needs. */
__device__ constexpr int
count_blocks(Share share, int row)
{
    return share == OFF_DIAGONAL ? TILE / block_inputs
                                 : (share == LOWER ? n_thread_rows : 0) + row + 1;
}

/* The number of blocks of a stage, and their rows and columns. */
__device__ constexpr int
count_all(Share share)
{
    int n = 0;
    for (int b = 0; b < n_thread_rows; b++)
        n += count_blocks(share, b);
    return n;
}

__device__ constexpr int
row_of(Share share, int k)
{
    return k < count_blocks(share, 0) ? 0 : 1;
}

__device__ constexpr int
column_of(Share share, int k)
{
    return row_of(share, k) == 0 ? k : k - count_blocks(share, 0);
}

/* Multiplies a stage. */
template <Share share>
__device__ inline void
multiply_stage(const char *even, const char *odd, uint64 columns, Products &products)
{
    constexpr int n = count_all(share);
    float sums[2][block_sums];
    Fragments rows[n_thread_rows];
#pragma unroll
    for (int k = 0; k <= n; k++) {
        const int b = row_of(share, k);
        if (k < n && column_of(share, k) == 0)
            load_rows(even + b * block_bytes, odd + b * block_bytes, rows[b]);
        if (k < n)
            multiply_block(rows[b], ct_wgmma_further(columns, column_of(share, k) * block_bytes),
                           sums[k % 2]);
        if (k == 0)
            continue;
        if (k < n)
            ct_wgmma_wait<1>();
        else
            ct_wgmma_wait<0>();
        add_block(sums[(k - 1) % 2],
                  products.at[row_of(share, k - 1)] + column_of(share, k - 1) * (block_inputs / 8));
    }
}

template <Share share>
__device__ inline void
multiply_stages(int n_steps, Barriers &barriers, const char *even, const char *odd, uint64 columns,
                Turn &turn, Products &products)
{
    for (int step = 0; step < n_steps; step++) {
        const int offset = turn.stage * stage_bytes;
        ct_phases_wait(&barriers.full[turn.stage], turn.parity);
        multiply_stage<share>(even + offset, odd + offset, ct_wgmma_further(columns, offset),
                              products);
        release(barriers, turn.stage);
        turn.advance();
    }
}

/* Between the columns of a product and pairs of neighbours, in both directions: of two threads, the
 * first gives its second columns and gets the first ones of the other. */
__device__ inline void
exchange(Products &products)
{
    const bool is_second = threadIdx.x % 2;
#pragma unroll
    for (int b = 0; b < n_thread_rows; b++)
#pragma unroll
        for (int block = 0; block < TILE / 8; block++)
#pragma unroll
            for (int part = 0; part < 2; part++) {
                float *sums = &products.at[b][block][part];
                const float other = __shfl_xor_sync(~0u, is_second ? sums[0] : sums[2], 1);
                sums[0] = is_second ? other : sums[0];
                sums[2] = is_second ? sums[2] : other;
            }
}

__device__ inline int
thread_column()
{
    return threadIdx.x % 2 * 4 + threadIdx.x % 4 / 2 * 2;
}

template <Share share>
__device__ inline void
consume(int n_steps, Barriers &barriers, const char *stages, int first_row, Turn &turn,
        Products &products)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
    const char *rows = stages + (share == OFF_DIAGONAL ? side_bytes : 0);
    const int m = first_row + warp * warp_rows + lane / 4, t = lane % 4 * 2;
    exchange(products);
    multiply_stages<share>(n_steps, barriers, rows + place_of(m, t), rows + place_of(m, t + 1),
                           ct_wgmma_matrix_of_groups(stages, 8 * spectrum_bytes, block_bytes), turn,
                           products);
    exchange(products);
}

/* The sums of a row and two neighbours, (re, im, re, im). */
__device__ inline float4
find_pair(const Products &products, int block, int b)
{
    const float *sums = products.at[b][block];
    return {sums[0], sums[1], sums[2], sums[3]};
}

__device__ inline void
set_pair(Products &products, int block, int b, float4 pair)
{
    float *sums = products.at[b][block];
    sums[0] = pair.x;
    sums[1] = pair.y;
    sums[2] = pair.z;
    sums[3] = pair.w;
}

#define CORRELATE_KERNEL correlate_wgmma_halves
#include "correlate-warpgroup-end.h"
