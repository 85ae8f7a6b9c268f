/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of inputs of 8 and 4 bits, exact.
 *
 * With time and parts together as the depth, a row of A is (re_i, im_i, re_i', im_i', …) and
 *
 *     Σ re V = A · (re_j, im_j, …),   Σ im V = A · (~im_j, re_j, …) + Σ re_i,
 *
 * since ~x = −x − 1: the negative of −128 does not fit 8 bits. Sums of up to
 * 65535 spectra fit 32 bits; the host gives a range at most 2^15. Sums kept between ranges have 64
 * bits.
 *
 * Taking an input's two bytes as one element, ldmatrix transposes 8 spectra of 8 inputs to the
 * order of a fragment, [input][spectrum]. If time is in blocks, they are in this order already. */
#pragma once

#include "correlate-blocks.h"
#include "correlate-mma.h"

/* Spectra that are multiplied at once. */
constexpr int group = 16;

static_assert(n_b % 2 == 0, "fragments are loaded in pairs");

/* Products [A fragment][B fragment] and, for the rows of a thread, its share of Σ re_i. */
struct Products {
    int re[n_a][n_b][4], im[n_a][n_b][4];
    int rows[n_a][2];
};

/* From 16 inputs to the next ones in shared memory. */
constexpr int inputs_bytes = has_blocks ? 512 : 32;

/* The row that a thread reads of four matrices of 8 spectra and 8 inputs from input m on, its own
 * matrix being that of these spectra and inputs. */
__device__ inline int
find_row(int lane, int m, int of_spectra, int of_inputs)
{
    const int row = has_blocks ? of_inputs * 256 + of_spectra * 128 + lane % 8 * 16
                               : (lane % 8 + of_spectra * 8) * row_bytes + of_inputs * 16;
    return m / 16 * inputs_bytes + row;
}

/* For A, matrices go along inputs first, then along spectra; for B the reverse. */
__device__ inline int
find_rows(int lane, int first_row)
{
    return find_row(lane, first_row, lane / 16, lane / 8 % 2);
}

__device__ inline int
find_columns(int lane, int first_column)
{
    return find_row(lane, first_column, lane / 8 % 2, lane / 16);
}

/* ---- multiplying ---- */

__device__ inline void
load_matrices(unsigned registers[4], const char *row)
{
    if (has_blocks)
        ct_ldmatrix4(registers, row);
    else
        ct_ldmatrix4_transposed(registers, row);
}

/* Multiplies a group. `rows` and `columns`: the thread's row of the first matrices. */
__device__ inline void
multiply(const char *rows, const char *columns, Products &products)
{
    unsigned a[n_a][4], b[n_b / 2][4];
#pragma unroll
    for (int e = 0; e < n_a; e++)
        load_matrices(a[e], rows + inputs_bytes * e);
#pragma unroll
    for (int f = 0; f < n_b / 2; f++)
        load_matrices(b[f], columns + inputs_bytes * f);
#pragma unroll
    for (int e = 0; e < n_a; e++)
#pragma unroll
        for (int k = 0; k < 4; k++)
            products.rows[e][k % 2] = add_even_bytes(a[e][k], products.rows[e][k % 2]);
#pragma unroll
    for (int f = 0; f < n_b; f++) {
        const unsigned *plain = &b[f / 2][f % 2 * 2];
        const unsigned turned[2] = {pick_bytes(plain[0], 0, 0x2301) ^ 0x00ff00ff,
                                    pick_bytes(plain[1], 0, 0x2301) ^ 0x00ff00ff};
#pragma unroll
        for (int e = 0; e < n_a; e++) {
            ct_mma_s8(products.re[e][f], a[e], plain);
            ct_mma_s8(products.im[e][f], a[e], turned);
        }
    }
}

/* ---- sums ---- */

/* Adds up Σ re_i over the threads of a warp that share rows. */
__device__ inline void
share_rows(Products &products)
{
#pragma unroll
    for (int e = 0; e < n_a; e++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            products.rows[e][half] += __shfl_xor_sync(~0u, products.rows[e][half], 1);
            products.rows[e][half] += __shfl_xor_sync(~0u, products.rows[e][half], 2);
        }
}

/* Writes the products of A fragment e to 16 rows of shared memory that only this warp uses; the
 * rows of neighbouring threads are half of the banks apart. */
constexpr int shared_row_bytes = 8 * WARP_J + 64;
constexpr int shared_rows_bytes = 16 * shared_row_bytes;

__device__ inline void
share_fragment(const Products &products, int e, char *rows)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = products.rows[e][half];
        char *to = rows + (8 * half + lane / 4) * shared_row_bytes + lane % 4 * 16;
#pragma unroll
        for (int f = 0; f < n_b; f++) {
            const int *re = &products.re[e][f][2 * half], *im = &products.im[e][f][2 * half];
            *(int4 *)(to + f * 64) = {re[0], im[0] + row, re[1], im[1] + row};
        }
    }
}

/* Ends a range for a fragment. */
__device__ inline void
finish_fragment(const CorrelatePiece &piece, const Job &job, int first_row, int first_column, int e,
                const char *rows)
{
#pragma unroll 1
    for (int k = threadIdx.x % 32; k < 8 * (WARP_J / 2); k += 32) {
        const int g = k / (WARP_J / 2), column = k % (WARP_J / 2) * 2;
        const char *from = rows + 2 * g * shared_row_bytes + column * 8;
        const int4 upper = *(const int4 *)from, lower = *(const int4 *)(from + shared_row_bytes);
        const int i = first_row + 16 * e + 2 * g, j = first_column + column;
        finish_square(piece, job, i, j, upper, lower);
    }
}

__device__ inline void
begin_range(const CorrelatePiece &, const Job &, int, int, Products &products)
{
    products = {};
}

/* Ends a range. `shared`: of the block, no longer in use. */
__device__ inline void
finish_range(const CorrelatePiece &piece, const Job &job, int first_row, int first_column,
             Products &products, char *shared)
{
    share_rows(products);
    char *rows = shared + threadIdx.x / 32 * shared_rows_bytes;
#pragma unroll
    for (int e = 0; e < n_a; e++) {
        share_fragment(products, e, rows);
        __syncwarp();
        finish_fragment(piece, job, first_row, first_column, e, rows);
        __syncwarp();
    }
}
