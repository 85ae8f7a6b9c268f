/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures of what files contain. A file is read by its source, in a graph made for it, and reduced
 * to the resolution of the picture while it is read, so that its length does not matter. */
#pragma once

#include <cornerturn/error.h>

typedef enum {
    CT_SHOW_PNG,
    CT_SHOW_SVG,
    CT_SHOW_COLOURS, /* text of half blocks with 24-bit colours, for terminals */
    CT_SHOW_TEXT
} CtShowFormat;

/* What to draw. */
typedef struct {
    const char *const *paths;    /* one file, or several that are one stream; NULL-terminated */
    const char *stage;           /* the source that reads them; NULL: by the name's ending */
    const char *const *settings; /* its parameters, "layout=[time channel]" with the value in YAML;
                                    NULL-terminated; NULL: none */
    const char *const *selections; /* parameters of the stage `select`, likewise */
    const char *axes;              /* "time,channel": across and upwards; "time": a line for each
                                      element of another axis; NULL: the usual ones */
    const char *quantity;          /* one of ct_show_quantities(); NULL: the usual one */
    gint64 n_channels;             /* of the spectra of voltages; 0: by their number */
    gboolean decibels, dark;
    CtShowFormat format;
    guint width, height; /* pixels; of texts, columns and lines */
} CtShow;

/* The names of what can be drawn, NULL-terminated. */
const char *const *ct_show_quantities(void);
/* Makes the picture: its bytes, allocated; *length of them. *warnings: those of the graph, one
 * each, to be freed with g_strfreev. */
char *ct_show_draw(const CtShow *show, gsize *length, char ***warnings, GError **error);
