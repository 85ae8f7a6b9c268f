/* SPDX-License-Identifier: BSD-3-Clause */
/* vdif.sink: voltages to VDIF frames. */
#include "../voltages.h"
#include "vdif-frame.h"
#include "vdif.h"

#include <cornerturn/packets.h>
#include <math.h>
#include <unistd.h>

/* The most bytes of a payload that has no other size, which fits a packet of Ethernet; the least of
 * one that is smaller to divide the stream; the bytes that wait for a write. */
enum { USUAL_BYTES = 8000, LEAST_BYTES = 512, PENDING_BYTES = 1 << 20 };
enum { MOST_THREADS = 1024, MOST_FRAMES = 1 << 24, MOST_WORDS = (1 << 24) - 1 };

static const char *const thread_names[] = {"pol", "station", "none", NULL};

static const CtParam params[] = {
    CT_SINK_PARAMS_WHOLE("the recording, or udp://ADDRESS:PORT"),
    CT_SINK_SEND_PARAMS,
    {.name = "threads",
     .kind = CT_PARAM_CHOICE,
     .choices = thread_names,
     .fallback = "pol",
     .help = "the axis that the threads are; another axis becomes the channels of a frame"},
    {.name = "bits",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 1,
     .maximum = VDIF_MAX_BITS,
     .help = "of a sample's part: 1, 2, 4, 8 or 16; left out: 2 for f32 and cf32. Integers have "
             "theirs"},
    {.name = "frame_samples",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 1,
     .maximum = 1 << 30,
     .help = "of a channel in a frame; left out: as many as fit a second and 8000 bytes"},
    {.name = "station",
     .kind = CT_PARAM_STRING,
     .help = "two letters or digits, or a number; left out: the label of the station, or 0"},
    {NULL},
};

enum { CLIPPED };
static const char *const counters[] = {[CLIPPED] = "clipped", NULL};

/* How the samples become frames. */
typedef struct {
    const char *threads, *channels; /* axes of the stream; NULL: none */
    gint64 n_threads, n_channels;
    guint bits, n_parts;
    gint64 rate;  /* samples per second */
    gint64 begin; /* the stream's first sample, from its second on */
    gint64 n;     /* samples of a frame */
    gint64 payload_bytes;
} Frames;

typedef struct {
    Frames frames;
    VdifHeader header;
    guint16 *stations; /* [thread] */
    guint32 *of_lane;  /* [lane] its thread; n_threads: all */
    gint64 n_lanes;
    gint64 second;     /* Unix second from which `frame` counts, */
    gint64 frame;      /* frames from then on */
    gint64 sample;     /* of the file, with which these frames begin */
    gint64 filled;     /* samples of this frame that have come */
    guint8 *payloads;  /* [thread] of these frames */
    gboolean *invalid; /* [thread] whether a sample is invalid */
    GByteArray *pending;
    gint64 written; /* bytes in the file */
    gboolean has_failed;
} Sink;

/* ---- what a file can hold ---- */

static gboolean
choose_axes(const CtParams *given, const CtStream *stream, Frames *frames, GError **error)
{
    const char *name = thread_names[ct_params_choice(given, "threads")];
    Voltages voltages;
    if (!voltages_init(&voltages, stream, "a VDIF file", TRUE, error))
        return FALSE;
    const char *const axes[] = {voltages.channels, "station", "pol"};
    *frames = (Frames){.n_threads = 1, .n_channels = 1};
    for (guint i = 0; i < G_N_ELEMENTS(axes); i++) {
        const gint a = axes[i] ? ct_stream_axis(stream, axes[i]) : -1;
        if (a < 0)
            continue;
        const CtAxis *axis = &stream->axes[a];
        if (strcmp(axis->name, name) == 0) {
            frames->threads = axis->name;
            frames->n_threads = axis->length;
        } else if (axis->length > 1 && frames->channels) {
            g_autofree char *remark =
                g_strdup_printf(" beside '%s' (threads: %s)", frames->channels, name);
            return voltages_refuse(axis, "one axis for the channels of a frame", remark, error);
        } else if (axis->length > 1) {
            frames->channels = axis->name;
            frames->n_channels = axis->length;
        }
    }
    if (frames->n_threads > MOST_THREADS)
        return ct_params_error(given, "threads", error,
                               "wants at most %d, but is given %" G_GINT64_FORMAT, MOST_THREADS,
                               frames->n_threads);
    if (frames->n_channels & (frames->n_channels - 1)) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants a power of two of channels in a frame, but is given '%s' with "
                    "%" G_GINT64_FORMAT,
                    frames->channels, frames->n_channels);
        return FALSE;
    }
    return TRUE;
}

