/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of a PSRFITS file: when they begin, what their weights, scales and offsets are. */
#pragma once

#include "psrfits-table.h"

#include <cornerturn/kit/gaps.h>

typedef struct {
    const char *path;
    int fd;
    PsrfitsTable table;
    gint64 n_rows;          /* whole ones that the file has */
    gint64 *begin;          /* [n_rows] the first sample of each, counted from the file's first */
    gint64 n_samples;       /* of the file, with those between rows */
    gdouble later;          /* seconds from the start in the header to the first sample */
    gboolean is_disordered; /* the times of the rows do not rise: they follow one another */
    gboolean is_scaled;     /* there are scales other than 1 or offsets other than 0 */
} PsrfitsRows;

/* Reads column `which` of a row to table->columns[which].n numbers. */
gboolean psrfits_rows_get(const PsrfitsRows *rows, guint which, gint64 row, gdouble *values,
                          GError **error);
/* Finds where the rows begin, from path, fd, table and n_rows. Samples between rows are invalid,
 * and those of channels with a weight of 0 if `gaps` has a lane for each channel (else it has one).
 * NULL: neither is noted. */
gboolean psrfits_rows_scan(PsrfitsRows *rows, CtGaps *gaps, GError **error);
void psrfits_rows_clear(PsrfitsRows *rows);
