/* SPDX-License-Identifier: BSD-3-Clause */
/* What formats of power over time and frequency share. */
#include "cornerturn/kit/filterbank.h"

#include "cornerturn/text.h"

#include <string.h>

void
ct_channels_clear(CtChannels *channels)
{
    g_free(channels->from);
    g_free(channels->frequencies);
    *channels = (CtChannels){0};
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

gboolean
ct_filterbank_is_even(const gdouble *frequencies, gint64 n, gdouble *step)
{
    const gdouble *f = frequencies;
    gboolean is_even = TRUE;
    *step = (f[n - 1] - f[0]) / (gdouble)(n - 1);
    for (gint64 i = 0; i < n; i++) {
        const gdouble room = 1e-6 * fabs(*step) + 8 * 0x1p-53 * fabs(f[i]);
        is_even = is_even && fabs(f[i] - f[0] - (gdouble)i * *step) <= room;
    }
    return is_even;
}

static void
find_step(CtChannels *channels, const CtStream *stream, gboolean is_descending)
{
    const gint a = frequency_axis(stream);
    channels->is_even = TRUE;
    if (channels->n > 1) {
        channels->is_even =
            ct_filterbank_is_even(channels->frequencies, channels->n, &channels->step);
        return;
    }
    const gdouble width = a < 0 ? 0 : fabs(stream->axes[a].coordinate.step);
    channels->step = is_descending ? -width : width;
}

gboolean
ct_channels_init(CtChannels *channels, const CtStream *stream, gboolean is_descending,
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
ct_channels_warn(const CtChannels *channels, const CtNode *node)
{
    gdouble least = INFINITY, largest = -INFINITY;
    for (gint64 i = 0; i < channels->n; i++) {
        least = MIN(least, channels->frequencies[i]);
        largest = MAX(largest, channels->frequencies[i]);
    }
    if (!node->inputs[0].has_frequency && least <= 0)
        ct_params_warn(node->params, NULL,
                       "the stream does not know its frequency of the sky: the file has channels "
                       "from %.6g to %.6g MHz; 'centre_frequency' of its source gives it, or "
                       "'first_frequency' of one of real samples",
                       least / 1e6, largest / 1e6);
}

void
ct_channels_offsets(const CtChannels *channels, gint64 subband_stride, gint64 channel_stride,
                    gint64 *offsets)
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

/* Removes all axes but time and `products`. */
static void
keep_axes(CtStream *stream, const char *products)
{
    for (guint a = stream->n_axes; a-- > 0;) {
        const char *name = stream->axes[a].name;
        if (strcmp(name, "time") != 0 && g_strcmp0(name, products) != 0)
            ct_stream_remove_axis(stream, name);
    }
}

static void
set_coordinate(const CtChannels *channels, CtCoordinate *coordinate)
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
ct_channels_describe(const CtChannels *channels, const CtStream *stream, const char *products,
                     CtStream *made, gint64 **lanes, GError **error)
{
    const gint64 of_subband = ct_stream_lane_step(stream, "subband");
    const gint64 of_channel = ct_stream_lane_step(stream, "channel");
    const gint64 of_product = products ? ct_stream_lane_step(stream, products) : 0;
    const gboolean channels_lose = loses(stream, "subband") || loses(stream, "channel");
    const gint64 n_channels = channels_lose ? channels->n : 1;
    const gint64 n_products = loses(stream, products) ? ct_stream_length(stream, products) : 1;
    gint64 *made_lanes = CT_TABLE(gint64, n_channels * n_products, "lanes", error);
    if (!made_lanes)
        return FALSE;
    /* The axis channel comes before pol and stokes, whatever the order in the file. */
    for (gint64 c = 0; c < n_channels; c++)
        for (gint64 p = 0; p < n_products; p++)
            made_lanes[c * n_products + p] = channels->from[c] / channels->n_inner * of_subband +
                                             channels->from[c] % channels->n_inner * of_channel +
                                             p * of_product;
    *lanes = made_lanes;
    keep_axes(made, products);
    CtAxis *axis = ct_stream_add_axis(made, "channel", channels->n);
    set_coordinate(channels, &axis->coordinate);
    axis->loses = channels_lose;
    return TRUE;
}

/* ---- polarisation products ---- */

static gboolean
shape_error(GError **error, const char *wanted, const CtAxis *axis, const char *remark)
{
    g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                "wants %s, but is given '%s' with %" G_GINT64_FORMAT "%s", wanted, axis->name,
                axis->length, remark);
    return FALSE;
}

gboolean
ct_filterbank_products(const CtStream *stream, const char *file, const char **name, gint64 *n,
                       GError **error)
{
    static const char *const others[] = {"time", "subband", "channel", NULL};
    static const char *const products[] = {"pol", "stokes", "coherence", NULL};
    *name = NULL;
    *n = 1;
    for (guint a = 0; a < stream->n_axes; a++) {
        const CtAxis *axis = &stream->axes[a];
        if (g_strv_contains(others, axis->name) || axis->length == 1)
            continue;
        if (strcmp(axis->name, "beam") == 0) {
            g_autofree char *remark =
                g_strdup_printf(": %s has one, so each needs a stream and a sink of its own", file);
            return shape_error(error, "one beam", axis, remark);
        }
        if (!g_strv_contains(products, axis->name))
            return shape_error(error, "time, subband, channel and pol, stokes or coherence", axis,
                               "");
        if (*name)
            return shape_error(error, "one axis of pol, stokes and coherence", axis,
                               " beside another one");
        *name = axis->name;
        *n = axis->length;
    }
    return TRUE;
}

gboolean
ct_filterbank_check(const CtStream *stream, GError **error)
{
    if (ct_stream_axis(stream, "time") < 0 || stream->rate_num == 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants a stream along time with a clock, but is given one without (the "
                    "'sample_rate' of a source gives it one)");
        return FALSE;
    }
    if (ct_type_is_lossless(stream->type, CT_F32))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                "wants f32, or real samples that it can hold, but is given %s%s",
                ct_type_info(stream->type)->name,
                ct_type_info(stream->type)->is_complex ? " (power makes them real)" : "");
    return FALSE;
}

