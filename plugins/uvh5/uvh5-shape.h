/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows and columns of a UVH5 file of a stream: stations, baselines, channels, products of
 * polarisations. */
#pragma once

#include "uvh5-centres.h"

#include <cornerturn/kit/sink.h>

typedef struct {
    gdouble frequency, width; /* hertz */
    gint64 subband, channel;  /* in the stream */
    gint64 window;            /* spectral window */
} Uvh5Channel;

typedef struct {
    gint number; /* as AIPS has it: −5 XX, −6 YY, … */
    gint64 p, q; /* of the axes pol and pol' */
} Uvh5Product;

typedef struct {
    gint64 n_stations; /* those whose names the axis baseline has, also without baselines */
    const CtStation **stations;
    gint64 *numbers; /* in the observation */

    gint64 n_baselines;
    guint32 (*pairs)[2]; /* stations of a baseline: the first in the file, which is conjugated, and
                            the second */

    gint64 n_windows, n_channels;
    Uvh5Channel *channels; /* window by window, by ascending frequencies */

    gint64 n_products;
    Uvh5Product products[4];
    gint64 n_feeds;
    char feeds[2];          /* x, y, r, l */
    guint polarisations[2]; /* of the observation, for the orientations of the feeds */

    Uvh5Place place;
    Uvh5Centres *centres;
    gdouble centre[3];  /* of the telescope, metres in the ITRF */
    gdouble *positions; /* [station][3] metres in the axes of the ITRF, from the centre */
} Uvh5Shape;

/* What the file of a stream has. NULL with an error: what the stream lacks, or the format can't
 * hold. The stations are those of the stream's observation, which must live as long. */
Uvh5Shape *uvh5_shape_new(const CtStream *stream, const CtParams *given, GError **error);
void uvh5_shape_free(Uvh5Shape *shape);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Uvh5Shape, uvh5_shape_free)
