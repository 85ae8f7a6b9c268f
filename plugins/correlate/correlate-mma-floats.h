/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of cf16, and of cf32 whose parts are split, summed in single precision.
 *
 * Sums of CHUNK spectra are added to a running sum. Ranges begin with a chunk: spectra of one that
 * a piece leaves unfinished are kept as they are, and loaded again by the next. So neither the
 * spectra that an instruction sums nor the order of additions depend on where the stream is cut.
 *
 * Parts of cf16 are multiplied as they are, with time and parts as the depth: a row of A is
 * (re_i, im_i, …), and a column of B (re_j, im_j, …) or (−im_j, re_j, …).
 *
 * A part x of cf32 is made two numbers of tf32, of 11 bits each: `large`, x rounded, and `small`,
 * the rest, cut. Of the four products of two parts, that of the small ones is left out. A
 * product of complex numbers takes three products of parts, of a + b i and conj(c + d i):
 *
 *     a c + b d,   (a + b) (c − d) − a c + b d.
 */
#pragma once

#include "correlate-bytes.h"
#include "correlate-mma-words.h"

constexpr bool is_split = sizeof(INPUT) == 8;
constexpr int n_sums = is_split ? 3 : 2;
constexpr int group = 8;

static_assert(n_b % 2 == 0, "fragments of B are multiplied in pairs");
static_assert(CHUNK % DEPTH == 0, "a chunk is whole stages");

/* The sums of a chunk: re and im, or those of the three products. */
struct Products {
    float at[n_sums][n_a][n_b][4];
    float running[2][n_a][n_b][4];
};

/* ---- multiplying ---- */

/* Multiplies a group of cf16; the registers of a thread have the halves of one spectrum each. */
__device__ inline void
multiply_halves(const char *rows, const char *columns, Products &products)
{
    unsigned a[n_a][4];
#pragma unroll
    for (int e = 0; e < n_a; e++)
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const Neighbours<unsigned> x = load_rows<unsigned>(rows, e, k);
            a[e][2 * k] = x.at[0];
            a[e][2 * k + 1] = x.at[1];
        }
#pragma unroll
    for (int f = 0; f < n_b; f++) {
        const unsigned plain[2] = {load_column<unsigned>(columns, f, 0),
                                   load_column<unsigned>(columns, f, 1)};
        const unsigned turned[2] = {pick_bytes(plain[0], 0, 0x1032) ^ 0x8000,
                                    pick_bytes(plain[1], 0, 0x1032) ^ 0x8000};
#pragma unroll
        for (int e = 0; e < n_a; e++) {
            ct_mma_f16(products.at[0][e][f], a[e], plain);
            ct_mma_f16(products.at[1][e][f], a[e], turned);
        }
    }
}

/* n real numbers, each in two of tf32, whose last 13 bits are cut. */
template <int n> struct Split {
    unsigned large[n], small[n];
};

template <int n>
__device__ inline void
split(Split<n> &to, int k, float x)
{
    constexpr unsigned half = 0x1000;
    to.large[k] = (__float_as_uint(x) + half) & ~(2 * half - 1);
    to.small[k] = __float_as_uint(x - __uint_as_float(to.large[k]));
}

__device__ inline float
factor_of_row(int product, ct_cf32 x)
{
    return product == 0 ? x.re : product == 1 ? x.im : x.re + x.im;
}

__device__ inline float
factor_of_column(int product, ct_cf32 x)
{
    return product == 0 ? x.re : product == 1 ? x.im : x.re - x.im;
}

/* Multiplies with fragments f and f + 1 of B. Each product waits for the last one of its sum. */
__device__ inline void
multiply_parts(float (&sums)[n_a][n_b][4], int f, const Split<4> (&a)[n_a], const Split<2> (&b)[2])
{
#pragma unroll
    for (int term = 0; term < 3; term++)
#pragma unroll
        for (int k = 0; k < 2; k++)
#pragma unroll
            for (int e = 0; e < n_a; e++)
                ct_mma_tf32(sums[e][f + k], term == 0 ? a[e].small : a[e].large,
                            term == 1 ? b[k].small : b[k].large);
}

