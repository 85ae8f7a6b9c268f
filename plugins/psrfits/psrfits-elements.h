/* SPDX-License-Identifier: BSD-3-Clause */
/* What a PSRFITS file can hold of a stream, and how: products, levels, rows. */
#pragma once

#include "psrfits-header.h"

/* How samples become elements of the file. */
typedef struct {
    CtType type; /* of the blocks: f32, u8, i8 or i16 */
    guint bits;
    gboolean is_signed;
    gdouble scale, offset;
    gdouble least, most;  /* levels; of floats, all */
    const char *products; /* the axis of them; NULL: there is one */
    gint64 n_products;
    const char *name; /* POL_TYPE */
} PsrfitsElements;

/* Reads the parameters of psrfits.sink, and fails if no file can hold the stream. */
gboolean psrfits_elements_choose(const CtParams *given, const CtStream *stream,
                                 PsrfitsElements *elements, GError **error);
/* The shape of files of a stream. It borrows everything. */
void psrfits_shape_choose(const CtParams *given, const CtStream *stream,
                          const PsrfitsElements *elements, const CtChannels *channels,
                          PsrfitsShape *shape);
/* Fails if rows are too long, or have no whole bytes. */
gboolean psrfits_shape_check(const CtParams *given, const PsrfitsShape *shape, GError **error);
