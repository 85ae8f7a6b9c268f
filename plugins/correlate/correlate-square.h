/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a range for products of tensor cores. Those of integers are parts, or are written, or
 * added to sums of 64 bits, or to open sums of 32 bits if those of the range fit these. Further
 * constants: EXACT, and those of correlate-device.h. */
#pragma once

#include "correlate-device.h"

#if EXACT
typedef ct_ci64 Kept;
#else
typedef ct_cf32 Kept;
#endif

/* Two rows of two neighbours. */
struct Square {
    Kept at[2][2];
};

/* Writes inputs m, m + 1 times c, c + 1. */
__device__ inline void
write_square(const CorrelatePiece &piece, char *to, int m, int c, const Square &square)
{
    struct alignas(16) Block {
        OUTPUT at[2][2];
    };
    if (N_POLS == 2 && piece.are_packed) {
        /* A baseline with all its polarisations. */
        const int i = m / 2, j = c / 2;
        if (i < j || i >= N_STATIONS)
            return;
        Block block;
#pragma unroll
        for (int k = 0; k < 4; k++)
            block.at[k / 2][k % 2] =
                element(OUTPUT(), square.at[k / 2][k % 2].re, square.at[k / 2][k % 2].im);
        /* Nothing is stored above the diagonal. */
        if (i == j) {
            block.at[0][1] = element(OUTPUT(), square.at[1][0].re, -square.at[1][0].im);
            for (int p = 0; p < 2 && !EXACT; p++)
                block.at[p][p] = element(OUTPUT(), square.at[p][p].re, (SUM)0);
        }
        *(Block *)(to + (int64)(i * (i + 1) / 2 + j) * piece.to_baseline) = block;
        return;
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
        write_product(piece, to, m + k / 2, c + k % 2, square.at[k / 2][k % 2].re,
                      square.at[k / 2][k % 2].im);
}

#if EXACT
/* The tile of a job begins here in the matrices. */
__device__ inline ct_ci32 *
open_of(const CorrelatePiece &piece, const Job &job)
{
    return (ct_ci32 *)piece.open + job.tile * tile_elements;
}

__device__ inline ct_ci64 *
sums_of(const CorrelatePiece &piece, const Job &job)
{
    return (ct_ci64 *)piece.sums + job.tile * tile_elements;
}

__device__ inline void
add_kept(Square &square, const ct_ci64 *kept)
{
#pragma unroll
    for (int k = 0; k < 4; k++) {
        square.at[k / 2][k % 2].re += kept[k / 2 * SQUARE + k % 2].re;
        square.at[k / 2][k % 2].im += kept[k / 2 * SQUARE + k % 2].im;
    }
}

__device__ inline int4
sum_of(int4 a, int4 b)
{
    return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

/* Ends a range for inputs i, i + 1 times j, j + 1 of the tile, `element` of it, which are written
 * or kept in 64 bits. */
__device__ inline void
finish_sums(const CorrelatePiece &piece, const Job &job, int i, int j, int element, bool is_kept,
            Square &square)
{
    ct_ci64 *kept = sums_of(piece, job) + element;
    if (piece.adds_sums)
        add_kept(square, kept);
    if (!is_kept) {
        write_square(piece, job.visibilities, job.i + i, job.j + j, square);
        return;
    }
#pragma unroll
    for (int n = 0; n < 4; n++)
        kept[n / 2 * SQUARE + n % 2] = square.at[n / 2][n % 2];
}

/* Ends a range for inputs i, i + 1 times j, j + 1 of the tile: rows of (re, im, re, im). */
__device__ inline void
finish_square(const CorrelatePiece &piece, const Job &job, int i, int j, int4 upper, int4 lower)
{
    const int element = element_at(i, j);
    int4 *open = (int4 *)(open_of(piece, job) + element);
    const bool is_kept = !piece.parts && !is_due(piece, job.range);
    if (piece.adds_open && !piece.parts) {
        upper = sum_of(upper, open[0]);
        lower = sum_of(lower, open[SQUARE / 2]);
    }
    if (piece.parts || (is_kept && piece.keeps_open)) {
        int4 *to = piece.parts ? (int4 *)((ct_ci32 *)piece.parts + part_of(job) + element) : open;
        to[0] = upper;
        to[SQUARE / 2] = lower;
        return;
    }
    Square square = {
        {{{upper.x, upper.y}, {upper.z, upper.w}}, {{lower.x, lower.y}, {lower.z, lower.w}}}};
    finish_sums(piece, job, i, j, element, is_kept, square);
}

/* Ends a range for input i times j, j + 1 of the tile, (re, im, re, im), which is written or kept
 * in 64 bits. */
__device__ inline void
finish_pair(const CorrelatePiece &piece, const Job &job, int i, int j, int4 pair)
{
    ct_ci64 *kept = sums_of(piece, job) + element_at(i, j);
    ct_ci64 sums[2] = {{pair.x, pair.y}, {pair.z, pair.w}};
#pragma unroll
    for (int k = 0; k < 2; k++) {
        if (piece.adds_sums) {
            sums[k].re += kept[k].re;
            sums[k].im += kept[k].im;
        }
        if (is_due(piece, job.range))
            write_product(piece, job.visibilities, job.i + i, job.j + j + k, sums[k].re,
                          sums[k].im);
        else
            kept[k] = sums[k];
    }
}
#else
/* Ends a range for input i times j, j + 1 of the tile, which is written. */
__device__ inline void
finish_pair(const CorrelatePiece &piece, const Job &job, int i, int j, float4 pair)
{
    write_product(piece, job.visibilities, job.i + i, job.j + j, pair.x, pair.y);
    write_product(piece, job.visibilities, job.i + i, job.j + j + 1, pair.z, pair.w);
}
#endif
