/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of a recording before they are ordered in time. */
#pragma once

#include "vdif-recording.h"

/* Until the rate is known, stamps hold a frame's second and number: stamp = second << 24 |
 * number. */
enum { VDIF_NUMBER_BITS = 24, VDIF_NUMBER_MASK = (1 << VDIF_NUMBER_BITS) - 1 };

static inline CtPacket *
vdif_frame_at(const VdifRecording *recording, guint i)
{
    return &g_array_index(recording->packets->packets, CtPacket, i);
}

/* Sets the rate from the parameter `sample_rate`, the headers, or the frames of whole seconds, and
 * drops the frames whose number is beyond those of a second. */
gboolean vdif_recording_find_rate(VdifRecording *recording, const CtParams *given, GError **error);

/* Corrects the threads that are more than `max_gap` seconds off, and converts stamps to samples,
 * counted from `second`. */
void vdif_recording_count_samples(VdifRecording *recording, gdouble max_gap);
