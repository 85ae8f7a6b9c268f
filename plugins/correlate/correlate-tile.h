/* SPDX-License-Identifier: BSD-3-Clause */
/* The way in which a block of a device sums a tile: the arithmetics, the tiles of each, and their
 * tunables. The words of correlate-piece.h are used.
 *
 * Spectra are loaded into *stages*, buffers in shared memory that are filled in turn. The *depth*
 * of a stage is the number of spectra that it holds. */
#pragma once

#include <cornerturn/cuda.h>
#include <cornerturn/stage.h>

/* Spectra whose floating-point sum is added to a running sum. */
#define CHUNK 128

/* MMA and WGMMA: on tensor cores, by matrix instructions of a warp and of a warpgroup (4 warps). */
typedef enum { F32, F64, EXACT, MMA, WGMMA, N_ARITHMETICS } Arithmetic;

/* The types and limits of an arithmetic. */
typedef struct {
    const char *kernel, *source;
    const char *real, *voltage, *sum, *part; /* types; `voltage` is that in shared memory */
    guint voltage_bytes, kept_bytes, part_bytes;
    gboolean has_open; /* sums that are of the type of parts until they are added to kept ones */
    gint64 most;       /* spectra of a range; 0: any */
    gdouble part_cost; /* cost of writing and adding up a part, in spectra */
} ArithmeticInfo;

extern const ArithmeticInfo ct_correlate_arithmetics[N_ARITHMETICS];

/* The constants of the kernels, see there. Warpgroups use tile, depth and stages. */
typedef struct {
    Arithmetic arithmetic;
    guint tile;             /* inputs */
    guint square;           /* of the tile's sums in memory */
    guint rows, columns;    /* of a thread; on tensor cores, of a warp */
    guint lanes_i, lanes_j; /* threads of a group */
    guint unit_i, unit_j;   /* groups of a unit; on tensor cores, warps */
    guint n_units;
    guint depth;
    guint n_stages;
    guint n_blocks; /* of a multiprocessor; registers must suffice for them */
    guint n_threads;
    guint multiprocessor_blocks; /* the most blocks of a launch on each, which then do one job after
                                    the other; 0: any number, of one job each */
    gsize shared_bytes;
} CorrelateTile;

extern const CtTunable ct_correlate_tunables[];

/* The tile that follows on a device from the tuning, values of the tunables above.
 * `has_blocks`: time is in blocks in voltages. */
void ct_correlate_tile(CorrelateTile *tile, CtType input, CtType output, gint64 n_inputs,
                       gboolean has_blocks, const gint64 *tuning, const CtDeviceInfo *device);
/* Whether the tuning gives another tile than simpler tunings do, on any device. */
gboolean ct_correlate_tile_differs(CtType input, CtType output, gint64 n_inputs,
                                   const gint64 *tuning);
