/* SPDX-License-Identifier: BSD-3-Clause */
/* lofar.source: captures of a LOFAR station's packets, one file per port, side by side. */
#include "lofar-packet.h"

#include <cornerturn/packets.h>
#include <cornerturn/stage.h>
#include <string.h>
#include <unistd.h>

/* A port: a lane of packets, with the subbands that it receives. */
typedef struct {
    const char *path; /* owned by the parameters */
    int fd;
    LofarHeader header; /* of its first packet; the sizes are those of all packets */
    guint first_subband;
} Port;

typedef void (*Unpack)(const LofarHeader *, const guint8 *, guint, guint, gboolean, guint8 *,
                       const LofarStrides *);

typedef struct {
    guint n_ports;
    Port *ports;
    guint n_subbands; /* of all ports */
    CtPackets *packets;
    gint64 position; /* next sample to produce */
    gint64 end;      /* the declared end of the stream; a file may grow meanwhile */
    Unpack unpack;
    gboolean swapped;
    gint subband_axis, time_axis, pol_axis; /* in the output's layout */
    guint8 *packet;                         /* the one being unpacked */
} Capture;

/* Observing bands of the receivers: the Nyquist zone of their clock. */
static const char *const band_names[] = {"LBA_10_90",   "LBA_30_90",   "HBA_110_190",
                                         "HBA_170_230", "HBA_210_250", NULL};
static const guint band_zones[] = {0, 0, 1, 2, 2};
static const char *const nibble_names[] = {"high", "low", NULL};

static const CtParam params[] = {
    {.name = "paths",
     .kind = CT_PARAM_PATH,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_LIST,
     .help = "captures, one file per port, in the order of their subbands"},
    {.name = "subbands",
     .kind = CT_PARAM_STRING,
     .flags = CT_PARAM_LIST,
     .help = "the station's subband of each beamlet, as numbers and ranges: [12..133, 200]"},
    {.name = "band",
     .kind = CT_PARAM_CHOICE,
     .choices = band_names,
     .help = "the receivers' band, which with subbands gives frequencies"},
    {.name = "real_nibble",
     .kind = CT_PARAM_CHOICE,
     .choices = nibble_names,
     .fallback = "high",
     .help = "in 4-bit packets, the half of a byte that holds the real part"},
    {.name = "max_gap",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_RANGED,
     .unit = "s",
     .minimum = 0,
     .maximum = 86400,
     .fallback = "60 s",
     .help = "time stamps farther than this from all others are not used"},
    {NULL},
};

static void
capture_free(gpointer state)
{
    Capture *capture = state;
    if (!capture)
        return;
    for (guint i = 0; i < capture->n_ports; i++)
        if (capture->ports[i].fd >= 0)
            close(capture->ports[i].fd);
    g_free(capture->ports);
    g_free(capture->packet);
    ct_packets_free(capture->packets);
    g_free(capture);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Capture, capture_free)

static void
packet_found(const guint8 *bytes, CtPacket *packet, gpointer data G_GNUC_UNUSED)
{
    LofarHeader header;
    g_assert(lofar_header_parse(bytes, &header));
    packet->stamp = lofar_packet_sample(&header);
    packet->lane = packet->file;
    packet->flagged = header.error;
}

static gboolean
check_ports(const Capture *capture, GError **error)
{
    const LofarHeader *first = &capture->ports[0].header;
    for (guint i = 1; i < capture->n_ports; i++) {
        const LofarHeader *header = &capture->ports[i].header;
        const struct {
            const char *what;
            gint64 wanted, given;
        } same[] = {
            {"bits a sample", first->bits, header->bits},
            {"hertz of clock", first->clock, header->clock},
            {"samples a packet", first->n_slots, header->n_slots},
            {"as its station", first->station, header->station},
        };
        for (gsize j = 0; j < G_N_ELEMENTS(same); j++)
            if (same[j].wanted != same[j].given) {
                g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                            "%s: wants %" G_GINT64_FORMAT " %s, as %s has, but is given "
                            "%" G_GINT64_FORMAT,
                            capture->ports[i].path, same[j].wanted, same[j].what,
                            capture->ports[0].path, same[j].given);
                return FALSE;
            }
    }
    return TRUE;
}

static gboolean
scan_port(Capture *capture, guint i, GError **error)
{
    static const CtPacketFormat format = {
        .name = "CEP packets of a LOFAR station",
        .header_bytes = LOFAR_HEADER_BYTES,
        .size = lofar_header_size,
        .alike = lofar_header_alike,
    };
    Port *port = &capture->ports[i];
    guint8 pattern[LOFAR_HEADER_BYTES];
    port->fd = ct_file_open(port->path, error);
    if (port->fd < 0 || !ct_packets_scan(capture->packets, port->path, port->fd, i, &format,
                                         packet_found, NULL, pattern, error))
        return FALSE;
    g_assert(lofar_header_parse(pattern, &port->header));
    port->first_subband = capture->n_subbands;
    capture->n_subbands += port->header.n_beamlets;
    return TRUE;
}

