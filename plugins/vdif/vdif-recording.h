/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings of VDIF frames: the frames of files, their threads and times. */
#pragma once

#include "vdif-frame.h"

#include <cornerturn/kit/source.h>

/* The source's state, beside the files of its recording. A lane is a thread. */
typedef struct {
    guint bits;         /* used instead of the headers'; 0: the headers'. The first member: the
                           functions of headers get its address */
    const char *path;   /* of the first file, for messages */
    CtPackets *packets; /* the recording's */
    guint n_threads;
    VdifHeader header; /* of the first frame; sizes and types are those of all frames */
    gint64 rate;       /* samples per second */
    gint64 second;     /* unix seconds of sample 0 of the packets */
    VdifDecoder decoder;
    gint channel_axis; /* of the stream; −1: none */
} VdifRecording;

/* The functions of CtSource, under its names; vdif_recording_begin reads `bits`, and
 * vdif_recording_order `thread_ids`, `sample_rate` and `max_gap`. */
void vdif_recording_begin(gpointer self, const CtParams *given);
void vdif_recording_found(const guint8 *header, CtPacket *packet, gpointer self);
const char *vdif_recording_explain(const guint8 *header, gconstpointer self);
gboolean vdif_recording_order(CtRecording *files, const CtParams *given, GError **error);
void vdif_recording_clear(gpointer self);

/* The clock of the arranged frames: ticks are samples. Sets the unix seconds of tick 0, and the
 * tick of the first sample. */
void vdif_recording_clock(const VdifRecording *recording, gint64 *epoch, gint64 *start);
