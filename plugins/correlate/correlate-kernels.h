/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of all pairs of inputs of one channel, summed over time, in tiles.
 *
 * An input is a polarisation of a station, m = s·n_pols + p. Inputs are divided into blocks of N,
 * the number of elements of a vector; sums are stored in tiles, one per pair of blocks, in an order
 * that only these files use:
 *
 *     square    block I > block J: sum[row r of I][re, im][column of J]
 *     diagonal  block I with itself: sum[d][re, im][m] of inputs m and m − d modulo N,
 *               0 ≤ d ≤ N/2: each pair once, none of the upper triangle
 *
 * Spectra are summed in chunks of CORRELATE_CHUNK, counted from the start of the integration, and
 * the chunks' sums are added to the running sums. A chunk that a call leaves unfinished is kept
 * separately and continued by the next call, so the result is the same, to the last bit, wherever
 * the stream was cut. The error of a real sum of T terms x·y + x·y in floating point of unit
 * roundoff u is therefore below (2·CORRELATE_CHUNK + T/CORRELATE_CHUNK)·u·Σ|x||y|. Integers are
 * exact. */
#pragma once

#include <cornerturn/isa.h>
#include <cornerturn/tensor.h>

#define CORRELATE_CHUNK 128

typedef enum {
    CORRELATE_F32,   /* cf32: single precision throughout */
    CORRELATE_F64,   /* cf32, cf64: double precision throughout */
    CORRELATE_PAIRS, /* ci4, ci8: products of 16 bits, sums of a chunk in 32, running sums in 64.
                        32,896 of the largest products, (a + b)(c − d) ≤ 256·255, fit; a chunk has
                        far fewer */
    CORRELATE_EXACT, /* ci16: products and sums of a chunk in double precision, exact because they
                        are whole numbers below 2^31·CORRELATE_CHUNK; running sums in 64 bits */
    CORRELATE_BYTES  /* ci4, ci8, of the sets that multiply bytes: sums of a chunk in 32 bits,
                        running  sums in 64. A visibility is at most 2·128·128 for each spectrum,
                        2^30  for  the 2^15 of a chunk; what goes beyond 32 bits on the way wraps
                        back
                      */
} CorrelateArithmetic;

/* The parameters that tuning sets. */
typedef struct {
    gsize rows;    /* of a cell that is summed in registers: 2, 4, 8; at most the elements of a
                      vector */
    gsize columns; /* … in vectors: 1, 2 */
    gsize spectra; /* processed by the cells at once, even */
    gsize few;     /* the most inputs for which the elements of a vector are times */
} CorrelateTuning;

typedef struct {
    CorrelateArithmetic arithmetic;
    CorrelateTuning tuning;
    CtType input;
    CtType output; /* cf32, cf64, ci64 */
    gsize n_stations;
    gsize n_pols;
    gsize n_inputs;
    gsize n_blocks;
    gboolean is_few;     /* uses correlate-few.h */
    gsize sums_bytes;    /* of one channel's sums; 64-byte aligned */
    gsize scratch_bytes; /* of one worker; 64-byte aligned */
} CorrelateShape;

/* The effective tuning, the same for all tunings with the same effect: values without effect on
 * this shape are those of `usual`. */
CorrelateTuning CT_ISA(correlate_effect)(const CorrelateTuning *tuning,
                                         const CorrelateTuning *usual, CtType input, CtType output,
                                         gsize n_inputs);

/* Sets arithmetic and sizes. FALSE where no kernel goes from input to output type. */
gboolean CT_ISA(correlate_shape)(CorrelateShape *shape, CtType input, CtType output,
                                 gsize n_stations, gsize n_pols, const CorrelateTuning *tuning);

/* Adds `n` spectra of one channel to its sums, which already contain `done` spectra of the
 * integration (0: sums begin anew and need not be cleared). Strides in bytes. */
void CT_ISA(correlate_accumulate)(const CorrelateShape *shape, const guint8 *voltages,
                                  gint64 time_stride, gint64 station_stride, gint64 pol_stride,
                                  gsize n, gsize done, void *sums, void *scratch);

/* Writes the visibilities of `done` spectra: baseline b of stations i ≥ j, row-wise, of
 * polarisations p of i and q of j. Strides in bytes. */
void CT_ISA(correlate_flush)(const CorrelateShape *shape, const void *sums, gsize done,
                             guint8 *visibilities, gint64 baseline_stride, gint64 p_stride,
                             gint64 q_stride, void *scratch);
