/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers of PSRDADA files: lines of a keyword and a value in ASCII, in HDR_SIZE bytes, of which
 * those after the last line are zero. A `#` begins a comment. After W. van Straten, A. Jameson and
 * S. Osłowski, "PSRDADA: Distributed Acquisition and Data Analysis for Radio Astronomy", ASCL
 * 2110.003, ascii_header.c. */
#pragma once

#include <glib.h>

/* The bytes of a header without HDR_SIZE, and the most that are read. */
#define DADA_USUAL_BYTES 4096
#define DADA_MOST_BYTES  (1 << 20)

typedef struct {
    char *keyword;
    char *value; /* without the spaces around it */
    guint line;  /* from 1 on */
} DadaLine;

typedef struct {
    const char *path; /* of the file, for messages; owned by the caller */
    GArray *lines;    /* DadaLine */
} DadaHeader;

/* Reads the lines of the first `n` bytes of a file, up to a byte that is not ASCII. `header` must
 * be clear. */
void dada_header_parse(DadaHeader *header, const char *path, const guint8 *bytes, gsize n);
void dada_header_clear(DadaHeader *header);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(DadaHeader, dada_header_clear)

/* The value of a keyword, the first of several; NULL if there is none, or it says that it is not
 * known ("unset", "unknown", "None", in any case). */
const char *dada_text(const DadaHeader *header, const char *keyword);
/* Numbers: `fallback` if the keyword has no value. An integer is at least `least`. */
gboolean dada_integer(const DadaHeader *header, const char *keyword, gint64 least, gint64 fallback,
                      gint64 *value, GError **error);
gboolean dada_real(const DadaHeader *header, const char *keyword, gdouble fallback, gdouble *value,
                   GError **error);
/* Sets an error "PATH: line N: KEYWORD wants …, but is given 'VALUE'", or, without a line, "PATH:
 * KEYWORD wants …, but is not given". Returns FALSE. */
gboolean dada_refuse(const DadaHeader *header, const char *keyword, const char *wants,
                     GError **error);
