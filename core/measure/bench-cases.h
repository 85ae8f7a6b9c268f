/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of benchmarks: stages and pipelines, each as a graph with sources and sinks that a dry
 * run replaces. */
#pragma once

#include <glib.h>

typedef struct {
    char *group;     /* "stages", "pipelines" */
    char *family;    /* stages that belong together: "filters"; of a pipeline "pipelines" */
    char *name;      /* "correlate ci8 64 stations" */
    char *graph;     /* YAML */
    char *on_device; /* the graph with more channels, so that it fills a device; NULL: the same */
} CtBenchCase;

void ct_bench_case_free(CtBenchCase *one);

/* All cases: an array of CtBenchCase, for g_ptr_array_unref. */
GPtrArray *ct_bench_cases_new(void);
