/* SPDX-License-Identifier: BSD-3-Clause */
/* What formats of power over time and frequency share: one axis of frequency, one axis of
 * polarisation products, levels of few bits, clocks in decimal fractions of seconds. */
#pragma once

#include <cornerturn/stage.h>
#include <math.h>

G_BEGIN_DECLS

/* ---- channels ---- */

/* The channels of a file: those of all subbands of a stream, on one axis of frequency. */
typedef struct {
    gint64 n;
    gint64 n_inner;       /* channels of a subband */
    gint64 *from;         /* [n] subband · n_inner + channel of the stream */
    gdouble *frequencies; /* [n] hertz */
    gboolean is_even;     /* the steps are the same */
    gdouble step;         /* in hertz, the mean if they are not; of one channel, its width if it is
                             known, or 0 */
} CtChannels;

/* Takes the channels of all subbands, in descending order of frequency or in that of the stream.
 * `channels` must be zero, and is to be cleared in either case. Fails if the stream does not know
 * the frequencies. */
CT_EXPORT gboolean ct_channels_init(CtChannels *channels, const CtStream *stream,
                                    gboolean is_descending, GError **error);
/* For `infer` of a sink: warns if the frequencies are those of the samples, around 0 Hz, for no
 * source says which frequency of the sky that is. */
CT_EXPORT void ct_channels_warn(const CtChannels *channels, const CtNode *node);
CT_EXPORT void ct_channels_clear(CtChannels *channels);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtChannels, ct_channels_clear)

/* Sets offsets[channel] to its bytes in a block of these strides. */
CT_EXPORT void ct_channels_offsets(const CtChannels *channels, gint64 subband_stride,
                                   gint64 channel_stride, gint64 *offsets);

/* Changes `made`, a copy of `stream`, to one with the axes time, channel and `products` (NULL:
 * none). Sets *lanes, allocated, to the lane of `stream` of each lane of `made`. */
CT_EXPORT gboolean ct_channels_describe(const CtChannels *channels, const CtStream *stream,
                                        const char *products, CtStream *made, gint64 **lanes,
                                        GError **error);

/* Whether each of `n` frequencies, at least 2, is where even steps put it, to a millionth of a step
 * and the rounding of the frequencies. Sets *step to the mean step. */
CT_EXPORT gboolean ct_filterbank_is_even(const gdouble *frequencies, gint64 n, gdouble *step);

/* ---- polarisation products ---- */

/* Sets *axis to the one of pol, stokes and coherence that the stream has, and *n to its length;
 * NULL and 1 if there is none, or it has length 1. Fails if the stream has other axes than time,
 * subband, channel and one of these that are longer than 1. `file` is for the message: "a SIGPROC
 * file". */
CT_EXPORT gboolean ct_filterbank_products(const CtStream *stream, const char *file,
                                          const char **axis, gint64 *n, GError **error);
/* Fails if a stream has no time, no clock, or samples that f32 can't hold. */
CT_EXPORT gboolean ct_filterbank_check(const CtStream *stream, GError **error);
/* Adds an axis to a layout, unless `name` is NULL, the stream lacks it or the layout has it. */
CT_EXPORT void ct_filterbank_add_axis(CtLayout *layout, const CtStream *stream, const char *name);
/* Sets the wish of a sink, of blocks of `type`: time, then axes of length 1, products, subband,
 * channel. */
CT_EXPORT void ct_filterbank_wish(CtLayout *wish, const CtStream *stream, CtType type,
                                  const char *products);

/* ---- levels ---- */

/* Rounds half to even and clips to least … most. NaN becomes 0. Counts what is clipped, and NaN. */
static inline gdouble
ct_filterbank_level(gdouble value, gdouble least, gdouble most, guint64 *clipped)
{
    const gdouble rounded = rint(value);
    const gdouble level = rounded > most ? most : rounded < least ? least : rounded;
    *clipped += !(level == rounded);
    return level == level ? level : 0;
}

/* ---- clocks ---- */

/* Sets the clock to samples of `period` seconds, the simplest fraction that is this double. A tick
 * is a sample, or so small a part of it that it lasts no longer than a microsecond, for files begin
 * anywhere between two samples. FALSE: the period is not within 10⁻¹² … 10¹² s, or 63 bits do not
 * count the ticks. */
CT_EXPORT gboolean ct_filterbank_set_period(CtStream *stream, gdouble period);
/* Seconds from one sample to the next; rounded once. */
CT_EXPORT gdouble ct_filterbank_period(const CtStream *stream);
/* Sets the start to `second` + `part` seconds after the beginning of a modified Julian date, UTC,
 * rounded to the nearest tick. `part` is within 0 … 1. */
CT_EXPORT void ct_filterbank_set_start(CtStream *stream, gint64 day, gint64 second, gdouble part);
/* The modified Julian date of a tick of a stream that knows its UTC, and the seconds of that day:
 * whole ones and the rest, below 1, which is rounded once. */
CT_EXPORT void ct_filterbank_get_time(const CtStream *stream, gint64 tick, gint64 *day,
                                      gint64 *second, gdouble *part);

G_END_DECLS
