/* SPDX-License-Identifier: BSD-3-Clause */
/* How a block of a device sums a tile: the arithmetics, the tiles of each, and their tunables. */
#pragma once

#include <cornerturn/stage.h>

/* Spectra whose sum in floating point is added to a running sum. */
#define CHUNK 128

typedef enum { F32, F64, EXACT, MMA, N_ARITHMETICS } Arithmetic;

/* What is done in an arithmetic. */
typedef struct {
    const char *kernel, *source;
    const char *real, *voltage, *sum, *part; /* types; `voltage`, of shared memory */
    guint voltage_bytes, kept_bytes, part_bytes;
    gint64 most;       /* spectra of a range; 0: any */
    gdouble part_cost; /* of writing and adding up a part, in spectra */
} ArithmeticInfo;

extern const ArithmeticInfo ct_correlate_arithmetics[N_ARITHMETICS];

/* See the kernels. */
typedef struct {
    guint tile;             /* inputs */
    guint rows, columns;    /* of a thread; on tensor cores, of a warp */
    guint lanes_i, lanes_j; /* threads of a group */
    guint unit_i, unit_j;   /* groups of a unit; on tensor cores, warps */
    guint n_units;
    guint depth;
    guint n_stages;
    guint n_blocks; /* of a multiprocessor, for which registers must do */
    guint n_threads;
    gsize shared_bytes;
} CorrelateTile;

extern const CtTunable ct_correlate_tunables[];

Arithmetic ct_correlate_arithmetic(CtType input, CtType output);
/* What the tuning, of the tunables above, comes to where a multiprocessor has so much shared
 * memory.
 */
void ct_correlate_tile(CorrelateTile *tile, CtType input, CtType output, gint64 n_inputs,
                       const gint64 *tuning, gsize multiprocessor_shared);
/* Whether it comes to something else than simpler ones, with much or with little shared memory. */
gboolean ct_correlate_tile_differs(CtType input, CtType output, gint64 n_inputs,
                                   const gint64 *tuning);
