/* SPDX-License-Identifier: BSD-3-Clause */
/* mark5b.source: recordings of Mark 5B frames. */
#include "../vdif/vdif-clock.h"
#include "../vdif/vdif-frame.h"
#include "mark5b-header.h"

/* Besides the header, the first words of the samples are read: invalid frames have a pattern there.
 */
enum { FILL_WORDS = 12, HEAD_BYTES = MARK5B_HEADER_BYTES + 4 * FILL_WORDS, UNIX_MJD = 40587 };

/* The source's state, beside the files of its recording. There is one lane. Until frames are
 * ordered, their lane is the fraction of their second. */
typedef struct {
    VdifClock clock;
    VdifDecoder decoder; /* samples are those of VDIF with this mark */
    gint64 first_day;    /* the MJD of the first header's day, and its last three digits */
    guint first_digits;
    gint channel_axis; /* of the stream; −1: none */
} Recording;

static const char *const channel_names[] = {"subband", "pol", "station", NULL};

static const CtParam params[] = {
    {.name = "path",
     .kind = CT_PARAM_PATH,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_LIST | CT_PARAM_PIPE,
     .help = "the recording; several files, or a pattern as scan.*.m5b, are one recording; or a "
             "pipe"},
    {.name = "n_channels",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_RANGED,
     .minimum = 1,
     .maximum = 32,
     .help = "channels of a frame, a power of two"},
    {.name = "bits",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 1,
     .maximum = 2,
     .fallback = "2",
     .help = "bits of a sample"},
    {.name = "year",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_RANGED,
     .minimum = 1990,
     .maximum = 2200,
     .help = "in which the recording begins, as the headers count 1000 days"},
    {.name = "channels",
     .kind = CT_PARAM_CHOICE,
     .choices = channel_names,
     .fallback = "subband",
     .help = "the axis that the channels become"},
    {.name = "sample_rate",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_RANGED,
     .unit = "Hz",
     .minimum = 1,
     .maximum = 1e12,
     .help = "samples per second of a channel, if the numbers of frames do not give it"},
    {.name = "first_frequency",
     .kind = CT_PARAM_QUANTITY,
     .unit = "Hz",
     .help = "lower edge of the band"},
    {.name = "centre_frequency",
     .kind = CT_PARAM_QUANTITY,
     .unit = "Hz",
     .help = "of complex samples only; these are real, and want first_frequency"},
    {.name = "frequencies",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_LIST,
     .unit = "Hz",
     .help = "of each channel, if they become subbands"},
    {.name = "max_gap",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_RANGED,
     .unit = "s",
     .minimum = 1,
     .maximum = 86400,
     .fallback = "60 s",
     .help = "time codes farther than this from all others are not used"},
    {NULL},
};

/* ---- frames ---- */

static gsize
frame_size(const guint8 *bytes, gconstpointer self G_GNUC_UNUSED)
{
    Mark5bHeader header;
    return mark5b_header_parse(bytes, &header) ? 0 : MARK5B_FRAME_BYTES;
}

/* All frames have the same sizes; what the user has set may change. */
static gboolean
frame_alike(const guint8 *a, const guint8 *b, gconstpointer self)
{
    return frame_size(a, self) != 0 && frame_size(b, self) != 0;
}

static gboolean
is_filled(const guint8 *payload)
{
    static const guint8 fill[] = {0x44, 0x33, 0x22, 0x11};
    for (guint i = 0; i < 4 * FILL_WORDS; i++)
        if (payload[i] != fill[i % 4])
            return FALSE;
    return TRUE;
}

static void
frame_found(const guint8 *bytes, CtPacket *packet, gpointer self G_GNUC_UNUSED)
{
    Mark5bHeader header;
    g_assert(!mark5b_header_parse(bytes, &header));
    packet->stamp = (gint64)(header.day * 86400 + header.second) << VDIF_NUMBER_BITS | header.frame;
    packet->lane = header.fraction;
    packet->flagged = is_filled(bytes + MARK5B_HEADER_BYTES);
}

static const char *
explain(const guint8 *bytes, gconstpointer self G_GNUC_UNUSED)
{
    Mark5bHeader header;
    return mark5b_header_parse(bytes, &header);
}

/* ---- time ---- */

