/* SPDX-License-Identifier: BSD-3-Clause */
/* Which sums a block of a device's threads makes, and its tunables; see beamform.cu. */
#pragma once

#include <cornerturn/stage.h>

typedef struct {
    guint beams, columns;               /* of a block */
    guint thread_beams, thread_columns; /* of a thread */
    guint depth, n_slabs, n_steps;
    guint n_blocks; /* of a multiprocessor, for which registers must do */
    guint n_threads;
} BeamformTile;

/* What the tile is chosen for. */
typedef struct {
    gint64 n_beams;
    gboolean has_pol_weights; /* columns of either polarisation have their own */
    gboolean is_float;        /* voltages go to shared memory as they are */
} BeamformProblem;

extern const CtTunable ct_beamform_tunables[];

/* What the tuning, of the tunables above, comes to. */
void ct_beamform_tile(BeamformTile *tile, const BeamformProblem *problem, const gint64 *tuning);
/* Whether it comes to something else than simpler ones. */
gboolean ct_beamform_tile_differs(const BeamformProblem *problem, const gint64 *tuning);
