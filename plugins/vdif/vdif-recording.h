/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings of VDIF frames: which frames there are, of which threads, and when. */
#pragma once

#include "vdif-frame.h"

#include <cornerturn/packets.h>
#include <cornerturn/stage.h>

typedef struct {
    guint n_files;
    const char **paths; /* the parameter's strings */
    int *fds;
    guint bits; /* to believe instead of the headers'; 0: the headers' */
    guint n_threads;
    VdifHeader header;  /* of the first frame; sizes and types hold for all */
    gint64 rate;        /* samples per second */
    gint64 epoch;       /* unix seconds of tick 0 */
    gint64 start;       /* tick of sample 0 of the packets */
    CtPackets *packets; /* arranged; a lane is a thread */
} VdifRecording;

/* Opens the files of the parameters `path`, and finds their frames as `thread_ids`, `bits`,
 * `sample_rate` and `max_gap` say. */
VdifRecording *vdif_recording_open(const CtParams *given, GError **error);
void vdif_recording_free(VdifRecording *recording);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(VdifRecording, vdif_recording_free)
