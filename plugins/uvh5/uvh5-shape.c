/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows and columns of a UVH5 file. */
#include "uvh5-shape.h"

#include <cornerturn/observation.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static gboolean refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static gboolean
refuse(GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error_literal(error, CT_ERROR, CT_ERROR_SHAPE, text);
    return FALSE;
}

/* ---- stations and baselines ---- */

static gboolean
add_stations(Uvh5Shape *self, const CtStream *stream, GError **error)
{
    const CtAxis *baseline = &stream->axes[ct_stream_axis(stream, "baseline")];
    const CtObservationFacts *facts = ct_observation_facts(stream->observation);
    const CtLabels *names = baseline->labels && ct_labels_are_pairs(baseline->labels)
                                ? ct_labels_names(baseline->labels)
                                : NULL;
    if (!names)
        return refuse(error, "wants baselines whose stations are known, as correlate gives them, "
                             "but their axis has no labels");
    self->n_stations = (gint64)ct_labels_count(names);
    self->stations = g_new0(const CtStation *, self->n_stations);
    self->numbers = g_new0(gint64, self->n_stations);
    for (gint64 s = 0; s < self->n_stations; s++) {
        const char *name = ct_labels_name(names, (gsize)s, 0);
        const CtStation *station = ct_observation_station(stream->observation, name);
        if (!station || !station->has_position)
            return refuse(
                error,
                "wants the position of station '%s': give the graph 'stations', each with "
                "'position' or 'enu'",
                name);
        self->stations[s] = station;
        self->numbers[s] = station - facts->stations;
    }
    self->n_baselines = baseline->length;
    self->pairs = g_malloc0_n((gsize)baseline->length + 1, sizeof *self->pairs);
    for (gint64 b = 0; b < baseline->length; b++) {
        guint32 pair[2];
        ct_labels_pair(baseline->labels, (gsize)b, pair);
        self->pairs[b][0] = pair[1];
        self->pairs[b][1] = pair[0];
    }
    return TRUE;
}

/* The telescope is at its own position, or in the middle of its stations. */
static gboolean
add_place(Uvh5Shape *self, const CtStream *stream, const CtParams *given, GError **error)
{
    const CtObservationFacts *facts = ct_observation_facts(stream->observation);
    Uvh5Place *place = &self->place;
    if (!facts->telescope)
        return refuse(error, "wants the name of the telescope: give the graph 'observation: "
                             "{ telescope: … }'");
    self->positions = g_new0(gdouble, 3 * self->n_stations);
    for (guint k = 0; k < 3; k++) {
        gdouble sum = 0;
        for (gint64 s = 0; s < self->n_stations; s++)
            sum += self->stations[s]->position[k];
        self->centre[k] =
            facts->has_location ? facts->location[k] : sum / (gdouble)self->n_stations;
        for (gint64 s = 0; s < self->n_stations; s++)
            self->positions[3 * s + k] = self->stations[s]->position[k] - self->centre[k];
    }
    ct_position_to_geodetic(self->centre, &place->longitude, &place->latitude, &place->height);
    self->centres = uvh5_centres_new(stream, given, error);
    return self->centres != NULL;
}

/* ---- products of polarisations ---- */

/* The feed of an element of pol or pol': x, y, r, l; 0 with an error. Sets which polarisation of
 * the observation it is. */
static char
find_feed(const CtStream *stream, const char *name, gint64 i, guint *polarisation, GError **error)
{
    const CtObservationFacts *facts = ct_observation_facts(stream->observation);
    const gint axis = ct_stream_axis(stream, name);
    const CtLabels *labels = axis < 0 ? NULL : stream->axes[axis].labels;
    const gint64 n = ct_stream_length(stream, name);
    const char *text = NULL;
    if (labels && !ct_labels_are_pairs(labels))
        text = ct_labels_name(labels, (gsize)i, 0);
    else if (facts->n_polarisations == (guint64)n)
        text = facts->polarisations[i];
    if (!text) {
        refuse(error,
               "wants the names of %" G_GINT64_FORMAT " polarisations: give the graph "
               "'observation: { polarisations: [X, Y] }'",
               n);
        return 0;
    }
    const char feed = (char)g_ascii_tolower(text[0]);
    if (strlen(text) != 1 || !strchr("xyrl", feed)) {
        refuse(error, "wants polarisations X and Y, or R and L, but is given '%s'", text);
        return 0;
    }
    *polarisation = MIN((guint)i, 1);
    for (guint k = 0; k < MIN(facts->n_polarisations, 2); k++)
        if (strcmp(facts->polarisations[k], text) == 0)
            *polarisation = k;
    return feed;
}

