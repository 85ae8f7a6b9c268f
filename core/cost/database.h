/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost database: the measured costs of candidates and ceilings of machines, in a file that all
 * graphs of a user share.
 *
 * Several processes may read and write it at once. */
#pragma once

#include "cost-key.h"

/* A measurement: its key, then its result. */
typedef struct {
    CtCostKey key;

    /* The result, per sample of the first output or, for a sink, of the first input. */
    gdouble operations;
    gdouble bytes;
    gdouble seconds; /* summed over the host's workers, or of a device's queue */
    gdouble spread;  /* standard deviation of `seconds`, divided by `seconds` */
    gint64 n_repetitions;
    gint64 time;   /* of the measurement, in Unix seconds */
    char *failure; /* why the measurement failed, owned; NULL: it did not */
} CtMeasurement;

void ct_measurement_clear(CtMeasurement *measurement);
void ct_measurement_free(CtMeasurement *measurement);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtMeasurement, ct_measurement_clear)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtMeasurement, ct_measurement_free)

/* A measured property of a machine: "memory bandwidth", "copy to device" or "copy to host" in bytes
 * per second; "peak avx2" and the like in operations per second; "share of copies"; or "block
 * 0123456789abcdef", the best size of a firing in bytes for the graph with this ct_graph_key. */
typedef struct {
    char *machine;
    char *name;
    gdouble value;
    gint64 time;
} CtCeiling;

void ct_ceiling_free(CtCeiling *ceiling);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtCeiling, ct_ceiling_free)

typedef struct CtDatabase CtDatabase;

/* The path of the database, allocated: `given` (--costs), or else CORNERTURN_COSTS, or else
 * cornerturn/costs.db in the user's cache folder. NULL if the path is "off". */
char *ct_database_path(const char *given);

/* Opens the database in this file. If there is no file, it is created, with its folders, if
 * `writes` is set; otherwise the database is empty. Errors name the file. */
CtDatabase *ct_database_open(const char *path, gboolean writes, GError **error);
/* Accepts NULL. */
void ct_database_close(CtDatabase *database);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtDatabase, ct_database_close)

/* Adds the measurement, and replaces one with the same key. It is kept even if the process dies. */
gboolean ct_database_put(CtDatabase *database, const CtMeasurement *measurement, GError **error);
/* The measurement with this key; NULL without an error if there is none. */
CtMeasurement *ct_database_get(CtDatabase *database, const CtCostKey *key, GError **error);
/* The measurements of these stages ("fir", "fir+fft"; NULL-terminated; NULL: of all), sorted by
 * key, all tunings of a candidate together: an array of CtMeasurement, to be freed with
 * g_ptr_array_unref. Those whose key cannot be parsed are left out. NULL with an error. */
GPtrArray *ct_database_list(CtDatabase *database, const char *const *stages, GError **error);
/* Deletes the measurements of these stages (NULL: of all) and sets *n to their number. */
gboolean ct_database_forget(CtDatabase *database, const char *const *stages, guint *n,
                            GError **error);

/* Puts all measurements and ceilings (either may be NULL), or none if one fails. */
gboolean ct_database_put_all(CtDatabase *database, const GPtrArray *measurements,
                             const GPtrArray *ceilings, GError **error);
gboolean ct_database_put_ceiling(CtDatabase *database, const CtCeiling *ceiling, GError **error);
/* All ceilings: an array of CtCeiling. NULL with an error. */
GPtrArray *ct_database_list_ceilings(CtDatabase *database, GError **error);

/* ---- as text: database-text.c ---- */

/* One line of JSON, without the line feed. */
char *ct_measurement_to_json(const CtMeasurement *measurement);
char *ct_ceiling_to_json(const CtCeiling *ceiling);
/* The lines to be read; a NULL member selects all. */
typedef struct {
    const char *const *stages;   /* NULL-terminated */
    const char *const *machines; /* NULL-terminated */
} CtStoreFilter;

/* Parses lines of JSON: adds the measurements in `text` to `measurements`, of CtMeasurement, and
 * the ceilings to `ceilings`, of CtCeiling (NULL: ignored). `name` stands for the file in
 * errors. */
gboolean ct_database_parse(const char *text, gsize length, const char *name,
                           const CtStoreFilter *filter, GPtrArray *measurements,
                           GPtrArray *ceilings, GError **error);
