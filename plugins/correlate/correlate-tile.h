/* SPDX-License-Identifier: BSD-3-Clause */
/* The way in which a block of a device sums a tile: the arithmetics, the tiles of each, and their
 * tunables. The words of correlate-piece.h are used.
 *
 * Spectra are loaded into *stages*, buffers in shared memory that are filled in turn. The *depth*
 * of a stage is the number of spectra that it holds. */
#pragma once

#include <cornerturn/stage.h>

/* Spectra whose floating-point sum is added to a running sum. */
#define CHUNK 128

typedef enum { F32, F64, EXACT, MMA, N_ARITHMETICS } Arithmetic;

/* The types and limits of an arithmetic. */
typedef struct {
    const char *kernel, *source;
    const char *real, *voltage, *sum, *part; /* types; `voltage` is that in shared memory */
    guint voltage_bytes, kept_bytes, part_bytes;
    gint64 most;       /* spectra of a range; 0: any */
    gdouble part_cost; /* cost of writing and adding up a part, in spectra */
} ArithmeticInfo;

extern const ArithmeticInfo ct_correlate_arithmetics[N_ARITHMETICS];

/* The constants of the kernels, see there. */
typedef struct {
    guint tile;             /* inputs */
    guint rows, columns;    /* of a thread; on tensor cores, of a warp */
    guint lanes_i, lanes_j; /* threads of a group */
    guint unit_i, unit_j;   /* groups of a unit; on tensor cores, warps */
    guint n_units;
    guint depth;
    guint n_stages;
    guint n_blocks; /* of a multiprocessor; registers must suffice for them */
    guint n_threads;
    gsize shared_bytes;
} CorrelateTile;

extern const CtTunable ct_correlate_tunables[];

Arithmetic ct_correlate_arithmetic(CtType input, CtType output);
/* The tile that follows from the tuning, values of the tunables above, if a multiprocessor has this
 * much shared memory. */
void ct_correlate_tile(CorrelateTile *tile, CtType input, CtType output, gint64 n_inputs,
                       const gint64 *tuning, gsize multiprocessor_shared);
/* Whether the tuning gives another tile than simpler tunings do, with much or with little shared
 * memory. */
gboolean ct_correlate_tile_differs(CtType input, CtType output, gint64 n_inputs,
                                   const gint64 *tuning);
