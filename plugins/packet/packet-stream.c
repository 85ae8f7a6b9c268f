/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of packets whose headers have a counter, a station and a first channel: lanes, times, and
 * the description. */
#include "packet-stream.h"

#include "packet-numbers.h"

#include <string.h>

/* Samples, and ticks, are below. */
static const gint64 MOST_TICKS = (gint64)1 << 61;

gboolean
packet_stream_read(PacketStream *stream, const CtParams *given, CtType type, gboolean is_open,
                   GError **error)
{
    if (!packet_payload_read(&stream->payload, given, type, is_open, error))
        return FALSE;
    const gboolean has_subbands = packet_payload_axis(&stream->payload, "subband") >= 0;
    const gboolean has_channels = packet_payload_axis(&stream->payload, "channel") >= 0;
    if (has_subbands && has_channels)
        return ct_params_error(given, "payload", error,
                               "wants channels or subbands, but is given "
                               "both");
    stream->channel_axis = has_subbands ? "subband" : "channel";
    stream->ticks_per_sample = 1;
    return TRUE;
}

void
packet_stream_clear(gpointer self)
{
    PacketStream *stream = self;
    packet_numbers_clear(&stream->stations);
    packet_numbers_clear(&stream->channels);
}

/* ---- headers ---- */

/* Until packets are ordered, a lane is a station and the number of the first channel, and a stamp
 * the counter. A header that can have neither is of no lane. */
void
packet_stream_found(const PacketHeader *header, CtPacket *packet)
{
    const gboolean is_good =
        header->station < PACKET_MOST_NUMBERS && header->channel < PACKET_MOST_NUMBERS;
    packet->stamp = (gint64)MIN(header->counter, (guint64)G_MAXINT64);
    packet->lane = is_good ? (guint32)(header->station << 16 | header->channel) : G_MAXUINT32;
    packet->flagged = header->flagged;
}

static gint64
count_channels(const PacketStream *stream)
{
    const gint a = packet_payload_axis(&stream->payload, stream->channel_axis);
    return a < 0 ? 1 : stream->payload.length[a];
}

/* The lane of a packet; n_lanes: none. */
static guint32
find_lane(const PacketStream *stream, guint32 lane)
{
    const guint n_lanes = stream->stations.n * stream->channels.n;
    const gint station =
        lane >> 16 < PACKET_MOST_NUMBERS ? stream->stations.places[lane >> 16] : -1;
    const guint number = lane & 0xffff;
    const gint channel = number < PACKET_MOST_NUMBERS ? stream->channels.places[number] : -1;
    return station < 0 || channel < 0 ? n_lanes
                                      : (guint32)channel * stream->stations.n + (guint32)station;
}

/* Makes a counter that goes on the number of a sample. FALSE: it is none. */
static gboolean
count_samples(const PacketStream *stream, gint64 n_samples, gint64 *stamp)
{
    const gint64 per = stream->counts == PACKET_COUNTS_TICKS ? stream->ticks_per_sample : 1;
    const gint64 times = stream->counts == PACKET_COUNTS_PACKETS ? n_samples : 1;
    if (ABS(*stamp) >= MOST_TICKS / times || *stamp % per != 0)
        return FALSE;
    *stamp = *stamp / per * times;
    return TRUE;
}

/* The counter at a sample. */
static gint64
count_ticks(const PacketStream *stream, gint64 n_samples, gint64 sample)
{
    return stream->counts == PACKET_COUNTS_TICKS     ? sample * stream->ticks_per_sample
           : stream->counts == PACKET_COUNTS_PACKETS ? sample / n_samples
                                                     : sample;
}

/* ---- all packets ---- */

/* Drops packets without a lane, and gives the others theirs. */
static void
set_lanes(const PacketStream *stream, CtPackets *packets)
{
    guint kept = 0;
    for (guint i = 0; i < packets->packets->len; i++) {
        CtPacket packet = g_array_index(packets->packets, CtPacket, i);
        packet.lane = find_lane(stream, packet.lane);
        if (packet.lane < stream->stations.n * stream->channels.n)
            g_array_index(packets->packets, CtPacket, kept++) = packet;
    }
    packets->counts[CT_PACKETS_STRAY] += packets->packets->len - kept;
    g_array_set_size(packets->packets, kept);
}

static gboolean
wraps(const PacketStream *stream)
{
    return stream->counter_bits < 61;
}

/* Counters that wrap go on. A sample of a long recording shows how often they do if all of it is
 * within half a period. */
