/* SPDX-License-Identifier: BSD-3-Clause */
/* Tuning: measures the candidates that decide a graph's plan until the plan cannot change any
 * more.
 *
 * One rule decides what is measured next. A plan is made as if each uncertain estimate came out as
 * well as it could; the uncertain candidates of that plan are measured. When none is left, no
 * other plan can be better, and most candidates were never measured. Each measurement is stored in
 * the cost database at once, so that an interruption loses nothing. */
#pragma once

#include "graph/registry.h"
#include "plan/plan.h"

#include <cornerturn/pipeline.h>

typedef struct {
    const CtGraph *graph;
    CtRegistry *registry;
    const CtPlanOptions *plan; /* `costs` is the cost database for the results */
    gdouble budget;            /* seconds; 0: no limit */
    gboolean is_quick;         /* fewer and shorter repetitions, of fewer candidates */
    void (*progress)(const CtTuneProgress *progress, gpointer data); /* now and then; or NULL */
    gboolean (*is_over)(gpointer data); /* whether to end early; or NULL */
    gpointer data;
} CtTuneOptions;

typedef struct {
    CtTuneProgress progress;
    gboolean is_decided; /* FALSE: ended early by the budget or by `is_over` */
    GPtrArray *failures; /* of char: candidates that could not be measured, with the reason */
    char *blocks;        /* a line on the sizes of blocks on devices; NULL: none were tried */
} CtTuneReport;

void ct_tune_report_clear(CtTuneReport *report);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtTuneReport, ct_tune_report_clear)

gboolean ct_tune(const CtTuneOptions *options, CtTuneReport *report, GError **error);
