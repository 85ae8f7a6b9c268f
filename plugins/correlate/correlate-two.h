/* SPDX-License-Identifier: BSD-3-Clause */
/* The products of two inputs of several items. Same contract as in correlate-kernels.h. */
#pragma once

#include "correlate-kernels.h"

/* Sets the sizes if this method is the better one for the shape; else returns FALSE. */
gboolean CT_ISA(correlate_two_shape)(CorrelateShape *shape);

/* Items whose spectra and sums are summed together. */
typedef struct {
    gsize n;
    gint64 stride; /* in the voltages, in bytes */
} CorrelateItems;

void CT_ISA(correlate_two_accumulate)(const CorrelateShape *shape, const CorrelateItems *items,
                                      const guint8 *voltages, gint64 time_stride,
                                      gint64 station_stride, gint64 pol_stride, gsize n, gsize done,
                                      void *sums);

/* Writes the visibilities of one item. */
void CT_ISA(correlate_two_flush)(const CorrelateShape *shape, const void *sums, gsize done,
                                 guint8 *visibilities, gint64 baseline_stride, gint64 p_stride,
                                 gint64 q_stride);
