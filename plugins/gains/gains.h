/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the variants of the stage gains: the table of factors, expanded to the
 * axes of the stream. */
#pragma once

#include <cornerturn/kit/boxes.h>

#include <cornerturn/npy.h>

typedef struct {
    CtBoxes boxes;     /* with the table and its strides */
    gint64 repeat;   /* times for which the table is repeated, so that axes faster than time (pol,
                        say) form long runs */
    gint64 period;   /* bytes of the table from one time to the next, if it is repeated */
    guint8 *factors; /* one for every element of the axes other than time, in the input's order */
} Gains;

/* The factors of all elements of the axes other than time, in the input's order, with `repeat`
 * times at the position of time; NULL on failure. */
guint8 *ct_gains_factors(const CtPrepare *prepare, gint64 repeat, gboolean is_double,
                         gint64 *n_factors, GError **error);

/* Factors are cf32 (cf64 with `is_double`). */
Gains *ct_gains_new(CtPrepare *prepare, guint n_workers, gboolean is_double, GError **error);
void ct_gains_finish(gpointer state);

/* Calls `function` for the runs of the items of `work`. */
void ct_gains_each_run(const Gains *self, const CtWork *work, CtBoxRun function, gpointer data);

/* The file's factors according to the parameters, checked against the stream; NULL on failure.
 * `axes` are those of the array, in its order. */
CtNpyArray *ct_gains_load(const CtNode *node, const char *axes[CT_MAX_AXES], GError **error);

extern const CtVariant ct_gains_reference, ct_gains_cuda;
extern const CtVariant ct_gains_cpu_baseline, ct_gains_cpu_avx2, ct_gains_cpu_avx512;
