/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of a PSRFITS file in search mode before its rows: the primary header, and that of the
 * table SUBINT. After the PSRFITS definition, version 6.1 (G. Hobbs et al., CSIRO). */
#pragma once

#include "psrfits-cards.h"

#include <cornerturn/kit/filterbank.h>

/* Where the columns of a row are; offsets in bytes. */
typedef struct {
    gint64 duration, middle; /* TSUBINT, OFFS_SUB: doubles, seconds */
    gint64 direction;        /* RA_SUB, DEC_SUB: doubles, degrees; −1: not known */
    gint64 frequencies;      /* DAT_FREQ: [channel] doubles, MHz */
    gint64 weights;          /* DAT_WTS: [channel] floats */
    gint64 offsets, scales;  /* DAT_OFFS, DAT_SCL: [product][channel] floats */
    gint64 data;             /* DATA: [time][product][channel] */
    gint64 bytes;            /* of the row */
} PsrfitsRow;

/* What a file has, for its header. */
typedef struct {
    const CtStream *stream; /* whose start is that of the file */
    const CtChannels *channels;
    gint64 n_products;
    const char *products; /* POL_TYPE */
    const char *feed;     /* FD_POLN */
    guint bits;           /* of an element: 1, 2, 4, 8, 16, or 32 for floats */
    gboolean is_signed;
    gint64 row_samples; /* NSBLK */
    const char *frontend, *backend;
} PsrfitsShape;

typedef struct {
    GBytes *bytes;
    gint64 n_rows;    /* the byte where the digits of NAXIS2 begin, 20 of them, right-aligned */
    gint64 n_samples; /* the same of NSTOT */
} PsrfitsHeader;

/* The row of a file; bytes −1 if 63 bits don't count them. */
PsrfitsRow psrfits_row(const PsrfitsShape *shape);
/* Makes the header of a file without rows. `header` must be zero, and is to be cleared in either
 * case. */
gboolean psrfits_header_make(PsrfitsHeader *header, const char *path, const PsrfitsShape *shape,
                             GError **error);
void psrfits_header_clear(PsrfitsHeader *header);
