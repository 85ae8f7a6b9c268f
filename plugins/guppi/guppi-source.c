/* SPDX-License-Identifier: BSD-3-Clause */
/* guppi.source: recordings of GUPPI RAW blocks. */
#include "guppi-block.h"
#include "guppi.h"

#include <math.h>
#include <string.h>

/* Ticks of a sample if the recording does not begin with a whole second: its fraction is then right
 * to the 2048th part of a sample. */
enum { FINE_TICKS = 1024 };

/* Headers are read in pieces, of this size at first. */
enum { HEADER_PIECE = 4096 };

/* The source's state, beside the files of its recording. A packet is a block; until they are
 * ordered, stamps are indices. */
typedef struct {
    GuppiHeader header; /* of the first block; sizes and rates are those of all blocks */
    char **stations;    /* names; NULL: no header was found yet */
    GuppiHeader latest; /* of the last block that was found */
    gint64 origin;      /* the index of sample 0 of the stamps */
    gint64 step;        /* of the index from block to block */
    gint64 last, stop;  /* the greatest index, and PKTSTOP of its block */
    gboolean is_low_first;
    gint channel, station, pol; /* axes of the stream; −1: none */
} Recording;

static const char *const channel_names[] = {"channel", "subband", NULL};
static const char *const half_names[] = {"high", "low", NULL};

static const CtParam params[] = {
    {.name = "path",
     .kind = CT_PARAM_PATH,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_LIST | CT_PARAM_PIPE,
     .help = "the recording; several files, or a pattern as scan.*.raw, are one recording; or a "
             "pipe"},
    {.name = "channels",
     .kind = CT_PARAM_CHOICE,
     .choices = channel_names,
     .help = "the axis of the channels: subband, if they are to be split again; left out: channel, "
             "unless PATH.json says subband"},
    {.name = "first_half",
     .kind = CT_PARAM_CHOICE,
     .choices = half_names,
     .fallback = "high",
     .help = "in blocks of 2 bits, the half of a byte that holds the first sample"},
    {.name = "max_gap",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_RANGED,
     .unit = "s",
     .minimum = 0,
     .maximum = 86400,
     .fallback = "60 s",
     .help = "blocks farther than this from all others are not used"},
    {NULL},
};

/* ---- blocks ---- */

/* Checks that a block is like the first one of the recording. */
static gboolean
check_alike(const GuppiHeader *first, const GuppiHeader *header, GError **error)
{
    const struct {
        const char *keyword;
        gint64 wanted, given;
    } same[] = {
        {"BLOCSIZE", first->block_bytes, header->block_bytes},
        {"NBITS", first->bits, header->bits},
        {"NANTS", first->n_stations, header->n_stations},
        {"channels of a station", first->n_channels, header->n_channels},
        {"polarisations", first->n_pols, header->n_pols},
        {"OVERLAP", first->overlap, header->overlap},
        {"PKTIDX from block to block", first->index_step, header->index_step},
        {"blocks with PKTIDX", first->has_index, header->has_index},
        {"PKTFMT SIMPLE", first->is_time_first, header->is_time_first},
        {"hertz of sample rate, in whole numbers", first->rate_num / first->rate_den,
         header->rate_num / header->rate_den},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(same); i++)
        if (same[i].wanted != same[i].given) {
            g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                        "%s: wants %" G_GINT64_FORMAT
                        ", as the first block has, but is given %" G_GINT64_FORMAT,
                        same[i].keyword, same[i].wanted, same[i].given);
            return FALSE;
        }
    if (fabs(first->first_frequency - header->first_frequency) <= fabs(first->frequency_step) / 2)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                "OBSFREQ: wants a first channel at %.9g MHz, as the first block has, but is given "
                "%.9g MHz",
                first->first_frequency / 1e6, header->first_frequency / 1e6);
    return FALSE;
}

/* Reads the header at a place of a file, piece by piece. *n_cards gets the bytes of its cards; 0:
 * the file ends within them; −1: there are none. */
