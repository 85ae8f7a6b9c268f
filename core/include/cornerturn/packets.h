/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of packets back to back: finds the packets, orders them in time, and counts what is missing
 * or damaged.
 *
 * A format has two functions on the bytes of a header. Scanning finds the packets and skips damage;
 * arranging orders them in time. Samples are never moved in time: samples without a packet are
 * missing, and each packet that is not used is counted under one reason. */
#pragma once

#include <cornerturn/export.h>
#include <glib.h>

G_BEGIN_DECLS

/* The bytes of a header that a CtSourceFile has, and the most that are looked at. */
#define CT_PACKET_MAX_HEADER     64
#define CT_PACKET_LONGEST_HEADER 256

typedef struct {
    const char *name;   /* "VDIF frames", for messages */
    gsize header_bytes; /* 1 to CT_PACKET_LONGEST_HEADER */
    /* The bytes of the whole packet, header included; 0 if this is no header of the format. */
    gsize (*size)(const guint8 *header, gconstpointer data);
    /* Whether two headers of the format belong to one stream: the same sizes, types and sender. */
    gboolean (*alike)(const guint8 *a, const guint8 *b, gconstpointer data);
    gconstpointer data; /* passed to all functions */
    /* The bytes of a whole packet of the same protocol that is of another stream, or has no
     * samples; 0 if this is no such packet. It stands between two others without damage, and counts
     * as stray. `n` bytes are there, fewer than header_bytes at the end of a file. NULL: there are
     * no such packets. */
    gsize (*other)(const guint8 *header, gsize n, gconstpointer data);
    guint64 reserved[3]; /* 0 */
} CtPacketFormat;

typedef struct {
    gint64 stamp; /* index of its first sample, between ±2⁶²; until packets are arranged, the caller
                     may keep another number here */
    gint64 offset; /* of its header in the file */
    guint32 file;
    guint32 lane;     /* thread or port */
    gboolean flagged; /* the sender marks its data as invalid */
    guint32 joins; /* set when packets are arranged: how many of its two neighbours in the lane, in
                      the order of the files, directly precede or follow it in time */
} CtPacket;

/* Counts of packets that are used, missing, or not used for one reason. */
typedef enum {
    CT_PACKETS_READ,      /* whole packets found */
    CT_PACKETS_REORDERED, /* used packets that came after a later one */
    CT_PACKETS_RESTAMPED, /* packets whose stamp was corrected by the format, which counts them */
    CT_PACKETS_MISSING,   /* packets never found: their samples are invalid */
    CT_PACKETS_DUPLICATE, /* packets with the same samples as another */
    CT_PACKETS_FLAGGED,   /* marked as invalid by the sender */
    CT_PACKETS_CORRUPT,   /* places without a header where one must be */
    CT_PACKETS_TRUNCATED, /* packets shorter than their header says */
    CT_PACKETS_STRAY,     /* packets of a lane that is not read */
    CT_PACKETS_MISTIMED,  /* packets with a wrong stamp: far from all others, off the grid, or
                             contradicted by their place in the file, as are those of long recordings
                             (CtSource.is_lane_a_file and CtSource.place) that stand so far behind
                             later ones that their samples were given already */
    CT_PACKETS_N_COUNTS
} CtPacketCount;

/* Counts of packets from the network, behind those of CtPacketCount: they are not in CtPackets. */
typedef enum {
    CT_PACKETS_LATE = CT_PACKETS_N_COUNTS, /* packets that came after the window of reordering */
    CT_PACKETS_DROPPED,  /* packets for which there was no memory, because the graph was too slow */
    CT_PACKETS_RECEIVED, /* datagrams, of which each is used or counted under one reason */
    CT_PACKETS_USED,     /* packets that are used */
    CT_PACKETS_OVERRUN,  /* datagrams that this machine lost before they were received, because the
                            buffers of the address were full */
    CT_PACKETS_N_RECEIVED_COUNTS
} CtReceivedCount;

/* The names of the counts, for `counters` of a stage; NULL-terminated. */
#define CT_PACKET_COUNTERS                                                                         \
    (const char *const[])                                                                          \
    {                                                                                              \
        [CT_PACKETS_READ] = "packets", [CT_PACKETS_REORDERED] = "reordered",                       \
        [CT_PACKETS_RESTAMPED] = "restamped", [CT_PACKETS_MISSING] = "missing",                    \
        [CT_PACKETS_DUPLICATE] = "duplicate", [CT_PACKETS_FLAGGED] = "flagged",                    \
        [CT_PACKETS_CORRUPT] = "corrupt", [CT_PACKETS_TRUNCATED] = "truncated",                    \
        [CT_PACKETS_STRAY] = "stray", [CT_PACKETS_MISTIMED] = "mistimed",                          \
        [CT_PACKETS_LATE] = "late", [CT_PACKETS_DROPPED] = "dropped",                              \
        [CT_PACKETS_RECEIVED] = "received", [CT_PACKETS_USED] = "used",                            \
        [CT_PACKETS_OVERRUN] = "overrun", [CT_PACKETS_N_RECEIVED_COUNTS] = NULL,                   \
    }

