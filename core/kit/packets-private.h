/* SPDX-License-Identifier: BSD-3-Clause */
/* The packets of files before they are arranged. */
#pragma once

#include "cornerturn/packets.h"
#include "cornerturn/stage.h"
#include "pipe.h"

/* A file that has been searched for packets. */
typedef struct {
    const char *path;
    int fd;
    gsize header_bytes, bytes; /* of each packet */
    gint64 before;             /* bytes of the files before it, if its packets follow theirs */
} CtScannedFile;

/* Keeps what comparing and reading packets of file number `file` needs. `path` and `fd` must stay
 * valid. */
void ct_packets_add_file(CtPackets *packets, guint file, CtScannedFile scanned);

/* The place of a packet in its file, or in all files that follow one another. */
static inline gint64
ct_packets_position(const CtPackets *packets, const CtPacket *packet)
{
    const GArray *files = packets->files;
    return packet->offset + (packet->file < files->len
                                 ? g_array_index(files, CtScannedFile, packet->file).before
                                 : 0);
}

/* As ct_file_read(), but returns the number of bytes read, fewer than `n` only at the end of the
 * file; −1 with errno. */
gssize ct_file_read_some(int fd, gint64 offset, guint8 *bytes, gsize n);

/* ---- finding them (packets-scan.c) ---- */

/* The search for the packets of a file, which goes on from where it was. Of a pipe, only the bytes
 * that are there are searched: a function that lacks some fails, and the search waits for them. It
 * is then as it was, and is to be asked again when more have come. */
typedef struct CtPacketScan CtPacketScan;

/* Finds the packet at or behind byte *at, and moves *at behind it (CtSource.next). */
typedef gboolean (*CtPacketNext)(gpointer data, guint file, gint64 *at, CtPacket *packet,
                                 gboolean *found, GError **error);

/* The place of a search. */
typedef struct {
    const char *path;
    int fd;
    guint file;
    CtPipe *pipe; /* whose file `fd` is; NULL: it is a file */
    gint64 limit; /* of a pipe, the bytes from here on are left for later */
} CtScanWhere;

/* As ct_packets_scan(), up to the first header. The counts go to `packets`. `path`, `fd`, `format`,
 * `data` and `pattern` must stay valid. */
CtPacketScan *ct_packet_scan_new(CtPackets *packets, const CtScanWhere *where,
                                 const CtPacketFormat *format, CtPacketFunc found, gpointer data,
                                 guint8 *pattern, GError **error);
/* A search by a function of the format; `stamp` of the packets that it is given is the number of
 * those before, and of places without one, counted on from `n_before`. */
CtPacketScan *ct_packet_scan_new_next(CtPackets *packets, const CtScanWhere *where,
                                      const char *name, CtPacketNext next, gpointer data,
                                      gint64 n_before, GError **error);
void ct_packet_scan_free(CtPacketScan *scan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtPacketScan, ct_packet_scan_free)
/* Appends up to `most` further packets to `to`, fewer at the end of the file, or where the search
 * waits, which is no failure. */
gboolean ct_packet_scan_more(CtPacketScan *scan, CtPackets *packets, GArray *to, guint most,
                             GError **error);
/* Whether it has come to the end of the file. */
gboolean ct_packet_scan_is_over(const CtPacketScan *scan);
/* Whether the last function lacked bytes of a pipe. */
gboolean ct_packet_scan_waits(const CtPacketScan *scan);
/* All bytes of the pipe may be searched. */
void ct_packet_scan_unlimit(CtPacketScan *scan);
/* The offset from which on bytes are wanted by the search. */
gint64 ct_packet_scan_at(const CtPacketScan *scan);
/* Those that ct_packet_scan_new_next counts. */
gint64 ct_packet_scan_n_passed(const CtPacketScan *scan);
/* Reads up to n bytes at an offset, fewer only at the end of the file. */
gboolean ct_packet_scan_read(CtPacketScan *scan, gint64 offset, guint8 *bytes, gsize n,
                             gsize *given, GError **error);
/* The packets from the first header to the end of the file, if none is damaged. */
gint64 ct_packet_scan_count(const CtPacketScan *scan);
/* Finds the packet that is number `i` if none before it is damaged. FALSE without an error: there
 * is no header of the stream. */
gboolean ct_packet_scan_peek(CtPacketScan *scan, gint64 i, CtPacket *packet, GError **error);
/* The same; where there is no header, finds the first one in the two packets, or the MiB, after
 * this place. */
gboolean ct_packet_scan_peek_after(CtPacketScan *scan, gint64 i, CtPacket *packet, GError **error);
/* The search goes on from what was found last. */
void ct_packet_scan_seek(CtPacketScan *scan);

/* ---- arranging them (packets-arrange.c) ---- */

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