static gboolean
choose_bits(const CtParams *given, CtType type, Frames *frames, GError **error)
{
    const CtTypeInfo *info = ct_type_info(type);
    const gboolean is_float = type == CT_F32 || type == CT_CF32;
    const gboolean has_bits = ct_params_has(given, "bits");
    const gint64 bits = has_bits ? ct_params_int(given, "bits") : is_float ? 2 : info->part_bits;
    if (!is_float && type != CT_I8 && type != CT_CI8 && type != CT_I16 && type != CT_CI16) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants f32, cf32, i8, ci8, i16 or ci16, but is given %s", info->name);
        return FALSE;
    }
    if (bits & (bits - 1))
        return ct_params_error(given, "bits", error,
                               "wants 1, 2, 4, 8 or 16, but is given %" G_GINT64_FORMAT, bits);
    if (!is_float && bits != info->part_bits)
        return ct_params_error(given, "bits", error,
                               "wants the %u of %s, but is given %" G_GINT64_FORMAT
                               " (as cf32 or f32, samples can have fewer)",
                               info->part_bits, info->name, bits);
    frames->bits = (guint)bits;
    frames->n_parts = info->is_complex ? 2 : 1;
    return TRUE;
}

static gboolean
choose_clock(const CtStream *stream, Frames *frames, GError **error)
{
    const __int128 sample = (__int128)stream->ticks_per_sample * stream->rate_den;
    gint64 second, rest;
    if (stream->epoch == CT_NO_EPOCH) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants a stream that knows its UTC, but is given one without an epoch");
        return FALSE;
    }
    if (stream->rate_num % sample != 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants a whole number of samples per second, but is given %.12g",
                    ct_stream_sample_rate(stream));
        return FALSE;
    }
    ct_stream_second(stream, stream->start, &second, &rest);
    if (rest % sample != 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants a start that is a whole number of samples after a second, but is given "
                    "%.12g s after it",
                    (gdouble)rest / (gdouble)stream->rate_num);
        return FALSE;
    }
    if (vdif_ref_epoch(second) < 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants a start from 2000 to 2031, but is given %" G_GINT64_FORMAT
                    " s from 1970 on",
                    second);
        return FALSE;
    }
    frames->rate = (gint64)(stream->rate_num / sample);
    frames->begin = (gint64)(rest / sample);
    return TRUE;
}

/* Whether frames of `n` samples are whole words of 8 bytes, and fill seconds and the time before
 * the stream in its first second. */
static gboolean
fits(const Frames *frames, gint64 n)
{
    const gint64 sample_bits = frames->n_channels * frames->n_parts * frames->bits;
    return n * sample_bits % 64 == 0 && frames->rate % n == 0 && frames->begin % n == 0 &&
           frames->rate / n <= MOST_FRAMES &&
           n * sample_bits / 64 + VDIF_HEADER_BYTES / 8 <= MOST_WORDS;
}

/* The most samples of a frame of at most the usual size that fit and divide the stream, but not so
 * few that headers would be much of the file; or else the most that fit and are no more than the
 * stream, the fewest that fit, or 1. */
