/* SPDX-License-Identifier: BSD-3-Clause */
/* Sinks of files: what their parts share. */
#pragma once

#include "cornerturn/kit/gaps.h"
#include "cornerturn/kit/sink.h"
#include "faults.h"
#include "sidecar-write.h"
#include "sink-files.h"

/* ---- names of files (sink-name.c) ---- */

/* Whether `path` can name the files of a rotation: it has conversions, known ones, only in the name
 * of the file, and those of times only if `has_utc`. The message has no place. */
gboolean ct_sink_name_check(const char *path, gboolean has_utc, GError **error);
/* The name of file `number`, whose first sample is at `tick`; allocated. NULL with an error if the
 * stream does not know its UTC there. */
char *ct_sink_name(const char *path, const CtStream *stream, gint64 tick, gint64 number,
                   GError **error);

/* ---- pipes (sink-pipe.c) ---- */

/* Writes all bytes. A reader that has gone is an error, not a signal. */
gboolean ct_sink_pipe_write(const char *path, int fd, gconstpointer bytes, gint64 n,
                            GError **error);

/* ---- addresses of the network (sink-send.c) ---- */

/* Whether the sink can send its stream to the address that `path` is. */
gboolean ct_sink_send_check(const CtSink *sink, const CtParams *given, const CtStream *stream,
                            GError **error);

/* ---- one file (sink-file.c) ---- */

/* A file that is being written. */
typedef struct CtSinkPart {
    CtSinkFile file;   /* comes first: the plugin's functions get its address */
    CtSinkFiles files; /* of a pipe: all 0 */
    char *generation;
    CtOrigin origin;
    CtGaps *gaps;       /* invalid samples, by the lanes of the input, from the file's first on */
    gboolean is_one_of; /* several, by rotation */
    gboolean wants_digest;
    gint64 first;   /* the stream's sample with which the file begins */
    gint64 n_taken; /* samples given to `write` */
    guint8 *buffer; /* what is appended and not yet written */
    gint64 n_buffered, n_room;
    gint64 n_written;    /* bytes appended and written */
    gboolean has_pieces; /* ct_sink_piece says where what is appended is whole: the last one, */
    gint64 piece_bytes, piece_samples;
    gint64 whole_bytes, whole_samples; /* and the last one that is written */
    gint64 bytes;                      /* of the file, as PATH.json tells it */
    CtSenders *senders;                /* to an address; NULL: to a file or pipe */
    CtFaults *faults;                  /* … by way of these */
    CtSendCount count;                 /* where nobody asks for the account */
    gdouble pace;                      /* nanoseconds a sample; 0: none */
    gint64 begun;                      /* when sample 0 was due; 0: it was not yet */
    gboolean appends;                  /* something has been appended */
    gboolean is_open, is_closed;
    gboolean interrupted;
} CtSinkPart;

/* Opens the address of the file that is begun (sink-send.c). `send` may be NULL. */
gboolean ct_sink_send_open(CtSinkPart *part, const char *path, const CtSinkSend *send,
                           GError **error);

/* Which file to open. */
typedef struct {
    const CtSink *sink;
    const CtParams *given;
    const CtBinding *input;
    const CtSinkSend *send; /* NULL: without faults and account */
    CtOrigin origin;
    gint64 number, first, expected;
    gboolean is_one_of;
} CtSinkWhich;

/* Opens a file and has its header written. NULL with an error. */
CtSinkPart *ct_sink_part_open(const CtSinkWhich *which, GError **error);
/* Has samples written, which begin where those before end: blocks of all inputs, whose `index` does
 * not matter. */
gboolean ct_sink_part_write(CtSinkPart *part, const CtBlock *blocks, guint64 *counters,
                            GError **error);
/* Makes all that is written readable. */
gboolean ct_sink_part_mark(CtSinkPart *part, GError **error);
/* Completes the file, on the thread that wrote it. */
gboolean ct_sink_part_close(CtSinkPart *part, gboolean interrupted, GError **error);
/* Writes PATH.json.partial of the closed file, and waits until all is on the disk; any thread. */
gboolean ct_sink_part_seal(CtSinkPart *part, GError **error);
/* Gives the sealed file its name; any thread. */
gboolean ct_sink_part_commit(CtSinkPart *part, GError **error);
/* Closes a file and frees it; one that is not closed is left with all that can be read. */
void ct_sink_part_free(CtSinkPart *part);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtSinkPart, ct_sink_part_free)

/* ---- complete files of a rotation (sink-commit.c) ---- */

/* A thread that seals and commits closed files, so that samples need not wait for the disk. */
typedef struct CtSinkCommit CtSinkCommit;

CtSinkCommit *ct_sink_commit_new(GError **error);
/* Takes the file, also on failure. Waits while too many files wait. Fails if one before failed. */
gboolean ct_sink_commit_add(CtSinkCommit *commit, CtSinkPart *part, GError **error);
/* Waits until all files have their names; `error` may be NULL. Frees the object; it may be NULL. */
gboolean ct_sink_commit_end(CtSinkCommit *commit, GError **error);