/* The MJD of 1 January. */
static gint64
first_day(gint64 year)
{
    GDate date, modified;
    g_date_clear(&date, 1);
    g_date_clear(&modified, 1);
    g_date_set_dmy(&date, 1, G_DATE_JANUARY, (GDateYear)year);
    g_date_set_dmy(&modified, 17, G_DATE_NOVEMBER, 1858);
    return g_date_days_between(&modified, &date);
}

/* Sets the MJD of the day of the year whose last three digits are `day`. */
static gboolean
find_day(const CtParams *given, guint day, gint64 *mjd, GError **error)
{
    const gint64 year = ct_params_int(given, "year"), first = first_day(year);
    *mjd = first + ((gint64)day - first % 1000 + 1000) % 1000;
    if (*mjd < first_day(year + 1))
        return TRUE;
    gint64 before = year, after = year;
    while (first_day(before) > *mjd - 1000)
        before--;
    while (first_day(after + 1) <= *mjd)
        after++;
    return ct_params_error(given, "year", error,
                           "wants a year that has a day …%03u of the MJD, as %" G_GINT64_FORMAT
                           " or %" G_GINT64_FORMAT ", but is given %" G_GINT64_FORMAT,
                           day, before, after, year);
}

/* Turns the second of a frame's stamp, from 1000 days, into a Unix second; the nearest to that of
 * the first header counts. */
static void
set_second(const Recording *recording, CtPacket *frame)
{
    const gint64 second = frame->stamp >> VDIF_NUMBER_BITS;
    const gint64 day = (second / 86400 - recording->first_digits + 1500) % 1000 - 500;
    frame->stamp = ((recording->first_day + day - UNIX_MJD) * 86400 + second % 86400)
                       << VDIF_NUMBER_BITS |
                   (frame->stamp & VDIF_NUMBER_MASK);
}

static gboolean
set_seconds(const CtRecording *files, const CtParams *given, GError **error)
{
    Recording *recording = files->self;
    Mark5bHeader header;
    g_assert(!mark5b_header_parse(files->files[0].header, &header));
    recording->first_digits = header.day;
    if (!find_day(given, header.day, &recording->first_day, error))
        return FALSE;
    for (guint i = 0; i < files->packets->packets->len; i++)
        set_second(recording, &g_array_index(files->packets->packets, CtPacket, i));
    return TRUE;
}

/* Moves the fractions of frames out of their lanes: [frame] number << 16 | fraction. */
static GArray *
take_fractions(const CtRecording *files)
{
    GArray *fractions = g_array_new(FALSE, FALSE, sizeof(guint32));
    for (guint i = 0; i < files->packets->packets->len; i++) {
        CtPacket *frame = &g_array_index(files->packets->packets, CtPacket, i);
        const guint32 both = (guint32)(frame->stamp & VDIF_NUMBER_MASK) << 16 | frame->lane;
        g_array_append_val(fractions, both);
        frame->lane = 0;
    }
    return fractions;
}

/* Checks the rate by the fractions that the recorder has written. Those are rounded down to 0.1 ms,
 * but not by all recorders. */
static gboolean
check_fractions(const VdifClock *clock, const GArray *fractions, GError **error)
{
    const gdouble frames = (gdouble)clock->rate / (gdouble)clock->n_samples;
    guint n = 0, wrong = 0;
    for (guint i = 0; i < fractions->len; i++) {
        const guint32 both = g_array_index(fractions, guint32, i);
        const gdouble fraction = both & 0xffff;
        if (fraction == 0)
            continue;
        n++;
        wrong += ABS((both >> 16) / frames * 1e4 - fraction) > 1;
    }
    if (wrong <= n / 16)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                "%s: wants another 'sample_rate' than %" G_GINT64_FORMAT
                " Hz, or other 'bits' and 'n_channels', for %g frames a second contradict the "
                "fractions of the second that %u of %u headers have",
                clock->path, clock->rate, frames, wrong, n);
    return FALSE;
}

