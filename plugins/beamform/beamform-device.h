/* SPDX-License-Identifier: BSD-3-Clause */
/* The variants on devices share this: which axes are columns of the products, and the weights on
 * the device. */
#pragma once

#include "beamform.h"

/* Columns are times, or times and both polarisations if these are innermost on both sides. */
typedef struct {
    gint64 n_pols;    /* in the columns: 1, 2 */
    gboolean x_pairs; /* neighbouring columns are contiguous, in the voltages and in the sums */
    gboolean y_pairs;
    gboolean y_beams;  /* neighbouring beams are contiguous in the sums */
    gint64 n_elements; /* of the axes that pass through and are not columns */
} BeamformColumns;

/* Adds polarisations that are not columns to the axes that pass through. */
void ct_beamform_columns(BeamformColumns *columns, Beamform *beamform, const CtPrepare *prepare);

/* Definitions for a kernel: NAME=value, and LENGTHS of axes. */
void ct_beamform_define(GPtrArray *defines, const char *name, gint64 value);
void ct_beamform_define_lengths(GPtrArray *defines, const Beamform *beamform);

gint64 ct_beamform_stride(const CtBlock *block, gint axis);
gint64 ct_beamform_divide_up(gint64 a, gint64 b);

/* Fragments of 8 beams for matrix units; see beamform-weights.cu. */
typedef struct {
    guint beams, stations; /* counts are rounded up to multiples of these; 0: numbers are made */
} BeamformFragments;

/* The weights of a node on its device. */
typedef struct {
    CtDevice *device;
    const Beamform *beamform;
    gpointer file;      /* as given; NULL: they come from the port */
    CtKernel *quantise; /* NULL: they are read as given */
    gint64 n_rows;      /* of beams in a set, with those beyond the last */
    gpointer quantised; /* [pol][set] */
    gpointer scales;    /* of fragments, [pol][set][beam] */
    gint64 update;      /* index of the block that is quantised; −1: none */
} BeamformWeights;

/* Before ct_beamform_columns. Initialises *weights, which then is to be freed, also on failure. */
gboolean ct_beamform_weights_init(BeamformWeights *weights, CtDevice *device, Beamform *beamform,
                                  const BeamformFragments *fragments, GError **error);
void ct_beamform_weights_free(BeamformWeights *weights);
/* The weights of this firing as given. */
const CtBlock *ct_beamform_weights_given(const BeamformWeights *weights, const CtWork *work);
/* Enqueues the kernel that quantises them, if they are new. */
gboolean ct_beamform_weights_update(BeamformWeights *weights, const CtWork *work, GError **error);