typedef struct {
    GArray *packets; /* CtPacket; in the order of the files; once arranged, by lane and stamp */
    GArray *files;   /* private to the core: the scanned files, by number */
    guint64 counts[CT_PACKETS_N_COUNTS];
    guint n_lanes;
    guint *lane_begin; /* [n_lanes + 1] index of a lane's first packet, once arranged */
    gint64 first, end; /* range of samples over all lanes */
    gint64 n_samples;  /* of a packet */
    gint64 overlap;    /* samples that a packet has after these, and the next packet has too: they
                          are taken from the one that comes first. 0, unless set before packets
                          are arranged */
    gint64 owned[2];   /* private to the core: the offsets, begin and end, of packets that are
                          counted when they are arranged; 0: all */
    GArray *flagged;   /* private to the core: CtPacket, arranged, but flagged; NULL: none */
} CtPackets;

CT_EXPORT CtPackets *ct_packets_new(void);
CT_EXPORT void ct_packets_free(CtPackets *packets);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtPackets, ct_packets_free)

/* Called for each whole packet that is found; sets stamp, lane and flagged. */
typedef void (*CtPacketFunc)(const guint8 *header, CtPacket *packet, gpointer data);

/* Finds the packets of an open file, from its beginning to its end, and appends them. The stream is
 * that of the first header that is followed by another of the same stream or, if there is none, of
 * the first header whose packet ends with the file; its header is copied to `pattern`
 * (header_bytes). A packet is whole if the next header or the end of the file is a whole number of
 * packets away, or if the file ends within the next header; but where headers are missing, not if
 * another header stands within it. Otherwise payloads are not read: lost bytes within a packet go
 * unnoticed if other bytes make up for them. Fails if the file has no packet or
 * cannot be read; messages begin with "PATH: ". `path` and `fd` must stay valid until the packets
 * are arranged. */
CT_EXPORT gboolean ct_packets_scan(CtPackets *packets, const char *path, int fd, guint file,
                                   const CtPacketFormat *format, CtPacketFunc found, gpointer data,
                                   guint8 *pattern, GError **error);

/* For senders that count packets or samples modulo `period` (2³², at most 2⁶⁰), before the packets
 * are arranged: adds to each stamp, which is such a counter from 0 on, the multiple of the period
 * with which it is nearest to the packets before it in its lane. Of these, only such count as are
 * at most an eighth of the period from the one before, so that a damaged counter moves no other
 * packet. Pauses, and the distances between the beginnings of the lanes, must be shorter than half
 * a period. */
CT_EXPORT void ct_packets_unwrap(CtPackets *packets, guint n_lanes, gint64 period);

/* Orders the packets of `n_lanes` lanes by lane and stamp, each of `n_samples` samples, and drops
 * those that cannot be used; those of other lanes are stray. If stamps leave gaps of more than
 * `max_gap` samples, only the run with the most packets between two such gaps is used. Two packets
 * join if one directly follows the other, both in time and among the packets of their lane in the
 * files:
 *
 * - A packet is dropped if the packets before and after it leave room for exactly one packet, its
 *   stamp is not in that room, and no other packet's is. A packet that joins no other does not
 *   count as one before or after if a packet that does has the same stamp.
 * - The first or last packet of a lane in time is dropped if it joins no other and is more than 16
 *   packets from the next, provided that other packets of the lane join.
 * - Of packets that claim the same samples, the one that joins more neighbours is kept. If several
 *   join as many, the first is kept if their contents are the same, otherwise none.
 * - A packet that joins no other must be a whole number of packets away from those that do.
 *
 * Fails if packets that must be compared cannot be read, and if n_lanes or n_samples is below 1 or
 * max_gap below 0. */
CT_EXPORT gboolean ct_packets_arrange(CtPackets *packets, guint n_lanes, gint64 n_samples,
                                      gint64 max_gap, GError **error);

/* The first packet of the lane that ends after sample `at`. Sets *end to the end of the lane. */
CT_EXPORT const CtPacket *ct_packets_find(const CtPackets *packets, guint lane, gint64 at,
                                          const CtPacket **end);

/* Writes the validity of samples begin … begin + n − 1 of a lane: 1 if a packet has the sample.
 * Returns whether any is invalid. */
CT_EXPORT gboolean ct_packets_validity(const CtPackets *packets, guint lane, gint64 begin, gint64 n,
                                       guint8 *validity);

/* Opens a regular file for reading. Returns −1 with "PATH: can't be opened: …" on failure. */
CT_EXPORT int ct_file_open(const char *path, GError **error);
/* Reads exactly `n` bytes at an offset. Fails also if the file ends earlier. */
CT_EXPORT gboolean ct_file_read(const char *path, int fd, gint64 offset, void *bytes, gsize n,
                                GError **error);
/* Writes bytes at an offset. Returns the number written, fewer than `n` only with an error. */
CT_EXPORT gint64 ct_file_write(const char *path, int fd, gint64 offset, gconstpointer bytes,
                               gint64 n, GError **error);
/* Sets an error "PATH: WHAT: the message of errno". Returns FALSE. */
CT_EXPORT gboolean ct_file_error(GError **error, const char *path, const char *what);

G_END_DECLS
