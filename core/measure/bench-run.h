/* SPDX-License-Identifier: BSD-3-Clause */
/* A case of a benchmark, run in slices of time. */
#pragma once

#include "bench-cases.h"
#include "graph/registry.h"

typedef struct CtBenchRun CtBenchRun;

/* All of these are per second. */
typedef struct {
    gdouble samples; /* elements of the sources */
    gdouble bytes;   /* of the graph's inputs and outputs, each counted once */
    gdouble operations;
    gdouble processors; /* processor seconds of all threads */
} CtBenchRates;

/* Plans the case on the host (CT_HOST) or a device. An error says why it cannot be run there. */
CtBenchRun *ct_bench_run_new(const CtBenchCase *one, gint place, guint n_workers,
                             CtRegistry *registry, GError **error);
void ct_bench_run_free(CtBenchRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtBenchRun, ct_bench_run_free)

/* Continues for about `seconds`, without those in which other processes had the processors. The
 * first slice warms up before, and finds its length. */
gboolean ct_bench_run_slice(CtBenchRun *run, gdouble seconds, CtBenchRates *rates, GError **error);
/* "cpu-avx512; + transpose cpu-avx2": the variants of the stages, and what is inserted between
 * them. Allocated. */
char *ct_bench_run_variants(const CtBenchRun *run);
