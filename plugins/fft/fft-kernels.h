/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves samples between blocks in any order and transforms that lie one after another. */
#pragma once

#include <cornerturn/isa.h>
#include <stddef.h>

/* to[i][j] = from[j][i] for i < n_to, j < n_from, elements of 4, 8 or 16 bytes; pitches in bytes,
 * from one i to the next in `to`, from one j to the next in `from`. */
void CT_ISA(ct_fft_transpose)(void *to, ptrdiff_t to_pitch, const void *from, ptrdiff_t from_pitch,
                              size_t n_to, size_t n_from, size_t element_bytes);

/* to[i·to_step] = from[i·from_step], steps in bytes. */
void CT_ISA(ct_fft_move)(void *to, ptrdiff_t to_step, const void *from, ptrdiff_t from_step,
                         size_t n, size_t element_bytes);

/* x[i] = x[i] · scale. */
void CT_ISA(ct_fft_scale_float)(float *x, size_t n, float scale);
void CT_ISA(ct_fft_scale_double)(double *x, size_t n, double scale);
