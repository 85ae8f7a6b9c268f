/* SPDX-License-Identifier: BSD-3-Clause */
/* The plans of a graph in comparison, stage by stage: with default layouts, untuned, and tuned. */
#pragma once

#include "tune.h"

typedef struct {
    const CtGraph *graph;
    CtRegistry *registry;
    const CtPlanOptions *plan;
    guint n_repetitions;
    gdouble seconds; /* of a run, approximately */
    gboolean (*is_over)(gpointer data);
    gpointer data;
} CtCompareOptions;

/* Runs the three plans in turn, and returns the table of stages, allocated; NULL without error
 * where it was interrupted. */
char *ct_compare(const CtCompareOptions *options, GError **error);
