/* SPDX-License-Identifier: BSD-3-Clause */
/* packet.source: packets with a header that the graph describes. */
#include "packet-fields.h"
#include "packet-stream.h"

enum { MOST_CONSTANTS = 8 };

/* The source's state, beside the files of its recording. */
typedef struct {
    PacketStream stream; /* the first member */
    gsize header_bytes, bytes;
    PacketField counter, station, channel, flag;
    guint n_constants;
    PacketConstant constants[MOST_CONSTANTS];
} Source;

static const char *const count_names[] = {"samples", "packets", "ticks", NULL};

static const CtParam params[] = {
    {.name = "paths",
     .kind = CT_PARAM_PATH,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_LIST | CT_PARAM_PIPE,
     .help = "captures of packets, which together are one recording; or a pipe"},
    {.name = "header_bytes",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_RANGED,
     .minimum = 1,
     .maximum = CT_PACKET_LONGEST_HEADER,
     .help = "bytes of a packet before its samples"},
    {.name = "counter",
     .kind = CT_PARAM_STRING,
     .flags = CT_PARAM_REQUIRED,
     .help = "where the time of the first sample stands in a header: u48 at 2, u32 little at 8"},
    {.name = "counts",
     .kind = CT_PARAM_CHOICE,
     .choices = count_names,
     .fallback = "samples",
     .help = "what the counter counts; ticks are those of ticks_per_sample"},
    {.name = "station",
     .kind = CT_PARAM_STRING,
     .help = "where the number of the station stands: u16 at 8, u4 at 8 bit 4"},
    {.name = "channel",
     .kind = CT_PARAM_STRING,
     .help = "where the number of the packet's first channel stands"},
    {.name = "flag",
     .kind = CT_PARAM_STRING,
     .help = "where a number stands that is not 0 in packets with invalid samples: u1 at 1"},
    {.name = "constants",
     .kind = CT_PARAM_STRING,
     .flags = CT_PARAM_LIST,
     .help = "what every header has: u32 at 0 = 0x1234abcd; other packets are not read"},
    PACKET_PAYLOAD_PARAMS(CT_PARAM_REQUIRED, NULL,
                          "the samples' axes with their lengths, slowest first: [time 16, "
                          "channel 4, pol 2]"),
    PACKET_TYPE_PARAM(CT_PARAM_REQUIRED, NULL),
    PACKET_STREAM_PARAMS(CT_PARAM_REQUIRED, NULL, NULL),
    CT_SOURCE_RECEIVE_PARAMS,
    {NULL},
};

/* ---- parameters ---- */

static gboolean
read_field(Source *source, const CtParams *given, const char *name, PacketField *field,
           GError **error)
{
    if (!ct_params_has(given, name))
        return TRUE;
    const char *text = ct_params_string(given, name);
    if (!packet_field_parse(text, field))
        return ct_params_error(given, name, error,
                               "wants bits, byte and perhaps bit as 'u32 at 8' or 'u12 little at 8 "
                               "bit 4', but is given '%s'",
                               text);
    return packet_field_end(field) <= source->header_bytes ||
           ct_params_error(given, name, error,
                           "wants a place in the %" G_GSIZE_FORMAT
                           " bytes of a header, but is given '%s'",
                           source->header_bytes, text);
}

static gboolean
read_constants(Source *source, const CtParams *given, GError **error)
{
    const guint n = ct_params_count(given, "constants");
    if (n > MOST_CONSTANTS)
        return ct_params_error(given, "constants", error, "wants at most %d, but is given %u",
                               MOST_CONSTANTS, n);
    for (guint i = 0; i < n; i++) {
        const char *text = ct_params_string_at(given, "constants", i);
        PacketConstant *constant = &source->constants[i];
        if (!packet_constant_parse(text, constant) ||
            packet_field_end(&constant->field) > source->header_bytes)
            return ct_params_error(given, "constants", error,
                                   "wants a place in the %" G_GSIZE_FORMAT
                                   " bytes of a header and a number that it can have, as 'u32 at 0 "
                                   "= 0x1234abcd', but is given '%s'",
                                   source->header_bytes, text);
    }
    source->n_constants = n;
    return TRUE;
}

static gboolean
read_times(Source *source, const CtParams *given, GError **error)
{
    PacketStream *stream = &source->stream;
    stream->counts = ct_params_choice(given, "counts");
    stream->counter_bits = source->counter.bits;
    if (stream->counts != PACKET_COUNTS_TICKS)
        return TRUE;
    if (!ct_params_has(given, "ticks_per_sample"))
        return ct_params_error(given, "counts", error, "wants 'ticks_per_sample' beside ticks");
    stream->ticks_per_sample = ct_params_int(given, "ticks_per_sample");
    return TRUE;
}

