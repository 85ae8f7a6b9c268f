/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost database: what tuning has measured, in a file that all graphs of a user share.
 *
 * In all functions, `database` is the path of the file; NULL: the file in the environment variable
 * CORNERTURN_COSTS, or the one in the user's cache folder. "off", in either, is an error. A file
 * that does not exist is created by the functions that write, and is an empty database for the
 * others.
 *
 * `stages` selects the measurements of these stages, NULL-terminated: "fir", or "fir+fft" for
 * variants that run both at once. NULL selects all. A selected name of which nothing was measured,
 * and which names no installed stages, is an error with CT_ERROR_PARAMETER.
 *
 * Several threads and processes may use one database at once. A function sets its error if it
 * returns FALSE or NULL. Free texts with g_free. */
#pragma once

#include <cornerturn/error.h>

G_BEGIN_DECLS

/* Lists the measured ceilings of machines (bytes and operations per second) and the measurements
 * of stages (nanoseconds per sample), for people. */
CT_EXPORT char *ct_costs_list(const char *database, const char *const *stages, GError **error);
/* The ceilings and the measurements, one line of JSON each. */
CT_EXPORT char *ct_costs_export(const char *database, const char *const *stages, GError **error);
/* Adds the lines in `text`, which ct_costs_export has written, in place of the same ones in the
 * database. If a line is wrong, none is added. `length` is in bytes. `name` stands for the file in
 * errors. Here, any name may be selected. The numbers of lines that were added go to
 * *n_measurements and *n_ceilings. */
CT_EXPORT gboolean ct_costs_import(const char *database, const char *text, gsize length,
                                   const char *name, const char *const *stages,
                                   guint *n_measurements, guint *n_ceilings, GError **error);
/* Deletes the measurements; their number goes to *n. Ceilings stay. */
CT_EXPORT gboolean ct_costs_forget(const char *database, const char *const *stages, guint *n,
                                   GError **error);
/* Measures the ceilings of this machine, with all its processors for some seconds, and keeps them.
 * Returns a list of them for people. */
CT_EXPORT char *ct_costs_measure_ceilings(const char *database, GError **error);

G_END_DECLS
