/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading long files of packets without an index of all their packets: each file is one lane.
 *
 * The packets of a file are found and arranged part by part, each part with the packets before and
 * after it, its context, on which the decisions on its packets depend. What is decided is what
 * arranging all packets decides, as long as packets are out of order, doubled, or contradicted by
 * others within the context only. (Around packets that are wrong at the ends, fewer are counted
 * as reordered.) */
#pragma once

#include "packets-private.h"

typedef struct CtAhead CtAhead;

/* In packets. Recordings of at most `least` packets a file are not read like this. */
typedef struct {
    guint part, context;
    gint64 least;
} CtAheadSizes;

extern const CtAheadSizes ct_ahead_sizes;

/* Takes the scans [n_lanes], which have not gone on, and finds the range of samples from both ends
 * of the files: sets first and end of `packets`. Returns NULL without an error if the recording is
 * to be arranged as a whole, because it is short, or because its ends do not show that there are no
 * pauses longer than `max_gap`; the scans are then as they were. */
CtAhead *ct_ahead_new(CtPackets *packets, CtPacketScan *const *scans, guint n_lanes,
                      gint64 n_samples, gint64 max_gap, const CtAheadSizes *sizes, GError **error);
void ct_ahead_free(CtAhead *ahead);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtAhead, ct_ahead_free)

/* Leaves out what is before sample `first`, and from `end` on. Before anything is loaded. */
gboolean ct_ahead_cut(CtAhead *ahead, gint64 first, gint64 end, GError **error);
/* Makes `packets` have the arranged packets of samples begin … end − 1, where `begin` never
 * decreases. Pointers to packets are then no longer valid. At the end of the range, counts the
 * missing ones. */
gboolean ct_ahead_load(CtAhead *ahead, gint64 begin, gint64 end, GError **error);
