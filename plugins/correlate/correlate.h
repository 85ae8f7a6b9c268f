/* SPDX-License-Identifier: BSD-3-Clause */
/* What the variants of the stage correlate share: the walk over items and integrations, and the
 * weights. An item is a pair of triangle and state: one element of the axes that pass through. */
#pragma once

#include <cornerturn/stage.h>

typedef struct Correlate Correlate;

/* Bytes between neighbours in a block. */
typedef struct {
    gint64 time;
    gint64 station; /* the axis that is correlated over, station or another */
    gint64 pol;
} CorrelateFrom;

typedef struct {
    gint64 baseline;
    gint64 p; /* pol, of the first station of a baseline */
    gint64 q; /* pol', of the second */
} CorrelateTo;

/* How a variant sums one item. */
typedef struct {
    gsize sums_bytes;
    gsize scratch_bytes;
    /* Adds `n` spectra to sums that hold `done` of the integration; 0 begins anew, whatever the
     * sums hold. */
    void (*accumulate)(const Correlate *self, const guint8 *voltages, const CorrelateFrom *from,
                       gint64 n, gint64 done, gpointer sums, gpointer scratch);
    void (*flush)(const Correlate *self, gconstpointer sums, gint64 done, guint8 *visibilities,
                  const CorrelateTo *to, gpointer scratch);
} CorrelateMethod;

typedef struct {
    gint64 length;
    guint from, to; /* where it stands in the layouts of voltages and visibilities */
    gint weights;   /* … and of the weights, −1 where these are not connected */
    gint64 lane;    /* step of the lane of validity along it */
} CorrelateAxis;

struct Correlate {
    CtType input, output;
    gint64 n_stations, n_pols, n_baselines;
    gint64 integration;
    gint from_time, from_station, from_pol; /* where they stand in the layouts; −1: not there */
    gint to_time, to_baseline, to_p, to_q;
    gint weights_time, weights_baseline, weights_p, weights_q;
    guint n_axes; /* those that pass through */
    CorrelateAxis axes[CT_MAX_AXES];
    gint64 n_items;
    gint64 station_lane, pol_lane;
    gboolean has_weights, weights_have_pol;
    CorrelateMethod method;
    guint8 *sums;    /* [item] of method.sums_bytes */
    guint32 *counts; /* [item][baseline][pol, pol' if weights have them] */
    gsize counts_per_item;
    gpointer own; /* the variant's, freed by g_free */
};

/* Stations (or beams) times polarisations. */
gint64 ct_correlate_n_inputs(const CtNode *node);

/* The parts of a variant: `prepare` first makes it, then sets `method`, then has it allocate. */
Correlate *ct_correlate_new(const CtPrepare *prepare);
gboolean ct_correlate_allocate(Correlate *self, CtPrepare *prepare, GError **error);
gboolean ct_correlate_work(gpointer state, const CtWork *work, GError **error);
void ct_correlate_finish(gpointer state);

/* Adds to `counts` the spectra in which both inputs were valid; lane 0 of `validity` is that of the
 * item (NULL: all valid). `scratch` as long as the function below says. */
void ct_correlate_count(const Correlate *self, const guint8 *validity, gint64 validity_stride,
                        gint64 n, guint32 *counts, gpointer scratch);
gsize ct_correlate_count_scratch(const Correlate *self);

extern const CtVariant ct_correlate_reference, ct_correlate_cuda;
extern const CtVariant ct_correlate_cpu_baseline, ct_correlate_cpu_avx2, ct_correlate_cpu_avx512;