static gboolean
read_header(const CtRecording *files, guint i, gint64 at, guint8 *bytes, gssize *n_cards,
            GuppiHeader *header, GError **error)
{
    gsize n = 0, given;
    *n_cards = 0;
    for (gsize wanted = HEADER_PIECE; *n_cards == 0 && n < GUPPI_MAX_HEADER; wanted *= 2) {
        wanted = MIN(wanted, GUPPI_MAX_HEADER);
        if (!ct_source_read(files, i, at, bytes, wanted, &given, error))
            return FALSE;
        const gboolean is_all = given < wanted;
        n = given;
        *n_cards = guppi_cards_find_end(bytes, n);
        if (is_all)
            break;
    }
    if (*n_cards == 0 && n == GUPPI_MAX_HEADER)
        *n_cards = -1;
    if (*n_cards <= 0 || guppi_header_parse(bytes, *n_cards, header, error))
        return TRUE;
    g_prefix_error(error, "%s: byte %" G_GINT64_FORMAT ": ", files->files[i].path, at);
    return FALSE;
}

/* Whether a file has a block's last byte. */
static gboolean
has_end(const CtRecording *files, guint i, gint64 end, gboolean *has, GError **error)
{
    guint8 last;
    gsize given;
    if (!ct_source_read(files, i, end - 1, &last, 1, &given, error))
        return FALSE;
    *has = given == 1;
    return TRUE;
}

/* Takes the header of a block, the first of which tells what all have. */
static gboolean
take_header(CtRecording *files, guint i, gint64 at, const guint8 *cards, gsize n_cards,
            const GuppiHeader *header, GError **error)
{
    Recording *recording = files->self;
    if (!recording->stations) {
        recording->header = *header;
        recording->stations = guppi_header_stations(cards, n_cards);
    }
    if (!check_alike(&recording->header, header, error)) {
        g_prefix_error(error, "%s: byte %" G_GINT64_FORMAT ": ", files->files[i].path, at);
        return FALSE;
    }
    recording->latest = *header;
    files->files[i].packet_bytes = header->block_bytes;
    return TRUE;
}

/* A header may be damaged; then the next block is where it would be if both were as long as those
 * before. */
static gboolean
next_block(CtRecording *files, guint i, gint64 *at, CtPacket *block, gboolean *found,
           GError **error)
{
    Recording *recording = files->self;
    g_autofree guint8 *bytes = g_malloc(GUPPI_MAX_HEADER);
    GuppiHeader header = {0};
    gssize n_cards;
    gboolean is_whole = FALSE;
    if (!read_header(files, i, *at, bytes, &n_cards, &header, error))
        return FALSE;
    *found = n_cards >= 0;
    if (n_cards < 0)
        *at += (gint64)recording->latest.bytes + recording->latest.block_bytes;
    if (n_cards == 0)
        *at = G_MAXINT64;
    if (n_cards <= 0)
        return TRUE;
    if (!take_header(files, i, *at, bytes, n_cards, &header, error))
        return FALSE;
    block->offset = *at + (gint64)header.bytes;
    *at = block->offset + header.block_bytes;
    if (!has_end(files, i, *at, &is_whole, error))
        return FALSE;
    block->stamp = header.has_index ? header.index : block->stamp;
    block->flagged = header.is_dropped;
    if (is_whole && block->stamp >= recording->last) {
        recording->last = block->stamp;
        recording->stop = header.stop;
    }
    return TRUE;
}

/* ---- time ---- */

static gint
compare_numbers(gconstpointer a, gconstpointer b)
{
    const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
    return (x > y) - (x < y);
}

/* The most frequent distance between the indices of blocks that follow one another, the least of
 * several; 1 if there is none. */
static gint64
find_step(const GArray *packets)
{
    g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (guint i = 1; i < packets->len; i++) {
        const CtPacket *block = &g_array_index(packets, CtPacket, i);
        const gint64 step = block[0].stamp - block[-1].stamp;
        if (step > 0)
            g_array_append_val(steps, step);
    }
    g_array_sort(steps, compare_numbers);
    gint64 best = 1;
    guint most = 0;
    for (guint begin = 0, end; begin < steps->len; begin = end) {
        const gint64 step = g_array_index(steps, gint64, begin);
        for (end = begin; end < steps->len && g_array_index(steps, gint64, end) == step; end++)
            ;
        if (end - begin > most) {
            most = end - begin;
            best = step;
        }
    }
    return best;
}

