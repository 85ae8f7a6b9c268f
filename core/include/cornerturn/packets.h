/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of back-to-back packets: where each packet stands, when it was sampled, and what is amiss.
 *
 * A format brings two functions on the bytes of a header; scanning finds the packets, passing over
 * damage, and arranging puts them in time. Nothing is ever shifted in time: what has no packet is
 * missing, and each packet that is not used is counted under one reason. */
#pragma once

#include <cornerturn/export.h>
#include <glib.h>

G_BEGIN_DECLS

#define CT_PACKET_MAX_HEADER 64

typedef struct {
    const char *name;   /* "VDIF frames", for messages */
    gsize header_bytes; /* at most CT_PACKET_MAX_HEADER */
    /* Bytes of the whole packet, header included, or 0 where this is no header of the format. */
    gsize (*size)(const guint8 *header, gconstpointer data);
    /* Whether two headers of the format describe one stream: the same sizes, types, sender. */
    gboolean (*alike)(const guint8 *a, const guint8 *b, gconstpointer data);
    gconstpointer data; /* for the two */
} CtPacketFormat;

typedef struct {
    gint64 stamp; /* index of its first sample, between ±2⁶²; until arranged, whatever the caller
                     keeps there */
    gint64 offset; /* of its header in its file */
    guint32 file;
    guint32 lane;     /* thread or port */
    gboolean flagged; /* its sender says that its data are invalid */
    guint32 joins;    /* set when arranged: how many of the packets of its lane right before and
                         after it in the files it joins on to in time */
} CtPacket;

/* What was seen, what is missing, and packets that are not used, by reason. */
typedef enum {
    CT_PACKETS_READ,      /* whole packets found */
    CT_PACKETS_REORDERED, /* of those, used though they came after a later one */
    CT_PACKETS_RESTAMPED, /* of those, whose stamp the format has mended (it counts them) */
    CT_PACKETS_MISSING,   /* never found: their samples are invalid */
    CT_PACKETS_DUPLICATE, /* the same samples a second time */
    CT_PACKETS_FLAGGED,   /* marked invalid by their sender */
    CT_PACKETS_CORRUPT,   /* no header where one must be */
    CT_PACKETS_TRUNCATED, /* shorter than their header says */
    CT_PACKETS_STRAY,     /* of a lane that is not read */
    CT_PACKETS_MISTIMED,  /* stamps that cannot be true: far from all others, off the grid, or where
                             their place in the file contradicts them */
    CT_PACKETS_N_COUNTS
} CtPacketCount;

/* Their names, for `counters` of a stage; NULL-terminated. */
#define CT_PACKET_COUNTERS                                                                         \
    (const char *const[])                                                                          \
    {                                                                                              \
        [CT_PACKETS_READ] = "packets", [CT_PACKETS_REORDERED] = "reordered",                       \
        [CT_PACKETS_RESTAMPED] = "restamped", [CT_PACKETS_MISSING] = "missing",                    \
        [CT_PACKETS_DUPLICATE] = "duplicate", [CT_PACKETS_FLAGGED] = "flagged",                    \
        [CT_PACKETS_CORRUPT] = "corrupt", [CT_PACKETS_TRUNCATED] = "truncated",                    \
        [CT_PACKETS_STRAY] = "stray", [CT_PACKETS_MISTIMED] = "mistimed",                          \
        [CT_PACKETS_N_COUNTS] = NULL,                                                              \
    }

typedef struct {
    GArray *packets; /* CtPacket; in the order of the files, by lane and stamp once arranged */
    GArray *files;   /* the core's own: those scanned, by their number */
    guint64 counts[CT_PACKETS_N_COUNTS];
    guint n_lanes;
    guint *lane_begin; /* [n_lanes + 1] index of a lane's first packet, once arranged */
    gint64 first, end; /* samples, over all lanes */
    gint64 n_samples;  /* of a packet */
} CtPackets;

CT_EXPORT CtPackets *ct_packets_new(void);
CT_EXPORT void ct_packets_free(CtPackets *packets);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtPackets, ct_packets_free)

/* Called for each whole packet found, to fill in stamp, lane and flagged. */
typedef void (*CtPacketFunc)(const guint8 *header, CtPacket *packet, gpointer data);

/* Finds the packets of an open file, from its beginning to its end, and appends them. The stream is
 * that of the first header that another one of its like follows, else of the first that the end of
 * the file follows; a copy of it goes to `pattern` (header_bytes). A packet is whole where the next
 * header, or the end of the file, is a number of packets away, or where the file ends within the
 * next header. Payloads are not read: bytes lost within a packet are not seen where others make up
 * for them. Fails where the file holds no packet at all, or can't be read; messages begin with
 * "PATH: ". `path` and `fd` must hold until the packets are arranged. */
CT_EXPORT gboolean ct_packets_scan(CtPackets *packets, const char *path, int fd, guint file,
                                   const CtPacketFormat *format, CtPacketFunc found, gpointer data,
                                   guint8 *pattern, GError **error);

/* Orders the packets of `n_lanes` lanes by lane and stamp, each of `n_samples` samples, and drops
 * those that can't be used. Where stamps leave a gap of more than `max_gap` samples, only the run
 * of most packets between two such gaps is believed. A packet's place in the files is evidence,
 * too:
 *
 * - Where a lane's packets before and after it leave room for just this one, and no packet claims
 *   that room, its own claim to another time is not believed. A copy that joins on to nothing, of a
 *   packet that does, doesn't count as a packet before or after.
 * - The first or last packet of a lane in time is not believed where it joins on to nothing and is
 *   more than 16 packets from the next, though others of the lane join on to one another.
 * - Of packets that claim the same samples, the one that joins on to more of its neighbours is
 *   believed; of those that join on to as many, the first, if they hold the same, else none.
 * - One that joins on to nothing must stand a number of packets from those that do.
 *
 * Fails where packets that are to be compared can't be read. */
CT_EXPORT gboolean ct_packets_arrange(CtPackets *packets, guint n_lanes, gint64 n_samples,
                                      gint64 max_gap, GError **error);

/* The first packet of the lane that ends after sample `at`, and the end of the lane's packets. */
CT_EXPORT const CtPacket *ct_packets_find(const CtPackets *packets, guint lane, gint64 at,
                                          const CtPacket **end);

/* Writes the validity of samples begin … begin + n − 1 of a lane: 1 where a packet holds them.
 * Returns whether any is invalid. */
CT_EXPORT gboolean ct_packets_validity(const CtPackets *packets, guint lane, gint64 begin, gint64 n,
                                       guint8 *validity);

/* Opens a regular file for reading; −1 and "PATH: can't be opened: …" otherwise. */
CT_EXPORT int ct_file_open(const char *path, GError **error);
/* Reads exactly `n` bytes at an offset; fails as well where the file ends before. */
CT_EXPORT gboolean ct_file_read(const char *path, int fd, gint64 offset, void *bytes, gsize n,
                                GError **error);

G_END_DECLS