static void
unwrap(PacketStream *stream, CtRecording *recording)
{
    const GArray *packets = recording->packets->packets;
    const gint64 period = wraps(stream) ? (gint64)1 << stream->counter_bits : 0;
    gint64 first = G_MAXINT64, last = G_MININT64;
    if (period == 0 || packets->len == 0)
        return;
    ct_packets_unwrap(recording->packets, recording->n_lanes, period);
    for (guint i = 0; i < packets->len; i++) {
        first = MIN(first, g_array_index(packets, CtPacket, i).stamp);
        last = MAX(last, g_array_index(packets, CtPacket, i).stamp);
    }
    recording->needs_all |= recording->is_sample && last - first >= period / 8 * 3;
    stream->last = stream->trusted = g_array_index(packets, CtPacket, 0).stamp;
    stream->has_last = TRUE;
}

/* Stamps become samples; packets that are none are dropped. */
static void
set_stamps(const PacketStream *stream, const CtRecording *recording)
{
    CtPackets *packets = recording->packets;
    guint kept = 0;
    for (guint i = 0; i < packets->packets->len; i++) {
        CtPacket packet = g_array_index(packets->packets, CtPacket, i);
        if (count_samples(stream, recording->n_samples, &packet.stamp))
            g_array_index(packets->packets, CtPacket, kept++) = packet;
    }
    packets->counts[CT_PACKETS_MISTIMED] += packets->packets->len - kept;
    g_array_set_size(packets->packets, kept);
}

gboolean
packet_stream_order(CtRecording *recording, const CtParams *given, GError **error)
{
    PacketStream *stream = recording->self;
    const PacketPayload *payload = &stream->payload;
    packet_stream_clear(stream);
    if (!packet_numbers_find(&stream->stations, recording, given, "stations", stream->has_stations,
                             1, error) ||
        !packet_numbers_find(&stream->channels, recording, given, "channels", stream->has_channels,
                             count_channels(stream), error))
        return FALSE;
    recording->n_lanes = stream->stations.n * stream->channels.n;
    recording->n_samples = payload->time < 0 ? 1 : payload->length[payload->time];
    recording->max_gap = (gint64)MIN(
        ct_params_real(given, "max_gap") * ct_params_real(given, "sample_rate"), 0x1p60);
    g_clear_pointer(&recording->widths, g_free);
    if (stream->has_channels && count_channels(stream) > 1) {
        recording->widths = g_new(guint, recording->n_lanes);
        for (guint i = 0; i < recording->n_lanes; i++)
            recording->widths[i] = (guint)count_channels(stream);
        recording->lane_step = stream->stations.n;
    }
    set_lanes(stream, recording->packets);
    unwrap(stream, recording);
    set_stamps(stream, recording);
    return TRUE;
}

/* ---- one packet after another ---- */

/* The number nearest to `near` at which a counter that wraps is `counter`. */
static gint64
unwrap_one(const PacketStream *stream, gint64 counter, gint64 near)
{
    const gint64 period = (gint64)1 << stream->counter_bits;
    gint64 distance = (counter - near) % period;
    distance += distance < 0 ? period : 0;
    return near + distance - (distance > period / 2 ? period : 0);
}

/* The counter nearest to the last credible one; such is one near the one before it. */
static gint64
go_on(PacketStream *stream, gint64 counter)
{
    const gint64 period = (gint64)1 << stream->counter_bits;
    if (!stream->has_last)
        stream->last = stream->trusted = counter;
    stream->has_last = TRUE;
    counter = unwrap_one(stream, counter, stream->trusted);
    if (ABS(counter - stream->last) <= period / 8)
        stream->trusted = counter;
    stream->last = counter;
    return counter;
}

gboolean
packet_stream_place(const CtRecording *recording, CtPacket *packet, guint64 *counts)
{
    PacketStream *stream = recording->self;
    packet->lane = find_lane(stream, packet->lane);
    if (packet->lane == recording->n_lanes) {
        counts[CT_PACKETS_STRAY]++;
        return FALSE;
    }
    if (wraps(stream) && recording->newest)
        packet->stamp = unwrap_one(stream, packet->stamp,
                                   count_ticks(stream, recording->n_samples, *recording->newest));
    else if (wraps(stream))
        packet->stamp = go_on(stream, packet->stamp);
    if (count_samples(stream, recording->n_samples, &packet->stamp))
        return TRUE;
    counts[CT_PACKETS_MISTIMED]++;
    return FALSE;
}

/* ---- the stream ---- */

