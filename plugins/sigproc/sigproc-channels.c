/* SPDX-License-Identifier: BSD-3-Clause */
/* The channels of a SIGPROC file: those of all subbands of a stream, on one axis of frequency. */
#include "sigproc-channels.h"

#include <math.h>
#include <string.h>

void
sigproc_channels_clear(SigprocChannels *channels)
{
    g_free(channels->from);
    g_free(channels->frequencies);
    *channels = (SigprocChannels){0};
}

/* The axis whose coordinates are the frequencies of channels; −1: the stream's own frequency. */
static gint
frequency_axis(const CtStream *stream)
{
    const gint channel = ct_stream_axis(stream, "channel");
    return channel >= 0 ? channel : ct_stream_axis(stream, "subband");
}

static gboolean
check_frequencies(const CtStream *stream, GError **error)
{
    const gint a = frequency_axis(stream);
    if (a < 0 ? stream->has_frequency : g_strcmp0(stream->axes[a].coordinate.unit, "Hz") == 0)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                "wants %s in hertz, but is given a stream that does not know them: the source may "
                "be given 'frequencies', or the frequency of its band",
                a < 0 ? "a frequency" : "frequencies of channels");
    return FALSE;
}

static gdouble
find_frequency(const CtStream *stream, gint64 subband, gint64 channel)
{
    const gint a = frequency_axis(stream);
    if (a < 0)
        return stream->frequency;
    return ct_stream_axis(stream, "channel") >= 0
               ? ct_stream_coordinate(stream, (guint)a, channel, subband)
               : ct_stream_coordinate(stream, (guint)a, subband, 0);
}

static gint
compare_descending(gconstpointer a, gconstpointer b, gpointer data)
{
    const gdouble *frequencies = data;
    const gdouble left = frequencies[*(const gint64 *)a], right = frequencies[*(const gint64 *)b];
    return left < right ? 1 : left > right ? -1 : 0;
}

/* Whether each frequency is where even steps put it, to a millionth of a step and the rounding of
 * the frequencies. */
static void
find_step(SigprocChannels *channels, const CtStream *stream, gboolean is_descending)
{
    const gint64 n = channels->n;
    const gdouble *f = channels->frequencies;
    const gint a = frequency_axis(stream);
    channels->is_even = TRUE;
    if (n == 1) {
        const gdouble width = a < 0 ? 0 : fabs(stream->axes[a].coordinate.step);
        channels->step = is_descending ? -width : width;
        return;
    }
    channels->step = (f[n - 1] - f[0]) / (gdouble)(n - 1);
    for (gint64 i = 0; i < n; i++) {
        const gdouble room = 1e-6 * fabs(channels->step) + 8 * 0x1p-53 * fabs(f[i]);
        channels->is_even =
            channels->is_even && fabs(f[i] - f[0] - (gdouble)i * channels->step) <= room;
    }
}

gboolean
sigproc_channels_init(SigprocChannels *channels, const CtStream *stream, gboolean is_descending,
                      GError **error)
{
    const gint64 n_subbands = ct_stream_length(stream, "subband");
    const gint64 n_inner = ct_stream_length(stream, "channel"), n = n_subbands * n_inner;
    if (!check_frequencies(stream, error))
        return FALSE;
    if (n < 1 || n > G_MAXINT32) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants at least one channel and fewer than 2³¹, but is given %" G_GINT64_FORMAT,
                    n);
        return FALSE;
    }
    channels->n = n;
    channels->n_inner = n_inner;
    g_autofree gdouble *frequencies = CT_TABLE(gdouble, n, "frequencies", error);
    if (!frequencies || !(channels->from = CT_TABLE(gint64, n, "channels", error)) ||
        !(channels->frequencies = CT_TABLE(gdouble, n, "frequencies", error)))
        return FALSE;
    for (gint64 i = 0; i < n; i++) {
        channels->from[i] = i;
        frequencies[i] = find_frequency(stream, i / n_inner, i % n_inner);
    }
    if (is_descending)
        g_qsort_with_data(channels->from, (gint)n, sizeof *channels->from, compare_descending,
                          frequencies);
    for (gint64 i = 0; i < n; i++)
        channels->frequencies[i] = frequencies[channels->from[i]];
    find_step(channels, stream, is_descending);
    return TRUE;
}

void
sigproc_channels_offsets(const SigprocChannels *channels, gint64 subband_stride,
                         gint64 channel_stride, gint64 *offsets)
{
    for (gint64 i = 0; i < channels->n; i++)
        offsets[i] = channels->from[i] / channels->n_inner * subband_stride +
                     channels->from[i] % channels->n_inner * channel_stride;
}

/* ---- the array in the file ---- */

static gboolean
loses(const CtStream *stream, const char *name)
{
    return name && ct_stream_lane_step(stream, name) > 0;
}

/* Removes all axes but time and `ifs`. */
static void
keep_axes(CtStream *stream, const char *ifs)
{
    for (guint a = stream->n_axes; a-- > 0;) {
        const char *name = stream->axes[a].name;
        if (strcmp(name, "time") != 0 && g_strcmp0(name, ifs) != 0)
            ct_stream_remove_axis(stream, name);
    }
}

static void
set_coordinate(const SigprocChannels *channels, CtCoordinate *coordinate)
{
    const gsize bytes = (gsize)channels->n * sizeof *channels->frequencies;
    *coordinate = (CtCoordinate){
        .unit = g_intern_static_string("Hz"),
        .first = channels->frequencies[0],
        .step = channels->step,
        .table = channels->is_even ? NULL : g_bytes_new(channels->frequencies, bytes),
    };
}

gboolean
sigproc_channels_describe(const SigprocChannels *channels, const CtStream *stream, const char *ifs,
                          CtStream *made, gint64 **lanes, GError **error)
{
    const gint64 of_subband = ct_stream_lane_step(stream, "subband");
    const gint64 of_channel = ct_stream_lane_step(stream, "channel");
    const gint64 of_if = ifs ? ct_stream_lane_step(stream, ifs) : 0;
    const gboolean channels_lose = loses(stream, "subband") || loses(stream, "channel");
    const gint64 n_channels = channels_lose ? channels->n : 1;
    const gint64 n_ifs = loses(stream, ifs) ? ct_stream_length(stream, ifs) : 1;
    gint64 *made_lanes = CT_TABLE(gint64, n_channels * n_ifs, "lanes", error);
    if (!made_lanes)
        return FALSE;
    /* The axis channel comes before pol and stokes, whatever the order in the file. */
    for (gint64 c = 0; c < n_channels; c++)
        for (gint64 p = 0; p < n_ifs; p++)
            made_lanes[c * n_ifs + p] = channels->from[c] / channels->n_inner * of_subband +
                                        channels->from[c] % channels->n_inner * of_channel +
                                        p * of_if;
    *lanes = made_lanes;
    keep_axes(made, ifs);
    CtAxis *axis = ct_stream_add_axis(made, "channel", channels->n);
    set_coordinate(channels, &axis->coordinate);
    axis->loses = channels_lose;
    return TRUE;
}
