/* SPDX-License-Identifier: BSD-3-Clause */
/* The phase centres of a stream, by time. */
#pragma once

#include "uvh5-astrometry.h"

typedef struct {
    gint64 tick;
    guint centre;
} Uvh5Change;

typedef struct {
    guint n_centres; /* which differ from one another; at least 1 */
    Uvh5Centre *centres;
    guint n_changes; /* by ascending ticks; the first is before all */
    Uvh5Change *changes;
} Uvh5Centres;

/* Those of the stream's observation, which must live as long. NULL with an error. */
Uvh5Centres *uvh5_centres_new(const CtStream *stream, const CtParams *given, GError **error);
void uvh5_centres_free(Uvh5Centres *self);

/* The number of the centre at the begin of integration `i` of the stream. *is_mixed says whether
 * another one follows within the integration. */
guint uvh5_centres_at(const Uvh5Centres *self, const CtStream *stream, gint64 i,
                      gboolean *is_mixed);
