/* SPDX-License-Identifier: BSD-3-Clause */
/* Inner loops of the polyphase filter: samples to float, and sums over taps. */
#pragma once

#include <cornerturn/isa.h>
#include <stddef.h>
#include <stdint.h>

/* Floats of the widest vector of any instruction set. Rows of taps are padded by so many floats. */
#define FIR_MAX_VECTOR 16
#define FIR_MAX_TAPS   64

/* Converts samples to the rows of y, which lie one after another and have n_floats each. The
 * samples of a row follow one another at x; the next row's are x_row bytes further. n_floats is
 * even for complex types. */
typedef void (*FirConvert)(void *y, const void *x, ptrdiff_t x_row, size_t n_rows, size_t n_floats);

/* One converter to float for each sample type that the filter reads, and two that leave samples of
 * one and of two bytes as they are. */
typedef struct {
    FirConvert i4, i8, i16, u8, f16, f32, copy_1, copy_2;
} FirConverters;

extern const FirConverters CT_ISA(ct_fir_converters);

/* raw[unit][sample] = x[sample][unit] for units of unit_bytes (1, 2, 4, 8 or 16). x_sample and
 * raw_unit are in bytes; the units of a sample, and the samples of raw, stand side by side. */
void CT_ISA(ct_fir_gather)(void *raw, size_t raw_unit, const void *x, ptrdiff_t x_sample,
                           size_t n_samples, size_t n_units, size_t unit_bytes);

/* y[t][e] = Σ_k h[k][(e0 + e) / repeat] x[t·x_step + k·tap_step + e], e < n_floats, t < n_outputs.
 * Steps and pitches are in elements. Each sum runs over k = 0, 1, … by fused multiply-adds,
 * wherever the stream was cut. Reads of h and x reach up to FIR_MAX_VECTOR elements past the last
 * one used. float_phase[j] = j / repeat for j < repeat + FIR_MAX_VECTOR. */
typedef struct {
    const float *h;
    size_t h_pitch, n_taps;
    const int *float_phase;
    size_t repeat, e0;
    const uint8_t *x;
    size_t x_bytes; /* of an element of x */
    ptrdiff_t x_step, tap_step;
    float *y;
    ptrdiff_t y_step;
    size_t n_floats, n_outputs;
    size_t block; /* outputs whose sums are in registers at the same time, at most: 4, 8, 16 */
    const size_t *places;
    size_t around;
} FirRows;

typedef void (*FirSum)(const FirRows *rows);

/* The rows are floats; or integers that become floats as they are loaded, with AVX2 or more. */
void CT_ISA(ct_fir_rows)(const FirRows *rows);
void CT_ISA(ct_fir_rows_i8)(const FirRows *rows);
void CT_ISA(ct_fir_rows_i16)(const FirRows *rows);

/* The rows are floats, but element e of output t stands at (places[t] + e) mod `around` of the row
 * that begins at y + t·y_step. Places are less than `around`, and n_floats is at most `around`. */
void CT_ISA(ct_fir_rows_apart)(const FirRows *rows);

/* As ct_fir_rows, for rows of 1, 2, 4, … floats, less than a vector has, which follow one another:
 * tap_step is n_floats. The elements of a vector are summed by themselves, then together. */
void CT_ISA(ct_fir_narrow)(const FirRows *rows);
