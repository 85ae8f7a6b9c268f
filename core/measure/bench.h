/* SPDX-License-Identifier: BSD-3-Clause */
/* The speed of a machine: its ceilings, and the rates of stages and pipelines beside them. */
#pragma once

#include <cornerturn/bench.h>

/* A ceiling of the host or of a device. */
typedef struct {
    char *place;    /* "host", "cuda:0" */
    char *name;     /* "multiply-adds avx512", "copies in memory" */
    char *unit;     /* "operations/s", "bytes/s" */
    gint64 workers; /* 0: of a device */
    gdouble rate;
} CtBenchCeiling;

/* A case at a place. Numbers are NaN where they are not known. */
typedef struct {
    char *group, *family, *name;
    char *place;
    gint64 workers;            /* 0: on a device */
    char *variants;            /* of its stages */
    gdouble samples;           /* per second, elements of the sources; as the others, a median */
    gdouble operations, bytes; /* per second, useful ones; read and written */
    gdouble fma, copy;         /* the ceilings beside them, per second */
    gdouble transfer;          /* of a case with transfers, in the direction that is nearer to it */
    gdouble of_fma, of_copy;   /* shares of the ceilings: medians of ratios of the same moment */
    gdouble of_transfer;
    gdouble joules;               /* for an operation */
    gdouble of_station;           /* samples per second of each station and polarisation */
    gdouble planning, allocation; /* seconds before the first sample */
    gdouble whole;                /* samples in time of a sum or run */
    gdouble stretch; /* samples in time that were measured: whole ones, or a part of one */
    gdouble run;     /* seconds of a whole sum or run, at this speed */
    gdouble waited;  /* share of the time in which a thread waited for a processor: other programs
                        had it, and the rates are of the rest */
    char *beside;    /* the case that does the same in another way, by name; NULL: there is none */
    gdouble gain;    /* how many times as fast as that one */
    char *published, *source; /* a figure, and who has published it; NULL: nobody */
    char *skipped;            /* why there are no numbers; NULL: there are */
} CtBenchRow;

struct CtBench {
    char *version, *machine; /* of the program; the processor and its caches */
    gint64 workers;
    GPtrArray *devices;  /* of char: their names */
    char *energy;        /* why joules are not known; NULL: they are, or nothing was measured */
    gboolean is_partial; /* it was ended early */
    GPtrArray *ceilings; /* of CtBenchCeiling */
    GPtrArray *rows;     /* of CtBenchRow */
};

CtBench *ct_bench_new(void);
void ct_bench_ceiling_free(CtBenchCeiling *ceiling);
/* All numbers are NaN. */
CtBenchRow *ct_bench_row_new(void);
void ct_bench_row_free(CtBenchRow *row);

/* Whether one of `names` (NULL or none: any) is in a case's name. */
gboolean ct_bench_is_named(const char *const *names, const char *name);
/* Measures the cases that `how` chooses. NULL with an error if it chooses none. */
CtBench *ct_bench_measure(const CtBenchHow *how, GError **error);
