/* SPDX-License-Identifier: BSD-3-Clause */
/* spead.sink: voltages to packets of SPEAD heaps, as MeerKAT's F-engines send them. */
#include "../packet/packet-numbers.h"
#include "../voltages.h"
#include "spead-heaps.h"
#include "spead.h"

/* The most bytes of samples in a datagram, which has the longest header, too. */
enum { MOST_BYTES = CT_SINK_MOST_DATAGRAM - SPEAD_HEADER_BYTES };
enum { MOST_HEAP = 1 << 24 };

/* Timestamps, and numbers of heaps, are below. */
static const gint64 PERIOD = (gint64)1 << 48;

static const CtParam params[] = {
    CT_SINK_PARAMS_WHOLE("the packets, or udp://ADDRESS:PORT"),
    CT_SINK_SEND_PARAMS,
    SPEAD_HEAP_PARAMS,
    {.name = "heap",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 1,
     .maximum = MOST_HEAP,
     .help =
         "elements of the first axis of 'payload' in a heap; left out: all channels, or of time "
         "as many as a packet can have"},
    {.name = "packet_bytes",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 1,
     .maximum = MOST_BYTES,
     .fallback = "8192", /* as MeerKAT's; frames of Ethernet with 9000 bytes have room for it */
     .help = "samples in a packet have at most so many bytes"},
    {.name = "epoch",
     .kind = CT_PARAM_STRING,
     .help = "UTC at which the timestamp is 0, 2022-06-29T01:30:00Z, or Unix seconds; left out: "
             "that of the stream"},
    {.name = "stations",
     .kind = CT_PARAM_STRING,
     .flags = CT_PARAM_LIST,
     .help = "numbers of the stations in headers, in the order of the axis, as numbers and ranges: "
             "[0..7, 12]; left out: 0, 1, …"},
    {.name = "channels",
     .kind = CT_PARAM_STRING,
     .flags = CT_PARAM_LIST,
     .help = "numbers of the channels, of whole heaps, in the order of the axis: [512..1023]; left "
             "out: 0, 1, …"},
    {NULL},
};

enum { LEFT_OUT };
static const char *const counters[] = {[LEFT_OUT] = "left_out", NULL};

/* How the samples become heaps. A heap has all axes of the payload, of one station and one group of
 * channels; stations are slower than groups. */
typedef struct {
    PacketStream stream; /* its payload is that of a heap */
    SpeadItems items;
    gint64 n_samples;  /* of a heap, along time */
    gint64 n_stations; /* of the axis of that name, if headers tell them; else 1 */
    gint64 n_groups, group_channels;
    gint64 heap_bytes, packet_bytes; /* of samples */
    gint64 n_packets;                /* of a heap */
    gint64 width;                    /* of the payload's first axis, in a packet */
    gint64 start;                    /* the timestamp of the stream's first sample */
} Heaps;

typedef struct {
    Heaps heaps;
    gint64 n_lanes, station_step, channel_step; /* of the input; 0: it has no such lanes */
    gint64 first;      /* the stream's sample that is the file's first one */
    gint64 sample;     /* of the file, with which these heaps begin */
    gint64 filled;     /* samples of these heaps that have come */
    gint64 n_put;      /* packets of each of these heaps that are written */
    guint8 *samples;   /* [station group] of heaps */
    gboolean *invalid; /* [station group packet] whether a sample is invalid */
    guint8 *packet;
    SpeadHeader header;
} Sink;

static void
heaps_clear(Heaps *heaps)
{
    packet_stream_clear(&heaps->stream);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Heaps, heaps_clear)

/* ---- what heaps can hold ---- */

static gint64
axis_length(const CtStream *stream, const char *name)
{
    const gint a = ct_stream_axis(stream, name);
    return a < 0 ? 1 : stream->axes[a].length;
}

