/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a range for products of tensor cores: squares of two inputs times two others, whose
 * sums of the range fit 32 bits, are parts, or are added to sums of 64 bits or written. Further
 * constants are those of correlate-device.h. */
#pragma once

#include "correlate-device.h"

/* Two rows of two neighbours. */
struct Square {
    ct_ci64 at[2][2];
};

__device__ inline void
add_kept(Square &square, const ct_ci64 *kept)
{
#pragma unroll
    for (int k = 0; k < 4; k++) {
        square.at[k / 2][k % 2].re += kept[k / 2 * TILE + k % 2].re;
        square.at[k / 2][k % 2].im += kept[k / 2 * TILE + k % 2].im;
    }
}

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
        if (i == j)
            block.at[0][1] = element(OUTPUT(), square.at[1][0].re, -square.at[1][0].im);
        *(Block *)(to + (int64)(i * (i + 1) / 2 + j) * piece.to_baseline) = block;
        return;
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
        write_product(piece, to, m + k / 2, c + k % 2, square.at[k / 2][k % 2].re,
                      square.at[k / 2][k % 2].im);
}

/* Ends a range for inputs i, i + 1 times j, j + 1 of the tile: rows of (re, im, re, im). */
__device__ inline void
finish_square(const CorrelatePiece &piece, const Job &job, int i, int j, int4 upper, int4 lower)
{
    const int element = i * TILE + j;
    if (piece.parts) {
        int4 *part = (int4 *)((ct_ci32 *)piece.parts + part_of(job) + element);
        part[0] = upper;
        part[TILE / 2] = lower;
        return;
    }
    ct_ci64 *kept = (ct_ci64 *)piece.sums + job.tile * tile_elements + element;
    Square square = {
        {{{upper.x, upper.y}, {upper.z, upper.w}}, {{lower.x, lower.y}, {lower.z, lower.w}}}};
    if (job.range.position > 0)
        add_kept(square, kept);
    if (is_due(piece, job.range)) {
        write_square(piece, job.visibilities, job.i + i, job.j + j, square);
        return;
    }
#pragma unroll
    for (int n = 0; n < 4; n++)
        kept[n / 2 * TILE + n % 2] = square.at[n / 2][n % 2];
}

/* Ends a range for input i times j, j + 1 of the tile: (re, im, re, im). */
__device__ inline void
finish_pair(const CorrelatePiece &piece, const Job &job, int i, int j, int4 pair)
{
    const int element = i * TILE + j;
    if (piece.parts) {
        *(int4 *)((ct_ci32 *)piece.parts + part_of(job) + element) = pair;
        return;
    }
    ct_ci64 *kept = (ct_ci64 *)piece.sums + job.tile * tile_elements + element;
    ct_ci64 sums[2] = {{pair.x, pair.y}, {pair.z, pair.w}};
#pragma unroll
    for (int k = 0; k < 2; k++) {
        if (job.range.position > 0) {
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
