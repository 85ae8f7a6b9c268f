/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of ci16 by limbs, exact.
 *
 * A part is 256 h + l, with a signed byte h and an unsigned byte l. Time and parts together are the
 * depth, as for inputs of 8 bits, and −x is ~x + 1 as there: of limbs, 256 (~h) + (255 − l) + 1.
 *
 * A range has at most 2^14 spectra, of each of which a sum has two products. |h h'| ≤ 2^14, so
 * their sum fits 32 bits. h l' and l h', of at most 128 · 255, go to one sum, which stays below
 * 2^14 · 4 · 128 · 255 < 2^31. Those of l l' stay below 2^14 · 2 · 255² < 2^31. */
#pragma once

#include "correlate-bytes.h"
#include "correlate-mma-words.h"

constexpr int group = 16;

struct Sums {
    int high[4], middle[4], low[4];
};

/* Products [A fragment][B fragment] and, for the rows of a thread, its share of Σ re_i. */
struct Products {
    Sums re[n_a][n_b], im[n_a][n_b];
    int rows[n_a][2];
};

/* ---- multiplying ---- */

/* Limbs of n registers, each with the parts of two spectra. */
template <int n> struct Limbs {
    unsigned high[n], low[n];
};

template <int n>
__device__ inline void
part(Limbs<n> &to, int k, unsigned x, unsigned y)
{
    to.high[k] = pick_bytes(x, y, 0x7531);
    to.low[k] = pick_bytes(x, y, 0x6420);
}

/* Each product waits for the last one of its sum. */
__device__ inline void
multiply_limbs(Sums &re, Sums &im, const Limbs<4> &a, const Limbs<2> &plain, const Limbs<2> &turned)
{
    ct_mma_s8_u8(re.middle, a.high, plain.low);
    ct_mma_s8_u8(im.middle, a.high, turned.low);
    ct_mma_s8(re.high, a.high, plain.high);
    ct_mma_s8(im.high, a.high, turned.high);
    ct_mma_u8_s8(re.middle, a.low, plain.high);
    ct_mma_u8_s8(im.middle, a.low, turned.high);
    ct_mma_u8(re.low, a.low, plain.low);
    ct_mma_u8(im.low, a.low, turned.low);
}

/* Multiplies a group. */
__device__ inline void
multiply(const char *rows, const char *columns, Products &products)
{
    Limbs<4> a[n_a];
#pragma unroll
    for (int e = 0; e < n_a; e++)
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const Neighbours<unsigned> x = load_rows<unsigned>(rows, e, 2 * k);
            const Neighbours<unsigned> y = load_rows<unsigned>(rows, e, 2 * k + 1);
#pragma unroll
            for (int row = 0; row < 2; row++) {
                part(a[e], 2 * k + row, x.at[row], y.at[row]);
                products.rows[e][row] += (int16)x.at[row] + (int16)y.at[row];
            }
        }
#pragma unroll
    for (int f = 0; f < n_b; f++) {
        Limbs<2> plain, turned;
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const unsigned x = load_column<unsigned>(columns, f, 2 * k);
            const unsigned y = load_column<unsigned>(columns, f, 2 * k + 1);
            part(plain, k, x, y);
            turned.high[k] = pick_bytes(plain.high[k], 0, 0x2301) ^ 0x00ff00ff;
            turned.low[k] = pick_bytes(plain.low[k], 0, 0x2301) ^ 0x00ff00ff;
        }
#pragma unroll
        for (int e = 0; e < n_a; e++)
            multiply_limbs(products.re[e][f], products.im[e][f], a[e], plain, turned);
    }
}

/* ---- sums ---- */

__device__ inline void
begin_range(const CorrelatePiece &, const Job &, int, int, Products &products)
{
    products = {};
}

__device__ inline int64
sum_of(const Sums &sums, int k)
{
    return (int64)sums.high[k] * 65536 + (int64)sums.middle[k] * 256 + sums.low[k];
}

/* Ends a range. */
__device__ inline void
finish_range(const CorrelatePiece &piece, const Job &job, int first_row, int first_column,
             Products &products, char *)
{
#pragma unroll
    for (int e = 0; e < n_a; e++)
#pragma unroll
        for (int row = 0; row < 2; row++) {
            products.rows[e][row] += __shfl_xor_sync(~0u, products.rows[e][row], 1);
            products.rows[e][row] += __shfl_xor_sync(~0u, products.rows[e][row], 2);
        }
    for_squares(first_row, first_column, [&](int e, int f, int i, int j) {
        Square square;
#pragma unroll
        for (int k = 0; k < 4; k++)
            square.at[k / 2][k % 2] = {sum_of(products.re[e][f], k),
                                       sum_of(products.im[e][f], k) + products.rows[e][k / 2]};
        const int element = element_at(i, j);
        if (!piece.parts) {
            finish_sums(piece, job, i, j, element, !is_due(piece, job.range), square);
            return;
        }
        ct_ci64 *to = (ct_ci64 *)piece.parts + part_of(job) + element;
#pragma unroll
        for (int k = 0; k < 4; k++)
            to[k / 2 * SQUARE + k % 2] = square.at[k / 2][k % 2];
    });
}
