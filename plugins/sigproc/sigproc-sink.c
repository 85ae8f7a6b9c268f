/* SPDX-License-Identifier: BSD-3-Clause */
/* sigproc.sink: power over time and frequency to SIGPROC files. */
#include "../utc.h"
#include "sigproc-channels.h"
#include "sigproc-header.h"
#include "sigproc-telescopes.h"
#include "sigproc.h"

#include <math.h>
#include <string.h>

static const char *const orders[] = {"descending", "stream", NULL};

static const CtParam params[] = {
    CT_SINK_PARAMS("the filterbank"),
    {.name = "bits",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 1,
     .maximum = 32,
     .help = "of a sample: 1, 2, 4, 8, 16 (levels from 0 on) or 32 (float); left out: 8 for u8 and "
             "i8, else 32"},
    {.name = "offset",
     .kind = CT_PARAM_REAL,
     .fallback = "0",
     .help = "added before samples become levels: 128 for i8 makes unsigned ones"},
    {.name = "order",
     .kind = CT_PARAM_CHOICE,
     .choices = orders,
     .fallback = "descending",
     .help = "of the frequencies in the file: descending, or as in the stream"},
    {.name = "telescope_id",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 0,
     .maximum = G_MAXINT32,
     .help = "SIGPROC's number; left out: that of the observation's telescope, or 0"},
    {.name = "machine_id",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 0,
     .maximum = G_MAXINT32,
     .fallback = "0",
     .help = "SIGPROC's number of the instrument"},
    {NULL},
};

enum { CLIPPED };
static const char *const counters[] = {[CLIPPED] = "clipped", NULL};

/* How samples become elements of the file. */
typedef struct {
    CtType type; /* of the blocks: f32, u8 or i8 */
    guint bits;
    gboolean is_signed; /* 8 bits */
    gboolean is_copied; /* the bytes of the blocks are those of the file */
    gfloat offset;
    const char *ifs; /* the axis that becomes the IFs; NULL: there is one */
    gint64 n_ifs;
} Elements;

typedef struct {
    Elements elements;
    SigprocChannels channels;
    gint64 *offsets; /* [channel of the file] bytes in a block, from its channel 0 on */
    gfloat *row;     /* [channel] of one IF, before they become levels */
} Sink;

/* ---- what a file can hold ---- */

static gboolean
shape_error(GError **error, const char *wanted, const CtAxis *axis, const char *remark)
{
    g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                "wants %s, but is given '%s' with %" G_GINT64_FORMAT "%s", wanted, axis->name,
                axis->length, remark);
    return FALSE;
}

static gboolean
choose_ifs(const CtStream *stream, Elements *elements, GError **error)
{
    static const char *const others[] = {"time", "subband", "channel", NULL};
    static const char *const of_ifs[] = {"pol", "stokes", "coherence", NULL};
    elements->n_ifs = 1;
    for (guint a = 0; a < stream->n_axes; a++) {
        const CtAxis *axis = &stream->axes[a];
        if (g_strv_contains(others, axis->name) || axis->length == 1)
            continue;
        if (strcmp(axis->name, "beam") == 0)
            return shape_error(error, "one beam", axis,
                               ": a SIGPROC file has one, so each needs a stream and a sink of its "
                               "own");
        if (!g_strv_contains(of_ifs, axis->name))
            return shape_error(error, "time, subband, channel and pol, stokes or coherence", axis,
                               "");
        if (elements->ifs)
            return shape_error(error, "one axis of pol, stokes and coherence", axis,
                               " beside another one");
        elements->ifs = axis->name;
        elements->n_ifs = axis->length;
    }
    return TRUE;
}

static gboolean
choose_type(const CtParams *given, const CtStream *stream, Elements *elements, GError **error)
{
    const gboolean is_byte = stream->type == CT_U8 || stream->type == CT_I8;
    const gboolean has_bits = ct_params_has(given, "bits");
    const gint64 bits = has_bits ? ct_params_int(given, "bits") : is_byte ? 8 : 32;
    if (bits > 32 || (bits & (bits - 1)) != 0)
        return ct_params_error(given, "bits", error,
                               "wants 1, 2, 4, 8, 16 or 32, but is given %" G_GINT64_FORMAT, bits);
    if (!ct_type_is_lossless(stream->type, CT_F32)) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants f32, or real samples that it can hold, but is given %s%s",
                    ct_type_info(stream->type)->name,
                    ct_type_info(stream->type)->is_complex ? " (power makes them real)" : "");
        return FALSE;
    }
    elements->bits = (guint)bits;
    elements->type = is_byte && bits <= 8 ? stream->type : CT_F32;
    if (bits == 32) {
        elements->is_copied = TRUE;
        return TRUE;
    }
    elements->offset = (gfloat)ct_params_real(given, "offset");
    elements->is_signed = elements->type == CT_I8 && bits == 8 && elements->offset == 0;
    elements->is_copied =
        elements->is_signed || (elements->type == CT_U8 && bits == 8 && elements->offset == 0);
    return TRUE;
}