static Capture *
capture_open(const CtParams *given, GError **error)
{
    g_autoptr(Capture) capture = g_new0(Capture, 1);
    capture->n_ports = ct_params_count(given, "paths");
    capture->ports = g_new0(Port, capture->n_ports);
    capture->packets = ct_packets_new();
    for (guint i = 0; i < capture->n_ports; i++)
        capture->ports[i] = (Port){.path = ct_params_string_at(given, "paths", i), .fd = -1};
    for (guint i = 0; i < capture->n_ports; i++)
        if (!scan_port(capture, i, error))
            return NULL;
    if (!check_ports(capture, error))
        return NULL;
    const LofarHeader *header = &capture->ports[0].header;
    const gdouble rate = (gdouble)header->clock / LOFAR_TICKS_PER_SAMPLE;
    if (!ct_packets_arrange(capture->packets, capture->n_ports, header->n_slots,
                            (gint64)(ct_params_real(given, "max_gap") * rate), error))
        return NULL;
    return g_steal_pointer(&capture);
}

/* Appends the subbands of "12..133" or "12". */
static gboolean
read_range(const char *text, GArray *numbers)
{
    char *end;
    const guint64 first = g_ascii_strtoull(text, &end, 10);
    guint64 last = first;
    if (end == text)
        return FALSE;
    if (end[0] == '.' && end[1] == '.' && g_ascii_isdigit(end[2]))
        last = g_ascii_strtoull(end + 2, &end, 10);
    if (*end != '\0' || last < first || last > 511)
        return FALSE;
    for (guint64 i = first; i <= last; i++)
        g_array_append_vals(numbers, &(gdouble){i}, 1);
    return TRUE;
}

/* Sets the frequencies of the subband axis from `subbands` and `band`. */
static gboolean
set_frequencies(const CtNode *node, gint64 clock, CtAxis *axis, GError **error)
{
    const CtParams *given = node->params;
    if (!ct_params_has(given, "subbands"))
        return TRUE;
    if (!ct_params_has(given, "band"))
        return ct_params_error(given, "subbands", error, "wants 'band' beside it");
    g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(gdouble));
    for (guint i = 0; i < ct_params_count(given, "subbands"); i++) {
        const char *text = ct_params_string_at(given, "subbands", i);
        if (!read_range(text, numbers))
            return ct_params_error(given, "subbands", error,
                                   "wants numbers and ranges from 0 to 511 as 12..133, but is "
                                   "given '%s'",
                                   text);
    }
    if (numbers->len != axis->length)
        return ct_params_error(given, "subbands", error,
                               "wants a subband for each of %" G_GINT64_FORMAT
                               " beamlets, but is given %u",
                               axis->length, numbers->len);
    const gdouble edge = band_zones[ct_params_choice(given, "band")] * (clock / 2.0);
    const gdouble step = (gdouble)clock / LOFAR_TICKS_PER_SAMPLE;
    gdouble *values = (gdouble *)numbers->data;
    gboolean affine = TRUE;
    for (guint i = 1; i < numbers->len; i++)
        affine = affine && values[i] == values[i - 1] + 1;
    for (guint i = 0; i < numbers->len; i++)
        values[i] = edge + values[i] * step;
    axis->coordinate.unit = g_intern_static_string("Hz");
    if (affine) {
        axis->coordinate.first = values[0];
        axis->coordinate.step = step;
    } else {
        axis->coordinate.table = g_bytes_new(values, numbers->len * sizeof(gdouble));
    }
    return TRUE;
}

static gboolean
infer(CtNode *node, GError **error)
{
    g_autoptr(Capture) capture = capture_open(node->params, error);
    if (!capture)
        return FALSE;
    const LofarHeader *header = &capture->ports[0].header;
    CtStream *stream = &node->outputs[0];
    stream->type = header->bits == 4 ? CT_CI4 : header->bits == 8 ? CT_CI8 : CT_CI16;
    if (header->bits == 4)
        ct_params_use(node->params, "real_nibble");
    ct_stream_add_axis(stream, "time", capture->packets->end - capture->packets->first);
    CtAxis *subband = ct_stream_add_axis(stream, "subband", capture->n_subbands);
    subband->loses = TRUE;
    if (!set_frequencies(node, header->clock, subband, error))
        return FALSE;
    ct_stream_add_axis(stream, "station", 1);
    ct_stream_add_axis(stream, "pol", 2);
    stream->rate_num = header->clock;
    stream->rate_den = 1;
    stream->ticks_per_sample = LOFAR_TICKS_PER_SAMPLE;
    stream->start = capture->packets->first * LOFAR_TICKS_PER_SAMPLE;
    stream->epoch = 0;
    return TRUE;
}

