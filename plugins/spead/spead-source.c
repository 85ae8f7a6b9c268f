/* SPDX-License-Identifier: BSD-3-Clause */
/* spead.source: packets of SPEAD heaps as MeerKAT's F-engines send them. */
#include "spead-heaps.h"
#include "spead.h"

/* The source's state, beside the files of its recording. */
typedef struct {
    PacketStream stream; /* the first member; its payload is that of a packet once it is ordered */
    SpeadItems items;
    gint64 piece_bytes; /* of the samples at one index of the axis that packets divide */
    gsize header_bytes; /* set by `order` */
} Source;

static const CtParam params[] = {
    {.name = "paths",
     .kind = CT_PARAM_PATH,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_LIST | CT_PARAM_PIPE,
     .help = "captures of packets, which together are one recording; or a pipe"},
    SPEAD_HEAP_PARAMS,
    PACKET_TYPE_PARAM(0, "ci8"),
    PACKET_STREAM_PARAMS(0, "208984.375 Hz", "8192"),
    CT_SOURCE_RECEIVE_PARAMS,
    {NULL},
};

/* ---- parameters ---- */

static gboolean
read_params(Source *source, const CtParams *given, GError **error)
{
    PacketStream *stream = &source->stream;
    const SpeadItems *items = &source->items;
    if (!spead_heaps_read(stream, &source->items, given, ct_params_type(given, "type"), error))
        return FALSE;
    const char *first = stream->payload.names[0];
    stream->counts = PACKET_COUNTS_TICKS;
    stream->counter_bits = 48;
    stream->ticks_per_sample = ct_params_int(given, "ticks_per_sample");
    stream->has_stations = items->station >= 0;
    stream->has_channels = !g_str_equal(first, "time") || items->channel >= 0;
    source->piece_bytes = packet_payload_pack(&stream->payload);
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
size(const guint8 *header, gconstpointer self)
{
    const Source *source = self;
    SpeadHeader parsed;
    return spead_header_parse(header, &source->items, &parsed)
               ? 0
               : parsed.header_bytes + (gsize)parsed.payload_length;
}

static gsize
other(const guint8 *header, gsize n, G_GNUC_UNUSED gconstpointer self)
{
    return spead_packet_bytes(header, n);
}

static gboolean
alike(const guint8 *a, const guint8 *b, gconstpointer self)
{
    const Source *source = self;
    SpeadHeader x, y;
    return !spead_header_parse(a, &source->items, &x) &&
           !spead_header_parse(b, &source->items, &y) && x.header_bytes == y.header_bytes &&
           x.heap_length == y.heap_length && x.payload_length == y.payload_length &&
           x.address == y.address;
}

static const char *
explain(const guint8 *header, gconstpointer self)
{
    SpeadHeader parsed;
    return spead_header_parse(header, &((const Source *)self)->items, &parsed);
}

static void
found(const guint8 *bytes, CtPacket *packet, gpointer self)
{
    const Source *source = self;
    SpeadHeader header;
    g_assert(!spead_header_parse(bytes, &source->items, &header));
    const guint64 piece = header.heap_offset / (guint64)source->piece_bytes;
    const guint64 ticks = piece * (guint64)source->stream.ticks_per_sample;
    const gboolean divides_time = spead_divides_time(&source->stream);
    const gboolean is_whole = header.heap_offset % (guint64)source->piece_bytes == 0;
    packet_stream_found(
        &(PacketHeader){
            .counter = header.timestamp + (divides_time ? ticks : 0),
            .station = header.station,
            .channel = is_whole ? header.channel + (divides_time ? 0 : piece) : G_MAXUINT64,
        },
        packet);
}

/* ---- samples ---- */

/* Checks that packets have whole pieces, and takes their number. */
static gboolean
order(CtRecording *recording, const CtParams *given, GError **error)
{
    Source *source = recording->self;
    PacketPayload *payload = &source->stream.payload;
    SpeadHeader header;
    g_assert(!spead_header_parse(ct_source_header(recording, 0), &source->items, &header));
    if (header.payload_length % (guint64)source->piece_bytes != 0 ||
        header.heap_length % header.payload_length != 0 || header.address != 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "%s: wants heaps of samples alone in equal packets with whole elements of axis "
                    "'%s', of %" G_GINT64_FORMAT " bytes each, but is given packets of "
                    "%" G_GUINT64_FORMAT " bytes in heaps of %" G_GUINT64_FORMAT
                    ", with samples from byte %" G_GUINT64_FORMAT " on",
                    recording->files[0].path, payload->names[0], source->piece_bytes,
                    header.payload_length, header.heap_length, header.address);
        return FALSE;
    }
    payload->length[0] = (gint64)header.payload_length / source->piece_bytes;
    packet_payload_pack(payload);
    source->header_bytes = header.header_bytes;
    return packet_stream_order(recording, given, error);
}

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

const CtSource spead_source_files = {
    .files = "paths",
    .self_bytes = sizeof(Source),
    .is_one_stream = TRUE,
    .format =
        {
            .name = "packets of SPEAD heaps",
            .header_bytes = SPEAD_HEADER_BYTES,
            .size = size,
            .alike = alike,
            .other = other,
        },
    .begin = begin,
    .found = found,
    .explain = explain,
    .order = order,
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
    return read_params(read, node->params, error) &&
           ct_source_infer(&spead_source_files, node, error);
}

const CtStage spead_source = {
    .name = "spead.source",
    .summary = "packets of SPEAD heaps, as MeerKAT's F-engines send them",
    .version = 1,
    .outputs = CT_PORTS({.name = "voltages",
                         .layout = "{time ...}",
                         .help = "samples of the heaps; invalid where packets are missing"}),
    .params = params,
    .counters = CT_PACKET_COUNTERS,
    .infer = infer,
    .infer_uses_params = TRUE,
};