static gboolean
add_feed(Uvh5Shape *self, char feed, guint polarisation, GError **error)
{
    for (gint64 k = 0; k < self->n_feeds; k++)
        if (self->feeds[k] == feed)
            return TRUE;
    const gboolean is_linear = feed == 'x' || feed == 'y';
    for (gint64 k = 0; k < self->n_feeds; k++)
        if ((self->feeds[k] == 'x' || self->feeds[k] == 'y') != is_linear)
            return refuse(error, "wants polarisations X and Y, or R and L, but is given %c and %c",
                          g_ascii_toupper(self->feeds[k]), g_ascii_toupper(feed));
    self->feeds[self->n_feeds] = feed;
    self->polarisations[self->n_feeds++] = polarisation;
    return TRUE;
}

static int
compare_products(const void *a, const void *b)
{
    return ((const Uvh5Product *)b)->number - ((const Uvh5Product *)a)->number;
}

static gboolean
add_products(Uvh5Shape *self, const CtStream *stream, GError **error)
{
    /* [first of the file][second of the file] */
    static const struct {
        const char *feeds;
        gint numbers[2][2];
    } kinds[] = {{"xy", {{-5, -7}, {-8, -6}}}, {"rl", {{-1, -3}, {-4, -2}}}};
    const gint64 n_p = ct_stream_length(stream, "pol"), n_q = ct_stream_length(stream, "pol'");
    if (n_p < 1 || n_q < 1 || n_p > 2 || n_q > 2)
        return refuse(error,
                      "wants one or two polarisations, but is given %" G_GINT64_FORMAT
                      " by %" G_GINT64_FORMAT,
                      n_p, n_q);
    for (gint64 p = 0; p < n_p; p++)
        for (gint64 q = 0; q < n_q; q++) {
            guint of_first = 0, of_second = 0;
            const char second = find_feed(stream, "pol", p, &of_second, error);
            const char first =
                second ? find_feed(stream, ct_stream_axis(stream, "pol'") < 0 ? "pol" : "pol'", q,
                                   &of_first, error)
                       : 0;
            if (!first || !add_feed(self, second, of_second, error) ||
                !add_feed(self, first, of_first, error))
                return FALSE;
            for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
                const char *i = strchr(kinds[k].feeds, first), *j = strchr(kinds[k].feeds, second);
                if (!i || !j)
                    continue;
                self->products[self->n_products++] =
                    (Uvh5Product){kinds[k].numbers[i - kinds[k].feeds][j - kinds[k].feeds], p, q};
            }
        }
    qsort(self->products, (gsize)self->n_products, sizeof *self->products, compare_products);
    for (gint64 k = 1; k < self->n_products; k++)
        if (self->products[k].number == self->products[k - 1].number)
            return refuse(error, "wants polarisations with different names");
    return TRUE;
}

/* ---- channels ---- */

static int
compare_channels(const void *a, const void *b)
{
    const Uvh5Channel *x = a, *y = b;
    if (x->window != y->window)
        return x->window < y->window ? -1 : 1;
    return (x->frequency > y->frequency) - (x->frequency < y->frequency);
}

/* The frequency of an element of an axis; NaN if it has none. */
static gdouble
frequency_of(const CtStream *stream, gint axis, gint64 i, gint64 parent)
{
    const CtCoordinate *coordinate = &stream->axes[axis].coordinate;
    if (!coordinate->unit || strcmp(coordinate->unit, "Hz") != 0)
        return NAN;
    return ct_stream_coordinate(stream, (guint)axis, i, parent);
}

/* The width of the channels of a window: given, or the step from one to the next. */
static gboolean
add_widths(Uvh5Channel *channels, gint64 n, const CtStream *stream, const CtParams *given,
           GError **error)
{
    const gint axis =
        ct_stream_axis(stream, ct_stream_axis(stream, "channel") >= 0 ? "channel" : "subband");
    gdouble width = 0;
    if (ct_params_has(given, "channel_width"))
        width = ct_params_real(given, "channel_width");
    else if (axis >= 0 && !stream->axes[axis].coordinate.table)
        width = fabs(stream->axes[axis].coordinate.step);
    for (gint64 c = 0; c < n; c++) {
        gdouble step = width;
        if (step == 0 && n > 1)
            step = c == 0 ? channels[1].frequency - channels[0].frequency
                          : channels[c].frequency - channels[c - 1].frequency;
        if (step == 0 && c > 0)
            return refuse(error, "wants channels of different frequencies, but two are at %.17g Hz",
                          channels[c].frequency);
        if (!(step > 0))
            return refuse(error, "wants the width of the channel: give 'channel_width'");
        channels[c].width = step;
    }
    return TRUE;
}