static gboolean
prepare_with(CtPrepare *prepare, gpointer *state, Unpack unpack, GError **error)
{
    const CtParams *given = prepare->nodes[0].params;
    Capture *capture = capture_open(given, error);
    *state = capture;
    if (!capture)
        return FALSE;
    const CtLayout *layout = &prepare->outputs[0].layout;
    capture->subband_axis = ct_layout_axis(layout, "subband");
    capture->time_axis = ct_layout_axis(layout, "time");
    capture->pol_axis = ct_layout_axis(layout, "pol");
    capture->unpack = unpack;
    capture->swapped = ct_params_choice(given, "real_nibble") == 1;
    gsize longest = 0;
    for (guint i = 0; i < capture->n_ports; i++)
        longest = MAX(longest, lofar_packet_bytes(&capture->ports[i].header));
    capture->packet = g_malloc(longest);
    capture->position = capture->packets->first;
    capture->end =
        MIN(capture->packets->end,
            capture->packets->first + ct_stream_length(prepare->outputs[0].stream, "time"));
    return TRUE;
}

static gboolean
prepare_cpu(CtPrepare *prepare, gpointer *state, GError **error)
{
    return prepare_with(prepare, state, lofar_payload_unpack, error);
}

static gboolean
prepare_reference(CtPrepare *prepare, gpointer *state, GError **error)
{
    return prepare_with(prepare, state, lofar_payload_unpack_plain, error);
}

static gboolean
advance(gpointer state, CtAdvance *advance, GError **error G_GNUC_UNUSED)
{
    Capture *capture = state;
    const CtPackets *packets = capture->packets;
    CtDeparture *out = &advance->outputs[0];
    if (capture->position == packets->first)
        for (guint i = 0; i < CT_PACKETS_N_COUNTS; i++)
            advance->counters[i] += packets->counts[i];
    const gint64 n = MIN(out->room, capture->end - capture->position);
    for (guint i = 0; i < capture->n_ports; i++) {
        const Port *port = &capture->ports[i];
        guint8 *lane = out->validity + port->first_subband * out->validity_stride;
        if (!ct_packets_validity(packets, i, capture->position, n, lane))
            continue;
        out->invalid = TRUE;
        for (guint b = 1; b < port->header.n_beamlets; b++)
            memcpy(lane + b * out->validity_stride, lane, n);
    }
    out->produced = n;
    out->start = capture->position * LOFAR_TICKS_PER_SAMPLE;
    capture->position += n;
    advance->ended = capture->position == capture->end;
    return TRUE;
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    const Capture *capture = state;
    const CtBlock *out = &work->outputs[0];
    const gint64 begin = capture->packets->first + out->index, end = begin + out->n_samples;
    const LofarStrides strides = {
        .subband = out->stride[capture->subband_axis],
        .time = out->stride[capture->time_axis],
        .pol = out->stride[capture->pol_axis],
    };
    for (guint i = 0; i < capture->n_ports; i++) {
        const Port *port = &capture->ports[i];
        const gsize bytes = lofar_packet_bytes(&port->header);
        const CtPacket *last, *packet = ct_packets_find(capture->packets, i, begin, &last);
        for (; packet < last && packet->stamp < end; packet++) {
            if (!ct_file_read(port->path, port->fd, packet->offset, capture->packet, bytes, error))
                return FALSE;
            const gint64 from = MAX(packet->stamp, begin);
            const gint64 to = MIN(packet->stamp + capture->packets->n_samples, end);
            capture->unpack(&port->header, capture->packet + LOFAR_HEADER_BYTES,
                            from - packet->stamp, to - packet->stamp, capture->swapped,
                            out->data + port->first_subband * strides.subband +
                                (from - begin) * strides.time,
                            &strides);
        }
    }
    return TRUE;
}

static const CtPort outputs[] = {
    {.name = "voltages",
     .layout = "ci4|ci8|ci16{time subband station pol}",
     .help = "samples of the ports' beamlets; invalid where packets are missing"},
    {NULL},
};

static const CtPort no_inputs[] = {{NULL}};

static const CtStage lofar_source = {
    .name = "lofar.source",
    .summary = "captures of a LOFAR station's packets, one file per port",
    .version = 1,
    .inputs = no_inputs,
    .outputs = outputs,
    .params = params,
    .counters = CT_PACKET_COUNTERS,
    .infer = infer,
    .infer_uses_params = TRUE,
};

static const char *const covers[] = {"lofar.source", NULL};
static const CtRow rows[] = {{"-> ci4|ci8|ci16{time subband station pol}", 0.15}, {NULL}};

static const CtVariant cpu = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = covers,
    .rows = rows,
    .waits = TRUE,
    .prepare = prepare_cpu,
    .advance = advance,
    .work = work,
    .finish = capture_free,
};

static const CtVariant reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = covers,
    .rows = rows,
    .waits = TRUE,
    .prepare = prepare_reference,
    .advance = advance,
    .work = work,
    .finish = capture_free,
};

CT_PLUGIN("lofar", ((const CtStage *const[]){&lofar_source, NULL}),
          ((const CtVariant *const[]){&cpu, &reference, NULL}));
