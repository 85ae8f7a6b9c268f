/* SPDX-License-Identifier: BSD-3-Clause */
/* The packets of files before they are arranged. */
#pragma once

#include "cornerturn/packets.h"
#include "cornerturn/stage.h"

/* A file that has been searched for packets. */
typedef struct {
    const char *path;
    int fd;
    gsize header_bytes, bytes; /* of each packet */
} CtScannedFile;

/* Keeps what comparing and reading packets of file number `file` needs. `path` and `fd` must stay
 * valid. */
void ct_packets_add_file(CtPackets *packets, guint file, CtScannedFile scanned);

/* The search for the packets of a file, which goes on from where it was. */
typedef struct CtPacketScan CtPacketScan;

/* As ct_packets_scan(), up to the first header. The counts go to `packets`. `format`, `data` and
 * `pattern` must stay valid. */
CtPacketScan *ct_packet_scan_new(CtPackets *packets, const char *path, int fd, guint file,
                                 const CtPacketFormat *format, CtPacketFunc found, gpointer data,
                                 guint8 *pattern, GError **error);
void ct_packet_scan_free(CtPacketScan *scan);
/* Appends up to `most` further packets to `to`. */
gboolean ct_packet_scan_more(CtPacketScan *scan, CtPackets *packets, GArray *to, guint most,
                             GError **error);
/* Whether it has come to the end of the file. */
gboolean ct_packet_scan_is_over(const CtPacketScan *scan);
/* The packets from the first header to the end of the file, if none is damaged. */
gint64 ct_packet_scan_count(const CtPacketScan *scan);
/* Finds the packet that is number `i` if none before it is damaged. FALSE without an error: there
 * is no header of the stream. */
gboolean ct_packet_scan_peek(CtPacketScan *scan, gint64 i, CtPacket *packet, GError **error);
/* The same; where there is no header, finds the first one after this place. */
gboolean ct_packet_scan_peek_after(CtPacketScan *scan, gint64 i, CtPacket *packet, GError **error);
/* The search goes on from what was found last. */
void ct_packet_scan_seek(CtPacketScan *scan);

/* As ct_packets_arrange(); packets with stamps outside range[0] … range[1] − 1 are mistimed,
 * however many they are. NULL: the range is not known. */
gboolean ct_packets_arrange_part(CtPackets *packets, guint n_lanes, gint64 n_samples,
                                 gint64 max_gap, const gint64 *range, GError **error);

/* The samples that are taken from an arranged packet, *begin … *end − 1: all that the packet before
 * it in its lane does not have. There may be none. */
void ct_packets_bounds(const CtPackets *packets, const CtPacket *packet, gint64 *begin,
                       gint64 *end);

/* Uses the flagged packets, once arranged, of which `is_known` says that other validity than their
 * flag is known. */
void ct_packets_unflag(CtPackets *packets,
                       gboolean (*is_known)(const CtPacket *packet, gconstpointer data),
                       gconstpointer data);