/* Axes along which packets differ are not in the payload, or are that of the channels. */
static gboolean
check_axes(const Source *source, const CtParams *given, GError **error)
{
    const gboolean has_station = packet_payload_axis(&source->stream.payload, "station") >= 0;
    return !has_station || source->station.bits == 0 ||
           ct_params_error(given, "station", error,
                           "wants packets of one station, but the payload has several");
}

static gboolean
read_params(Source *source, const CtParams *given, GError **error)
{
    PacketStream *stream = &source->stream;
    source->header_bytes = (gsize)ct_params_int(given, "header_bytes");
    if (!packet_stream_read(stream, given, ct_params_type(given, "type"), FALSE, error) ||
        !read_field(source, given, "counter", &source->counter, error) ||
        !read_field(source, given, "station", &source->station, error) ||
        !read_field(source, given, "channel", &source->channel, error) ||
        !read_field(source, given, "flag", &source->flag, error) ||
        !read_constants(source, given, error) || !read_times(source, given, error) ||
        !check_axes(source, given, error))
        return FALSE;
    stream->has_stations = source->station.bits > 0;
    stream->has_channels = source->channel.bits > 0;
    source->bytes = source->header_bytes + (gsize)packet_payload_pack(&stream->payload);
    return TRUE;
}

/* `infer` has checked the parameters. */
static void
begin(gpointer self, const CtParams *given)
{
    read_params(self, given, NULL);
}

/* ---- headers ---- */

static gsize
header_bytes(gconstpointer self)
{
    return ((const Source *)self)->header_bytes;
}

static gsize
size(const guint8 *header, gconstpointer self)
{
    const Source *source = self;
    for (guint i = 0; i < source->n_constants; i++)
        if (packet_field_get(&source->constants[i].field, header) != source->constants[i].value)
            return 0;
    return source->bytes;
}

/* All packets are of one length, and what else is in a header may change. */
static gboolean
alike(G_GNUC_UNUSED const guint8 *a, G_GNUC_UNUSED const guint8 *b,
      G_GNUC_UNUSED gconstpointer self)
{
    return TRUE;
}

static void
found(const guint8 *header, CtPacket *packet, gpointer self)
{
    const Source *source = self;
    packet_stream_found(
        &(PacketHeader){
            .counter = packet_field_get(&source->counter, header),
            .station = packet_field_get(&source->station, header),
            .channel = packet_field_get(&source->channel, header),
            .flagged = packet_field_get(&source->flag, header) != 0,
        },
        packet);
}

/* ---- samples ---- */

static void
unpack(const CtRecording *recording, const CtPacketPart *part)
{
    packet_stream_unpack(recording, part, ((const Source *)recording->self)->header_bytes);
}

static void
unpack_plain(const CtRecording *recording, const CtPacketPart *part)
{
    packet_stream_unpack_plain(recording, part, ((const Source *)recording->self)->header_bytes);
}

static const CtSource source = {
    .files = "paths",
    .self_bytes = sizeof(Source),
    .is_one_stream = TRUE,
    .format = {.name = "packets", .header_bytes = 1, .size = size, .alike = alike},
    .begin = begin,
    .header_bytes = header_bytes,
    .found = found,
    .order = packet_stream_order,
    .place = packet_stream_place,
    .describe = packet_stream_describe,
    .unpack = unpack,
    .unpack_plain = unpack_plain,
    .clear = packet_stream_clear,
};

static gboolean
infer(CtNode *node, GError **error)
{
    g_autofree Source *read = g_new0(Source, 1);
    return read_params(read, node->params, error) && ct_source_infer(&source, node, error);
}

static const CtStage packet_source = {
    .name = "packet.source",
    .summary = "packets with a header that the graph describes",
    .version = 1,
    .outputs = CT_PORTS({.name = "voltages",
                         .layout = "{time ...}",
                         .help = "samples of the packets; invalid where packets are missing"}),
    .params = params,
    .counters = CT_PACKET_COUNTERS,
    .infer = infer,
    .infer_uses_params = TRUE,
};

CT_STAGE_PLUGIN("packet", packet_source,
                CT_SOURCE_VARIANTS(source, "packet.source", CT_PORT_ROWS(0.15)));
