/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the variants of the stage beamform: the weights, from a file or a port,
 * and the loop over items. An item is an element of the axes that pass through, or a slice of its
 * times. */
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

/* The functions with which a variant sums. */
typedef struct {
    gsize set_bytes; /* of the weights of one channel and polarisation as the variant keeps them */
    gsize scratch_bytes;
    gboolean makes_levels; /* `pack` quantises, else its weights are quantised */
    /* Packs cf32 weights, given by the address of beam 0 and station 0 and by strides in bytes. */
    void (*pack)(const Beamform *self, const guint8 *weights, gint64 beam_stride,
                 gint64 station_stride, gpointer set);
    /* Sums beams of n times; sets[p] are the weights of polarisation p. `next` are the voltages
     * that are summed after these. */
    void (*sum)(const Beamform *self, const void *const *sets, const guint8 *voltages,
                const BeamformStrides *from, guint8 *beams, const BeamformStrides *to, gint64 n,
                const guint8 *next, gpointer scratch);
} BeamformMethod;

typedef struct {
    gint64 length;
    guint from, to; /* positions in the layouts of voltages and beams */
    gint weights;   /* position in that of the weights; −1: they are the same along it */
    gint64 set;     /* step along it of the index of a set of weights */
} BeamformAxis;

struct Beamform {
    CtType type;    /* of the voltages in memory */
    int weights_as; /* BEAMFORM_GIVEN, …, see beamform-quantise.h */
    gint64 n_stations, n_beams, n_pols;
    gint from_time, from_station, from_pol; /* positions in the layouts; −1: no such axis */
    gint to_time, to_beam, to_pol;
    gint weights_beam, weights_station, weights_pol;
    guint n_axes; /* the axes that pass through */
    BeamformAxis axes[CT_MAX_AXES];
    gint64 n_slices; /* of time, if there are fewer elements than workers */
    gint64 n_sets;   /* of weights, polarisations not counted */
    gboolean weights_have_pol;
    CtNpyArray *file; /* NULL: weights come from the port */
    CtBlock file_block;
    gint64 update; /* index of the block of weights in use; −1: none */
    BeamformMethod method;
    float *quantised;  /* [beam][station][re, im]: a set before it is packed; NULL: as given */
    guint8 *sets;      /* [set][pol] of method.set_bytes */
    const void **pols; /* [set][pol]: the set of each polarisation */
    gpointer own;      /* the variant's, freed by g_free */
};

/* Loads the weights file of a node that has one, and checks its shape against the voltages. Its
 * axes, in *layout, are [channel beam station] or [channel beam station pol], without channel where
 * the voltages have none, or with all the axes that pass through instead of channel. */
CtNpyArray *ct_beamform_load(const CtNode *node, CtLayout *layout, GError **error);

/* Quantises cf32 weights of one channel and polarisation to [beam][station][re, im]. */
void ct_beamform_quantise(const Beamform *self, const guint8 *weights, gint64 beam_stride,
                          gint64 station_stride, float *to);

/* Whether sums of integers hold the products of the node's stations, `most` at most; else *reason,
 * allocated, says so. */
gboolean ct_beamform_holds(const CtNode *nodes, gint64 most, char **reason);

/* The functions of a variant: its `prepare` calls `new`, sets `method`, and calls `allocate`. */
Beamform *ct_beamform_new(const CtPrepare *prepare, GError **error);
gboolean ct_beamform_allocate(Beamform *self, CtPrepare *prepare, GError **error);
gboolean ct_beamform_advance(gpointer state, CtAdvance *advance, GError **error);
gboolean ct_beamform_work(gpointer state, const CtWork *work, GError **error);
void ct_beamform_finish(gpointer state);

/* The rows of the variants on the processor, by ROW(voltages, beams, efficiency). Neighbouring
 * beams are written as vectors. */
#define BEAMFORM_ROWS                                                                              \
    ROW("[... time station pol]", "[... time beam pol]", 0.85),                                    \
        ROW("[time ... station pol]", "[time ... beam pol]", 0.85),                                \
        ROW("[... time station pol]", "[time ... beam pol]", 0.85),                                \
        ROW("[time ... station pol]", "[... time beam pol]", 0.85),                                \
        ROW("[... time station]", "[... time beam]", 0.7),                                         \
        ROW("[time ... station]", "[time ... beam]", 0.7),                                         \
        ROW("[... time station pol]", "[... pol time beam]", 0.6),                                 \
        ROW("[time ... station pol]", "[time ... pol beam]", 0.6),                                 \
        ROW("[... time station pol]", "[time ... pol beam]", 0.6),                                 \
        ROW("[time ... station pol]", "[... pol time beam]", 0.6),                                 \
        ROW("[... station time pol]", "[... pol time beam]", 0.6),                                 \
        ROW("[... station time pol]", "[time ... pol beam]", 0.6),                                 \
        ROW("[... station time pol]", "[... time beam pol]", 0.75),                                \
        ROW("[... station time pol]", "[time ... beam pol]", 0.75),                                \
        ROW("{time station ...}", "{time beam ...}", 0.15)

extern const CtVariant ct_beamform_reference, ct_beamform_cuda, ct_beamform_mma_cuda;
extern const CtVariant ct_beamform_cpu_baseline, ct_beamform_cpu_avx2, ct_beamform_cpu_avx512;
extern const CtVariant ct_beamform_cpu_avxvnni, ct_beamform_cpu_avx512vnni, ct_beamform_cpu_amx;