/* Whether heaps have the stream's axes, and it has theirs. */
static gboolean
check_axes(const Heaps *heaps, const CtParams *given, const CtStream *stream, GError **error)
{
    const PacketPayload *payload = &heaps->stream.payload;
    for (guint a = 0; a < stream->n_axes; a++) {
        const CtAxis *axis = &stream->axes[a];
        const gboolean is_told =
            (heaps->items.station >= 0 && g_str_equal(axis->name, "station")) ||
            (heaps->items.channel >= 0 && g_str_equal(axis->name, heaps->stream.channel_axis));
        if (!g_str_equal(axis->name, "time") && axis->length > 1 && !is_told &&
            packet_payload_axis(payload, axis->name) < 0)
            return ct_params_error(given, "payload", error,
                                   "wants all axes of the stream, but lacks '%s' with "
                                   "%" G_GINT64_FORMAT,
                                   axis->name, axis->length);
    }
    for (guint a = 1; a < payload->n_axes; a++) {
        const char *name = payload->names[a];
        const gint64 length = axis_length(stream, name);
        const gboolean is_part =
            g_str_equal(name, "time") || g_str_equal(name, heaps->stream.channel_axis);
        if (!is_part && length != payload->length[a])
            return ct_params_error(given, "payload", error,
                                   "wants '%s %" G_GINT64_FORMAT
                                   "', as the stream has it, but is given '%s %" G_GINT64_FORMAT
                                   "'",
                                   name, length, name, payload->length[a]);
    }
    return TRUE;
}

/* Chooses the length of the payload's first axis. */
static gboolean
choose_heap(Heaps *heaps, const CtParams *given, const CtStream *stream, GError **error)
{
    PacketPayload *payload = &heaps->stream.payload;
    const gint64 piece = packet_payload_pack(payload), most = ct_params_int(given, "packet_bytes");
    if (piece > most)
        return ct_params_error(given, "packet_bytes", error,
                               "wants at least the %" G_GINT64_FORMAT
                               " bytes of an element of axis '%s', but is given %" G_GINT64_FORMAT,
                               piece, payload->names[0], most);
    payload->length[0] = spead_divides_time(&heaps->stream)
                             ? most / piece
                             : axis_length(stream, heaps->stream.channel_axis);
    if (ct_params_has(given, "heap"))
        payload->length[0] = ct_params_int(given, "heap");
    /* As many in a packet as divide the heap evenly. */
    heaps->width = MIN(most / piece, payload->length[0]);
    while (payload->length[0] % heaps->width != 0)
        heaps->width--;
    heaps->n_packets = payload->length[0] / heaps->width;
    heaps->packet_bytes = heaps->width * piece;
    heaps->heap_bytes = packet_payload_pack(payload);
    heaps->n_samples = payload->time < 0 ? 1 : payload->length[payload->time];
    return TRUE;
}

/* Divides the stations and channels of the stream among heaps. */
static gboolean
choose_groups(Heaps *heaps, const CtParams *given, const CtStream *stream, GError **error)
{
    const char *name = heaps->stream.channel_axis;
    const gint a = packet_payload_axis(&heaps->stream.payload, name);
    const gint64 n_channels = axis_length(stream, name);
    heaps->n_stations = heaps->items.station < 0 ? 1 : axis_length(stream, "station");
    heaps->group_channels = a < 0 ? 1 : heaps->stream.payload.length[a];
    heaps->n_groups = n_channels / heaps->group_channels;
    if (n_channels % heaps->group_channels != 0)
        return ct_params_error(given, a == 0 ? "heap" : "payload", error,
                               "wants heaps that divide axis '%s' with %" G_GINT64_FORMAT
                               " evenly, but is given heaps of %" G_GINT64_FORMAT,
                               name, n_channels, heaps->group_channels);
    return heaps->n_groups == 1 || heaps->items.channel >= 0 ||
           ct_params_error(given, "channel_item", error,
                           "wants the number of an item, as axis '%s' is in %" G_GINT64_FORMAT
                           " heaps, but is given none",
                           name, heaps->n_groups);
}

/* The numbers that headers give the elements of an axis, in pieces of `width`: those that the graph
 * lists, or without them (n = 0) the indices. */
static gboolean
choose_numbers(PacketNumbers *numbers, const CtParams *given, const char *name, gboolean is_told,
               gint64 n, gint64 width, GError **error)
{
    if (n * width > PACKET_MOST_NUMBERS)
        return ct_params_error(given, name, error,
                               "wants at most %d, but is given %" G_GINT64_FORMAT,
                               PACKET_MOST_NUMBERS, n * width);
    if (!is_told || ct_params_count(given, name) == 0)
        return TRUE;
    if (!packet_numbers_find(numbers, NULL, given, name, TRUE, width, error))
        return FALSE;
    return numbers->n == n || ct_params_error(given, name, error,
                                              "wants %" G_GINT64_FORMAT
                                              " numbers, as the stream has them, but is given "
                                              "%" G_GINT64_FORMAT,
                                              n * width, numbers->n * width);
}

