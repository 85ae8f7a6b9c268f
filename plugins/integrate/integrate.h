/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the variants of the stage integrate: counts of valid samples, and the loop
 * over items.
 *
 * The axes other than time, in the order of the input's layout, are divided into slow ones (outside
 * time) and fast ones (inside it). An item is an element of the slow axes, a *group*, and a chunk
 * of the fast ones. Sums are double precision whatever the type. */
#pragma once

#include <cornerturn/stage.h>

/* Elements of the fast axes in an item; their sums stay in the L1 cache from one time to the
 * next. */
#define INTEGRATE_CHUNK 512
/* Partial sums: if few parts are faster than time, several times are summed in parallel. */
#define INTEGRATE_PARTIALS 8

typedef struct {
    gint64 length;
    gint in, out, weights; /* positions in the layouts; −1: no such axis */
    gint64 lane;           /* step of the lane along it; 0: it loses no data separately */
} IntegrateAxis;

/* The functions with which a variant sums; NULL: it adds numbers one by one. */
typedef struct {
    /* sums[i] += x[i] of m rows of n numbers, from first to last; `stride` bytes apart. */
    void (*rows)(const void *x, gint64 stride, double *sums, gsize n, gsize m);
    /* partials[(first + i) % INTEGRATE_PARTIALS] += x[i] of n numbers. */
    void (*partials)(const void *x, double *partials, gsize first, gsize n);
} IntegrateMethod;

typedef struct {
    CtType type;
    gint64 integration; /* samples of a sum */
    gboolean averages;
    guint n_axes, n_slow;
    IntegrateAxis axes[CT_MAX_AXES]; /* slow ones first, each slowest first */
    gint64 n_groups, n_fast, n_chunks;
    guint n_parts; /* of an element */
    gsize part_bytes;
    gboolean in_partials; /* sums are [group][INTEGRATE_PARTIALS], not [group][fast][part] */
    gint in_time, out_time, weights_time;
    gint64 n_lanes;
    gint64 max_sums; /* of a firing */
    guint32 *counts; /* [sum of the firing][lane]: valid samples; there is one more for the
                        unfinished sum */
    gint64 making;   /* index of the unfinished sum */
    double *sums;
    IntegrateMethod method;
} Integrate;

/* A method whose functions are NULL is the reference; without a method, the variant keeps the
 * sums. */
Integrate *ct_integrate_new(CtPrepare *prepare, const IntegrateMethod *method, GError **error);
gboolean ct_integrate_advance(gpointer state, CtAdvance *advance, GError **error);
gboolean ct_integrate_work(gpointer state, const CtWork *work, GError **error);
void ct_integrate_finish(gpointer state);

extern const CtVariant ct_integrate_reference, ct_integrate_cuda;
extern const CtVariant ct_integrate_cpu_baseline, ct_integrate_cpu_avx2, ct_integrate_cpu_avx512;
