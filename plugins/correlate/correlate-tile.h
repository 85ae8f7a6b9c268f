/* SPDX-License-Identifier: BSD-3-Clause */
/* The way in which a block of a device sums a tile: the arithmetics, the tiles of each, and their
 * tunables. The words of correlate-piece.h are used.
 *
 * Spectra are loaded into *stages*, buffers in shared memory that are filled in turn. The *depth*
 * of a stage is the number of spectra that it holds. */
#pragma once

#include <cornerturn/cuda.h>
#include <cornerturn/stage.h>

/* From MMA on, on tensor cores: MMA and WGMMA multiply integers of 8 and 4 bits by matrix
 * instructions of a warp and of a warpgroup (4 warps), LIMBS those of 16 bits by instructions of a
 * warp, HALVES and WGMMA_HALVES cf16, SPLIT cf32 whose parts are split. NARROW_LIMBS is LIMBS with
 * fewer products of a warp, for devices later than 9.0, whose instructions need more registers. */
typedef enum {
    F32,
    F64,
    MMA,
    LIMBS,
    NARROW_LIMBS,
    HALVES,
    SPLIT,
    WGMMA,
    WGMMA_HALVES,
    N_ARITHMETICS
} Arithmetic;

/* The types and limits of an arithmetic. */
typedef struct {
    const char *kernel, *source;
    const char *real, *voltage, *sum, *part; /* types; `voltage` is that in shared memory */
    guint voltage_bytes, kept_bytes, part_bytes;
    gint chunk;        /* spectra whose floating-point sum is added to a running sum */
    gboolean has_open; /* sums that are of the type of parts until they are added to kept ones */
    gboolean keeps_voltages; /* of an unfinished chunk, rather than its sums */
    gint64 most;             /* spectra of a range; 0: any */
    gdouble part_cost;       /* cost of writing and adding up a part, in spectra */
    gdouble n_turns;         /* blocks that a multiprocessor needs to be busy, in as many as it has
                                at once; usually half of these hide latency */
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

/* An arithmetic and a tile are chosen for such a correlation. */
typedef struct {
    CtType input, output;
    gboolean is_split; /* parts of cf32 are split */
    gint64 n_inputs;
    gboolean has_blocks; /* time is in blocks in voltages */
} CorrelateProblem;

/* The tile that follows on a device from the tuning, values of the tunables above. */
void ct_correlate_tile(CorrelateTile *tile, const CorrelateProblem *problem, const gint64 *tuning,
                       const CtDeviceInfo *device);
/* Whether the tuning gives another tile than simpler tunings do, on any device. */
gboolean ct_correlate_tile_differs(const CorrelateProblem *problem, const gint64 *tuning);