static gboolean
choose_elements(const CtParams *given, const CtStream *stream, Elements *elements, GError **error)
{
    *elements = (Elements){0};
    return choose_ifs(stream, elements, error) && choose_type(given, stream, elements, error);
}

/* Whether all samples in time begin with a byte. */
static gboolean
check_bytes(const CtParams *given, const Elements *elements, const SigprocChannels *channels,
            GError **error)
{
    const gint64 n = elements->n_ifs * channels->n;
    return n * elements->bits % 8 == 0 ||
           ct_params_error(given, "bits", error,
                           "wants whole bytes at each point in time, but is given %" G_GINT64_FORMAT
                           " elements of %u bits",
                           n, elements->bits);
}

static void
add_wish(CtLayout *wish, const CtStream *stream, const char *name)
{
    if (name && ct_stream_axis(stream, name) >= 0 && ct_layout_axis(wish, name) < 0)
        wish->axes[wish->n_axes++].name = ct_axis_name(name);
}

static gboolean
check(CtNode *node, GError **error)
{
    const CtStream *stream = &node->inputs[0];
    g_auto(SigprocChannels) channels = {0};
    Elements elements;
    if (ct_stream_axis(stream, "time") < 0 || stream->rate_num == 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants a stream along time with a clock, but is given one without");
        return FALSE;
    }
    if (!choose_elements(node->params, stream, &elements, error) ||
        !sigproc_channels_init(&channels, stream, ct_params_choice(node->params, "order") == 0,
                               error) ||
        !check_bytes(node->params, &elements, &channels, error))
        return FALSE;
    if (stream->epoch == CT_NO_EPOCH)
        ct_params_warn(node->params, NULL,
                       "the stream does not know its UTC: tstart of the file is 0");
    if (channels.n > 1 && !channels.is_even)
        ct_params_warn(
            node->params, NULL,
            "the frequencies have no even steps: the file has a table of them, which few "
            "programs read");
    CtLayout *wish = &node->input_layouts[0];
    wish->types = 1u << elements.type;
    add_wish(wish, stream, "time");
    for (guint a = 0; a < stream->n_axes; a++)
        if (stream->axes[a].length == 1)
            add_wish(wish, stream, stream->axes[a].name);
    add_wish(wish, stream, elements.ifs);
    add_wish(wish, stream, "subband");
    add_wish(wish, stream, "channel");
    return TRUE;
}

/* ---- the header ---- */

/* The MJD of a tick, UTC. The number of seconds since the epoch is exact; the sum is rounded once,
 * to the nearest double: at most 0.32 µs from the time. */
static gdouble
find_mjd(const CtStream *stream, gint64 tick)
{
    gint64 unix_second, day, second, rest;
    utc_second(stream, tick, &unix_second, &rest);
    utc_day(unix_second, &day, &second);
    const gdouble part = ((gdouble)second + (gdouble)rest / (gdouble)stream->rate_num) / UTC_DAY;
    return (gdouble)day + part;
}

static void
set_observation(SigprocHeader *header, const CtParams *given, const CtStream *stream)
{
    const CtObservationFacts *facts = ct_observation_facts(stream->observation);
    gint64 id = 0;
    for (const SigprocTelescope *of = sigproc_telescopes; of->name; of++)
        if (facts->telescope && g_ascii_strcasecmp(of->name, facts->telescope) == 0)
            id = of->id;
    if (ct_params_has(given, "telescope_id"))
        id = ct_params_int(given, "telescope_id");
    sigproc_set(header, SIGPROC_TELESCOPE_ID, (gdouble)id);
    sigproc_set(header, SIGPROC_MACHINE_ID, (gdouble)ct_params_int(given, "machine_id"));
    if (facts->source)
        sigproc_set_text(header, SIGPROC_SOURCE_NAME, facts->source);
    if (facts->has_direction) {
        sigproc_set(header, SIGPROC_SRC_RAJ, sigproc_angle_write(facts->direction[0], TRUE));
        sigproc_set(header, SIGPROC_SRC_DEJ, sigproc_angle_write(facts->direction[1], FALSE));
    }
    sigproc_set(header, SIGPROC_BARYCENTRIC, 0);
    sigproc_set(header, SIGPROC_PULSARCENTRIC, 0);
}

