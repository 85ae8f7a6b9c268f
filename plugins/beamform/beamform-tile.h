/* SPDX-License-Identifier: BSD-3-Clause */
/* The tile of sums that a block of threads makes, and its tunables; see beamform.cu. */
#pragma once

#include <cornerturn/stage.h>

typedef struct {
    guint beams, columns;               /* of a block */
    guint thread_beams, thread_columns; /* of a thread */
    guint depth, n_slabs;
    guint n_blocks; /* of a multiprocessor; registers must suffice for them */
    guint n_threads;
} BeamformTile;

/* The properties of a node that the choice of its tile depends on. */
typedef struct {
    gint64 n_beams;
    gboolean has_pol_weights; /* the two polarisations' columns have weights of their own */
    gboolean is_float;        /* voltages are copied to shared memory unchanged */
} BeamformProblem;

extern const CtTunable ct_beamform_tunables[];

/* The tile that follows from the tuning, values of the tunables above. */
void ct_beamform_tile(BeamformTile *tile, const BeamformProblem *problem, const gint64 *tuning);
/* Whether the tuning gives another tile than simpler tunings do. */
gboolean ct_beamform_tile_differs(const BeamformProblem *problem, const gint64 *tuning);
