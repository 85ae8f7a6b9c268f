/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of a recording of frames that are counted within seconds: VDIF and Mark 5B. */
#pragma once

#include <cornerturn/kit/source.h>

/* Until the rate is known, stamps hold a frame's Unix second and number: stamp = second << 24 |
 * number. Lanes are below n_threads. */
enum { VDIF_NUMBER_BITS = 24, VDIF_NUMBER_MASK = (1 << VDIF_NUMBER_BITS) - 1 };

typedef struct {
    const char *path;   /* of the first file, for messages */
    CtPackets *packets; /* the recording's */
    guint n_threads;
    gint64 n_samples;   /* of each channel in a frame */
    gint64 header_rate; /* samples per second that headers say; 0: they do not */
    gint64 rate;        /* samples per second; set by vdif_clock_find_rate */
    gint64 second;      /* Unix seconds of sample 0; set by vdif_clock_count_samples */
    gint64 *wrong;      /* [thread] the frames by which its seconds are wrong; the same */
    gsize frame_bytes;  /* of each frame, of a sample */
    gboolean is_sample; /* packets are a sample of a long recording (CtRecording.is_sample), */
    gboolean needs_all; /* which does not clearly decide what all packets decide; set by both */
} VdifClock;

void vdif_clock_clear(VdifClock *clock);

static inline CtPacket *
vdif_clock_frame(const VdifClock *clock, guint i)
{
    return &g_array_index(clock->packets->packets, CtPacket, i);
}

/* Sets the rate from the parameter `sample_rate`, the headers, or the frames of whole seconds, and
 * drops the frames whose number is beyond those of a second. */
gboolean vdif_clock_find_rate(VdifClock *clock, const CtParams *given, GError **error);

/* Corrects the threads that are more than `max_gap` seconds off, and converts stamps to samples,
 * counted from `second`. */
void vdif_clock_count_samples(VdifClock *clock, gdouble max_gap);

/* Gives a frame that comes later its stamp, in samples, as the frames that both have seen have
 * theirs. FALSE: it has none, and is counted. */
gboolean vdif_clock_place(const VdifClock *clock, CtPacket *frame, guint64 *counts);

/* The clock of the arranged frames: ticks are samples. Sets the Unix seconds of tick 0, and the
 * tick of the first sample. */
void vdif_clock_ticks(const VdifClock *clock, gint64 *epoch, gint64 *start);
