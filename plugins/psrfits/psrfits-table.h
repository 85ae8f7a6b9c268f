/* SPDX-License-Identifier: BSD-3-Clause */
/* What the headers of a PSRFITS file in search mode say. After the PSRFITS definition, version 6.1
 * (G. Hobbs et al., CSIRO). */
#pragma once

#include <glib.h>

/* A column of the table SUBINT, within each row. */
typedef struct {
    char type;     /* of FITS: B, I, J, E, D; 0: there is no such column */
    gint64 offset; /* in bytes */
    gint64 n;      /* elements */
    gint64 bytes;  /* of an element */
    gdouble zero;  /* TZERO: added to what the file has */
} PsrfitsColumn;

enum {
    PSRFITS_OFFS_SUB,
    PSRFITS_DAT_FREQ,
    PSRFITS_DAT_WTS,
    PSRFITS_DAT_OFFS,
    PSRFITS_DAT_SCL,
    PSRFITS_DATA,
    PSRFITS_N_COLUMNS
};
extern const char *const psrfits_columns[PSRFITS_N_COLUMNS];

typedef struct {
    gint64 begin;     /* of the rows, in bytes */
    gint64 row_bytes; /* at least 1 */
    gint64 n_rows;    /* that the header tells of */
    PsrfitsColumn columns[PSRFITS_N_COLUMNS];
    char *dimensions; /* TDIM of DATA; NULL: none */

    /* Numbers of headers, which are finite; NAN, or −1 of whole ones: they are not given. */
    gint64 bits, n_channels, n_products, row_samples, n_samples, rows_before;
    gint64 day;
    gboolean is_signed;
    gdouble period, zero, centre, width; /* seconds; ZERO_OFF; MHz */
    gdouble second, part;                /* of the day */
    gdouble location[3];
    /* Texts, without spaces at their ends; NULL: not given, or empty. */
    char *products, *telescope, *source, *project, *observer, *ra, *dec;
} PsrfitsTable;

/* Reads the headers of an open file of `length` bytes, which `path` names in messages. Fails if it
 * is not in search mode, or a column is not within the row. `table` must be zero, and is to be
 * cleared in either case. */
gboolean psrfits_table_read(PsrfitsTable *table, const char *path, int fd, gint64 length,
                            GError **error);
void psrfits_table_clear(PsrfitsTable *table);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PsrfitsTable, psrfits_table_clear)
