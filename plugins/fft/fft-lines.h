/* SPDX-License-Identifier: BSD-3-Clause */
/* Transforms of samples that lie side by side: a vector holds neighbouring samples of one. */
#pragma once

#include <cornerturn/isa.h>
#include <stddef.h>

/* Decimation in frequency, as in FftColumns, with vectors of 16 numbers. The last pass is of
 * radix 16. It takes 16 blocks whose channels are neighbours, and transposes them. In transforms of
 * 256 numbers or more, these are blocks of one transform, since the first pass has radix 16 as
 * well; those of 64 and 128 have one pass before, and the blocks are those of several transforms.
 */
#define FFT_LANES           16
#define FFT_MAX_LINE_PASSES 7

typedef struct {
    size_t n;
    size_t n_passes;
    size_t radix[FFT_MAX_LINE_PASSES];
    /* [m / 16][radix − 1][2][16] real and imaginary parts of exp(−2πi j k / (radix · m)), in the
     * order of the lanes; the last pass has none */
    const float *turns[FFT_MAX_LINE_PASSES];
    const int *channel; /* [n / 256] the first channel made of each block of the last pass */
    int is_inverse;     /* the conjugate, by exchanging real and imaginary parts */
    float scale;        /* of the inverse */
    size_t shift_in, shift_out; /* n / 2 where the zero frequency is in the middle, otherwise 0 */
} FftLines;

/* The element of 16 neighbouring ones that a lane holds. */
static inline size_t
fft_line_element(size_t lane)
{
    return lane % 4 / 2 * 8 + lane / 4 * 2 + lane % 2;
}

/* The vectors from a block of the first pass, of which there are 16, to the next one in scratch. If
 * blocks were a multiple of 2 KiB apart, vectors of all would fall on the same few places of the
 * first-level cache. */
static inline size_t
fft_line_apart(size_t n)
{
    const size_t length = n / (FFT_LANES * FFT_LANES);

    return length + (length % 16 == 0);
}

/* The complex numbers of scratch. */
static inline size_t
fft_line_scratch(size_t n)
{
    const size_t square = FFT_LANES * FFT_LANES;

    return n < square ? 2 * square : fft_line_apart(n) * square;
}

/* Transforms n_lines lines of n complex numbers, which are steps of bytes apart. `scratch` is
 * aligned to a vector. */
void CT_ISA(ct_fft_lines)(const FftLines *plan, const void *x, ptrdiff_t x_step, void *y,
                          ptrdiff_t y_step, size_t n_lines, float *scratch);
