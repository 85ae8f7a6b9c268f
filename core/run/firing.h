/* SPDX-License-Identifier: BSD-3-Clause */
/* A firing of a node, and the validity of what it makes. */
#pragma once

#include "run-node.h"

/* Changes a block of the ring of `input` to the layout that the reader is bound to. Both layouts
 * describe the same memory: axes of length 1 may be elsewhere, and real and imaginary parts may be
 * an axis. */
void ct_firing_view(const CtRunNode *node, guint input, CtBlock *block);

/* With the lock. Finds the samples in the inputs and the room in the outputs. FALSE while something
 * is missing (no error), or if it can never come (error). */
gboolean ct_firing_gather(CtRunNode *node, GError **error);
/* Without the lock. Calls the advance, and sets the blocks and the items to work on. */
gboolean ct_firing_decide(CtRunNode *node, GError **error);
/* The items of the firing that was decided, along the axis that the variant declares. */
gint64 ct_firing_count_items(const CtRunNode *node);
/* Without the lock. Makes this the last firing, without samples, of an interrupted source or of a
 * node whose readers have ended. */
void ct_firing_decide_to_end(CtRunNode *node);

/* Counts the invalid lanes × samples of those produced. */
gint64 ct_validity_count(const CtDeparture *departure, gint64 n_lanes);
/* Maps the lanes of validity of `input` to those of `output`. */
gboolean ct_lane_map_init(CtLaneMap *map, const CtStream *input, const CtStream *output,
                          GError **error);
void ct_lane_map_clear(CtLaneMap *map);
/* Sets the samples of `block` to zero that are invalid according to `departure`, and returns the
 * number of invalid lanes × samples. */
gint64 ct_validity_zero(const CtBlock *block, const CtDeparture *departure, const CtStream *stream,
                        const CtLayout *layout);
