/* SPDX-License-Identifier: BSD-3-Clause */
/* Weighted sums over the stations of one channel: a small complex matrix product.
 *
 * The elements of a vector are beams, and a voltage is multiplied with all of them. For the beams
 * that do not fill a vector, the elements are those beams and both parts of the voltages of one
 * polarisation, or of two. So a block of beams has VECTOR_FLOATS of them, a half or a quarter.
 * Weights are repacked once into panels [block of beams][station][re, im][beam], and several times
 * are summed at once. The error of a part of a beam is less than 2·n_stations·2^-24·Σ|w||x|. */
#pragma once

#include "beamform.h"

#include <cornerturn/isa.h>

typedef struct {
    gsize n_beams;
    gsize n_stations;
    gsize n_pols;
    CtType type;         /* of the voltages */
    gboolean paired;     /* the two polarisations have the same weights, and are side by side in the
                            beams */
    gsize rows;          /* times and polarisations that are summed in registers at once: 4, 8 */
    gsize chunk_bytes;   /* of voltages that one cell's beams are computed for before the next
                            cell's: they stay in the first-level cache together with its weights */
    gsize panels_bytes;  /* weights of one channel and polarisation; 64-byte aligned */
    gsize scratch_bytes; /* of one worker */
} BeamformShape;

/* Computes the sizes from counts and type. FALSE where no kernel reads the type. */
gboolean CT_ISA(beamform_shape)(BeamformShape *shape);

/* Packs cf32 weights of one channel and polarisation. */
void CT_ISA(beamform_pack)(const BeamformShape *shape, const guint8 *weights, gint64 beam_stride,
                           gint64 station_stride, void *panels);

/* Beams of `n` times of one channel; panels[p] are the weights of polarisation p. `next` are the
 * voltages that are summed after these. */
void CT_ISA(beamform_sum)(const BeamformShape *shape, const void *const *panels,
                          const guint8 *voltages, const BeamformStrides *from, guint8 *beams,
                          const BeamformStrides *to, gsize n, const guint8 *next, void *scratch);