static guint64
number_of(const PacketNumbers *numbers, gint64 i, gint64 width)
{
    return numbers->n > 0 ? numbers->numbers[i] : (guint64)(i * width);
}

/* The timestamp of the stream's first sample: its tick, counted from `epoch` on. Receivers take
 * whole samples from 0 on, and that a timestamp has passed its period only while they receive. */
static gboolean
choose_start(Heaps *heaps, const CtParams *given, const CtStream *stream, GError **error)
{
    __int128 start = stream->start;
    if (ct_params_has(given, "epoch")) {
        g_autoptr(GError) cause = NULL;
        gint64 epoch;
        if (!ct_utc_parse(ct_params_string(given, "epoch"), &epoch, &cause))
            return ct_params_error(given, "epoch", error, "%s", cause->message);
        if (stream->epoch == CT_NO_EPOCH)
            return ct_params_error(given, "epoch", error,
                                   "wants a stream that knows its UTC, but is given one without an "
                                   "epoch");
        const __int128 ticks = ((__int128)stream->epoch - epoch) * stream->rate_num;
        if (ticks % stream->rate_den != 0)
            return ct_params_error(given, "epoch", error,
                                   "wants a whole number of ticks, of which %" G_GINT64_FORMAT
                                   " are %" G_GINT64_FORMAT
                                   " s, to that of the stream, %" G_GINT64_FORMAT,
                                   stream->rate_num, stream->rate_den, stream->epoch);
        start += ticks / stream->rate_den;
    }
    if (start < 0 || start >= PERIOD)
        return ct_params_error(given, "epoch", error,
                               "wants a time at most 2^48 ticks (%.6g s) before the stream's first "
                               "sample, but is given one %.6g s before it",
                               (gdouble)PERIOD * stream->rate_den / stream->rate_num,
                               (gdouble)start * stream->rate_den / stream->rate_num);
    heaps->start = (gint64)start;
    if (start % stream->ticks_per_sample == 0)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                "wants a start that is a whole number of samples, of %" G_GINT64_FORMAT
                " ticks, after timestamp 0, but is given timestamp %" G_GINT64_FORMAT,
                stream->ticks_per_sample, heaps->start);
    return FALSE;
}

static gboolean
choose_heaps(Heaps *heaps, const CtParams *given, const CtStream *stream, CtType type,
             GError **error)
{
    return spead_heaps_read(&heaps->stream, &heaps->items, given, type, error) &&
           check_axes(heaps, given, stream, error) && choose_heap(heaps, given, stream, error) &&
           choose_groups(heaps, given, stream, error) &&
           choose_numbers(&heaps->stream.stations, given, "stations", heaps->items.station >= 0,
                          heaps->n_stations, 1, error) &&
           choose_numbers(&heaps->stream.channels, given, "channels", heaps->items.channel >= 0,
                          heaps->n_groups, heaps->group_channels, error) &&
           choose_start(heaps, given, stream, error);
}

/* The samples at the end that do not fill packets are not written. */
static void
warn_of_rest(const CtNode *node, const CtStream *stream, const Heaps *heaps)
{
    const gint64 length = axis_length(stream, "time");
    const gint64 n = spead_divides_time(&heaps->stream) ? heaps->width : heaps->n_samples;
    if (length > 0 && length % n > 0)
        ct_params_warn(node->params, NULL,
                       "the stream's last %" G_GINT64_FORMAT
                       " samples are left out: they do not fill packets of %" G_GINT64_FORMAT,
                       length % n, n);
}

static gboolean
check(CtNode *node, GError **error)
{
    const CtStream *stream = &node->inputs[0];
    g_auto(Heaps) heaps = {0};
    if (ct_stream_axis(stream, "time") < 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants a stream along time, but is given one array");
        return FALSE;
    }
    if (!choose_heaps(&heaps, node->params, stream, stream->type, error) ||
        !voltages_check_rotation(node->params, stream, heaps.n_samples, "heaps", "payload", error))
        return FALSE;
    warn_of_rest(node, stream, &heaps);
    CtLayout *wish = &node->input_layouts[0];
    wish->types = 1u << stream->type;
    for (guint a = 0; a < stream->n_axes; a++)
        if (stream->axes[a].length == 1 && strcmp(stream->axes[a].name, "time") != 0)
            voltages_add(wish, stream, stream->axes[a].name);
    voltages_add(wish, stream, "station");
    if (packet_payload_axis(&heaps.stream.payload, heaps.stream.channel_axis) < 0)
        voltages_add(wish, stream, heaps.stream.channel_axis);
    for (guint a = 0; a < heaps.stream.payload.n_axes; a++)
        voltages_add(wish, stream, heaps.stream.payload.names[a]);
    voltages_add(wish, stream, "time");
    return TRUE;
}

