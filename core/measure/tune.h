/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures what decides a graph's plan, until its plan cannot change any more.
 *
 * One rule says what is measured next: the plan that would be the best if everything that is not
 * sure came out as well as it could. What is not sure in that plan is measured; when all of it is
 * sure, no other plan can be better, and most of what there is was never looked at. Whatever is
 * measured goes into the database at once, so that an interruption loses nothing. */
#pragma once

#include "graph/registry.h"
#include "plan/plan.h"

typedef struct {
    const char *what;    /* is being measured; NULL: nothing */
    guint n_measured;    /* ways of running something that were measured, or failed, by now */
    guint n_kept;        /* … that the database had already */
    guint n_failed;      /* of both */
    guint n_repetitions; /* of this run */
    gdouble elapsed;     /* seconds */
    gdouble left;        /* about so many more */
} CtTuneProgress;

typedef struct {
    const CtGraph *graph;
    CtRegistry *registry;
    const CtPlanOptions *plan;   /* `costs` says where results go */
    gdouble budget;              /* seconds; 0: as many as it takes */
    gboolean is_quick;           /* fewer and shorter repetitions, of less */
    gboolean tests_independence; /* then measure whether reading and writing cost independently */
    void (*progress)(const CtTuneProgress *progress, gpointer data); /* now and then; or NULL */
    gboolean (*is_over)(gpointer data); /* whether to end before the time; or NULL */
    gpointer data;
} CtTuneOptions;

typedef struct {
    CtTuneProgress progress;
    gboolean is_decided; /* FALSE: ended by the budget, or by `is_over` */
    GPtrArray *failures; /* of char: what could not be measured, and why */
    char *blocks;        /* a line on the sizes of blocks on devices; NULL: none were looked at */
    char *independence;  /* a line for each node that was tested; NULL: none was asked for */
} CtTuneReport;

void ct_tune_report_clear(CtTuneReport *report);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtTuneReport, ct_tune_report_clear)

gboolean ct_tune(const CtTuneOptions *options, CtTuneReport *report, GError **error);