/* The sample at which a block of some index begins. */
static __int128
sample_at(const Recording *recording, gint64 index)
{
    const gint64 n = recording->header.n_samples - recording->header.overlap;
    return (__int128)(index - recording->origin) * n / recording->step;
}

/* Turns the index of a block into the number of its first sample. FALSE: it is too far away. */
static gboolean
set_sample(const Recording *recording, CtPacket *block)
{
    const __int128 sample = sample_at(recording, block->stamp);
    block->stamp = (gint64)sample;
    return sample <= ((gint64)1 << 50) && sample >= -((gint64)1 << 50);
}

static gboolean
place(const CtRecording *files, CtPacket *block, guint64 *counts)
{
    const gboolean is_near = set_sample(files->self, block);
    counts[CT_PACKETS_MISTIMED] += !is_near;
    return is_near;
}

static gboolean
order(CtRecording *files, const CtParams *given, GError **error)
{
    Recording *recording = files->self;
    const GuppiHeader *header = &recording->header;
    GArray *packets = files->packets->packets;
    const gint64 first = header->has_index ? header->index : 0;
    recording->step = !header->has_index       ? 1
                      : header->index_step > 0 ? header->index_step
                                               : find_step(packets);
    recording->origin =
        header->index_origin < 0 || !header->has_index ? first : header->index_origin;
    for (guint i = 0; i < packets->len; i++) {
        CtPacket *block = &g_array_index(packets, CtPacket, i);
        if (!set_sample(recording, block)) {
            g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                        "%s: wants a PKTIDX nearer to that of its start, %" G_GINT64_FORMAT
                        ", by which a block is 2^50 samples away",
                        files->files[block->file].path, recording->origin);
            return FALSE;
        }
    }
    const gdouble rate = (gdouble)header->rate_num / (gdouble)header->rate_den;
    files->n_lanes = 1;
    files->n_samples = header->n_samples - header->overlap;
    files->overlap = header->overlap;
    files->max_gap = (gint64)MIN(ct_params_real(given, "max_gap") * rate, 0x1p61);
    if (header->bits == 2)
        recording->is_low_first = ct_params_choice(given, "first_half") == 1;
    return TRUE;
}

/* The recording may end within its last block. */
static gint64
find_end(const CtRecording *files)
{
    const Recording *recording = files->self;
    const CtPackets *packets = files->packets;
    const gint64 begin = MAX(packets->first, packets->end - recording->header.n_samples);
    if (!recording->header.has_index || recording->stop <= recording->last)
        return packets->end;
    const gint64 stop = (gint64)MIN(sample_at(recording, recording->stop), G_MAXINT64);
    return stop > begin && stop < packets->end ? stop : packets->end;
}

/* ---- the stream ---- */

static const char *
known(const char *text)
{
    return *text != '\0' ? text : NULL;
}

/* NULL: the header says nothing of the observation. */
static CtObservation *
observe(const GuppiHeader *header)
{
    static const char *const linear[] = {"X", "Y"}, *const circular[] = {"L", "R"};
    CtObservationFacts facts = *ct_observation_facts(NULL);
    const gboolean is_linear = g_str_has_prefix(header->polarisation, "LIN");
    const gboolean is_circular = g_str_has_prefix(header->polarisation, "CIRC");
    facts.telescope = known(header->telescope);
    facts.source = known(header->source);
    facts.project = known(header->project);
    facts.observer = known(header->observer);
    facts.has_direction = header->has_direction;
    memcpy(facts.direction, header->direction, sizeof facts.direction);
    if (header->n_pols == 2 && !header->is_left_handed && (is_linear || is_circular)) {
        facts.n_polarisations = 2;
        facts.polarisations = is_linear ? linear : circular;
    }
    g_autoptr(CtObservation) made = ct_observation_new(&facts);
    return ct_observation_equal(made, NULL) ? NULL : g_steal_pointer(&made);
}