/* ---- the file ---- */

static gboolean
open_file(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    Heaps *heaps = &sink->heaps;
    const CtStream *stream = file->input->stream;
    const CtType type = ct_layout_type(&file->input->layout);
    if (!choose_heaps(heaps, file->given, stream, type, error))
        return FALSE;
    const gint64 n_heaps = heaps->n_stations * heaps->n_groups;
    sink->n_lanes = ct_stream_n_lanes(stream);
    sink->station_step = ct_stream_lane_step(stream, "station");
    sink->channel_step = ct_stream_lane_step(stream, heaps->stream.channel_axis);
    sink->first = (file->stream.start - stream->start) / stream->ticks_per_sample;
    sink->header = (SpeadHeader){
        .header_bytes = spead_header_bytes(&heaps->items, (gsize)heaps->packet_bytes),
        .heap_length = (guint64)heaps->heap_bytes,
        .payload_length = (guint64)heaps->packet_bytes,
    };
    ct_sink_piece(file, 0);
    sink->packet = g_malloc(sink->header.header_bytes + (gsize)heaps->packet_bytes);
    sink->samples = ct_table_new((gsize)n_heaps, (gsize)heaps->heap_bytes, "heaps", error);
    return sink->samples &&
           (sink->invalid = CT_TABLE(gboolean, n_heaps * heaps->n_packets, "packets", error));
}

/* Writes a packet of these heaps, which begins with a sample of the file. */
static gboolean
put_packet(CtSinkFile *file, gint64 heap, gint64 piece, gint64 sample, GError **error)
{
    Sink *sink = file->self;
    const Heaps *heaps = &sink->heaps;
    SpeadHeader *header = &sink->header;
    const gint64 n_heaps = heaps->n_stations * heaps->n_groups;
    const gint64 begin = sink->first + sink->sample, offset = piece * heaps->packet_bytes;
    const __int128 tick = heaps->start + (__int128)begin * file->stream.ticks_per_sample;
    header->heap_count = (guint64)((begin / heaps->n_samples * n_heaps + heap) % PERIOD);
    header->heap_offset = (guint64)offset;
    header->timestamp = (guint64)(tick % PERIOD);
    header->station = number_of(&heaps->stream.stations, heap / heaps->n_groups, 1);
    header->channel =
        number_of(&heaps->stream.channels, heap % heaps->n_groups, heaps->group_channels);
    spead_header_write(header, &heaps->items, sink->packet);
    memcpy(sink->packet + header->header_bytes, sink->samples + heap * heaps->heap_bytes + offset,
           (gsize)heaps->packet_bytes);
    return ct_sink_packet(file, sink->packet, (gint64)header->header_bytes + heaps->packet_bytes,
                          sample, error);
}

/* Writes the packets of these heaps that are full. They go along time, if they divide it, and else
 * heap by heap; each begins a share of the heaps' time after the one before. One with an invalid
 * sample is left out. */
static gboolean
put_heaps(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    const Heaps *heaps = &sink->heaps;
    const gint64 n_heaps = heaps->n_stations * heaps->n_groups, n_all = n_heaps * heaps->n_packets;
    const gboolean is_whole = sink->filled == heaps->n_samples;
    const gboolean divides_time = spead_divides_time(&heaps->stream);
    const gint64 n_full = divides_time ? sink->filled / heaps->width : is_whole * heaps->n_packets;
    for (gint64 i = sink->n_put * n_heaps; i < n_full * n_heaps; i++) {
        const gint64 heap = divides_time ? i % n_heaps : i / heaps->n_packets;
        const gint64 piece = divides_time ? i / n_heaps : i % heaps->n_packets;
        const gint64 sample = sink->sample + heaps->n_samples * i / n_all;
        gboolean *invalid = &sink->invalid[heap * heaps->n_packets + piece];
        if (*invalid)
            file->counters[LEFT_OUT]++;
        else if (!put_packet(file, heap, piece, sample, error))
            return FALSE;
        *invalid = FALSE;
    }
    sink->n_put = n_full;
    if (is_whole) {
        sink->sample += heaps->n_samples;
        sink->filled = sink->n_put = 0;
    }
    ct_sink_piece(file, sink->sample + sink->n_put * (divides_time ? heaps->width : 0));
    return TRUE;
}

