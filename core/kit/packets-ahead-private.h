/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading recordings part by part: what its parts share. */
#pragma once

#include "packets-ahead.h"
#include "packets-chain.h"

/* Packets that follow one another in a file, or in all files. */
typedef struct {
    CtPacketChain chain;
    GArray *raw; /* CtPacket in the order of the files: the context before the next part, the part,
                    and the context after it */
    guint n_before; /* packets of the context before the part */
    gint64 safe;    /* packets with samples before this one are ready, or are mistimed */
} CtAheadTrack;

struct CtAhead {
    CtPackets *packets;
    CtAheadSizes sizes;
    gint64 max_gap;
    CtPlaceFunc place; /* NULL: packets have their lanes and stamps */
    CtEndsFunc ends;   /* NULL: the last packet's */
    gconstpointer recording;
    guint n_tracks;
    CtAheadTrack *tracks;
    guint n_ends;    /* packets at each end of a track that tell its range */
    GArray **ready;  /* [lane] CtPacket, arranged, by stamp */
    CtPipe **pipes;  /* [track], not owned; NULL: they are files */
    gint64 range[2]; /* of files, first and end of all samples, once is_ranged */
    gboolean is_ranged;
    gint64 latest;       /* stamp of a packet that is ready, or was */
    gint64 end;          /* of the samples that are read; of a pipe, G_MAXINT64 until it is known */
    gint64 stop;         /* the stream ends before it, though packets may go on */
    gint64 begin, given; /* the samples of the range that are read, and those before this one that
                            were loaded */
    gint64 used;         /* packets that are ready, or were */
    gboolean is_counted; /* missing packets are */
};

/* An object whose tracks have these scans. */
CtAhead *ct_ahead_alloc(CtPackets *packets, const CtAheadOf *of, gint64 max_gap,
                        const CtAheadSizes *sizes);
/* Arranges n packets of one track that are in a range of samples, or of which this is NULL, and
 * counts those at the positions begin … end − 1. */
CtPackets *ct_ahead_arrange(const CtAhead *ahead, gconstpointer raw, guint n, gint64 begin,
                            gint64 end, const gint64 *range, GError **error);
/* Appends up to `most` further packets of a track to `to`, with their lanes and stamps. */
gboolean ct_ahead_scan(const CtAhead *ahead, CtPacketChain *chain, CtPackets *packets, GArray *to,
                       guint most, GError **error);
/* Finds and arranges the next part of a file. Sets *waits if it can't: the pipe lacks bytes. */
gboolean ct_ahead_next_part(CtAhead *ahead, CtAheadTrack *track, gboolean *waits, GError **error);
