/* SPDX-License-Identifier: BSD-3-Clause */
/* The database: measurements of what candidates cost and of the ceilings of machines, in a file
 * that all graphs of a user share.
 *
 * Several processes may read and write it at once. */
#pragma once

#include <glib.h>

/* What was measured, and what came of it. All strings are owned, and none is NULL in the key. */
typedef struct {
    char *stages;     /* "fir+fft" */
    char *variant;    /* "cpu-avx512" */
    char *row;        /* of the variant's table of layouts */
    char *way;        /* of a copy between places: "to device", "to host", "to peer"; else "" */
    char *layouts;    /* "ci8[time station pol] -> cf32[station pol time phase]" */
    char *lengths;    /* of the layouts' axes, 0 of time: "0 64 2 -> 64 2 0 256" */
    char *parameters; /* what else decides: "window=4096 hop=256 n_taps=16" */
    char *machine;    /* "AMD EPYC 9354, 1 MiB L2, 32 MiB L3, avx512"; "NVIDIA H200, driver 13.0" */
    gint64 n_workers; /* of the host; 0: of a device */
    gint64 aim;       /* bytes that a firing aimed at of its links */
    char *code;       /* checksum of the plugin's file */
    char *tuning;     /* "tile=4,threads=2"; "" where the variant has no tunables */

    /* Per sample of the first output, of a sink's first input. */
    gdouble operations;
    gdouble bytes;
    gdouble seconds; /* of workers on the host, added up; of a device's queue */
    gdouble spread;  /* standard deviation of `seconds` over itself */
    gint64 n_repetitions;
    gint64 time;   /* when, in Unix seconds */
    char *failure; /* why nothing could be measured; NULL: it could */
} CtMeasurement;

void ct_measurement_clear(CtMeasurement *measurement);
void ct_measurement_free(CtMeasurement *measurement);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtMeasurement, ct_measurement_clear)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtMeasurement, ct_measurement_free)

/* Of a machine, measured: a limit, "bandwidth", "peak avx2", "copy to device", … in bytes,
 * operations per second; or what suits a graph there, "block 0123456789abcdef" (ct_graph_key), in
 * bytes. */
typedef struct {
    char *machine;
    char *name;
    gdouble value;
    gint64 time;
} CtCeiling;

void ct_ceiling_free(CtCeiling *ceiling);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtCeiling, ct_ceiling_free)

typedef struct CtDatabase CtDatabase;

/* The file of the database, allocated: `given` (--costs), else CORNERTURN_COSTS, else
 * cornerturn/costs.db in the user's cache. NULL where it is to be "off". */
char *ct_database_path(const char *given);

/* Opens the database in this file. Where there is none it is made, with the folders above, if the
 * database is opened to write; else it is as if it were empty. Errors name the file. */
CtDatabase *ct_database_open(const char *path, gboolean writes, GError **error);
/* Accepts NULL. */
void ct_database_close(CtDatabase *database);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtDatabase, ct_database_close)

/* Adds the measurement, in the place of one with the same key (all up to `tuning`). It stays,
 * whatever becomes of the process. */
gboolean ct_database_put(CtDatabase *database, const CtMeasurement *measurement, GError **error);
/* The measurement of this key; NULL without error: there is none. */
CtMeasurement *ct_database_get(CtDatabase *database, const CtMeasurement *key, GError **error);
/* Of CtMeasurement, by their keys, those of these stages ("fir", "fir+fft"; NULL-terminated; NULL:
 * of all); NULL with an error. Free with g_ptr_array_unref. */
GPtrArray *ct_database_list(CtDatabase *database, const char *const *stages, GError **error);
/* Forgets the measurements of these stages (NULL: all), and how many they were. */
gboolean ct_database_forget(CtDatabase *database, const char *const *stages, guint *n,
                            GError **error);

/* Puts all of CtMeasurement and CtCeiling (NULL: none), or none of them. */
gboolean ct_database_put_all(CtDatabase *database, const GPtrArray *measurements,
                             const GPtrArray *ceilings, GError **error);
gboolean ct_database_put_ceiling(CtDatabase *database, const CtCeiling *ceiling, GError **error);
/* Of CtCeiling; NULL with an error. */
GPtrArray *ct_database_list_ceilings(CtDatabase *database, GError **error);

/* ---- as text: database-text.c ---- */

/* A line of JSON, without its end. */
char *ct_measurement_to_json(const CtMeasurement *measurement);
char *ct_ceiling_to_json(const CtCeiling *ceiling);
/* Which lines are wanted; NULL: all. */
typedef struct {
    const char *const *stages;   /* NULL-terminated */
    const char *const *machines; /* NULL-terminated */
} CtStoreFilter;

/* Adds what the lines of `text` hold to `measurements`, of CtMeasurement, and `ceilings`, of
 * CtCeiling (each may be NULL: not wanted). `name` stands for the file in errors. */
gboolean ct_database_parse(const char *text, gsize length, const char *name,
                           const CtStoreFilter *filter, GPtrArray *measurements,
                           GPtrArray *ceilings, GError **error);
