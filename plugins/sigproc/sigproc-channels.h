/* SPDX-License-Identifier: BSD-3-Clause */
/* The channels of a SIGPROC file: those of all subbands of a stream, on one axis of frequency. */
#pragma once

#include <cornerturn/stage.h>

typedef struct {
    gint64 n;
    gint64 n_inner;       /* channels of a subband */
    gint64 *from;         /* [n] subband · n_inner + channel of the stream */
    gdouble *frequencies; /* [n] hertz */
    gboolean is_even;     /* the steps are the same */
    gdouble step;         /* then, in hertz; of one channel, its width if it is known, or 0 */
} SigprocChannels;

/* Takes the channels of all subbands, in descending order of frequency or in that of the stream.
 * `channels` must be zero, and is to be cleared in either case. */
gboolean sigproc_channels_init(SigprocChannels *channels, const CtStream *stream,
                               gboolean is_descending, GError **error);
void sigproc_channels_clear(SigprocChannels *channels);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SigprocChannels, sigproc_channels_clear)

/* Sets offsets[channel] to its bytes in a block of these strides. */
void sigproc_channels_offsets(const SigprocChannels *channels, gint64 subband_stride,
                              gint64 channel_stride, gint64 *offsets);

/* Changes `made`, a copy of `stream`, to one with the axes time, channel and `ifs` (NULL: none).
 * Sets *lanes, allocated, to the lane of `stream` of each lane of `made`. */
gboolean sigproc_channels_describe(const SigprocChannels *channels, const CtStream *stream,
                                   const char *ifs, CtStream *made, gint64 **lanes, GError **error);