static gint64
usual_size(const Frames *frames, gint64 length)
{
    const gint64 sample_bits = frames->n_channels * frames->n_parts * frames->bits;
    gint64 best = 0;
    for (gint64 n = MAX(1, USUAL_BYTES * 8 / sample_bits); n > 0; n--) {
        if (best > 0 && best <= length && n * sample_bits < LEAST_BYTES * 8)
            break;
        if (!fits(frames, n))
            continue;
        if (length < 0 || length % n == 0)
            return n;
        if (best == 0 || best > length)
            best = n;
    }
    return MAX(best, 1);
}

static gboolean
choose_size(const CtParams *given, const CtStream *stream, Frames *frames, GError **error)
{
    const gint64 sample_bits = frames->n_channels * frames->n_parts * frames->bits;
    const gint64 length = stream->axes[ct_stream_axis(stream, "time")].length;
    const gboolean is_given = ct_params_has(given, "frame_samples");
    const gint64 n = is_given ? ct_params_int(given, "frame_samples") : usual_size(frames, length);
    if (!fits(frames, n)) {
        g_autofree char *is =
            is_given ? g_strdup_printf("%" G_GINT64_FORMAT, n) : g_strdup("none that does");
        return ct_params_error(given, "frame_samples", error,
                               "wants samples that fill words of 8 bytes (of %" G_GINT64_FORMAT
                               " bits each) and, in whole frames, the %" G_GINT64_FORMAT
                               " of a second and the %" G_GINT64_FORMAT
                               " before the stream in its first second, with at most %d frames a "
                               "second, but is given %s",
                               sample_bits, frames->rate, frames->begin, MOST_FRAMES, is);
    }
    frames->n = n;
    frames->payload_bytes = n * sample_bits / 8;
    const gint64 bytes = frames->payload_bytes + VDIF_HEADER_BYTES;
    return !ct_sink_is_address(given) || bytes <= CT_SINK_MOST_DATAGRAM ||
           ct_params_error(given, "frame_samples", error,
                           "wants frames of at most %d bytes, which datagrams can have, but is "
                           "given %" G_GINT64_FORMAT " samples in %" G_GINT64_FORMAT " bytes",
                           CT_SINK_MOST_DATAGRAM, n, bytes);
}

/* Reads "EF" or "123". */
static gboolean
parse_station(const char *text, guint16 *station)
{
    guint64 number;
    if (strlen(text) == 2 && g_ascii_isalnum(text[0]) && g_ascii_isalnum(text[1])) {
        *station = (guint16)((guint8)text[0] << 8 | (guint8)text[1]);
        return TRUE;
    }
    if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT16, &number, NULL))
        return FALSE;
    *station = (guint16)number;
    return TRUE;
}

/* The station of a thread; FALSE: it has a name that VDIF can't have. */
static gboolean
find_station(const CtParams *given, const CtStream *stream, const Frames *frames, gint64 thread,
             guint16 *station, GError **error)
{
    const gint a = ct_stream_axis(stream, "station");
    const CtLabels *labels = a < 0 ? NULL : stream->axes[a].labels;
    const gboolean is_axis = frames->threads && strcmp(frames->threads, "station") == 0;
    const gboolean has_one = ct_params_has(given, "station");
    *station = 0;
    if (has_one && is_axis && frames->n_threads > 1)
        return ct_params_error(given, "station", error, "wants one station, but 'threads' are %s",
                               "stations");
    const char *name = has_one ? ct_params_string(given, "station") : NULL;
    if (!name && labels && !ct_labels_are_pairs(labels) &&
        (is_axis || ct_labels_count(labels) == 1))
        name = ct_labels_name(labels, is_axis ? (gsize)thread : 0, 0);
    if (!name && is_axis)
        *station = (guint16)thread;
    return !name || parse_station(name, station) ||
           ct_params_error(given, "station", error,
                           "wants two letters or digits, or a number below 65536, but is given "
                           "'%s'",
                           name);
}

static gboolean
choose_frames(const CtParams *given, const CtStream *stream, CtType type, Frames *frames,
              GError **error)
{
    return choose_axes(given, stream, frames, error) && choose_bits(given, type, frames, error) &&
           choose_clock(stream, frames, error) && choose_size(given, stream, frames, error);
}