/* ---- samples ---- */

/* Notes the packets of a station and channel that have invalid samples among n. */
static void
note_packets(Sink *sink, gint64 station, gint64 channel, const guint8 *validity, gint64 n)
{
    const Heaps *heaps = &sink->heaps;
    const gint64 group = channel / heaps->group_channels, width = heaps->width;
    gboolean *invalid = sink->invalid + (station * heaps->n_groups + group) * heaps->n_packets;
    if (!spead_divides_time(&heaps->stream)) {
        invalid[channel % heaps->group_channels / width] = TRUE;
        return;
    }
    for (gint64 t = 0, end; t < n; t = end) {
        const gint64 piece = (sink->filled + t) / width;
        end = MIN(n, (piece + 1) * width - sink->filled);
        invalid[piece] |= memchr(validity + t, 0, (gsize)(end - t)) != NULL;
    }
}

/* Notes the packets that have invalid samples among n of a block. */
static void
note_invalid(Sink *sink, const CtBlock *block, gint64 begin, gint64 n)
{
    const Heaps *heaps = &sink->heaps;
    const gint64 n_stations = heaps->n_stations;
    const gint64 n_channels = heaps->n_groups * heaps->group_channels;
    for (gint64 lane = 0; block->validity && lane < sink->n_lanes; lane++) {
        const guint8 *validity = block->validity + lane * block->validity_stride + begin;
        if (!memchr(validity, 0, (gsize)n))
            continue;
        const gint64 s = sink->station_step ? lane / sink->station_step % n_stations : 0;
        const gint64 c = sink->channel_step ? lane / sink->channel_step % n_channels : 0;
        for (gint64 i = s; i < (sink->station_step ? s + 1 : n_stations); i++)
            for (gint64 k = c; k < (sink->channel_step ? c + 1 : n_channels); k++)
                note_packets(sink, i, k, validity, n);
    }
}

static gboolean
write_samples(CtSinkFile *file, const CtBlock *block, GError **error)
{
    Sink *sink = file->self;
    const Heaps *heaps = &sink->heaps;
    const PacketPayload *payload = &heaps->stream.payload;
    const CtLayout *layout = &file->input->layout;
    const gint64 time = voltages_stride(layout, block, "time");
    const gint64 station = heaps->items.station < 0 ? 0 : voltages_stride(layout, block, "station");
    const gint64 group =
        heaps->group_channels * voltages_stride(layout, block, heaps->stream.channel_axis);
    gint64 stride[CT_MAX_AXES], n;
    for (guint a = 0; a < payload->n_axes; a++)
        stride[a] = voltages_stride(layout, block, payload->names[a]);
    for (gint64 t = 0; t < block->n_samples; t += n) {
        n = MIN(heaps->n_samples - sink->filled, block->n_samples - t);
        for (gint64 i = 0; i < heaps->n_stations * heaps->n_groups; i++)
            packet_payload_put(payload,
                               block->data + t * time + i / heaps->n_groups * station +
                                   i % heaps->n_groups * group,
                               stride, n, sink->filled, sink->samples + i * heaps->heap_bytes);
        note_invalid(sink, block, t, n);
        sink->filled += n;
        if (!put_heaps(file, error))
            return FALSE;
    }
    return TRUE;
}

static void
clear(gpointer self)
{
    Sink *sink = self;
    heaps_clear(&sink->heaps);
    g_free(sink->samples);
    g_free(sink->invalid);
    g_free(sink->packet);
}

const CtSink spead_sink_files = {
    .name = "files of SPEAD packets",
    .self_bytes = sizeof(Sink),
    .streams = TRUE,
    .check = check,
    .open = open_file,
    .write = write_samples,
    .clear = clear,
    .sends = TRUE,
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_sink_infer(&spead_sink_files, node, error);
}

const CtStage spead_sink = {
    .name = "spead.sink",
    .summary = "voltages to packets of SPEAD heaps, with PATH.json beside them",
    .version = 1,
    .inputs = CT_PORTS({"voltages", "{time ...}", 0, "samples of the heaps"}),
    .params = params,
    .counters = counters,
    .infer = infer,
};
