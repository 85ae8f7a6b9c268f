/* SPDX-License-Identifier: BSD-3-Clause */
/* vdif.source: recordings of VDIF frames; threads become an axis. */
#include "vdif-recording.h"

typedef void (*Decode)(const VdifDecoder *, const guint8 *, gint64, gint64, guint8 *, gint64,
                       gint64);

typedef struct {
    VdifRecording *recording;
    gint64 position; /* next sample to produce */
    gint64 end;      /* the declared end of the stream; a file may grow meanwhile */
    Decode decode;
    VdifDecoder decoder;
    gint time_axis, thread_axis, channel_axis; /* positions in the output's layout; −1: none */
    guint8 *payload;                           /* of the frame being decoded */
} Source;

static const char *const axis_names[] = {"pol", "station", NULL};
static const char *const channel_names[] = {"auto", "subband", "pol", "station", NULL};

static const CtParam params[] = {
    {.name = "path",
     .kind = CT_PARAM_PATH,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_LIST,
     .help = "the recording; several files are one recording"},
    {.name = "threads",
     .kind = CT_PARAM_CHOICE,
     .choices = axis_names,
     .fallback = "pol",
     .help = "the axis of the threads, in the order of station and number"},
    {.name = "channels",
     .kind = CT_PARAM_CHOICE,
     .choices = channel_names,
     .fallback = "auto",
     .help = "the axis that the channels of a frame become; auto: pol for two in a single thread, "
             "else subband"},
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
    {NULL},
};

static void
source_free(gpointer state)
{
    Source *source = state;
    if (!source)
        return;
    vdif_recording_free(source->recording);
    vdif_decoder_clear(&source->decoder);
    g_free(source->payload);
    g_free(source);
}

/* The names of the axes that threads and channels become; NULL: none. */
static gboolean
name_axes(const VdifRecording *recording, const CtParams *given, const char **thread_axis,
          const char **channel_axis, GError **error)
{
    const gboolean single = recording->n_threads == 1;
    *thread_axis = axis_names[ct_params_choice(given, "threads")];
    *channel_axis = NULL;
    if (recording->header.n_channels == 1)
        return TRUE;
    guint choice = ct_params_choice(given, "channels");
    if (choice == 0)
        choice = single && recording->header.n_channels == 2 ? 2 : 1;
    *channel_axis = channel_names[choice];
    if (!g_str_equal(*thread_axis, *channel_axis))
        return TRUE;
    if (!single)
        return ct_params_error(given, "channels", error,
                               "wants another axis than the %u threads have, but is given '%s'",
                               recording->n_threads, *channel_axis);
    *thread_axis = NULL;
    return TRUE;
}

static gboolean
set_frequencies(const CtParams *given, const VdifRecording *recording, CtStream *stream,
                GError **error)
{
    const char *name = recording->header.is_complex ? "centre_frequency" : "first_frequency";
    const char *other = recording->header.is_complex ? "first_frequency" : "centre_frequency";
    if (ct_params_has(given, other))
        return ct_params_error(given, other, error, "wants %s samples: give '%s' for these",
                               recording->header.is_complex ? "real" : "complex", name);
    stream->has_frequency = ct_params_has(given, name);
    stream->frequency = stream->has_frequency ? ct_params_real(given, name) : 0;
    const guint n = ct_params_count(given, "frequencies");
    const gint axis = ct_stream_axis(stream, "subband");
    if (n == 0)
        return TRUE;
    if (axis < 0 || stream->axes[axis].length != n)
        return ct_params_error(given, "frequencies", error,
                               "wants one for each of %" G_GINT64_FORMAT
                               " subbands, but is given %u",
                               axis < 0 ? 0 : stream->axes[axis].length, n);
    g_autofree gdouble *table = g_new(gdouble, n);
    for (guint i = 0; i < n; i++)
        table[i] = ct_params_real_at(given, "frequencies", i);
    stream->axes[axis].coordinate.unit = g_intern_static_string("Hz");
    stream->axes[axis].coordinate.table = g_bytes_new(table, n * sizeof *table);
    return TRUE;
}

static gboolean
infer(CtNode *node, GError **error)
{
    g_autoptr(VdifRecording) recording = vdif_recording_open(node->params, error);
    const char *thread_axis, *channel_axis;
    if (!recording || !name_axes(recording, node->params, &thread_axis, &channel_axis, error))
        return FALSE;
    CtStream *stream = &node->outputs[0];
    stream->type = recording->header.is_complex ? CT_CF32 : CT_F32;
    ct_stream_add_axis(stream, "time", recording->packets->end - recording->packets->first);
    if (thread_axis)
        ct_stream_add_axis(stream, thread_axis, recording->n_threads)->loses = TRUE;
    if (channel_axis)
        ct_stream_add_axis(stream, channel_axis, recording->header.n_channels);
    stream->rate_num = recording->rate;
    stream->rate_den = 1;
    stream->ticks_per_sample = 1;
    stream->start = recording->start + recording->packets->first;
    stream->epoch = recording->epoch;
    return set_frequencies(node->params, recording, stream, error);
}

