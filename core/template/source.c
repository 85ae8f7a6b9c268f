/* @STAGE@: recordings of packets with 8-bit complex samples of one station and two polarisations.
 *
 * A packet has a header of 16 bytes, little-endian, then 32 samples [time][pol][real imaginary]:
 *
 *      0   4 bytes: "PKTS"
 *      4  32 bits:  the unix second of packet 0
 *      8  32 bits:  the number of the packet, modulo 2³²
 *     12  16 bits:  the station, from 0 on
 *     14  16 bits:  1 if the samples are invalid */
#include <cornerturn/kit/source.h>
#include <string.h>

enum { HEADER_BYTES = 16, N_SAMPLES = 32, N_POLS = 2, SAMPLE_BYTES = 2 * N_POLS };

/* The source's state, beside the files of its recording. */
typedef struct {
    gint64 second; /* of packet 0 */
} Recording;

static guint32
little_32(const guint8 *bytes)
{
    return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (guint32)bytes[3] << 24;
}

/* The bytes of a packet, if this is a header. */
static gsize
size(const guint8 *header, G_GNUC_UNUSED gconstpointer self)
{
    return memcmp(header, "PKTS", 4) == 0 ? HEADER_BYTES + N_SAMPLES * SAMPLE_BYTES : 0;
}

/* Whether two headers are of one recording. */
static gboolean
alike(const guint8 *a, const guint8 *b, G_GNUC_UNUSED gconstpointer self)
{
    return memcmp(a, b, 8) == 0;
}

static void
found(const guint8 *header, CtPacket *packet, G_GNUC_UNUSED gpointer self)
{
    packet->stamp = little_32(header + 8);
    packet->lane = header[12] | header[13] << 8;
    packet->flagged = header[14] & 1;
}

/* A lane of packets is a station; a damaged header may name one that does not exist. */
static gboolean
order(CtRecording *files, const CtParams *given, G_GNUC_UNUSED GError **error)
{
    Recording *recording = files->self;
    GArray *packets = files->packets->packets;
    recording->second = little_32(files->files[0].header + 4);
    files->n_lanes = (guint)ct_params_int(given, "n_stations");
    files->n_samples = N_SAMPLES;
    ct_packets_unwrap(files->packets, files->n_lanes, (gint64)1 << 32);
    for (guint i = 0; i < packets->len; i++)
        g_array_index(packets, CtPacket, i).stamp *= N_SAMPLES;
    files->max_gap =
        (gint64)(ct_params_real(given, "max_gap") * ct_params_real(given, "sample_rate"));
    return TRUE;
}

static gboolean
describe(CtRecording *files, const CtParams *given, CtStream *stream, G_GNUC_UNUSED GError **error)
{
    const Recording *recording = files->self;
    stream->type = CT_CI8;
    ct_stream_add_axis(stream, "station", files->n_lanes)->loses = TRUE;
    ct_stream_add_axis(stream, "pol", N_POLS);
    ct_params_rational(given, "sample_rate", &stream->rate_num, &stream->rate_den);
    stream->ticks_per_sample = 1;
    stream->start = files->packets->first;
    stream->epoch = recording->second;
    return TRUE;
}

/* Axes 0, 1 and 2 of the stream are time, station and pol. The kit has found the station. */
static void
unpack(G_GNUC_UNUSED const CtRecording *files, const CtPacketPart *part)
{
    const guint8 *from = part->packet + HEADER_BYTES + part->begin * SAMPLE_BYTES;
    for (gint64 t = 0; t < part->end - part->begin; t++)
        for (gint64 p = 0; p < N_POLS; p++, from += 2)
            memcpy(part->out + t * part->stride[0] + p * part->stride[2], from, 2);
}

static const CtSource source = {
    .files = "path",
    .self_bytes = sizeof(Recording),
    .is_one_stream = TRUE,
    .format =
        {
            .name = "packets of @PLUGIN@",
            .header_bytes = HEADER_BYTES,
            .size = size,
            .alike = alike,
        },
    .found = found,
    .order = order,
    .describe = describe,
    .unpack = unpack,
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_source_infer(&source, node, error);
}

static const CtParam params[] = {
    {"path", CT_PARAM_PATH, CT_PARAM_REQUIRED | CT_PARAM_LIST,
     .help = "the recording; several files are one recording"},
    {"n_stations", CT_PARAM_INT, CT_PARAM_REQUIRED | CT_PARAM_RANGED, NULL, 1, 65536,
     .help = "stations to read, from station 0 on"},
    {"sample_rate", CT_PARAM_QUANTITY, CT_PARAM_REQUIRED | CT_PARAM_RANGED, "Hz", 1, 1e12,
     .help = "samples per second"},
    {"max_gap", CT_PARAM_QUANTITY, CT_PARAM_RANGED, "s", 0, 86400, "60 s",
     .help = "packets farther than this from all others are not used"},
    {0},
};
static const CtStage stage = {
    .name = "@STAGE@",
    .summary = "recordings of packets with 8-bit complex samples",
    .version = 1,
    .outputs = CT_PORTS(
        {"voltages", "ci8{time station pol}", 0, "samples; invalid where packets are missing"}),
    .params = params,
    .counters = CT_PACKET_COUNTERS,
    .infer = infer,
    .infer_uses_params = TRUE,
};

CT_STAGE_PLUGIN("@PLUGIN@", stage, CT_SOURCE_VARIANTS(source, "@STAGE@", CT_PORT_ROWS(0.1)));
