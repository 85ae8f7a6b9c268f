/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of all pairs of inputs of one channel, summed over time, in tiles.
 *
 * An input is a polarisation of a station, m = s·n_pols + p. Inputs are taken in blocks of as many
 * as a vector has lanes; sums stand in tiles, one per pair of blocks, in an order that only these
 * files know:
 *
 *     square    block I > block J: sum[row r of I][re, im][lane of J]
 *     diagonal  block I with itself: sum[d][re, im][lane m] of inputs m and m − d modulo the
 *               lanes, 0 ≤ d ≤ lanes/2: each pair once, none of the upper triangle
 *
 * Spectra are summed in chunks of CORRELATE_CHUNK, counted from the start of the integration, and
 * the chunks' sums are added into the running sums. A chunk that a call leaves unfinished is kept
 * apart and continued by the next call, so that the result is the same, to the last bit, wherever
 * the stream was cut. The error of a real sum of T products-with-products x·y + x·y in floating
 * point of unit roundoff u is therefore below (2·CORRELATE_CHUNK + T/CORRELATE_CHUNK)·u·Σ|x||y|.
 * Integers are exact. */
#pragma once

#include <cornerturn/isa.h>
#include <cornerturn/tensor.h>

#define CORRELATE_CHUNK 128

typedef enum {
    CORRELATE_F32,   /* cf32: single precision throughout */
    CORRELATE_F64,   /* cf32, cf64: double precision throughout */
    CORRELATE_PAIRS, /* ci4, ci8: products of 16 bits, sums of a chunk in 32, running sums in 64.
                        The largest, (a + b)(c − d) ≤ 256·255, would fit 32,896 times: a chunk is
                        far below */
    CORRELATE_EXACT  /* ci16: products and sums of a chunk in double precision, where they are whole
                        numbers below 2^31·CORRELATE_CHUNK and so exact; running sums in 64 bits */
} CorrelateArithmetic;

/* What is left to tuning. */
typedef struct {
    gsize rows;    /* of a cell that is summed in registers: 2, 4, 8; at most a vector's lanes */
    gsize columns; /* … in vectors: 1, 2 */
    gsize spectra; /* that go through the cells at once, even */
    gsize few;     /* inputs up to which lanes are times */
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
    gboolean is_few;     /* inputs: the way of correlate-few.h */
    gsize sums_bytes;    /* of one channel's sums; 64-byte aligned */
    gsize scratch_bytes; /* of one worker; 64-byte aligned */
} CorrelateShape;

/* The tuning that comes to the same and is written the same way for all that do: what has no effect
 * on this shape is as by `usual`. */
CorrelateTuning CT_ISA(correlate_effect)(const CorrelateTuning *tuning,
                                         const CorrelateTuning *usual, CtType input, CtType output,
                                         gsize n_inputs);

/* Works out arithmetic and sizes. FALSE where no kernel goes from input to output type. */
gboolean CT_ISA(correlate_shape)(CorrelateShape *shape, CtType input, CtType output,
                                 gsize n_stations, gsize n_pols, const CorrelateTuning *tuning);

/* Adds `n` spectra of one channel to its sums, `done` spectra of the integration being in them
 * already (0 begins anew: sums need not be cleared). Strides in bytes. */
void CT_ISA(correlate_accumulate)(const CorrelateShape *shape, const guint8 *voltages,
                                  gint64 time_stride, gint64 station_stride, gint64 pol_stride,
                                  gsize n, gsize done, void *sums, void *scratch);

/* Writes the visibilities of `done` spectra: baseline b of stations i ≥ j, row-wise, from
 * polarisations p of i and q of j. Strides in bytes. */
void CT_ISA(correlate_flush)(const CorrelateShape *shape, const void *sums, gsize done,
                             guint8 *visibilities, gint64 baseline_stride, gint64 p_stride,
                             gint64 q_stride, void *scratch);
