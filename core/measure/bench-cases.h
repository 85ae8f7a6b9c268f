/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of benchmarks: stages and pipelines, each as a graph with sources and sinks that a dry
 * run replaces. */
#pragma once

#include <glib.h>

/* A published figure of a case, on one kind of place. */
typedef struct {
    const char *figure; /* "16 of 85 GFLOP/s (18.8%), quad-core x86" */
    const char *source; /* "van der Veldt 2011" */
} CtBenchFigure;

typedef struct {
    char *group;      /* "stages", "pipelines", "published" */
    char *family;     /* stages that belong together: "filters"; of a pipeline "pipelines" */
    char *name;       /* "correlate ci8 64 stations" */
    char *graph;      /* YAML */
    char *on_device;  /* the graph with more channels, so that it fills a device, or with another
                         variant; NULL: the same */
    guint n_stations; /* 0: they do not matter */
    gint64 whole;     /* samples in time of a sum or of a whole run; 0: there is no end */
    gboolean beside;  /* it is another way to do the case before it, of those at the same place */
    gboolean on_host_only, on_device_only;
    gboolean from_host;       /* on a device only, with transfers from and to the host */
    gboolean default_layouts; /* each stage in those of published codes */
    gboolean has_layouts;     /* the input has the layout of the graph, and no other */
    CtBenchFigure published_host, published_device; /* members are NULL where nothing is known */
} CtBenchCase;

void ct_bench_case_free(CtBenchCase *one);

/* Adds a case of a graph, which it takes over. */
CtBenchCase *ct_bench_case_add(GPtrArray *cases, const char *group, const char *family,
                               const char *name, char *graph);
/* The graph of `stages`, lines from `source` to `stage`, with an input of [time axes…] and an
 * output; on the host if `on_host`, even where the stages run on a device. Allocated. */
char *ct_bench_case_graph(const char *type, const char *axes, const char *lengths,
                          const char *stages, gboolean on_host);
/* The graph of a file of pipelines/, with an input in place of node `source`. Allocated. */
char *ct_bench_case_pipeline(const char *file, const char *source, const char *type,
                             const char *axes, const char *lengths, const char *rate);
/* (bench-published.c) Adds the cases of the group "published". */
void ct_bench_cases_add_published(GPtrArray *cases);

/* All cases: an array of CtBenchCase, for g_ptr_array_unref. */
GPtrArray *ct_bench_cases_new(void);