/* Programs that do not read PATH.json lose what is in a frame that is not full. */
static void
warn_of_rest(const CtNode *node, const CtStream *stream, const Frames *frames)
{
    const gint64 length = stream->axes[ct_stream_axis(stream, "time")].length;
    if (length > 0 && length % frames->n > 0)
        ct_params_warn(node->params, NULL,
                       "the stream's last %" G_GINT64_FORMAT
                       " samples do not fill a frame of %" G_GINT64_FORMAT
                       ": that frame is completed with zeros, and is marked as invalid",
                       length % frames->n, frames->n);
}

static gboolean
check(CtNode *node, GError **error)
{
    const CtStream *stream = &node->inputs[0];
    Frames frames;
    guint16 station;
    if (!choose_frames(node->params, stream, stream->type, &frames, error) ||
        !voltages_check_rotation(node->params, stream, frames.n, "frames", "frame_samples", error))
        return FALSE;
    for (gint64 i = 0; i < frames.n_threads; i++)
        if (!find_station(node->params, stream, &frames, i, &station, error))
            return FALSE;
    warn_of_rest(node, stream, &frames);
    CtLayout *wish = &node->input_layouts[0];
    wish->types = 1u << stream->type;
    for (guint a = 0; a < stream->n_axes; a++)
        if (stream->axes[a].length == 1 && strcmp(stream->axes[a].name, "time") != 0)
            voltages_add(wish, stream, stream->axes[a].name);
    voltages_add(wish, stream, frames.threads);
    voltages_add(wish, stream, "time");
    voltages_add(wish, stream, frames.channels);
    return TRUE;
}

/* ---- the file ---- */

static gboolean
open_file(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    Frames *frames = &sink->frames;
    CtStream *stream = &file->stream;
    const CtStream *whole = file->input->stream;
    gint64 rest, of_stream;
    stream->type = ct_layout_type(&file->input->layout);
    if (!choose_frames(file->given, whole, stream->type, frames, error))
        return FALSE;
    sink->n_lanes = ct_stream_n_lanes(whole);
    sink->pending = g_byte_array_new();
    if (!(sink->stations = CT_TABLE(guint16, frames->n_threads, "threads", error)) ||
        !(sink->invalid = CT_TABLE(gboolean, frames->n_threads, "threads", error)) ||
        !(sink->of_lane = CT_TABLE(guint32, sink->n_lanes, "lanes", error)) ||
        !(sink->payloads = ct_table_new((gsize)frames->n_threads, (gsize)frames->payload_bytes,
                                        "frames", error)))
        return FALSE;
    for (gint64 i = 0; i < frames->n_threads; i++)
        if (!find_station(file->given, whole, frames, i, &sink->stations[i], error))
            return FALSE;
    const gint64 step = frames->threads ? ct_stream_lane_step(whole, frames->threads) : 0;
    for (gint64 lane = 0; lane < sink->n_lanes; lane++)
        sink->of_lane[lane] =
            (guint32)(step == 0 ? frames->n_threads : lane / step % frames->n_threads);
    /* Rotated files begin with whole frames, as the stream does. */
    ct_stream_second(whole, whole->start, &of_stream, &rest);
    ct_stream_second(stream, stream->start, &sink->second, &rest);
    sink->frame =
        (gint64)(rest / ((__int128)stream->ticks_per_sample * stream->rate_den)) / frames->n;
    sink->header = (VdifHeader){
        .ref_epoch = (guint)vdif_ref_epoch(of_stream),
        .n_channels = (guint)frames->n_channels,
        .frame_bytes = (gsize)frames->payload_bytes + VDIF_HEADER_BYTES,
        .is_complex = frames->n_parts == 2,
        .bits = frames->bits,
        .rate = frames->rate,
    };
    return TRUE;
}

static gboolean
flush(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    const gint64 n = sink->pending->len;
    const guint8 *bytes = sink->pending->data;
    const gint64 done = ct_file_write(file->path, file->fd, sink->written, bytes, n, error);
    sink->written += done;
    sink->has_failed = done < n;
    g_byte_array_set_size(sink->pending, 0);
    return done == n;
}