void
ct_filterbank_add_axis(CtLayout *layout, const CtStream *stream, const char *name)
{
    if (name && ct_stream_axis(stream, name) >= 0 && ct_layout_axis(layout, name) < 0)
        layout->axes[layout->n_axes++].name = ct_axis_name(name);
}

void
ct_filterbank_wish(CtLayout *wish, const CtStream *stream, CtType type, const char *products)
{
    wish->types = 1u << type;
    ct_filterbank_add_axis(wish, stream, "time");
    for (guint a = 0; a < stream->n_axes; a++)
        if (stream->axes[a].length == 1)
            ct_filterbank_add_axis(wish, stream, stream->axes[a].name);
    ct_filterbank_add_axis(wish, stream, products);
    ct_filterbank_add_axis(wish, stream, "subband");
    ct_filterbank_add_axis(wish, stream, "channel");
}

/* ---- clocks ---- */

enum { DAY = 86400, UNIX_MJD = 40587 };

gboolean
ct_filterbank_set_period(CtStream *stream, gdouble period)
{
    gint64 numerator, denominator;
    if (!(period >= 1e-12 && period <= 1e12))
        return FALSE;
    ct_quantity_approximate(period, 0, &numerator, &denominator);
    const gint64 ticks = (gint64)CLAMP(ceil(period * 1e6 - 1e-6), 1, 0x1p22);
    return ct_stream_set_rate(stream, denominator, numerator, ticks);
}

gdouble
ct_filterbank_period(const CtStream *stream)
{
    return (gdouble)stream->ticks_per_sample * (gdouble)stream->rate_den /
           (gdouble)stream->rate_num;
}

void
ct_filterbank_set_start(CtStream *stream, gint64 day, gint64 second, gdouble part)
{
    stream->epoch = (day - UNIX_MJD) * DAY + second;
    stream->start = llrint(part * ((gdouble)stream->rate_num / (gdouble)stream->rate_den));
}

void
ct_filterbank_get_time(const CtStream *stream, gint64 tick, gint64 *day, gint64 *second,
                       gdouble *part)
{
    gint64 unix_second, rest;
    ct_stream_second(stream, tick, &unix_second, &rest);
    ct_utc_day(unix_second, day, second);
    *part = (gdouble)rest / (gdouble)stream->rate_num;
}
