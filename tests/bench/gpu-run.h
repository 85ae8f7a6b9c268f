/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a graph on a device, on blocks of random data that are fed again and again. */
#pragma once

#include "device-ceilings.h"

typedef struct {
    const char *name;
    const char *stages; /* between `source` and the sinks, which read what they name */
    const char *type;
    const char *layout;  /* axes of the source */
    gint64 shape[8];     /* in their order; −1: time */
    const char *options; /* further keys of the source; NULL: none */
    gint64 n_samples;    /* of a block */
    guint n_blocks;
    const char *node; /* whose time is told; NULL: none's */
    gboolean from_host;
} GpuCase;

/* Per second and per element of the source, medians. */
typedef struct {
    gdouble wall;         /* elements per second, of the whole graph */
    gdouble node;         /* elements per second, of the node while it runs */
    gdouble per_firing;   /* seconds of the wall per block */
    gdouble node_seconds; /* of the node per element */
    gdouble operations;   /* of the node per element */
    char *nodes;          /* "filter 120.1, spectra 200.3": elements per second of each, in 10⁹ */
} GpuFigures;

typedef struct {
    CtDevice *device;
    DeviceMeter *meter;
    DeviceCeilings ceilings;
    char **words;
    GString *summary;
    gboolean good;
} GpuBench;

/* The median of some runs; what keeps it from running goes into the summary. */
gboolean gpu_run_case(GpuBench *bench, const GpuCase *one, GpuFigures *figures);