/* Adds the frame of a thread. On a pipe it is a packet, which begins that share of the frame's time
 * after the first thread's. */
static gboolean
put_frame(CtSinkFile *file, gint64 thread, const guint8 *header, GError **error)
{
    Sink *sink = file->self;
    const Frames *frames = &sink->frames;
    GByteArray *pending = sink->pending;
    g_byte_array_append(pending, header, VDIF_HEADER_BYTES);
    g_byte_array_append(pending, sink->payloads + thread * frames->payload_bytes,
                        (guint)frames->payload_bytes);
    if (!file->is_pipe)
        return pending->len < PENDING_BYTES || flush(file, error);
    const gint64 sample = sink->sample + frames->n * thread / frames->n_threads;
    const gboolean good = ct_sink_packet(file, pending->data, pending->len, sample, error);
    g_byte_array_set_size(pending, 0);
    return good;
}

/* Adds the frames of all threads, and begins the next ones. */
static gboolean
put_frames(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    const Frames *frames = &sink->frames;
    const gint64 per_second = frames->rate / frames->n;
    guint8 bytes[VDIF_HEADER_BYTES];
    VdifHeader header = sink->header;
    header.seconds = vdif_seconds(header.ref_epoch, sink->second + sink->frame / per_second);
    header.frame = (guint32)(sink->frame % per_second);
    for (gint64 i = 0; i < frames->n_threads; i++) {
        header.thread = (guint)i;
        header.station = sink->stations[i];
        header.invalid = sink->invalid[i];
        vdif_header_write(&header, bytes);
        if (!put_frame(file, i, bytes, error))
            return FALSE;
        sink->invalid[i] = FALSE;
    }
    memset(sink->payloads, 0, (gsize)(frames->n_threads * frames->payload_bytes));
    sink->filled = 0;
    sink->sample += frames->n;
    sink->frame++;
    return TRUE;
}

/* ---- samples ---- */

static inline guint
code_of(const guint8 *at, CtType type, guint part, guint bits)
{
    if (type == CT_I8 || type == CT_CI8)
        return at[part] ^ 0x80;
    if (type == CT_I16 || type == CT_CI16)
        return ((const guint16 *)at)[part] ^ 0x8000;
    return vdif_code(bits, ((const gfloat *)at)[part]);
}

/* Whether a part of a sample is far beyond the last level: twice, which noise at the level that is
 * best for the bits exceeds in less than a hundredth of the samples. */
static inline gboolean
is_clipped(const guint8 *at, CtType type, const Frames *frames)
{
    const gfloat most = 2 * vdif_last_level(frames->bits), *parts = (const gfloat *)at;
    gboolean is_beyond = FALSE;
    if (type == CT_F32 || type == CT_CF32)
        for (guint p = 0; p < frames->n_parts; p++)
            is_beyond |= !(fabsf(parts[p]) <= most);
    return is_beyond;
}

/* Adds n samples of a thread to its payload, lowest bits first. Returns how many are clipped. */
static guint64
pack(const Sink *sink, const CtBlock *block, gint64 n, const guint8 *from, gint64 time,
     gint64 channel, guint8 *payload)
{
    const Frames *frames = &sink->frames;
    gint64 at = sink->filled * frames->n_channels * frames->n_parts * frames->bits;
    guint64 clipped = 0;
    for (gint64 t = 0; t < n; t++)
        for (gint64 c = 0; c < frames->n_channels; c++) {
            const guint8 *sample = from + t * time + c * channel;
            clipped += is_clipped(sample, block->type, frames);
            for (guint p = 0; p < frames->n_parts; p++, at += frames->bits) {
                const guint code = code_of(sample, block->type, p, frames->bits);
                payload[at / 8] |= (guint8)(code << at % 8);
                if (frames->bits == 16)
                    payload[at / 8 + 1] = (guint8)(code >> 8);
            }
        }
    return clipped;
}

