/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights that are quantised before the variants on the processor pack them. */
#include "beamform-quantise.h"

#include "beamform.h"

#include <string.h>

/* The scale of the weights of one beam. */
static float
find_scale(const Beamform *self, const guint8 *weights, gint64 station_stride)
{
    unsigned largest = 0;
    for (gint64 s = 0; s < self->n_stations; s++) {
        const float *w = (const float *)(weights + s * station_stride);
        largest = MAX(largest, MAX(beamform_size(w[0]), beamform_size(w[1])));
    }
    return beamform_scale(self->weights_as, largest);
}

void
ct_beamform_quantise(const Beamform *self, const guint8 *weights, gint64 beam_stride,
                     gint64 station_stride, float *to)
{
    for (gint64 b = 0; b < self->n_beams; b++) {
        const guint8 *from = weights + b * beam_stride;
        const float scale = find_scale(self, from, station_stride);
        for (gint64 s = 0; s < self->n_stations; s++, to += 2) {
            const float *w = (const float *)(from + s * station_stride);
            for (guint part = 0; part < 2; part++)
                to[part] = beamform_level(self->weights_as, w[part], scale) * scale;
        }
    }
}
