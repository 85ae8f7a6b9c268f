/* SPDX-License-Identifier: BSD-3-Clause */
/* The plans of a graph side by side: in default layouts, untuned, tuned; stage by stage. */
#pragma once

#include "tune.h"

typedef struct {
    const CtGraph *graph;
    CtRegistry *registry;
    const CtPlanOptions *plan;
    guint n_repetitions;
    gdouble seconds; /* of a run, about */
    gboolean (*is_over)(gpointer data);
    gpointer data;
} CtCompareOptions;

/* Runs the three by turns, and returns the table of stages, allocated; NULL without error where it
 * was ended before. */
char *ct_compare(const CtCompareOptions *options, GError **error);
