/* SPDX-License-Identifier: BSD-3-Clause */
/* A case of a benchmark, run in slices of time. */
#pragma once

#include "bench-cases.h"
#include "graph/registry.h"

typedef struct CtBenchRun CtBenchRun;

typedef struct {
    gdouble stretch; /* samples in time of the first source, in all; what follows is per second */
    gdouble samples; /* elements of the sources */
    gdouble times;   /* samples in time of the first source */
    gdouble bytes;   /* of the graph's inputs and outputs, each counted once */
    gdouble given;   /* those of its inputs */
    gdouble operations;
    gdouble processors; /* processor seconds of all threads */
    gdouble waited;     /* share of the time in which a thread waited for a processor, a mean */
} CtBenchRates;

/* Plans the case on the host (CT_HOST) or a device. An error says why it cannot be run there. A
 * whole sum or run is measured only if it takes at most `longest_whole` seconds. */
CtBenchRun *ct_bench_run_new(const CtBenchCase *one, gint place, guint n_workers,
                             gdouble longest_whole, CtRegistry *registry, GError **error);
/* Asks `is_over` during the first slice, which then ends with CT_ERROR_CANCELLED. */
void ct_bench_run_ask(CtBenchRun *run, gboolean (*is_over)(gpointer data), gpointer data);
void ct_bench_run_free(CtBenchRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtBenchRun, ct_bench_run_free)

/* Continues for about `seconds`, without those in which other processes had the processors, and for
 * whole sums or runs of the case, if they are not too long. The first slice warms up before, and
 * finds its length. */
gboolean ct_bench_run_slice(CtBenchRun *run, gdouble seconds, CtBenchRates *rates, GError **error);
/* The seconds before the first sample: for the plan, and for memory and what stages prepare
 * (tables, kernels of a device, plans of transforms). */
void ct_bench_run_setup(const CtBenchRun *run, gdouble *planning, gdouble *allocation);
/* "cpu-avx512; + transpose cpu-avx2": the variants of the stages, and what is inserted between
 * them. Allocated. */
char *ct_bench_run_variants(const CtBenchRun *run);
