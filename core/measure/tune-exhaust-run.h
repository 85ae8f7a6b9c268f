/* SPDX-License-Identifier: BSD-3-Clause */
/* A combination that is run as a whole. */
#pragma once

#include "dry-run.h"
#include "tune-exhaust-space.h"

typedef struct {
    guint16 *chosen;
    gdouble bound;   /* as it was known before its first run */
    GArray *seconds; /* gdouble: that its busiest was busy for a second of stream, of each run */
    GArray *behind;  /* gdouble: the same without sources */
    GHashTable *fixed;
    CtPlanOptions options;
    CtPlan *plan; /* NULL: it is not at hand */
    CtDryRun *dry_run;
} CtWhole;

CtWhole *ct_whole_new(const guint16 *chosen, guint n_nodes, gdouble bound);
void ct_whole_free(CtWhole *whole);
/* Runs it for so many seconds of stream, at most `seconds` by the clock, and notes how its parts
 * did. */
gboolean ct_whole_run(CtWhole *whole, CtSpace *space, gdouble stream_seconds, gdouble seconds,
                      GError **error);
/* Lets go of threads and memory. */
void ct_whole_rest(CtWhole *whole);
gdouble ct_whole_median(const CtWhole *whole);
