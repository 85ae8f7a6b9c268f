/* SPDX-License-Identifier: BSD-3-Clause */
/* Fragments of inputs of 4 and 8 bytes, which threads read from shared memory as they are.
 *
 * Any order of the depth will do if it is that of both matrices, and any order of rows that the
 * sums are written by. So thread l of a warp, with g = l / 4 and t = l % 4, reads inputs 2 g and 2
 * g + 1 of spectra t, t + 4, … of A, as rows g and g + 8 of a fragment, and input g of B. It then
 * holds sums of two inputs times two others, which are written together. */
#pragma once

#include "correlate-mma.h"

template <typename Word> struct alignas(2 * sizeof(Word)) Neighbours {
    Word at[2];
};

__device__ inline int
find_rows(int lane, int first_row)
{
    return lane % 4 * row_bytes + (first_row + lane / 4 * 2) * input_bytes;
}

__device__ inline int
find_columns(int lane, int first_column)
{
    return lane % 4 * row_bytes + (first_column + lane / 4) * input_bytes;
}

/* Two inputs of fragment e of A, and one of fragment f of B, of the kth spectrum of the thread. */
template <typename Word>
__device__ inline Neighbours<Word>
load_rows(const char *rows, int e, int k)
{
    return *(const Neighbours<Word> *)(rows + 4 * k * row_bytes + 16 * e * input_bytes);
}

template <typename Word>
__device__ inline Word
load_column(const char *columns, int f, int k)
{
    return *(const Word *)(columns + 4 * k * row_bytes + 8 * f * input_bytes);
}

/* Calls each(e, f, i, j) for the thread's squares of two inputs times two others, the first of them
 * inputs i and j of the tile. */
template <typename Each>
__device__ inline void
for_squares(int first_row, int first_column, Each each)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int e = 0; e < n_a; e++)
#pragma unroll
        for (int f = 0; f < n_b; f++)
            each(e, f, first_row + 16 * e + lane / 4 * 2, first_column + 8 * f + lane % 4 * 2);
}
