/* SPDX-License-Identifier: BSD-3-Clause */
/* Warpgroups: tiles of 128 inputs. With time and parts together as the depth, a row of A is
 * (re_i, im_i, re_i', im_i', …) and
 *
 *     Σ re V = A · (re_j, im_j, …),   Σ im V = A · (~im_j, re_j, …) + Σ re_i,
 *
 * since ~x = −x − 1: the negative of −128 does not fit 8 bits.
 *
 * Spectra are copied to a stage as they are, [spectrum][input]. Taking an input's two bytes as one
 * element, ldmatrix transposes 8 spectra of 8 inputs: the rows on their way to the registers of
 * consumers, the columns to those of producers, which store both matrices of them. Copies are
 * started some stages ahead, also those of the next job. */
#pragma once

#include "correlate-copy.h"

constexpr int n_producers = 128, n_threads = n_consumers + n_producers;
/* Registers of a thread, on average those of the launch. */
constexpr int consumer_registers = 208, producer_registers = 88;

/* A stage: spectra of the columns, then, if the rows are other inputs, theirs; the matrices of the
 * columns; nibbles before they are expanded. Spectra begin in different banks. */
constexpr int pitch = 2 * TILE + 16;
constexpr int side_bytes = DEPTH * pitch;
constexpr int nibble_bytes = DEPTH * TILE;
/* A piece is 8 spectra of 8 inputs. The matrices have those of all inputs of 8 spectra one behind
 * the other: for each group of inputs those of re V, then those of im V. */
constexpr int piece_spectra = 8, piece_bytes = 128;
constexpr int group_pieces = group / 8;
constexpr int slab_bytes = 2 * n_groups * group_pieces * piece_bytes;
constexpr int matrices_at = n_sides * side_bytes;
constexpr int nibbles_at = matrices_at + DEPTH / piece_spectra * slab_bytes;
constexpr int stage_bytes = nibbles_at + (IS_NIBBLES ? n_sides * nibble_bytes : 0);
constexpr int unit_bytes = stage_bytes;
/* Stages that are copied ahead of the one whose matrices are made. */
constexpr int n_ahead = STAGES / 2;

static_assert(n_units == 1 && DEPTH == piece_spectra * n_producers / 32, "8 spectra for each warp");

/* ---- producers ---- */

/* The vectors of 16 bytes of a spectrum, and the spectra that a warp copies at once. */
constexpr int n_vectors = TILE / n_copied;
constexpr int n_at_once = 32 / n_vectors;

/* The copies in progress are those of the stages up to this one. */
struct Loader {
    Job job;
    unsigned round; /* the next one */
    int step, n_steps;
    Turn turn;
};

/* Goes on to the next job that has spectra. FALSE after the last one. */
__device__ inline bool
find_step(const CorrelatePiece &piece, Loader &loader)
{
    while (loader.step == loader.n_steps) {
        if (loader.round == count_rounds(piece))
            return false;
        const unsigned k = find_turn(loader.round++);
        if (k >= count_jobs(piece))
            continue;
        loader.job = find_job(piece, k);
        loader.step = 0;
        loader.n_steps = count_steps(piece, loader.job);
        if (goes_on(piece))
            prefetch_open(piece, loader.job, threadIdx.x - n_consumers, n_producers);
    }
    return true;
}

/* The spectra of a stage that this warp copies and transposes begin here. */
__device__ inline int
first_spectrum()
{
    return (threadIdx.x - n_consumers) / 32 * piece_spectra;
}

/* Starts the copies of a step. */
__device__ inline void
load(const CorrelatePiece &piece, const Loader &loader, char *stage)
{
    constexpr int to_pitch = IS_NIBBLES ? TILE : pitch;
    constexpr int to_side = IS_NIBBLES ? nibble_bytes : side_bytes;
    const int m = threadIdx.x % n_vectors * n_copied;
    const int t = first_spectrum() + threadIdx.x % 32 / n_vectors;
    char *to = stage + (IS_NIBBLES ? nibbles_at : 0) + t * to_pitch + m * (int)sizeof(INPUT);
#pragma unroll
    for (int side = 0; side < n_sides; side++) {
        if (side == 1 && loader.job.i == loader.job.j)
            continue;
#pragma unroll
        for (int k = 0; k < piece_spectra; k += n_at_once)
            copy(piece, loader.job, to + side * to_side + k * to_pitch,
                 (side == 0 ? loader.job.j : loader.job.i) + m, loader.step * DEPTH + t + k);
    }
}