static void
set_frequencies(SigprocHeader *header, const SigprocChannels *channels)
{
    const gdouble megahertz = 1e6;
    sigproc_set(header, SIGPROC_NCHANS, (gdouble)channels->n);
    if (channels->is_even) {
        sigproc_set(header, SIGPROC_FCH1, channels->frequencies[0] / megahertz);
        sigproc_set(header, SIGPROC_FOFF, channels->step / megahertz);
        return;
    }
    header->n_frequencies = (gsize)channels->n;
    header->frequencies = g_new(gdouble, header->n_frequencies);
    for (gint64 i = 0; i < channels->n; i++)
        header->frequencies[i] = channels->frequencies[i] / megahertz;
}

/* The header of a file of `stream`, whose start is that of the file. */
static gboolean
append_header(CtSinkFile *file, const CtStream *stream, GError **error)
{
    const Sink *sink = file->self;
    const Elements *elements = &sink->elements;
    const gint dm = ct_stream_axis(stream, "dm");
    const gboolean is_series =
        ct_stream_axis(stream, "subband") < 0 && ct_stream_axis(stream, "channel") < 0;
    g_auto(SigprocHeader) header = {0};
    set_observation(&header, file->given, stream);
    sigproc_set(&header, SIGPROC_DATA_TYPE, is_series ? 2 : 1);
    sigproc_set(&header, SIGPROC_TSTART,
                stream->epoch == CT_NO_EPOCH ? 0 : find_mjd(stream, stream->start));
    sigproc_set(&header, SIGPROC_TSAMP,
                (gdouble)stream->ticks_per_sample * (gdouble)stream->rate_den /
                    (gdouble)stream->rate_num);
    sigproc_set(&header, SIGPROC_NBITS, elements->bits);
    if (elements->is_signed)
        sigproc_set(&header, SIGPROC_SIGNED, 1);
    sigproc_set(&header, SIGPROC_NIFS, (gdouble)elements->n_ifs);
    sigproc_set(&header, SIGPROC_NBEAMS, 1);
    sigproc_set(&header, SIGPROC_IBEAM, 1);
    if (dm >= 0)
        sigproc_set(&header, SIGPROC_REFDM, ct_stream_coordinate(stream, (guint)dm, 0, 0));
    set_frequencies(&header, &sink->channels);
    g_autoptr(GBytes) bytes = sigproc_header_format(&header);
    gsize n;
    const guint8 *data = g_bytes_get_data(bytes, &n);
    return ct_sink_append(file, data, (gint64)n, error);
}

/* Describes the array that the file holds, as sigproc.source does. */
static gboolean
describe(CtSinkFile *file, GError **error)
{
    const Sink *sink = file->self;
    const Elements *elements = &sink->elements;
    CtStream *stream = &file->stream;
    if (!sigproc_channels_describe(&sink->channels, file->input->stream, elements->ifs, stream,
                                   &file->lanes, error))
        return FALSE;
    stream->type = elements->is_signed ? CT_I8 : elements->bits <= 8 ? CT_U8 : CT_F32;
    file->layout = (CtLayout){.types = 1u << stream->type};
    add_wish(&file->layout, stream, "time");
    add_wish(&file->layout, stream, elements->ifs);
    add_wish(&file->layout, stream, "channel");
    file->sample_bytes = elements->n_ifs * sink->channels.n * elements->bits / 8;
    return TRUE;
}

static gboolean
open_file(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    SigprocChannels *channels = &sink->channels;
    const gboolean is_descending = ct_params_choice(file->given, "order") == 0;
    if (!choose_elements(file->given, file->input->stream, &sink->elements, error) ||
        !sigproc_channels_init(channels, file->input->stream, is_descending, error) ||
        !(sink->offsets = CT_TABLE(gint64, channels->n, "channels", error)) ||
        !(sink->row = CT_TABLE(gfloat, channels->n, "channels", error)))
        return FALSE;
    sink->elements.type = ct_layout_type(&file->input->layout);
    return append_header(file, &file->stream, error) && describe(file, error);
}

/* ---- samples ---- */

/* Bytes of a block from one index of an axis to the next; 0: it does not have the axis. */
static gint64
stride_of(const CtSinkFile *file, const CtBlock *block, const char *axis)
{
    const gint a = axis ? ct_layout_axis(&file->input->layout, axis) : -1;
    return a < 0 ? 0 : block->stride[a];
}

