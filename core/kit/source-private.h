/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of recordings: what opening and reading share. */
#pragma once

#include "cornerturn/kit/gaps.h"
#include "cornerturn/kit/source.h"
#include "packets-ahead.h"
#include "reception.h"
#include "sidecar-read.h"

/* A file's PATH.json. */
typedef struct {
    CtStream stream;
    CtSidecar sidecar; /* without layout: there is none */
    gint64 stamp;      /* of the first packet that was found in the file */
    gint64 first;      /* the sample, as stamps count them, that is its first */
    gint64 n_samples;
    gboolean has_packets; /* of which some are used, or flagged */
} CtSourceBeside;

/* An open recording. */
typedef struct {
    CtRecording recording;  /* the first member: the same address */
    GPtrArray *paths;       /* of the files */
    CtPacketScan **scans;   /* [n_files]; of a source with a `find`, NULL */
    CtPipe **pipes;         /* [n_files]; NULL: they are files */
    CtReception *reception; /* receives the packets from the network; NULL: there are files */
    CtAhead *ahead;         /* loads the packets; NULL: all are arranged, or received */
    CtSourceBeside *beside; /* [n_files] */
    CtStream plain;         /* as the packets are described */
    gint64 first;           /* the stream's first sample, as stamps count them */
    CtGaps *gaps; /* invalid samples by PATH.json, from `first` on, by the lanes of the stream;
                     NULL: it lists none */
} CtSourceOpened;

/* What loads the packets of a recording; NULL: all are there. */
static inline CtAhead *
ct_source_ahead(const CtRecording *recording)
{
    return ((const CtSourceOpened *)recording)->ahead;
}

/* Whether the stage has the counters that the kit writes: those of received packets, too, if there
 * are any. Plugins of older headers have only those of files. */
gboolean ct_source_check_counters(const CtStage *stage, gboolean receives, GError **error);

/* Sets an error that the plugin is at fault. Returns FALSE. */
G_GNUC_PRINTF(3, 4)
gboolean ct_source_fault(const CtSource *source, GError **error, const char *format, ...);

/* As ct_source_open(); `sizes` NULL: all packets are arranged. */
CtRecording *ct_source_open_ahead(const CtSource *source, const CtParams *given,
                                  const CtAheadSizes *sizes, GError **error);

/* Finds the stream of a file; of a pipe, below an offset. */
gboolean ct_source_scan_file(CtRecording *recording, guint i, gint64 limit, GError **error);
/* Opens the pipes that the parameters name, and reads their first packets (source-pipe.c). */
gboolean ct_source_open_pipes(CtSourceOpened *opened, const CtParams *given,
                              const CtAheadSizes *sizes, GError **error);
void ct_source_close_pipes(CtSourceOpened *opened);
/* Whether the files are pipes. */
gboolean ct_source_has_pipes(const CtSourceOpened *opened, const CtParams *given,
                             gboolean *has_pipes, GError **error);
/* Whether the files are addresses of the network (source-receive.c). */
gboolean ct_source_has_receivers(const CtSourceOpened *opened, const CtParams *given,
                                 gboolean *has_receivers, GError **error);
/* Opens them, and waits for the first packets. */
gboolean ct_source_open_receivers(CtSourceOpened *opened, const CtParams *given, GError **error);
/* Receives packets from now on; `plain` has been described. */
gboolean ct_source_receive(CtSourceOpened *opened, const CtParams *given, GError **error);
/* The accounts of received packets by lanes and addresses, for the reader (source-account.c). */
typedef struct CtSourceAccounts CtSourceAccounts;

CtSourceAccounts *ct_source_accounts_new(const CtSourceOpened *opened);
void ct_source_accounts_free(CtSourceAccounts *accounts);
/* The rows of counts that ct_received_account writes: of all lanes, then of all addresses. */
CtReceivedCounts *ct_source_accounts_rows(CtSourceAccounts *accounts);
/* Sets `sum` to that of all rows, and tells the core of them. */
void ct_source_accounts_tell(CtSourceAccounts *accounts, CtAdvance *advance, CtReceivedCounts *sum);
/* Reads long files by a sample of their packets, if that stands for all: sets opened->ahead. Else,
 * all is as before, but the searches have to go back to their beginnings (source-sample.c). */
void ct_source_open_long(CtSourceOpened *opened, const CtParams *given, const CtAheadSizes *sizes);
/* Calls `place`. */
gboolean ct_source_place(gconstpointer recording, CtPacket *packet, guint64 *counts);
/* Calls `order`, and checks what it has set. */
gboolean ct_source_order(CtRecording *recording, const CtParams *given, GError **error);

/* Describes the stream of an open recording of a node; it must be clear. Called once. */
gboolean ct_source_describe(CtRecording *recording, const CtNode *node, CtStream *stream,
                            GError **error);

/* Reads the PATH.json of file number `i`, which is open. */
gboolean ct_source_read_beside(CtSourceOpened *opened, guint i, GError **error);
/* Notes the first packet of each file; stamps count samples, and packets are not arranged. */
void ct_source_note_packets(CtSourceOpened *opened);
/* Describes the stream by `plain` and PATH.json, and sets `first` and `gaps`. */
gboolean ct_source_merge_beside(CtSourceOpened *opened, const CtNode *node, CtStream *stream,
                                GError **error);
void ct_source_clear_beside(CtSourceOpened *opened);

/* The format of the source's packets, with the bytes of a header that `self` tells. */
static inline CtPacketFormat
ct_source_format(const CtSource *source, gconstpointer self)
{
    CtPacketFormat format = source->format;
    format.data = self;
    if (source->header_bytes)
        format.header_bytes = source->header_bytes(self);
    return format;
}

/* Notes the header of the stream of file number `i`, of so many bytes. */
void ct_source_take_header(CtRecording *recording, guint i, const guint8 *header, gsize bytes);
/* The lanes of the stream that a lane of packets has: so many, from one to the next `step`. */
guint ct_source_width(const CtRecording *recording, guint lane);
guint ct_source_lane_step(const CtRecording *recording);
/* Allocates [n_lanes] the first of them. */
guint *ct_source_first_lanes(const CtRecording *recording);

/* The lane of the packets' own stream, `plain`, that a lane of the stream is in. */
gint64 ct_source_plain_lane(const CtSourceOpened *opened, const CtStream *stream, gint64 lane);
