/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of a recording as they are found, before they are put in time. */
#pragma once

#include "vdif-recording.h"

/* Frames carry their second and number until the rate is known: stamp = second << 24 | number. */
enum { VDIF_NUMBER_BITS = 24, VDIF_NUMBER_MASK = (1 << VDIF_NUMBER_BITS) - 1 };

static inline CtPacket *
vdif_frame_at(const VdifRecording *recording, guint i)
{
    return &g_array_index(recording->packets->packets, CtPacket, i);
}

/* Sets the rate, as the parameter `sample_rate`, the headers, or whole seconds of frames say, and
 * drops the frames whose number their second does not have. */
gboolean vdif_recording_find_rate(VdifRecording *recording, const CtParams *given, GError **error);

/* Sets right the threads that are `max_gap` seconds off, counts stamps in samples, arranges the
 * frames, and sets the clock. */
gboolean vdif_recording_arrange(VdifRecording *recording, gdouble max_gap, GError **error);
