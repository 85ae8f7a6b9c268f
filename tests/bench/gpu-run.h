/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a graph on a device, on blocks of random data that are fed again and again. */
#pragma once

#include "measure/device-meter.h"

typedef struct {
    const char *name;
    const char *stages; /* between `source` and the sinks, which name their inputs */
    const char *type;
    const char *layout;  /* axes of the source */
    gint64 shape[8];     /* of these axes; −1: time */
    const char *options; /* further keys of the source; NULL: none */
    gint64 n_samples;    /* of a block */
    guint n_blocks;
    const char *node; /* the node whose time is measured; NULL: none */
    gboolean from_host;
    gboolean no_fusion; /* as with --no-fusion */
} GpuCase;

/* Medians. */
typedef struct {
    gdouble wall;         /* elements of the source per second, in the whole graph */
    gdouble node;         /* elements of the source per second, in the node while it runs */
    gdouble per_firing;   /* real seconds per block */
    gdouble node_seconds; /* of the node, per element of the source */
    gdouble operations;   /* of the node, per element of the source */
    char *nodes; /* "filter 120.1, spectra 200.3": elements of the source per second in each node,
                    in 10⁹ */
} GpuFigures;

typedef struct {
    CtDevice *device;
    CtDeviceMeter *meter;
    CtDeviceCeilings ceilings;
    char **words;
    gboolean *is_known; /* of each word: a case has it in its name */
    GString *summary;
    gboolean good;
} GpuBench;

/* Takes the median of some runs; if the case can't run, the reason goes into the summary. */
gboolean gpu_run_case(GpuBench *bench, const GpuCase *one, GpuFigures *figures);

/* ---- what is printed ---- */

/* Stages one behind another, the first behind node `from`, as nodes behind0, behind1, …, and a
 * sink. Allocated. */
char *gpu_describe_behind(const char *const *behind, const char *from);

/* Whether the name contains one of the words of the command line, if there are any. */
gboolean gpu_is_wanted(const GpuBench *bench, const char *name);
/* Adds a floor to the summary, or a limit. */
void gpu_note(GpuBench *bench, const char *name, gdouble value, gboolean at_least, gdouble limit,
              const char *unit);
void gpu_print(const GpuBench *bench, const GpuCase *one, const GpuFigures *figures,
               gdouble bytes_per_element);
/* Runs a case with stages attached and apart. `bytes` and `operations` of a sample are those of the
 * node that has all stages; 0: they are not printed. */
void gpu_compare_fusion(GpuBench *bench, GpuCase *one, gdouble bytes, gdouble operations,
                        const char *unit);

/* ---- cases ---- */

void gpu_check_banks(GpuBench *bench);
