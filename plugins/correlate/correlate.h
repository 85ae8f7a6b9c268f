/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the variants of the stage correlate: the loop over items and integrations,
 * and the weights. An item is one element of the axes that pass through. */
#pragma once

#include <cornerturn/stage.h>

typedef struct Correlate Correlate;

/* The values of the parameter `precision`. */
enum { CORRELATE_SINGLE, CORRELATE_SPLIT };

/* Bytes between neighbours in a block. */
typedef struct {
    gint64 time;
    gint64 station; /* the axis that is correlated over, `station` or another */
    gint64 pol;
    gint64 item;
    gint64 n_items; /* that are summed together */
} CorrelateFrom;

typedef struct {
    gint64 baseline;
    gint64 p; /* pol, of the first station of a baseline */
    gint64 q; /* pol', of the second */
} CorrelateTo;

/* The functions with which a variant sums one item. */
typedef struct {
    gsize sums_bytes;
    gsize scratch_bytes;
    gint64 most_items; /* neighbours along the innermost axis that `accumulate` takes together;
                          their sums are contiguous. 0: it takes one */
    /* Adds `n` spectra to sums that hold `done` of the integration; if that is 0, the sums begin
     * anew. */
    void (*accumulate)(const Correlate *self, const guint8 *voltages, const CorrelateFrom *from,
                       gint64 n, gint64 done, gpointer sums, gpointer scratch);
    void (*flush)(const Correlate *self, gconstpointer sums, gint64 done, guint8 *visibilities,
                  const CorrelateTo *to, gpointer scratch);
} CorrelateMethod;

typedef struct {
    gint64 length;
    guint from, to; /* positions in the layouts of voltages and visibilities */
    gint weights;   /* position in that of the weights; −1: these are not connected */
    gint64 lane;    /* step of the lane along it */
} CorrelateAxis;

struct Correlate {
    CtType input, output;
    gint64 n_stations, n_pols, n_baselines;
    gint64 integration;
    gint64 block;                           /* spectra of a block of time in `voltages`; 1: none */
    gint64 before_sums;                     /* spectra of the stream before the first integration */
    gint from_time, from_station, from_pol; /* positions in the layouts; −1: no such axis */
    gint to_time, to_baseline, to_p, to_q;
    gint weights_time, weights_baseline, weights_p, weights_q;
    guint n_axes; /* the axes that pass through */
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

/* The functions of a variant: its `prepare` calls `new`, sets `method`, and calls `allocate`. */
Correlate *ct_correlate_new(const CtPrepare *prepare);
gboolean ct_correlate_allocate(Correlate *self, CtPrepare *prepare, GError **error);
gboolean ct_correlate_work(gpointer state, const CtWork *work, GError **error);
void ct_correlate_finish(gpointer state);

/* Adds to `counts` the number of spectra in which both inputs were valid; lane 0 of `validity` is
 * that of the item (NULL: all valid). `scratch` has the size given by the function below. */
void ct_correlate_count(const Correlate *self, const guint8 *validity, gint64 validity_stride,
                        gint64 n, guint32 *counts, gpointer scratch);
gsize ct_correlate_count_scratch(const Correlate *self);

extern const CtVariant ct_correlate_reference, ct_correlate_cuda, ct_correlate_split_cuda;
extern const CtVariant ct_correlate_cpu_avxvnni, ct_correlate_cpu_avx512vnni, ct_correlate_cpu_amx;
extern const CtVariant ct_correlate_cpu_baseline, ct_correlate_cpu_avx2, ct_correlate_cpu_avx512;