static gboolean
prepare_with(CtPrepare *prepare, gpointer *state, Decode decode, GError **error)
{
    const CtParams *given = prepare->nodes[0].params;
    VdifRecording *recording = vdif_recording_open(given, error);
    const char *thread_axis, *channel_axis;
    if (!recording)
        return FALSE;
    Source *source = g_new0(Source, 1);
    *state = source;
    source->recording = recording;
    if (!name_axes(recording, given, &thread_axis, &channel_axis, error))
        return FALSE;
    const CtLayout *layout = &prepare->outputs[0].layout;
    source->time_axis = ct_layout_axis(layout, "time");
    source->thread_axis = thread_axis ? ct_layout_axis(layout, thread_axis) : -1;
    source->channel_axis = channel_axis ? ct_layout_axis(layout, channel_axis) : -1;
    source->decode = decode;
    source->position = recording->packets->first;
    source->end = MIN(recording->packets->end,
                      source->position + ct_stream_length(prepare->outputs[0].stream, "time"));
    source->payload = ct_table_new(recording->header.frame_bytes, 1, "a frame", error);
    if (!source->payload)
        return FALSE;
    vdif_decoder_init(&source->decoder, &recording->header);
    return TRUE;
}

static gboolean
prepare_cpu(CtPrepare *prepare, gpointer *state, GError **error)
{
    return prepare_with(prepare, state, vdif_payload_decode, error);
}

static gboolean
prepare_reference(CtPrepare *prepare, gpointer *state, GError **error)
{
    return prepare_with(prepare, state, vdif_payload_decode_plain, error);
}

static gboolean
advance(gpointer state, CtAdvance *advance, GError **error G_GNUC_UNUSED)
{
    Source *source = state;
    const VdifRecording *recording = source->recording;
    const CtPackets *packets = recording->packets;
    CtDeparture *out = &advance->outputs[0];
    if (source->position == packets->first)
        for (guint i = 0; i < CT_PACKETS_N_COUNTS; i++)
            advance->counters[i] += packets->counts[i];
    const gint64 n = MIN(out->room, source->end - source->position);
    for (guint i = 0; i < recording->n_threads; i++)
        if (ct_packets_validity(packets, i, source->position, n,
                                out->validity + i * out->validity_stride))
            out->invalid = TRUE;
    out->produced = n;
    out->start = recording->start + source->position;
    source->position += n;
    advance->ended = source->position == source->end;
    return TRUE;
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    const Source *source = state;
    const VdifRecording *recording = source->recording;
    const CtBlock *out = &work->outputs[0];
    const gint64 begin = recording->packets->first + out->index, end = begin + out->n_samples;
    const gint64 time_stride = out->stride[source->time_axis];
    const gint64 thread_stride = source->thread_axis >= 0 ? out->stride[source->thread_axis] : 0;
    const gint64 channel_stride = source->channel_axis >= 0 ? out->stride[source->channel_axis] : 0;
    const gsize header_bytes = recording->header.header_bytes;
    const gsize bytes = recording->header.frame_bytes - header_bytes;
    for (guint i = 0; i < recording->n_threads; i++) {
        const CtPacket *last, *frame = ct_packets_find(recording->packets, i, begin, &last);
        for (; frame < last && frame->stamp < end; frame++) {
            if (!ct_file_read(recording->paths[frame->file], recording->fds[frame->file],
                              frame->offset + header_bytes, source->payload, bytes, error))
                return FALSE;
            const gint64 from = MAX(frame->stamp, begin);
            const gint64 to = MIN(frame->stamp + recording->packets->n_samples, end);
            source->decode(&source->decoder, source->payload, from - frame->stamp,
                           to - frame->stamp,
                           out->data + i * thread_stride + (from - begin) * time_stride,
                           time_stride, channel_stride);
        }
    }
    return TRUE;
}

static const CtPort outputs[] = {
    {.name = "voltages",
     .layout = "f32|cf32{time ...}",
     .help = "samples in units of their levels; invalid where frames are missing"},
    {NULL},
};

static const CtPort no_inputs[] = {{NULL}};

static const CtStage vdif_source = {
    .name = "vdif.source",
    .summary = "recordings of VDIF frames, whose threads become an axis",
    .version = 1,
    .inputs = no_inputs,
    .outputs = outputs,
    .params = params,
    .counters = CT_PACKET_COUNTERS,
    .infer = infer,
    .infer_uses_params = TRUE,
};

static const char *const covers[] = {"vdif.source", NULL};
static const CtRow rows[] = {{"-> f32|cf32{time ...}", 0.08}, {NULL}};

static const CtVariant cpu = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = covers,
    .rows = rows,
    .waits = TRUE,
    .prepare = prepare_cpu,
    .advance = advance,
    .work = work,
    .finish = source_free,
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
    .finish = source_free,
};

CT_PLUGIN("vdif", ((const CtStage *const[]){&vdif_source, NULL}),
          ((const CtVariant *const[]){&cpu, &reference, NULL}));