static gboolean
set_clock(const PacketStream *packets, const CtRecording *recording, const CtParams *given,
          CtStream *stream, GError **error)
{
    gint64 numerator, denominator;
    g_autoptr(GError) cause = NULL;
    ct_params_rational(given, "sample_rate", &numerator, &denominator);
    if (!ct_stream_set_rate(stream, numerator, denominator, packets->ticks_per_sample) ||
        __builtin_mul_overflow(recording->packets->first, packets->ticks_per_sample,
                               &stream->start))
        return ct_params_error(given, "ticks_per_sample", error,
                               "makes a clock faster than 63 bits can count");
    if (!ct_params_has(given, "epoch") ||
        ct_utc_parse(ct_params_string(given, "epoch"), &stream->epoch, &cause))
        return TRUE;
    return ct_params_error(given, "epoch", error, "%s", cause->message);
}

/* The frequencies of channels by their numbers. */
static gboolean
set_frequencies(const PacketStream *packets, const CtParams *given, CtStream *stream,
                GError **error)
{
    const gint a = ct_stream_axis(stream, packets->channel_axis);
    if (!ct_params_has(given, "channel_zero"))
        return TRUE;
    if (a < 0)
        return ct_params_error(given, "channel_zero", error,
                               "wants packets that have channels, but is given others");
    const gdouble zero = ct_params_real(given, "channel_zero");
    const gdouble step = ct_params_real(
        given, ct_params_has(given, "channel_step") ? "channel_step" : "sample_rate");
    const guint width = (guint)count_channels(packets);
    const guint *numbers = packets->channels.numbers;
    CtCoordinate *coordinate = &stream->axes[a].coordinate;
    gboolean affine = TRUE;
    for (guint i = 1; i < packets->channels.n; i++)
        affine = affine && numbers[i] == numbers[i - 1] + width;
    coordinate->unit = g_intern_static_string("Hz");
    coordinate->first = zero + numbers[0] * step;
    coordinate->step = step;
    if (affine)
        return TRUE;
    const guint n = packets->channels.n * width;
    g_autofree gdouble *table = g_new(gdouble, n);
    for (guint i = 0; i < n; i++)
        table[i] = zero + (numbers[i / width] + i % width) * step;
    coordinate->table = g_bytes_new(table, n * sizeof *table);
    return TRUE;
}

static gboolean
check_packets(const CtRecording *recording, GError **error)
{
    if (recording->packets->end > recording->packets->first)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                "%s: wants packets of the stations, channels and times that are read, but is given "
                "none",
                recording->files[0].path);
    return FALSE;
}

gboolean
packet_stream_describe(CtRecording *recording, const CtParams *given, CtStream *stream,
                       GError **error)
{
    PacketStream *packets = recording->self;
    const PacketPayload *payload = &packets->payload;
    stream->type = payload->type;
    for (guint a = 0; a < payload->n_axes; a++)
        if ((gint)a != payload->time)
            ct_stream_add_axis(stream, payload->names[a], payload->length[a]);
    if (packets->has_channels) {
        ct_stream_remove_axis(stream, packets->channel_axis);
        ct_stream_add_axis(stream, packets->channel_axis,
                           packets->channels.n * count_channels(packets))
            ->loses = TRUE;
    }
    if (packets->has_stations)
        ct_stream_add_axis(stream, "station", packets->stations.n)->loses = TRUE;
    for (guint a = 0; a < payload->n_axes; a++)
        packets->axis_of[a] = ct_stream_axis(stream, payload->names[a]);
    return set_clock(packets, recording, given, stream, error) &&
           set_frequencies(packets, given, stream, error) &&
           ct_source_set_frequencies(given, stream, error) && check_packets(recording, error);
}

static void
unpack_with(const CtRecording *recording, const CtPacketPart *part, gsize header,
            void (*unpack)(const PacketPayload *, const guint8 *, gint64, gint64, guint8 *,
                           const gint64 *))
{
    const PacketStream *stream = recording->self;
    gint64 stride[CT_MAX_AXES];
    for (guint a = 0; a < stream->payload.n_axes; a++)
        stride[a] = part->stride[stream->axis_of[a]];
    unpack(&stream->payload, part->packet + header, part->begin, part->end, part->out, stride);
}

void
packet_stream_unpack(const CtRecording *recording, const CtPacketPart *part, gsize header)
{
    unpack_with(recording, part, header, packet_payload_unpack);
}

void
packet_stream_unpack_plain(const CtRecording *recording, const CtPacketPart *part, gsize header)
{
    unpack_with(recording, part, header, packet_payload_unpack_plain);
}