static gboolean
add_channels(Uvh5Shape *self, const CtStream *stream, const CtParams *given, GError **error)
{
    const gint subband = ct_stream_axis(stream, "subband"),
               channel = ct_stream_axis(stream, "channel");
    const gint64 n_subbands = ct_stream_length(stream, "subband");
    const gint64 n_channels = ct_stream_length(stream, "channel");
    const gint64 n = n_subbands * n_channels;
    const gboolean is_split = subband >= 0 && channel >= 0;
    self->n_channels = n;
    self->n_windows = is_split ? n_subbands : 1;
    self->channels = ct_table_new((gsize)n + 1, sizeof *self->channels, "channels", error);
    if (!self->channels)
        return FALSE;
    for (gint64 i = 0; i < n; i++) {
        Uvh5Channel *to = &self->channels[i];
        *to = (Uvh5Channel){.subband = i / n_channels, .channel = i % n_channels};
        to->window = is_split ? to->subband : 0;
        if (channel >= 0)
            to->frequency = frequency_of(stream, channel, to->channel, to->subband);
        else if (subband >= 0)
            to->frequency = frequency_of(stream, subband, to->subband, 0);
        else
            to->frequency = stream->has_frequency ? stream->frequency : NAN;
        if (!isfinite(to->frequency))
            return refuse(error, "wants the frequencies of the channels: give the source its "
                                 "frequency");
    }
    qsort(self->channels, (gsize)n, sizeof *self->channels, compare_channels);
    const gint64 n_each = n / self->n_windows;
    for (gint64 w = 0; w < self->n_windows; w++)
        if (!add_widths(self->channels + w * n_each, n_each, stream, given, error))
            return FALSE;
    return TRUE;
}

/* ---- the whole ---- */

static gboolean
check_axes(const CtStream *stream, GError **error)
{
    static const char *const known[] = {"time", "subband", "channel", "baseline", "pol", "pol'"};
    g_autofree char *given = ct_stream_describe(stream);
    for (guint a = 0; a < stream->n_axes; a++) {
        gboolean is_known = FALSE;
        for (guint k = 0; k < G_N_ELEMENTS(known); k++)
            is_known |= strcmp(known[k], stream->axes[a].name) == 0;
        if (!is_known || (stream->axes[a].length < 1 && strcmp(stream->axes[a].name, "time") != 0))
            return refuse(error,
                          "wants visibilities with the axes time, baseline, subband, channel, pol "
                          "and pol', but is given %s",
                          given);
    }
    if ((ct_stream_axis(stream, "pol") < 0) != (ct_stream_axis(stream, "pol'") < 0))
        return refuse(error, "wants both axes pol and pol', or neither, but is given %s", given);
    if (stream->rate_num == 0 || stream->epoch == CT_NO_EPOCH)
        return refuse(error, "wants a stream that knows its UTC: give the graph 'observation: "
                             "{ start: … }'");
    /* A Julian date in double precision has steps of 40 µs. */
    if (1 / ct_stream_sample_rate(stream) < 1e-3)
        return refuse(
            error,
            "wants integrations of at least 1 ms, whose Julian dates differ, but is given "
            "%.6g s",
            1 / ct_stream_sample_rate(stream));
    return TRUE;
}

Uvh5Shape *
uvh5_shape_new(const CtStream *stream, const CtParams *given, GError **error)
{
    g_autoptr(Uvh5Shape) self = g_new0(Uvh5Shape, 1);
    return check_axes(stream, error) && add_stations(self, stream, error) &&
                   add_place(self, stream, given, error) && add_products(self, stream, error) &&
                   add_channels(self, stream, given, error)
               ? g_steal_pointer(&self)
               : NULL;
}

void
uvh5_shape_free(Uvh5Shape *self)
{
    if (!self)
        return;
    uvh5_centres_free(self->centres);
    g_free(self->stations);
    g_free(self->numbers);
    g_free(self->pairs);
    g_free(self->channels);
    g_free(self->positions);
    g_free(self);
}
