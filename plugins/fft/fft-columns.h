/* SPDX-License-Identifier: BSD-3-Clause */
/* Transforms of the columns of a matrix: neighbouring series, of which a vector holds one sample
 * each. Nothing is transposed. */
#pragma once

#include <cornerturn/isa.h>
#include <stddef.h>

#define FFT_MAX_PASSES 16
/* Transforms that go together at most, whatever the instruction set. */
#define FFT_MAX_COLUMNS 16

/* Decimation in frequency, pass by pass in place: a pass of radix r takes blocks of length r · m,
 * and makes of elements j, j + m, … the elements j of r blocks of length m. */
typedef struct {
    size_t n;
    size_t n_passes;
    size_t radix[FFT_MAX_PASSES];
    const float *turns[FFT_MAX_PASSES]; /* [m][radix − 1][2] exp(−2πi j k / (radix · m)) */
    const int *in_row;                  /* [n] where the first pass finds element i */
    const int *out_row;                 /* [n] where the last pass puts what it makes at i */
    int swapped; /* exchange real and imaginary parts on both sides: the inverse transform */
    float scale; /* of the output; 1 is not multiplied with */
} FftColumns;

/* Transforms n_columns ≤ FFT_MAX_COLUMNS columns at a time: x[row][column] to y[row][column],
 * complex numbers, the columns side by side, steps in bytes from row to row. `scratch` holds n ·
 * FFT_MAX_COLUMNS complex numbers. */
void CT_ISA(ct_fft_columns)(const FftColumns *plan, const void *x, ptrdiff_t x_step, void *y,
                            ptrdiff_t y_step, size_t n_columns, float *scratch);
