/* SPDX-License-Identifier: BSD-3-Clause */
/* How the filter on the processor cuts a block into tiles.
 *
 * Series along time that lie side by side in both blocks, the *inner* ones, are filtered together:
 * tap by tap, a row of P · inner samples is multiplied and added, and nothing is moved. Series that
 * lie side by side in the input but not in the output (time is first in the input, phase is last in
 * the output) are *gathered* in their narrow type before they are converted.
 *
 * A *cell* is gcd(P, H) samples: taps are whole cells apart, and so are outputs. A tile is a piece
 * of each cell under some outputs: some of its samples, or some inner series of one of them. Each
 * sample is in one tile alone, whatever the hop. */
#pragma once

#include "fir.h"

/* Outputs that are rotated, each in its own way, by one call. */
#define FIR_MAX_PLACES 16

typedef struct {
    gint64 length;
    guint in, out; /* where it stands in the layouts */
} FirSeries;

/* What the cuts of a node have in common. */
typedef struct {
    FirDesign design;
    gboolean is_float;   /* samples need no conversion */
    gsize parts;         /* 2 for complex samples */
    gsize element_bytes; /* of an input sample */
    guint time_in, time_out, phase_out;

    gint64 cell;                 /* samples */
    gint64 tap_cells, hop_cells; /* from one tap, one output, to the next */
    /* Windows have many samples between them, or their cells are too small: the window of each
     * output is a row of cells by itself, of P samples each. */
    gboolean apart;
    gboolean rotates;
    gboolean stands; /* dense samples are summed where they stand, not copied */

    gint64 aim_outputs, aim_row, aim_floats; /* of a tile */
} FirShape;

/* How the series and cells are cut: for packed blocks, or for any strides. */
typedef struct {
    FirSeries outer[CT_MAX_AXES]; /* one after another, slowest first */
    guint n_outer;
    gint64 n_outer_items;
    FirSeries gathered[CT_MAX_AXES]; /* side by side in the input, slowest first */
    guint n_gathered;
    gint64 n_units;
    gint64 group; /* units that are gathered together */
    gboolean gather;
    gboolean dense; /* samples follow one another in time as in a tile */
    gsize inner;
    gsize repeat;     /* floats of a sample: inner series times parts */
    int *float_phase; /* [repeat + FIR_MAX_VECTOR] j / repeat */

    gint64 tile_samples;     /* samples of a cell in a tile, */
    gint64 tile_floats;      /* floats of one of them, */
    gint64 tiles_per_sample; /* tiles that a sample's floats take, */
    gint64 n_tiles;          /* tiles that a cell takes */
    gint64 tile_outputs;     /* outputs of a tile */
    gint64 merged;           /* rows taken as one where a row is narrower than a vector; else 1 */
    gsize raw_offset;        /* bytes, of the gathered samples in scratch */
    gsize raw_pitch;         /* bytes from one gathered unit to the next */
    gsize scratch_bytes;
} FirCut;

/* Fills in the members of a shape that follow from design, stream and layouts. */
void ct_fir_shape(FirShape *shape, const CtBinding *input, const CtBinding *output);

/* Cuts for firings of up to `most` outputs. Only packed blocks have inner and gathered series. */
gboolean ct_fir_cut(const FirShape *shape, FirCut *cut, const CtBinding *input,
                    const CtBinding *output, gboolean packed, gint64 most, GError **error);

/* Cells under n outputs. */
gint64 ct_fir_cells(const FirShape *shape, gint64 n_outputs);

/* Whether the inner and gathered series lie as densely as `cut` needs. */
gboolean ct_fir_is_packed(const FirShape *shape, const FirCut *cut, const CtBlock *in,
                          const CtBlock *out);