/* Multiplies a group of cf32. */
__device__ inline void
multiply_split(const char *rows, const char *columns, Products &products)
{
    Neighbours<ct_cf32> x[n_a][2];
    ct_cf32 y[n_b][2];
#pragma unroll
    for (int k = 0; k < 2; k++) {
#pragma unroll
        for (int e = 0; e < n_a; e++)
            x[e][k] = load_rows<ct_cf32>(rows, e, k);
#pragma unroll
        for (int f = 0; f < n_b; f++)
            y[f][k] = load_column<ct_cf32>(columns, f, k);
    }
#pragma unroll
    for (int product = 0; product < 3; product++) {
        Split<4> a[n_a];
#pragma unroll
        for (int e = 0; e < n_a; e++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                split(a[e], k, factor_of_row(product, x[e][k / 2].at[k % 2]));
#pragma unroll
        for (int f = 0; f < n_b; f += 2) {
            Split<2> b[2];
#pragma unroll
            for (int k = 0; k < 4; k++)
                split(b[k / 2], k % 2, factor_of_column(product, y[f + k / 2][k % 2]));
            multiply_parts(products.at[product], f, a, b);
        }
    }
}

__device__ inline void
multiply(const char *rows, const char *columns, Products &products)
{
    if constexpr (is_split)
        multiply_split(rows, columns, products);
    else
        multiply_halves(rows, columns, products);
}

/* ---- sums ---- */

/* Two rows of two neighbours, re and im of one after the other. */
__device__ inline float4 *
sums_at(void *matrices, int64 first, int i, int j)
{
    return (float4 *)((ct_cf32 *)matrices + first + element_at(i, j));
}

/* Begins a range with the sums that the last piece kept of its integration. */
__device__ inline void
begin_range(const CorrelatePiece &piece, const Job &job, int first_row, int first_column,
            Products &products)
{
    products = {};
    if (piece.parts || job.range.position == 0)
        return;
    for_squares(first_row, first_column, [&](int e, int f, int i, int j) {
        const float4 *from = sums_at(piece.sums, job.tile * tile_elements, i, j);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float4 sums = from[half * SQUARE / 2];
            float *re = &products.running[0][e][f][2 * half];
            float *im = &products.running[1][e][f][2 * half];
            re[0] = sums.x;
            im[0] = sums.y;
            re[1] = sums.z;
            im[1] = sums.w;
        }
    });
}

/* Adds the sums of a chunk to the running ones. */
__device__ inline void
add_chunk(Products &products)
{
#pragma unroll
    for (int e = 0; e < n_a; e++)
#pragma unroll
        for (int f = 0; f < n_b; f++)
#pragma unroll
            for (int k = 0; k < 4; k++) {
                float re = products.at[0][e][f][k], im = products.at[1][e][f][k];
                if constexpr (is_split) {
                    const float difference = re - im;
                    re += im;
                    im = products.at[2][e][f][k] - difference;
                }
                products.running[0][e][f][k] += re;
                products.running[1][e][f][k] += im;
#pragma unroll
                for (int s = 0; s < n_sums; s++)
                    products.at[s][e][f][k] = 0;
            }
}

/* Ends a range. */
__device__ inline void
finish_range(const CorrelatePiece &piece, const Job &job, int first_row, int first_column,
             Products &products, char *)
{
    add_chunk(products);
    const bool is_written = !piece.parts && is_due(piece, job.range);
    void *matrices = piece.parts ? piece.parts : piece.sums;
    const int64 first = piece.parts ? part_of(job) : job.tile * tile_elements;
    for_squares(first_row, first_column, [&](int e, int f, int i, int j) {
        Square square;
#pragma unroll
        for (int k = 0; k < 4; k++)
            square.at[k / 2][k % 2] = {products.running[0][e][f][k], products.running[1][e][f][k]};
        if (is_written) {
            write_square(piece, job.visibilities, job.i + i, job.j + j, square);
            return;
        }
        float4 *to = sums_at(matrices, first, i, j);
#pragma unroll
        for (int half = 0; half < 2; half++)
            to[half * SQUARE / 2] = {square.at[half][0].re, square.at[half][0].im,
                                     square.at[half][1].re, square.at[half][1].im};
    });
}
