/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings of VDIF frames: the frames of files, their threads and times. */
#pragma once

#include "vdif-clock.h"
#include "vdif-frame.h"

/* The source's state, beside the files of its recording. A lane is a thread. */
typedef struct {
    guint bits;        /* used instead of the headers'; 0: the headers'. The first member: the
                          functions of headers get its address */
    VdifHeader header; /* of the first frame; sizes and types are those of all frames */
    VdifClock clock;
    guint32 *lanes; /* [thread] its station << 10 | its number */
    VdifDecoder decoder;
    gint channel_axis; /* of the stream; −1: none */
} VdifRecording;

/* The functions of CtSource, under its names; vdif_recording_begin reads `bits`, and
 * vdif_recording_order `thread_ids`, `sample_rate` and `max_gap`. */
void vdif_recording_begin(gpointer self, const CtParams *given);
void vdif_recording_found(const guint8 *header, CtPacket *packet, gpointer self);
const char *vdif_recording_explain(const guint8 *header, gconstpointer self);
gboolean vdif_recording_order(CtRecording *files, const CtParams *given, GError **error);
gboolean vdif_recording_place(const CtRecording *files, CtPacket *packet, guint64 *counts);
void vdif_recording_clear(gpointer self);

/* Whether the threads are numbered from 0 on, in their order, as vdif.sink numbers an axis. */
gboolean vdif_recording_is_whole(const VdifRecording *recording);

/* The names of the stations of the threads; NULL if several threads are of one station. */
CtLabels *vdif_recording_stations(const VdifRecording *recording);
