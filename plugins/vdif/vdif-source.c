/* SPDX-License-Identifier: BSD-3-Clause */
/* vdif.source: recordings of VDIF frames; threads become an axis. */
#include "vdif-recording.h"
#include "vdif.h"

static const char *const axis_names[] = {"pol", "station", NULL};
static const char *const channel_names[] = {"auto", "subband", "pol", "station", NULL};

static const CtParam params[] = {
    {.name = "path",
     .kind = CT_PARAM_PATH,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_LIST | CT_PARAM_PIPE,
     .help =
         "the recording; several files are one recording; or a pipe; or udp://ADDRESS:PORT, one "
         "or several"},
    {.name = "threads",
     .kind = CT_PARAM_CHOICE,
     .choices = axis_names,
     .help = "the axis of the threads, in the order of station and number; left out: pol, unless "
             "PATH.json says station"},
    {.name = "channels",
     .kind = CT_PARAM_CHOICE,
     .choices = channel_names,
     .fallback = "auto",
     .help =
         "the axis that the channels of a frame become; auto: what PATH.json says; else pol for "
         "two in a single thread, else subband"},
    {.name = "thread_ids",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_LIST | CT_PARAM_RANGED,
     .minimum = 0,
     .maximum = 1023,
     .help = "the threads to read, in this order; left out: all"},
    {.name = "sample_rate",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_RANGED,
     .unit = "Hz",
     .minimum = 1,
     .maximum = 1e12,
     .help =
         "samples per second of a channel, if neither headers nor the numbers of frames give it"},
    {.name = "bits",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 1,
     .maximum = VDIF_MAX_BITS,
     .help = "bits of a sample's part, if the headers are wrong"},
    {.name = "centre_frequency",
     .kind = CT_PARAM_QUANTITY,
     .unit = "Hz",
     .help = "of the band of complex samples"},
    {.name = "first_frequency",
     .kind = CT_PARAM_QUANTITY,
     .unit = "Hz",
     .help = "lower edge of the band of real samples"},
    {.name = "frequencies",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_LIST,
     .unit = "Hz",
     .help = "of each channel of a frame, if they become subbands"},
    {.name = "max_gap",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_RANGED,
     .unit = "s",
     .minimum = 1,
     .maximum = 86400,
     .fallback = "60 s",
     .help = "time stamps farther than this from all others are not used"},
    CT_SOURCE_RECEIVE_PARAMS,
    {NULL},
};

/* The first of axes other than `taken` that PATH.json says to be this long; NULL: none. */
static const char *
find_said(const CtStream *said, const char *const *names, const char *taken, gint64 length)
{
    for (; said && *names; names++)
        if (ct_stream_axis(said, *names) >= 0 && ct_stream_length(said, *names) == length &&
            g_strcmp0(*names, taken) != 0)
            return *names;
    return NULL;
}

/* The names of the axes that threads and channels become; NULL: none. If neither a parameter nor
 * PATH.json says them, threads are polarisations. */
static gboolean
name_axes(const VdifRecording *recording, const CtStream *said, const CtParams *given,
          const char **thread_axis, const char **channel_axis, GError **error)
{
    static const char *const channels[] = {"subband", "channel", "pol", "station", NULL};
    const guint n_threads = recording->clock.n_threads, n_channels = recording->header.n_channels;
    const gboolean single = n_threads == 1;
    const char *said_threads = find_said(said, axis_names, NULL, n_threads);
    const gboolean is_given = ct_params_has(given, "threads");
    const gboolean is_one = said && single && ct_params_count(given, "thread_ids") == 0;
    *thread_axis = is_given                 ? axis_names[ct_params_choice(given, "threads")]
                   : said_threads || is_one ? said_threads
                                            : "pol";
    *channel_axis = NULL;
    if (n_channels == 1)
        return TRUE;
    const guint choice = ct_params_choice(given, "channels");
    if (choice != 0)
        *channel_axis = channel_names[choice];
    else
        *channel_axis = find_said(said, channels, single ? NULL : *thread_axis, n_channels);
    if (!*channel_axis)
        *channel_axis = single && n_channels == 2 ? "pol" : "subband";
    if (g_strcmp0(*thread_axis, *channel_axis) != 0)
        return TRUE;
    if (!single)
        return ct_params_error(given, "channels", error,
                               "wants another axis than the %u threads have, but is given '%s'",
                               n_threads, *channel_axis);
    *thread_axis = NULL;
    return TRUE;
}

static gboolean
describe(CtRecording *files, const CtParams *given, CtStream *stream, GError **error)
{
    VdifRecording *recording = files->self;
    const char *thread_axis, *channel_axis;
    if (!name_axes(recording, files->files[0].said, given, &thread_axis, &channel_axis, error))
        return FALSE;
    stream->type = recording->header.is_complex ? CT_CF32 : CT_F32;
    if (thread_axis) {
        CtAxis *axis = ct_stream_add_axis(stream, thread_axis, recording->clock.n_threads);
        axis->loses = TRUE;
        if (ct_params_count(given, "thread_ids") > 0 && !vdif_recording_is_whole(recording))
            files->chosen = thread_axis;
        if (g_str_equal(thread_axis, "station"))
            ct_axis_take_labels(axis, vdif_recording_stations(recording));
    }
    if (channel_axis)
        ct_stream_add_axis(stream, channel_axis, recording->header.n_channels);
    recording->channel_axis = channel_axis ? ct_stream_axis(stream, channel_axis) : -1;
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
    const VdifRecording *recording = files->self;
    const gint channel = recording->channel_axis;
    decode(&recording->decoder, part->packet + recording->header.header_bytes, part->begin,
           part->end, part->out, part->stride[0], channel >= 0 ? part->stride[channel] : 0);
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

const CtSource vdif_source_files = {
    .files = "path",
    .self_bytes = sizeof(VdifRecording),
    .is_one_stream = TRUE,
    .format =
        {
            .name = "VDIF frames",
            .header_bytes = VDIF_HEADER_BYTES,
            .size = vdif_header_size,
            .alike = vdif_header_alike,
        },
    .begin = vdif_recording_begin,
    .found = vdif_recording_found,
    .explain = vdif_recording_explain,
    .order = vdif_recording_order,
    .place = vdif_recording_place,
    .describe = describe,
    .unpack = decode,
    .unpack_plain = decode_plain,
    .clear = vdif_recording_clear,
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_source_infer(&vdif_source_files, node, error);
}

const char *const vdif_extensions[] = {".vdif", NULL};

const CtStage vdif_source = {
    .name = "vdif.source",
    .summary = "recordings of VDIF frames, whose threads become an axis",
    .version = 1,
    .outputs =
        CT_PORTS({.name = "voltages",
                  .layout = "f32|cf32{time ...}",
                  .help = "samples in units of their levels; invalid where frames are missing"}),
    .params = params,
    .counters = CT_PACKET_COUNTERS,
    .infer = infer,
    .infer_uses_params = TRUE,
    .extensions = vdif_extensions,
    .stands_for = "file.source",
};
