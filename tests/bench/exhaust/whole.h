/* SPDX-License-Identifier: BSD-3-Clause */
/* A combination, run as a whole graph. */
#pragma once

#include "measure/dry-run.h"
#include "space.h"

typedef struct {
    guint16 *chosen;
    gdouble bound;   /* as known before its first run */
    GArray *seconds; /* gdouble: of the busiest, for a second of stream, of each run */
    GArray *behind;  /* gdouble: the same without sources */
    GHashTable *fixed;
    CtPlanOptions options;
    CtPlan *plan; /* NULL: it is not prepared */
    CtDryRun *dry_run;
} CtWhole;

CtWhole *ct_whole_new(const guint16 *chosen, guint n_nodes, gdouble bound);
void ct_whole_free(CtWhole *whole);
/* Runs it for `stream_seconds` of stream, at most for `seconds` of real time, and notes the results
 * of its parts. */
gboolean ct_whole_run(CtWhole *whole, CtSpace *space, gdouble stream_seconds, gdouble seconds,
                      GError **error);
/* Releases its threads and memory until the next run. */
void ct_whole_rest(CtWhole *whole);
gdouble ct_whole_median(const CtWhole *whole);
