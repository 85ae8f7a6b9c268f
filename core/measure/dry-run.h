/* SPDX-License-Identifier: BSD-3-Clause */
/* A dry run: a plan is run as it is, except that nodes which wait for files, the network or the
 * program are replaced by sources whose blocks are ready and sinks that drop them. No file is read
 * or written. */
#pragma once

#include "graph/registry.h"
#include "plan/plan.h"

typedef struct CtDryRun CtDryRun;

/* Prepares the dry run of a plan that was made with the same options; plan, registry and options
 * must outlive it. */
CtDryRun *ct_dry_run_new(const CtPlan *plan, CtRegistry *registry, const CtPlanOptions *options,
                         GError **error);
void ct_dry_run_free(CtDryRun *dry_run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtDryRun, ct_dry_run_free)

/* The plan that is run: the same choices with the ends replaced. Its nodes keep their names. */
const CtPlan *ct_dry_run_plan(const CtDryRun *dry_run);
/* Whether node `i` of that plan replaces another one. */
gboolean ct_dry_run_is_end(const CtDryRun *dry_run, guint i);

/* Whether nodes of this variant are replaced. */
gboolean ct_dry_run_replaces(const CtVariant *variant);

/* The work for a second of stream. */
typedef struct {
    gdouble samples;    /* elements of all sources along time */
    gdouble times;      /* samples in time of the first of these */
    gdouble bytes;      /* that the replaced ends give and take, each counted once */
    gdouble given;      /* those of them that are given */
    gdouble operations; /* useful ones of all other nodes */
} CtDryRunWork;

void ct_dry_run_work(const CtDryRun *dry_run, CtDryRunWork *work);

/* The seconds that the last start took: memory of rings, and what the nodes prepare. 0: there was
 * none. */
gdouble ct_dry_run_allocation(const CtDryRun *dry_run);

/* The result of a run. */
typedef struct {
    gdouble *seconds;  /* [nodes] for a second of stream: of all processors together, or of the
                          device's queue; 0 of nodes that do nothing along time. NULL: nodes are
                          not measured, which saves two clocks at each step of a firing */
    gdouble clock;     /* seconds of real time for a second of stream */
    gdouble stream;    /* seconds of stream that were wanted, limited by the length of the stream */
    gdouble through;   /* seconds of stream that all nodes have gone through, up to the first sum of
                          each path: what the sources gave may wait in rings */
    guint64 n_firings; /* of the one with the fewest of these nodes */
    gdouble elapsed;   /* seconds of real time of the measurement */
} CtDryRunResult;

/* Continues for `stream_seconds` of stream, at most for `seconds` of real time; the first call
 * warms up before. A stream that has ended begins anew in the next call. The caller allocates
 * `result->seconds`, one for each node, or wants none in any call. */
gboolean ct_dry_run_run(CtDryRun *dry_run, gdouble stream_seconds, gdouble seconds,
                        CtDryRunResult *result, GError **error);
/* The seconds for which the busiest resource, the workers or a queue of a device, is busy for a
 * second of stream. Does not count the replaced ends nor, unless `sources`, other nodes without an
 * input along time. */
gdouble ct_dry_run_busiest(const CtDryRun *dry_run, const CtDryRunResult *result, gboolean sources);
