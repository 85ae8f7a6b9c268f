/* SPDX-License-Identifier: BSD-3-Clause */
/* The products of few inputs (a single station, say), which would not fill the tiles' vectors: here
 * the elements of a vector are times. Same contract as in correlate-kernels.h. */
#pragma once

#include "correlate-kernels.h"

/* Sets the sizes if this method is the better one for the shape; else returns FALSE. */
gboolean CT_ISA(correlate_few_shape)(CorrelateShape *shape);

void CT_ISA(correlate_few_accumulate)(const CorrelateShape *shape, const guint8 *voltages,
                                      gint64 time_stride, gint64 station_stride, gint64 pol_stride,
                                      gsize n, gsize done, void *sums, void *scratch);

void CT_ISA(correlate_few_flush)(const CorrelateShape *shape, const void *sums, gsize done,
                                 guint8 *visibilities, gint64 baseline_stride, gint64 p_stride,
                                 gint64 q_stride);