#if IS_NIBBLES
/* The nibbles of 4 inputs as 8 bytes. */
__device__ inline void
expand_word(unsigned x, unsigned &first, unsigned &second)
{
    const unsigned re = x & 0xf0f0f0f0, im = x << 4 & 0xf0f0f0f0;
    first = pick_bytes(re, im, 0x5140);
    second = pick_bytes(re, im, 0x7362);
}

/* Expands what this thread has copied. */
__device__ inline void
expand(char *stage)
{
    const int m = threadIdx.x % n_vectors * n_copied;
    const int t = first_spectrum() + threadIdx.x % 32 / n_vectors;
#pragma unroll
    for (int side = 0; side < n_sides; side++)
#pragma unroll
        for (int k = 0; k < piece_spectra; k += n_at_once) {
            const uint4 x =
                *(const uint4 *)(stage + nibbles_at + side * nibble_bytes + (t + k) * TILE + m);
            uint4 *to = (uint4 *)(stage + side * side_bytes + (t + k) * pitch + 2 * m);
            uint4 bytes[2];
            expand_word(x.x, bytes[0].x, bytes[0].y);
            expand_word(x.y, bytes[0].z, bytes[0].w);
            expand_word(x.z, bytes[1].x, bytes[1].y);
            expand_word(x.w, bytes[1].z, bytes[1].w);
            to[0] = bytes[0];
            to[1] = bytes[1];
        }
}
#endif

/* Makes the matrices of the columns from the warp's spectra. */
__device__ inline void
make_matrices(char *stage)
{
    const int lane = threadIdx.x % 32;
    const char *from = stage + (first_spectrum() + lane % 8) * pitch + lane / 8 * 16;
    char *to = stage + matrices_at + first_spectrum() / piece_spectra * slab_bytes + lane * 4;
#pragma unroll
    for (int first = 0; first < TILE / 8; first += 4) {
        unsigned plain[4];
        ct_ldmatrix4_transposed(plain, from + first * 16);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int p = first + k;
            char *at = to + (p / group_pieces * 2 * group_pieces + p % group_pieces) * piece_bytes;
            *(unsigned *)at = plain[k];
            *(unsigned *)(at + group_pieces * piece_bytes) =
                pick_bytes(plain[k], 0, 0x2301) ^ 0x00ff00ff;
        }
    }
}

/* Completes the oldest stage whose copies have been waited for. */
__device__ inline void
complete(Barriers &barriers, char *stages, Turn &turn)
{
    char *stage = stages + turn.stage * stage_bytes;
#if IS_NIBBLES
    expand(stage);
#endif
    __syncwarp();
    make_matrices(stage);
    ct_wgmma_publish();
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        ct_phases_arrive(&barriers.full[turn.stage]);
    advance(turn);
}

__device__ inline void
run_producers(const CorrelatePiece &piece, Barriers &barriers, char *stages)
{
    Loader loader = {};
    Turn turn = {0, 0};
    int n_loaded = 0;
    for (; find_step(piece, loader); loader.step++, advance(loader.turn)) {
        ct_phases_wait(&barriers.empty[loader.turn.stage], loader.turn.parity ^ 1);
        load(piece, loader, stages + loader.turn.stage * stage_bytes);
        ct_cp_async_commit();
        if (n_loaded == n_ahead) {
            ct_cp_async_wait<n_ahead>();
            complete(barriers, stages, turn);
        } else {
            n_loaded++;
        }
    }
    ct_cp_async_wait<0>();
    for (; n_loaded > 0; n_loaded--)
        complete(barriers, stages, turn);
}

/* ---- consumers ---- */

/* The sums of a thread, as ct_wgmma_s8 has them: for each group of columns of re V, then of im V;
 * and its share of Σ re_i. */
