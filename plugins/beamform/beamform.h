/* SPDX-License-Identifier: BSD-3-Clause */
/* What the variants of the stage beamform share: the weights, from a file or a port, and the walk
 * over items. An item is an element of the axes that pass through, or a slice of its times. */
#pragma once

#include <cornerturn/npy.h>
#include <cornerturn/stage.h>

typedef struct Beamform Beamform;

/* Bytes between neighbours in a block. */
typedef struct {
    gint64 time;
    gint64 across; /* stations of the voltages, beams of the sums */
    gint64 pol;
} BeamformStrides;

/* How a variant sums. */
typedef struct {
    gsize set_bytes; /* of the weights of one channel and polarisation as the variant keeps them */
    gsize scratch_bytes;
    /* Keeps cf32 weights, given by the place of beam 0 and station 0 and by strides in bytes. */
    void (*pack)(const Beamform *self, const guint8 *weights, gint64 beam_stride,
                 gint64 station_stride, gpointer set);
    /* Beams of n times; sets[p] are the weights of polarisation p. */
    void (*sum)(const Beamform *self, const void *const *sets, const guint8 *voltages,
                const BeamformStrides *from, guint8 *beams, const BeamformStrides *to, gint64 n,
                gpointer scratch);
} BeamformMethod;

typedef struct {
    gint64 length;
    guint from, to; /* where it stands in the layouts of voltages and beams */
    gint weights;   /* … and of the weights, −1: these are the same along it */
    gint64 set;     /* step of the index of a set of weights along it */
} BeamformAxis;

struct Beamform {
    CtType type; /* of the voltages in memory */
    gint64 n_stations, n_beams, n_pols;
    gint from_time, from_station, from_pol; /* where they stand in the layouts; −1: not there */
    gint to_time, to_beam, to_pol;
    gint weights_beam, weights_station, weights_pol;
    guint n_axes; /* those that pass through */
    BeamformAxis axes[CT_MAX_AXES];
    gint64 n_slices; /* of time, where there are fewer elements than workers */
    gint64 n_sets;   /* of weights, polarisations not counted */
    gboolean weights_have_pol;
    CtNpyArray *file; /* NULL: weights come over the port */
    CtBlock file_block;
    gint64 update; /* index of the block of weights that is kept, −1: none */
    BeamformMethod method;
    guint8 *sets;      /* [set][pol] of method.set_bytes */
    const void **pols; /* [set][pol]: the set of each polarisation */
    gpointer own;      /* the variant's, freed by g_free */
};

/* The weights file of a node that has one, its shape checked against the voltages. Its axes, in
 * *layout, are [channel beam station] or [channel beam station pol], without channel where the
 * voltages have none, or with all the axes that pass through instead of channel. */
CtNpyArray *ct_beamform_load(const CtNode *node, CtLayout *layout, GError **error);

/* The parts of a variant: `prepare` first makes it, then sets `method`, then has it allocate. */
Beamform *ct_beamform_new(const CtPrepare *prepare, GError **error);
gboolean ct_beamform_allocate(Beamform *self, CtPrepare *prepare, GError **error);
gboolean ct_beamform_advance(gpointer state, CtAdvance *advance, GError **error);
gboolean ct_beamform_work(gpointer state, const CtWork *work, GError **error);
void ct_beamform_finish(gpointer state);

extern const CtVariant ct_beamform_reference, ct_beamform_cuda;
extern const CtVariant ct_beamform_cpu_baseline, ct_beamform_cpu_avx2, ct_beamform_cpu_avx512;
