/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two kinds of ring, own memory and fed, share. */
#pragma once

#include "ring.h"

/* A ring without memory or generations. */
CtRing *ct_ring_new_bare(const CtPlanLink *link);
/* Copies samples first … first + n − 1 from generation to generation, validity too; all lie packed
 * outside time.
 */
gboolean ct_ring_copy(const CtRing *ring, const CtRingGeneration *to, const CtRingGeneration *from,
                      gint64 first, gint64 n, const CtRingMover *mover, GError **error);
/* Where sample `index` of `generation` lies. */
guint8 *ct_ring_address(const CtRing *ring, const CtRingGeneration *generation, gint64 index);
/* Releases what the program fed and no reader has finished with. */
void ct_ring_feed_free(CtRing *ring);
