/* SPDX-License-Identifier: BSD-3-Clause */
/* A dry run: a plan run as it is, but for what waits for the world or the program, in the place
 * of which stand sources whose blocks lie ready and sinks that drop. No file is read or written. */
#pragma once

#include "graph/registry.h"
#include "plan/plan.h"

typedef struct CtDryRun CtDryRun;

/* Of a plan of the same options; plan, registry and options must outlive it. */
CtDryRun *ct_dry_run_new(const CtPlan *plan, CtRegistry *registry, const CtPlanOptions *options,
                         GError **error);
void ct_dry_run_free(CtDryRun *dry_run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtDryRun, ct_dry_run_free)

/* The same choices with the ends replaced. Its nodes have the names of the plan's. */
const CtPlan *ct_dry_run_plan(const CtDryRun *dry_run);
/* Whether node `i` of that plan stands in the place of another. */
gboolean ct_dry_run_is_end(const CtDryRun *dry_run, guint i);

/* Whether nodes that the variant runs are replaced. */
gboolean ct_dry_run_replaces(const CtVariant *variant);

/* What a run has shown. */
typedef struct {
    gdouble *seconds; /* [nodes] for a second of stream: of processors, all added up, or of the
                         device's queue; 0 of what does nothing along time */
    gdouble clock;    /* seconds that a second of stream took */
    gdouble stream;   /* seconds of stream that were to run: fewer than wanted of a short one */
} CtDryRunResult;

/* Runs on for so many seconds of stream, and at most `seconds` by the clock; the first time after
 * it has warmed up. A stream that ends begins anew each time. `result->seconds` is the caller's,
 * of as many as there are nodes. */
gboolean ct_dry_run_run(CtDryRun *dry_run, gdouble stream_seconds, gdouble seconds,
                        CtDryRunResult *result, GError **error);
/* Seconds that the busiest is busy, for a second of stream: the workers, or a queue of a device.
 * The ends are left out, and unless `sources` what else has no input along time. */
gdouble ct_dry_run_busiest(const CtDryRun *dry_run, const CtDryRunResult *result, gboolean sources);
