/* SPDX-License-Identifier: BSD-3-Clause */
/* Placements: the layout of a stream in memory and the place of that memory. */
#pragma once

#include <cornerturn/stage.h>

typedef struct {
    CtLayout layout; /* concrete */
    gint place;      /* CT_HOST or a device */
} CtPlacement;

/* Whether the stream has the same memory in both concrete layouts, so that a reader of either has a
 * view of the other: axes of length 1 may differ in position, and an innermost `complex` axis is
 * the same as a complex type. */
gboolean ct_layout_same_memory(const CtLayout *a, const CtLayout *b, const CtStream *stream);
/* The same for two placements, which must be at the same place. */
gboolean ct_placement_same_memory(const CtPlacement *a, const CtPlacement *b,
                                  const CtStream *stream);
/* The type of the stream's elements in this layout: complex where the layout has a `complex`
 * axis. */
CtType ct_layout_stream_type(const CtLayout *layout);