static gboolean
order(CtRecording *files, const CtParams *given, GError **error)
{
    Recording *recording = files->self;
    VdifClock *clock = &recording->clock;
    const gint64 bits = ct_params_int(given, "bits"),
                 n_channels = ct_params_int(given, "n_channels");
    const gdouble max_gap = ct_params_real(given, "max_gap");
    if ((n_channels & (n_channels - 1)) != 0 || n_channels * bits > 32)
        return ct_params_error(given, "n_channels", error,
                               "wants a power of two, at most %" G_GINT64_FORMAT
                               " for %" G_GINT64_FORMAT " bits, but is given %" G_GINT64_FORMAT,
                               32 / bits, bits, n_channels);
    g_autoptr(GArray) fractions = take_fractions(files);
    *clock = (VdifClock){
        .path = files->files[0].path,
        .packets = files->packets,
        .n_threads = 1,
        .n_samples = MARK5B_PAYLOAD_BYTES * 8 / (bits * n_channels),
        .is_sample = files->is_sample,
        .frame_bytes = MARK5B_FRAME_BYTES,
    };
    if (!set_seconds(files, given, error) || !vdif_clock_find_rate(clock, given, error) ||
        !check_fractions(clock, fractions, error))
        return FALSE;
    vdif_clock_count_samples(clock, max_gap);
    const VdifHeader like = {
        .edv = VDIF_MARK5B, .bits = (guint)bits, .n_channels = (guint)n_channels};
    vdif_decoder_init(&recording->decoder, &like);
    files->needs_all = clock->needs_all;
    files->n_lanes = 1;
    files->n_samples = clock->n_samples;
    files->max_gap = (gint64)MIN(max_gap * (gdouble)clock->rate, 0x1p61);
    return TRUE;
}

static gboolean
place(const CtRecording *files, CtPacket *frame, guint64 *counts)
{
    const Recording *recording = files->self;
    frame->lane = 0;
    set_second(recording, frame);
    return vdif_clock_place(&recording->clock, frame, counts);
}

/* ---- the stream ---- */

static gboolean
describe(CtRecording *files, const CtParams *given, CtStream *stream, GError **error)
{
    Recording *recording = files->self;
    const guint n_channels = recording->decoder.n_channels;
    stream->type = CT_F32;
    recording->channel_axis = -1;
    if (n_channels > 1) {
        const char *name = channel_names[ct_params_choice(given, "channels")];
        ct_stream_add_axis(stream, name, n_channels);
        recording->channel_axis = ct_stream_axis(stream, name);
    }
    stream->rate_num = recording->clock.rate;
    stream->rate_den = 1;
    stream->ticks_per_sample = 1;
    vdif_clock_ticks(&recording->clock, &stream->epoch, &stream->start);
    return ct_source_set_frequencies(given, stream, error);
}

static void
decode_with(const CtRecording *files, const CtPacketPart *part,
            void (*decode)(const VdifDecoder *, const guint8 *, gint64, gint64, guint8 *, gint64,
                           gint64))
{
    const Recording *recording = files->self;
    const gint channel = recording->channel_axis;
    decode(&recording->decoder, part->packet + MARK5B_HEADER_BYTES, part->begin, part->end,
           part->out, part->stride[0], channel >= 0 ? part->stride[channel] : 0);
}

static void
decode(const CtRecording *files, const CtPacketPart *part)
{
    decode_with(files, part, vdif_payload_decode);
}

static void
decode_plain(const CtRecording *files, const CtPacketPart *part)
{
    decode_with(files, part, vdif_payload_decode_plain);
}

static void
clear(gpointer self)
{
    Recording *recording = self;
    vdif_decoder_clear(&recording->decoder);
    vdif_clock_clear(&recording->clock);
}

static const CtSource source = {
    .files = "path",
    .self_bytes = sizeof(Recording),
    .format =
        {
            .name = "Mark 5B frames",
            .header_bytes = HEAD_BYTES,
            .size = frame_size,
            .alike = frame_alike,
        },
    .found = frame_found,
    .explain = explain,
    .order = order,
    .place = place,
    .describe = describe,
    .unpack = decode,
    .unpack_plain = decode_plain,
    .clear = clear,
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_source_infer(&source, node, error);
}

static const CtStage mark5b_source = {
    .name = "mark5b.source",
    .summary = "recordings of Mark 5B frames, whose channels become an axis",
    .version = 1,
    .outputs =
        CT_PORTS({.name = "voltages",
                  .layout = "f32{time ...}",
                  .help = "samples in units of their levels; invalid where frames are missing"}),
    .params = params,
    .counters = CT_PACKET_COUNTERS,
    .infer = infer,
    .infer_uses_params = TRUE,
    .extensions = (const char *const[]){".m5b", NULL},
    .stands_for = "file.source",
};

CT_STAGE_PLUGIN("mark5b", mark5b_source,
                CT_SOURCE_VARIANTS(source, "mark5b.source", CT_PORT_ROWS(0.08)));
