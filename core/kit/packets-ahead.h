/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading recordings without an index of all their packets: long files, and pipes.
 *
 * The packets of a file are found and arranged part by part, each part with the packets before and
 * after it, its context, on which the decisions on its packets depend. What is decided is what
 * arranging all packets decides, as long as packets are out of order, doubled, or contradicted by
 * others within the context only. (Around packets that are wrong at the ends, fewer are counted
 * as reordered.) */
#pragma once

#include "packets-private.h"

typedef struct CtAhead CtAhead;

/* In packets. */
typedef struct {
    guint part, context;
    gint64 least; /* recordings of at most so many packets a file are not read like this */
    /* The next ones are of pipes, in bytes. */
    gint64 context_bytes; /* of packets that are long, the context is no longer than this, but has
                             three packets of each lane */
    gint64 head_bytes;    /* the stream is described by the packets of its first bytes */
    gint64 lead_bytes;    /* beside what is arranged, so much of each pipe is held at most */
} CtAheadSizes;

extern const CtAheadSizes ct_ahead_sizes;

/* Sets lane and stamp of a packet (CtSource.place). FALSE: it is not used, and counted. */
typedef gboolean (*CtPlaceFunc)(gconstpointer recording, CtPacket *packet, guint64 *counts);

/* The end of the stream of a pipe that has ended (CtSource.ends). */
typedef gint64 (*CtEndsFunc)(gconstpointer recording);

/* The files that are read: each has a lane of its own, or they are a chain, one after another, in
 * which all have all lanes. */
typedef struct {
    CtPacketScan *const *scans; /* [n_files] */
    guint n_files, n_lanes;
    gboolean is_chain;
    gint64 n_samples;  /* of a packet */
    CtPlaceFunc place; /* NULL: packets have their lanes and stamps when they are found */
    CtEndsFunc ends;   /* NULL: that of the last packet */
    gconstpointer recording;
} CtAheadOf;

/* Takes files whose scans have not gone on, and finds the range of samples from both ends
 * of the files: sets first and end of `packets`. Returns NULL without an error if the recording is
 * to be arranged as a whole, because it is short, or because its ends do not show that there are no
 * pauses longer than `max_gap`; the scans are then as they were. */
CtAhead *ct_ahead_new(CtPackets *packets, const CtAheadOf *of, gint64 max_gap,
                      const CtAheadSizes *sizes, GError **error);
/* Takes pipes, whose first packets `raw` [track] have been found, and which begin with sample
 * packets->first. `bytes` are those of the longest packet. The end is then not known. */
CtAhead *ct_ahead_new_pipes(CtPackets *packets, const CtAheadOf *of, CtPipe *const *pipes,
                            GArray *const *raw, gint64 bytes, gint64 max_gap,
                            const CtAheadSizes *sizes);
void ct_ahead_free(CtAhead *ahead);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtAhead, ct_ahead_free)

/* Leaves out what is before sample `first`, and from `end` on. Before anything is loaded. */
gboolean ct_ahead_cut(CtAhead *ahead, gint64 first, gint64 end, GError **error);
/* Waits a while, if files are pipes, until some of `most` samples from `begin` on can be loaded:
 * sets *n to their number, and *ended if none follow these. Of other files, all can be. */
gboolean ct_ahead_wait(CtAhead *ahead, gint64 begin, gint64 most, gint64 *n, gboolean *ended,
                       GError **error);
/* Makes `packets` have the arranged packets of samples begin … end − 1, where `begin` never
 * decreases. Pointers to packets are then no longer valid. At the end of the range, counts the
 * missing ones. */
gboolean ct_ahead_load(CtAhead *ahead, gint64 begin, gint64 end, GError **error);
/* The bytes that are held of pipes at most, each. */
gint64 ct_ahead_room(const CtAhead *ahead);