static void
copy_row(const Sink *sink, const guint8 *from, guint8 *to)
{
    const gint64 n = sink->channels.n, *offsets = sink->offsets;
    if (sink->elements.type != CT_F32)
        for (gint64 i = 0; i < n; i++)
            to[i] = from[offsets[i]];
    else
        for (gint64 i = 0; i < n; i++) {
            guint32 bits;
            memcpy(&bits, from + offsets[i], sizeof bits);
            bits = GUINT32_TO_LE(bits);
            memcpy(to + i * (gint64)sizeof bits, &bits, sizeof bits);
        }
}

/* Adds the offset, rounds half to even and clips to 0 … 2^bits − 1, in place. Returns the number of
 * samples that were clipped; NaN becomes 0 and counts. */
static guint64
make_levels(const Sink *sink, const guint8 *from)
{
    const gfloat most = (gfloat)((1u << sink->elements.bits) - 1), offset = sink->elements.offset;
    const CtType type = sink->elements.type;
    guint64 clipped = 0;
    for (gint64 i = 0; i < sink->channels.n; i++) {
        const guint8 *at = from + sink->offsets[i];
        gfloat value;
        if (type == CT_F32)
            memcpy(&value, at, sizeof value);
        else
            value = type == CT_I8 ? (gfloat)(gint8)*at : (gfloat)*at;
        value = rintf(value + offset);
        const gfloat level = value > 0 ? MIN(value, most) : 0;
        clipped += !(level == value);
        sink->row[i] = level;
    }
    return clipped;
}

/* Packs a row of levels from bit `first` of `to` on, the first level in the lowest bits of a byte;
 * bytes are zero beforehand. */
static void
pack_row(const Sink *sink, guint8 *to, gint64 first)
{
    const guint bits = sink->elements.bits;
    for (gint64 i = 0; i < sink->channels.n; i++) {
        const guint level = (guint)sink->row[i];
        const gint64 at = first + i * bits;
        to[at / 8] |= (guint8)(level << at % 8);
        if (bits == 16)
            to[at / 8 + 1] = (guint8)(level >> 8);
    }
}

static gboolean
write_samples(CtSinkFile *file, const CtBlock *block, GError **error)
{
    enum { PIECE_BYTES = 1 << 18 };
    const Sink *sink = file->self;
    const SigprocChannels *channels = &sink->channels;
    const Elements *elements = &sink->elements;
    const gint64 time = stride_of(file, block, "time");
    const gint64 ifs = stride_of(file, block, elements->ifs);
    const gint64 row_bits = channels->n * elements->bits;
    const gint64 piece = MAX(1, PIECE_BYTES / file->sample_bytes);
    sigproc_channels_offsets(channels, stride_of(file, block, "subband"),
                             stride_of(file, block, "channel"), sink->offsets);
    for (gint64 begin = 0; begin < block->n_samples; begin += piece) {
        const gint64 end = MIN(begin + piece, block->n_samples);
        const gint64 n = (end - begin) * file->sample_bytes;
        guint8 *to = ct_sink_room(file, n, error);
        if (!to)
            return FALSE;
        if (!elements->is_copied)
            memset(to, 0, (gsize)n);
        for (gint64 t = begin; t < end; t++, to += file->sample_bytes)
            for (gint64 p = 0; p < elements->n_ifs; p++) {
                const guint8 *from = block->data + t * time + p * ifs;
                if (elements->is_copied) {
                    copy_row(sink, from, to + p * row_bits / 8);
                    continue;
                }
                file->counters[CLIPPED] += make_levels(sink, from);
                pack_row(sink, to, p * row_bits);
            }
    }
    return TRUE;
}

static void
clear(gpointer self)
{
    Sink *sink = self;
    sigproc_channels_clear(&sink->channels);
    g_free(sink->offsets);
    g_free(sink->row);
}

const CtSink sigproc_sink_files = {
    .name = "SIGPROC files",
    .self_bytes = sizeof(Sink),
    .streams = TRUE,
    .check = check,
    .open = open_file,
    .write = write_samples,
    .clear = clear,
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_sink_infer(&sigproc_sink_files, node, error);
}

const CtStage sigproc_sink = {
    .name = "sigproc.sink",
    .summary = "power over time and frequency to SIGPROC files, with PATH.json beside them",
    .version = 1,
    .inputs = CT_PORTS({"power", "{time ...}", 0, "real samples"}),
    .params = params,
    .counters = counters,
    .infer = infer,
    .extensions = sigproc_extensions,
    .stands_for = "file.sink",
};
