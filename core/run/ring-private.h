/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions shared by the two kinds of ring: with memory of its own, and fed by the program. */
#pragma once

#include "ring.h"

/* Makes a ring without memory or generations. */
CtRing *ct_ring_new_bare(const CtPlanLink *link);
/* Copies samples first … first + n − 1 and their validity from one generation to another. Axes
 * outside time must be packed. */
gboolean ct_ring_copy(const CtRing *ring, const CtRingGeneration *to, const CtRingGeneration *from,
                      gint64 first, gint64 n, const CtRingMover *mover, GError **error);
/* The address of sample `index` of `generation`. */
guint8 *ct_ring_address(const CtRing *ring, const CtRingGeneration *generation, gint64 index);
/* Releases the blocks that the program fed and that are not yet released. */
void ct_ring_feed_free(CtRing *ring);