constexpr int n_sums = TILE, n_group_sums = group / 2;
/* The inputs that a thread has in its warp's rows, 8 apart. */
constexpr int n_thread_rows = 2;
constexpr int warp_rows = 8 * n_thread_rows;
/* The depth of a product in spectra. */
constexpr int product_spectra = 16;
constexpr int n_products = DEPTH / product_spectra;

struct Products {
    int at[n_sums];
    int rows[2];
};

/* Where the sum of a thread's row h and column 8 block + x is: re V, and im V. */
__device__ inline int
re_at(int block, int h, int x)
{
    return block / group_pieces * 2 * n_group_sums + block % group_pieces * 4 + 2 * h + x;
}

__device__ inline int
im_at(int block, int h, int x)
{
    return re_at(block, h, x) + n_group_sums;
}

__device__ inline ct_ci32
find_sum(const Products &products, int block, int h, int x)
{
    return {products.at[re_at(block, h, x)], products.at[im_at(block, h, x)] + products.rows[h]};
}

/* The rows of a stage in the registers of a thread. */
struct Rows {
    unsigned at[n_products][4];
};

__device__ inline void
add_rows(const Rows &rows, Products &products)
{
#pragma unroll
    for (int k = 0; k < n_products; k++)
#pragma unroll
        for (int r = 0; r < 4; r++)
            products.rows[r % 2] = add_even_bytes(rows.at[k][r], products.rows[r % 2]);
}

/* Adds up Σ re_i over the threads that share rows. */
__device__ inline void
share_rows(Products &products)
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        products.rows[h] += __shfl_xor_sync(~0u, products.rows[h], 1);
        products.rows[h] += __shfl_xor_sync(~0u, products.rows[h], 2);
    }
}

/* Starts the products of a stage. `from`: the thread's row of the first matrices of the rows. */
template <bool needs_all>
__device__ inline void
multiply(const char *from, uint64 columns, Rows &rows, Products &products)
{
#pragma unroll
    for (int k = 0; k < n_products; k++)
        ct_ldmatrix4_transposed(rows.at[k], from + k * product_spectra * pitch);
    ct_wgmma_begin();
#pragma unroll
    for (int k = 0; k < n_products; k++)
        ct_wgmma_s8<2 * (needs_all ? TILE : group)>(
            products.at, rows.at[k],
            ct_wgmma_further(columns, k * product_spectra / piece_spectra * slab_bytes));
    ct_wgmma_commit();
}

/* Multiplies the spectra of one job. `side`, `first`: of the rows. `needs_all`: all columns, not
 * only those of the first group. Rows of one step are in use while those of the next are read. */
template <bool needs_all>
__device__ inline void
consume(int n_steps, Barriers &barriers, const char *stages, int side, int first, Turn &turn,
        Products &products)
{
    const int lane = threadIdx.x % 32, row = first + threadIdx.x % 128 / 32 * warp_rows;
    const char *from = stages + side * side_bytes + (lane % 8 + lane / 16 * 8) * pitch + 2 * row +
                       lane / 8 % 2 * 16;
    const uint64 columns = ct_wgmma_matrix(stages + matrices_at, slab_bytes, piece_bytes);
    Rows rows[2];
    int last = -1;
    products.rows[0] = products.rows[1] = 0;
    for (int step = 0; step < n_steps; step += 2) {
#pragma unroll
        for (int e = 0; e < 2; e++) {
            if (step + e == n_steps)
                break;
            const int offset = turn.stage * stage_bytes;
            ct_phases_wait(&barriers.full[turn.stage], turn.parity);
            multiply<needs_all>(from + offset, ct_wgmma_further(columns, offset), rows[e],
                                products);
            add_rows(rows[e], products);
            ct_wgmma_wait<1>();
            if (last >= 0)
                release(barriers, last);
            last = turn.stage;
            advance(turn);
        }
    }
    ct_wgmma_wait<0>();
    if (last >= 0)
        release(barriers, last);
#pragma unroll
    for (int k = 0; k < n_sums; k++)
        ct_keep(products.at[k]);
    share_rows(products);
}
