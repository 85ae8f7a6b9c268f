/* SPDX-License-Identifier: BSD-3-Clause */
/* Transforms of the columns of a matrix: neighbouring series, of which a vector holds one sample
 * each. Nothing is transposed. */
#pragma once

#include <cornerturn/isa.h>
#include <stddef.h>

#define FFT_MAX_PASSES 16
/* The most transforms that go together, for every instruction set. */
#define FFT_MAX_COLUMNS 16

/* Decimation in frequency: each pass works in place. A pass of radix r takes blocks of length r ·
 * m. From the elements j, j + m, … of a block it makes element j of each of r blocks of length m.
 */
typedef struct {
    size_t n;
    size_t n_passes;
    size_t radix[FFT_MAX_PASSES];
    const float *turns[FFT_MAX_PASSES]; /* [m][radix − 1][2] exp(−2πi j k / (radix · m)) */
    const int *in_row;                  /* [n] the row of x with element i of the first pass */
    const int *out_row;                 /* [n] the row of y for element i of the last pass */
    float scale;                        /* of the output; 1 costs no multiplication */
} FftColumns;

/* Transforms n_columns ≤ FFT_MAX_COLUMNS columns at a time: x[row][column] to y[row][column],
 * complex numbers, the columns side by side, steps in bytes from row to row. `scratch` holds n ·
 * FFT_MAX_COLUMNS complex numbers. */
void CT_ISA(ct_fft_columns)(const FftColumns *plan, const void *x, ptrdiff_t x_step, void *y,
                            ptrdiff_t y_step, size_t n_columns, float *scratch);