static gint64
common_divisor(gint64 a, gint64 b)
{
    while (b != 0) {
        const gint64 rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static gboolean
describe(CtRecording *files, const CtParams *given, CtStream *stream, GError **error G_GNUC_UNUSED)
{
    static const CtType types[] = {[2] = CT_CF32, [4] = CT_CI4, [8] = CT_CI8, [16] = CT_CI16};
    Recording *recording = files->self;
    const GuppiHeader *header = &recording->header;
    const CtStream *said = files->files[0].said;
    const char *name = ct_params_has(given, "channels")
                           ? channel_names[ct_params_choice(given, "channels")]
                       : said && ct_stream_axis(said, "subband") >= 0 &&
                               ct_stream_length(said, "subband") == header->n_channels
                           ? "subband"
                           : "channel";
    if (stream->axes[0].length >= 0)
        stream->axes[0].length = find_end(files) - files->packets->first;
    stream->type = types[header->bits];
    CtAxis *channel = ct_stream_add_axis(stream, name, header->n_channels);
    if (header->has_frequency)
        channel->coordinate = (CtCoordinate){.unit = g_intern_static_string("Hz"),
                                             .first = header->first_frequency,
                                             .step = header->frequency_step};
    if (header->n_stations > 1) {
        CtAxis *station = ct_stream_add_axis(stream, "station", header->n_stations);
        if (g_strv_length(recording->stations) == header->n_stations)
            ct_axis_take_labels(station, ct_labels_new((const char *const *)recording->stations,
                                                       header->n_stations));
    }
    ct_stream_add_axis(stream, "pol", header->n_pols);
    recording->channel = ct_stream_axis(stream, name);
    recording->station = ct_stream_axis(stream, "station");
    recording->pol = ct_stream_axis(stream, "pol");
    ct_stream_take_observation(stream, observe(header));

    const gdouble rate = (gdouble)header->rate_num / (gdouble)header->rate_den;
    const gint64 ticks = header->fraction > 0 ? FINE_TICKS : 1;
    const gint64 divisor = common_divisor(header->rate_num * ticks, header->rate_den);
    stream->rate_num = header->rate_num * ticks / divisor;
    stream->rate_den = header->rate_den / divisor;
    stream->ticks_per_sample = ticks;
    stream->start =
        files->packets->first * ticks + llround(header->fraction * rate * (gdouble)ticks);
    stream->epoch = header->has_time ? header->second : CT_NO_EPOCH;
    return TRUE;
}

static void
unpack_with(const CtRecording *files, const CtPacketPart *part,
            void (*unpack)(const GuppiHeader *, gboolean, const guint8 *, gint64, gint64, guint8 *,
                           const GuppiStrides *))
{
    const Recording *recording = files->self;
    const GuppiStrides strides = {
        .time = part->stride[0],
        .channel = part->stride[recording->channel],
        .station = recording->station >= 0 ? part->stride[recording->station] : 0,
        .pol = part->stride[recording->pol],
    };
    unpack(&recording->header, recording->is_low_first, part->packet, part->begin, part->end,
           part->out, &strides);
}

static void
unpack(const CtRecording *files, const CtPacketPart *part)
{
    unpack_with(files, part, guppi_block_unpack);
}

static void
unpack_plain(const CtRecording *files, const CtPacketPart *part)
{
    unpack_with(files, part, guppi_block_unpack_plain);
}

static void
clear(gpointer self)
{
    g_strfreev(((Recording *)self)->stations);
}

const CtSource guppi_source_files = {
    .files = "path",
    .self_bytes = sizeof(Recording),
    .format = {.name = "blocks of GUPPI RAW, cards of 80 characters up to END and BLOCSIZE bytes"},
    .next = next_block,
    .order = order,
    .place = place,
    .ends = find_end,
    .describe = describe,
    .unpack = unpack,
    .unpack_plain = unpack_plain,
    .clear = clear,
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_source_infer(&guppi_source_files, node, error);
}

const CtStage guppi_source = {
    .name = "guppi.source",
    .summary = "recordings of GUPPI RAW: channels of complex voltages",
    .version = 1,
    .outputs = CT_PORTS({.name = "voltages",
                         .layout = "ci4|ci8|ci16|cf32{time ...}",
                         .help = "samples of the channels; invalid where blocks are missing"}),
    .params = params,
    .counters = CT_PACKET_COUNTERS,
    .infer = infer,
    .infer_uses_params = TRUE,
};