/* A frame with an invalid sample is invalid. */
static void
note_invalid(Sink *sink, const CtBlock *block, gint64 begin, gint64 n)
{
    for (gint64 lane = 0; block->validity && lane < sink->n_lanes; lane++) {
        const guint8 *validity = block->validity + lane * block->validity_stride + begin;
        if (!memchr(validity, 0, (gsize)n))
            continue;
        const gint64 thread = sink->of_lane[lane];
        for (gint64 i = 0; i < sink->frames.n_threads; i++)
            sink->invalid[i] |= thread == i || thread == sink->frames.n_threads;
    }
}

static gboolean
write_samples(CtSinkFile *file, const CtBlock *block, GError **error)
{
    Sink *sink = file->self;
    const Frames *frames = &sink->frames;
    const CtLayout *layout = &file->input->layout;
    const gint64 time = voltages_stride(layout, block, "time");
    const gint64 thread = voltages_stride(layout, block, frames->threads);
    const gint64 channel = voltages_stride(layout, block, frames->channels);
    gint64 n;
    for (gint64 t = 0; t < block->n_samples; t += n) {
        n = MIN(frames->n - sink->filled, block->n_samples - t);
        for (gint64 i = 0; i < frames->n_threads; i++)
            file->counters[CLIPPED] +=
                pack(sink, block, n, block->data + t * time + i * thread, time, channel,
                     sink->payloads + i * frames->payload_bytes);
        note_invalid(sink, block, t, n);
        sink->filled += n;
        if (sink->filled == frames->n && !put_frames(file, error))
            return FALSE;
    }
    return TRUE;
}

/* The bytes of the frames of all threads at one time. */
static gint64
bytes_together(const Sink *sink)
{
    return sink->frames.n_threads * (gint64)sink->header.frame_bytes;
}

static gboolean
mark(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    if (!flush(file, error))
        return FALSE;
    file->n_samples = file->length = sink->written / bytes_together(sink) * sink->frames.n;
    return TRUE;
}

/* A frame that the end of the stream leaves in part is completed, and invalid. */
static gboolean
put_last(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    for (gint64 i = 0; i < sink->frames.n_threads && sink->filled > 0; i++)
        sink->invalid[i] = TRUE;
    return sink->filled == 0 || put_frames(file, error);
}

/* After a failure, cuts off what is not a frame of each thread. */
static gboolean
close_file(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    const gint64 whole = bytes_together(sink);
    const gint64 lost = sink->filled > 0 ? sink->frames.n - sink->filled : 0;
    if (!sink->has_failed && put_last(file, error) && flush(file, error)) {
        file->n_samples = file->length = sink->written / whole * sink->frames.n - lost;
        return TRUE;
    }
    file->n_samples = file->length = sink->written / whole * sink->frames.n;
    if (ftruncate(file->fd, sink->written / whole * whole) != 0)
        return ct_file_error(error, file->path, "can't be cut");
    return FALSE;
}

static void
clear(gpointer self)
{
    Sink *sink = self;
    if (sink->pending)
        g_byte_array_unref(sink->pending);
    g_free(sink->stations);
    g_free(sink->of_lane);
    g_free(sink->payloads);
    g_free(sink->invalid);
}

const CtSink vdif_sink_files = {
    .name = "VDIF files",
    .self_bytes = sizeof(Sink),
    .streams = TRUE,
    .check = check,
    .open = open_file,
    .write = write_samples,
    .mark = mark,
    .close = close_file,
    .clear = clear,
    .end = put_last,
    .sends = TRUE,
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_sink_infer(&vdif_sink_files, node, error);
}

const CtStage vdif_sink = {
    .name = "vdif.sink",
    .summary = "voltages to VDIF files, with PATH.json beside them",
    .version = 1,
    .inputs = CT_PORTS({"voltages", "{time ...}", 0,
                        "f32 and cf32 in units of the levels; i8, ci8, i16 and ci16 as codes"}),
    .params = params,
    .counters = counters,
    .infer = infer,
    .extensions = vdif_extensions,
    .stands_for = "file.sink",
};
