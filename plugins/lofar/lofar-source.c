/* SPDX-License-Identifier: BSD-3-Clause */
/* lofar.source: packets of a LOFAR station, one file or address per port, side by side. */
#include "lofar-packet.h"

#include <cornerturn/kit/source.h>
#include <cornerturn/text.h>

/* The source's state, beside the files of its captures. A file is a port, a lane of packets. */
typedef struct {
    LofarHeader *ports; /* [file] the sizes are those of all its packets */
    gboolean swapped;   /* 4-bit samples have the real part in the low half */
} Capture;

/* Observing bands of the receivers: the Nyquist zone of their clock. */
static const char *const band_names[] = {"LBA_10_90",   "LBA_30_90",   "HBA_110_190",
                                         "HBA_170_230", "HBA_210_250", NULL};
static const guint band_zones[] = {0, 0, 1, 2, 2};
static const char *const nibble_names[] = {"high", "low", NULL};

static const CtParam params[] = {
    {.name = "paths",
     .kind = CT_PARAM_PATH,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_LIST | CT_PARAM_PIPE,
     .help = "captures, one file, pipe or udp://ADDRESS:PORT per port, in the order of their "
             "subbands"},
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
    CT_SOURCE_RECEIVE_PARAMS,
    {NULL},
};

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
check_ports(const CtRecording *recording, GError **error)
{
    const LofarHeader *ports = ((const Capture *)recording->self)->ports, *first = &ports[0];
    for (guint i = 1; i < recording->n_files; i++) {
        const struct {
            const char *what;
            gint64 wanted, given;
        } same[] = {
            {"bits a sample", first->bits, ports[i].bits},
            {"hertz of clock", first->clock, ports[i].clock},
            {"samples a packet", first->n_slots, ports[i].n_slots},
            {"as its station", first->station, ports[i].station},
        };
        for (gsize j = 0; j < G_N_ELEMENTS(same); j++)
            if (same[j].wanted != same[j].given) {
                g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                            "%s: wants %" G_GINT64_FORMAT " %s, as %s has, but is given "
                            "%" G_GINT64_FORMAT,
                            recording->files[i].path, same[j].wanted, same[j].what,
                            recording->files[0].path, same[j].given);
                return FALSE;
            }
    }
    return TRUE;
}

static gboolean
order(CtRecording *recording, const CtParams *given, GError **error)
{
    Capture *capture = recording->self;
    LofarHeader *ports = capture->ports = g_new0(LofarHeader, recording->n_files);
    recording->widths = g_new0(guint, recording->n_files);
    for (guint i = 0; i < recording->n_files; i++) {
        g_assert(lofar_header_parse(recording->files[i].header, &ports[i]));
        recording->widths[i] = ports[i].n_beamlets;
    }
    const gdouble rate = (gdouble)ports[0].clock / LOFAR_TICKS_PER_SAMPLE;
    recording->n_lanes = recording->n_files;
    recording->n_samples = ports[0].n_slots;
    recording->max_gap = (gint64)(ct_params_real(given, "max_gap") * rate);
    return check_ports(recording, error);
}

/* Appends the subbands of "12..133" or "12". */
static gboolean
read_range(const char *text, GArray *numbers)
{
    gint64 first, last;
    if (!ct_range_parse(text, &first, &last) || last > 511)
        return FALSE;
    for (gint64 i = first; i <= last; i++)
        g_array_append_vals(numbers, &(gdouble){(gdouble)i}, 1);
    return TRUE;
}

/* Sets the frequencies of the subband axis from `subbands` and `band`. */
static gboolean
set_frequencies(const CtParams *given, gint64 clock, CtAxis *axis, GError **error)
{
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
describe(CtRecording *recording, const CtParams *given, CtStream *stream, GError **error)
{
    Capture *capture = recording->self;
    const LofarHeader *header = &capture->ports[0];
    gint64 n_subbands = 0;
    for (guint i = 0; i < recording->n_files; i++)
        n_subbands += recording->widths[i];
    stream->type = header->bits == 4 ? CT_CI4 : header->bits == 8 ? CT_CI8 : CT_CI16;
    capture->swapped = header->bits == 4 && ct_params_choice(given, "real_nibble") == 1;
    CtAxis *subband = ct_stream_add_axis(stream, "subband", n_subbands);
    subband->loses = TRUE;
    static const char *const pols[] = {"X", "Y"};
    CtAxis *station = ct_stream_add_axis(stream, "station", 1);
    char name[6];
    if (lofar_station_name(header->station, name))
        ct_axis_take_labels(station, ct_labels_new((const char *[]){name}, 1));
    ct_axis_take_labels(ct_stream_add_axis(stream, "pol", 2), ct_labels_new(pols, 2));
    stream->rate_num = header->clock;
    stream->rate_den = 1;
    stream->ticks_per_sample = LOFAR_TICKS_PER_SAMPLE;
    stream->start = recording->packets->first * LOFAR_TICKS_PER_SAMPLE;
    stream->epoch = 0;
    return set_frequencies(given, header->clock, subband, error);
}

static void
unpack_with(const CtRecording *recording, const CtPacketPart *part,
            void (*unpack)(const LofarHeader *, const guint8 *, guint, guint, gboolean, guint8 *,
                           const LofarStrides *))
{
    const Capture *capture = recording->self;
    /* time subband station pol */
    const LofarStrides strides = {
        .subband = part->stride[1], .time = part->stride[0], .pol = part->stride[3]};
    unpack(&capture->ports[part->of->file], part->packet + LOFAR_HEADER_BYTES, part->begin,
           part->end, capture->swapped, part->out, &strides);
}

static void
unpack(const CtRecording *recording, const CtPacketPart *part)
{
    unpack_with(recording, part, lofar_payload_unpack);
}

static void
unpack_plain(const CtRecording *recording, const CtPacketPart *part)
{
    unpack_with(recording, part, lofar_payload_unpack_plain);
}

static void
clear(gpointer self)
{
    g_free(((Capture *)self)->ports);
}

static const CtSource source = {
    .files = "paths",
    .self_bytes = sizeof(Capture),
    .is_lane_a_file = TRUE,
    .format =
        {
            .name = "CEP packets of a LOFAR station",
            .header_bytes = LOFAR_HEADER_BYTES,
            .size = lofar_header_size,
            .alike = lofar_header_alike,
        },
    .found = packet_found,
    .order = order,
    .describe = describe,
    .unpack = unpack,
    .unpack_plain = unpack_plain,
    .clear = clear,
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_source_infer(&source, node, error);
}

static const CtStage lofar_source = {
    .name = "lofar.source",
    .summary = "packets of a LOFAR station, captured or live, one file or address per port",
    .version = 1,
    .outputs =
        CT_PORTS({.name = "voltages",
                  .layout = "ci4|ci8|ci16{time subband station pol}",
                  .help = "samples of the ports' beamlets; invalid where packets are missing"}),
    .params = params,
    .counters = CT_PACKET_COUNTERS,
    .infer = infer,
    .infer_uses_params = TRUE,
};

CT_STAGE_PLUGIN("lofar", lofar_source,
                CT_SOURCE_VARIANTS(source, "lofar.source", CT_PORT_ROWS(0.15)));
