/* SPDX-License-Identifier: BSD-3-Clause */
/* How and where the memory of a stream lies. */
#pragma once

#include <cornerturn/stage.h>

typedef struct {
    CtLayout layout; /* concrete */
    gint place;      /* CT_HOST or a device */
} CtPlacement;

/* Whether the memory of the stream is the same in both concrete layouts: axes of length 1 stand
 * anywhere, and an innermost `complex` is part of the type. A reader then has a view. */
gboolean ct_layout_same_memory(const CtLayout *a, const CtLayout *b, const CtStream *stream);
/* The same at the same place. */
gboolean ct_placement_same_memory(const CtPlacement *a, const CtPlacement *b,
                                  const CtStream *stream);
/* The type of the stream's elements in this layout: complex, where parts stand apart. */
CtType ct_layout_stream_type(const CtLayout *layout);
