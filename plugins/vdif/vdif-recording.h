/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings of VDIF frames: the frames of files, their threads and times. */
#pragma once

#include "vdif-frame.h"

#include <cornerturn/packets.h>
#include <cornerturn/stage.h>

typedef struct {
    guint n_files;
    const char **paths; /* strings owned by the parameters */
    int *fds;
    guint bits; /* used instead of the headers'; 0: the headers' */
    guint n_threads;
    VdifHeader header;  /* of the first frame; sizes and types are those of all frames */
    gint64 rate;        /* samples per second */
    gint64 epoch;       /* unix seconds of tick 0 */
    gint64 start;       /* tick of sample 0 of the packets */
    CtPackets *packets; /* arranged; a lane is a thread */
} VdifRecording;

/* Opens the files of the parameters `path`, and finds their frames according to `thread_ids`,
 * `bits`, `sample_rate` and `max_gap`. */
VdifRecording *vdif_recording_open(const CtParams *given, GError **error);
void vdif_recording_free(VdifRecording *recording);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(VdifRecording, vdif_recording_free)
