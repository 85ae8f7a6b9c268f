/* SPDX-License-Identifier: BSD-3-Clause */
/* psrfits.sink: power over time and frequency to PSRFITS files in search mode. */
#include "psrfits-elements.h"
#include "psrfits.h"

#include <cornerturn/packets.h>
#include <string.h>
#include <unistd.h>

static const char *const orders[] = {"descending", "stream", NULL};

static const CtParam params[] = {
    CT_SINK_PARAMS("the PSRFITS file"),
    {.name = "bits",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 1,
     .maximum = 32,
     .help = "of a sample: 1, 2, 4, 8 (levels from 0 on), 16 (with a sign) or 32 (float); left "
             "out: 8 for u8 and i8, 16 for i16, else 32"},
    {.name = "scale",
     .kind = CT_PARAM_REAL,
     .fallback = "1",
     .help = "the step from a level to the next, DAT_SCL"},
    {.name = "offset",
     .kind = CT_PARAM_REAL,
     .fallback = "0",
     .help = "what level 0 stands for, DAT_OFFS: -128 for i8 makes unsigned levels"},
    {.name = "order",
     .kind = CT_PARAM_CHOICE,
     .choices = orders,
     .fallback = "descending",
     .help = "of the frequencies in the file: descending, or as in the stream"},
    {.name = "row_samples",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 1,
     .maximum = G_MAXINT32,
     .help = "samples of a row, NSBLK; left out: a power of two for rows of up to a MiB"},
    {.name = "receiver", .kind = CT_PARAM_STRING, .help = "its name, FRONTEND"},
    {.name = "instrument", .kind = CT_PARAM_STRING, .help = "its name, BACKEND"},
    {NULL},
};

enum { CLIPPED };
static const char *const counters[] = {[CLIPPED] = "clipped", NULL};

typedef struct {
    PsrfitsElements elements;
    CtChannels channels;
    PsrfitsShape shape;
    PsrfitsRow layout;
    PsrfitsHeader header;
    gint64 *offsets;         /* [channel of the file] bytes in a block, from its channel 0 on */
    guint8 *row;             /* the row that is being filled */
    guint8 *valid;           /* [channel] whether it has a valid sample in this row */
    gint64 filled;           /* samples in the row */
    gint64 n_rows;           /* whole ones that are in the file */
    gint64 n_samples;        /* valid ones in these rows: the last may be padded */
    gboolean loses_channels; /* the file's lanes have channels */
} Sink;

static gboolean
check(CtNode *node, GError **error)
{
    const CtStream *stream = &node->inputs[0];
    g_auto(CtChannels) channels = {0};
    PsrfitsElements elements;
    PsrfitsShape shape;
    if (!psrfits_elements_choose(node->params, stream, &elements, error) ||
        !ct_channels_init(&channels, stream, ct_params_choice(node->params, "order") == 0, error))
        return FALSE;
    psrfits_shape_choose(node->params, stream, &elements, &channels, &shape);
    if (!psrfits_shape_check(node->params, &shape, error))
        return FALSE;
    ct_channels_warn(&channels, node);
    if (stream->epoch == CT_NO_EPOCH)
        ct_params_warn(node->params, NULL,
                       "the stream does not know its UTC: STT_IMJD of the file is 0");
    if (channels.n > 1 && !channels.is_even)
        ct_params_warn(node->params, NULL,
                       "the frequencies have no even steps: DAT_FREQ has them, but CHAN_BW is "
                       "their mean step, which most programs read");
    ct_filterbank_wish(&node->input_layouts[0], stream, elements.type, elements.products);
    return TRUE;
}

/* ---- a file ---- */

/* Describes the array that the file holds, as psrfits.source does. */
static gboolean
describe(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    const PsrfitsElements *elements = &sink->elements;
    CtStream *stream = &file->stream;
    if (!ct_channels_describe(&sink->channels, file->input->stream, elements->products, stream,
                              &file->lanes, error))
        return FALSE;
    sink->loses_channels = ct_stream_lane_step(stream, "channel") > 0;
    stream->type = elements->bits == 32   ? CT_F32
                   : elements->bits == 16 ? CT_I16
                   : elements->is_signed  ? CT_I8
                                          : CT_U8;
    file->layout = (CtLayout){.types = 1u << stream->type};
    ct_filterbank_add_axis(&file->layout, stream, "time");
    ct_filterbank_add_axis(&file->layout, stream, elements->products);
    ct_filterbank_add_axis(&file->layout, stream, "channel");
    return TRUE;
}

/* Numbers are big-endian in FITS files. */
static void
put_double(guint8 *to, gdouble value)
{
    guint64 bits;
    memcpy(&bits, &value, sizeof bits);
    bits = GUINT64_TO_BE(bits);
    memcpy(to, &bits, sizeof bits);
}

static void
put_float(guint8 *to, gfloat value)
{
    guint32 bits;
    memcpy(&bits, &value, sizeof bits);
    bits = GUINT32_TO_BE(bits);
    memcpy(to, &bits, sizeof bits);
}

/* Sets what all rows have. */
static void
begin_row(Sink *sink)
{
    const PsrfitsRow *at = &sink->layout;
    const CtStream *stream = sink->shape.stream;
    const gint64 n = sink->channels.n;
    const gdouble *direction = ct_observation_facts(stream->observation)->direction;
    memset(sink->row, 0, (gsize)at->bytes);
    memset(sink->valid, 0, (gsize)n);
    sink->filled = 0;
    put_double(sink->row + at->duration,
               (gdouble)sink->shape.row_samples * ct_filterbank_period(stream));
    if (at->direction >= 0)
        for (gint64 i = 0; i < 2; i++)
            put_double(sink->row + at->direction + i * 8, direction[i] / G_PI * 180);
    for (gint64 i = 0; i < n; i++)
        put_double(sink->row + at->frequencies + i * 8, sink->channels.frequencies[i] / 1e6);
    for (gint64 i = 0; i < n * sink->elements.n_products; i++) {
        put_float(sink->row + at->offsets + i * 4, (gfloat)sink->elements.offset);
        put_float(sink->row + at->scales + i * 4, (gfloat)sink->elements.scale);
    }
}

static gboolean
open_file(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    CtChannels *channels = &sink->channels;
    const CtStream *input = file->input->stream;
    const gboolean is_descending = ct_params_choice(file->given, "order") == 0;
    if (!psrfits_elements_choose(file->given, input, &sink->elements, error) ||
        !ct_channels_init(channels, input, is_descending, error) ||
        !(sink->offsets = CT_TABLE(gint64, channels->n, "channels", error)) ||
        !(sink->valid = CT_TABLE(guint8, channels->n, "channels", error)))
        return FALSE;
    sink->elements.type = ct_layout_type(&file->input->layout);
    psrfits_shape_choose(file->given, input, &sink->elements, channels, &sink->shape);
    sink->shape.stream = &file->stream; /* which begins later */
    sink->layout = psrfits_row(&sink->shape);
    if (!(sink->row = CT_TABLE(guint8, sink->layout.bytes, "bytes of a row", error)) ||
        !psrfits_header_make(&sink->header, file->path, &sink->shape, error) ||
        !describe(file, error))
        return FALSE;
    gsize n;
    const guint8 *bytes = g_bytes_get_data(sink->header.bytes, &n);
    if (ct_file_write(file->path, file->fd, 0, bytes, (gint64)n, error) != (gint64)n)
        return FALSE;
    /* For the rotation by bytes: the last row may be padded, and the file is of whole records. */
    file->header_bytes = (gint64)n + sink->layout.bytes + PSRFITS_RECORD;
    file->sample_bytes =
        (sink->layout.bytes + sink->shape.row_samples - 1) / sink->shape.row_samples;
    begin_row(sink);
    return TRUE;
}

/* ---- rows ---- */

static gint64
end_of_rows(const Sink *sink)
{
    return (gint64)g_bytes_get_size(sink->header.bytes) + sink->n_rows * sink->layout.bytes;
}

/* Writes the row, and begins the next one. After a failure it is as before. */
static gboolean
write_row(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    const PsrfitsRow *at = &sink->layout;
    const gdouble row = (gdouble)sink->shape.row_samples * ct_filterbank_period(sink->shape.stream);
    put_double(sink->row + at->middle, ((gdouble)sink->n_rows + 0.5) * row);
    for (gint64 i = 0; i < sink->channels.n; i++)
        put_float(sink->row + at->weights + i * 4, sink->valid[i]);
    if (ct_file_write(file->path, file->fd, end_of_rows(sink), sink->row, at->bytes, error) !=
        at->bytes)
        return FALSE;
    sink->n_rows++;
    sink->n_samples += sink->filled;
    begin_row(sink);
    return TRUE;
}

/* ---- samples ---- */

/* Bytes of a block from one index of an axis to the next; 0: it does not have the axis. */
static gint64
stride_of(const CtSinkFile *file, const CtBlock *block, const char *axis)
{
    const gint a = axis ? ct_layout_axis(&file->input->layout, axis) : -1;
    return a < 0 ? 0 : block->stride[a];
}

static gdouble
get_value(CtType type, const guint8 *at)
{
    gfloat real;
    gint16 whole;
    switch (type) {
    case CT_U8:
        return *at;
    case CT_I8:
        return (gint8)*at;
    case CT_I16:
        memcpy(&whole, at, sizeof whole);
        return whole;
    default:
        memcpy(&real, at, sizeof real);
        return real;
    }
}

/* Puts a level as element `i` of the row's data: of fewer than 8 bits, the first one has the
 * highest bits of a byte. */
static void
put_level(const Sink *sink, gint64 i, gint level)
{
    const guint bits = sink->elements.bits;
    guint8 *data = sink->row + sink->layout.data;
    if (bits == 16) {
        data[i * 2] = (guint8)(level >> 8);
        data[i * 2 + 1] = (guint8)level;
        return;
    }
    const gint64 at = i * bits;
    data[at / 8] |= (guint8)((guint)(level & 0xff) << (8 - bits - at % 8));
}

/* Puts the channels of one product of a sample, from element `i` of the row's data on. */
static void
put_channels(const Sink *sink, const guint8 *from, gint64 i, guint64 *clipped)
{
    const PsrfitsElements *elements = &sink->elements;
    const gboolean is_plain = elements->scale == 1 && elements->offset == 0;
    for (gint64 c = 0; c < sink->channels.n; c++) {
        const guint8 *at = from + sink->offsets[c];
        if (elements->bits == 32 && is_plain && elements->type == CT_F32) {
            guint32 bits; /* the same one, a NaN too */
            memcpy(&bits, at, sizeof bits);
            bits = GUINT32_TO_BE(bits);
            memcpy(sink->row + sink->layout.data + (i + c) * 4, &bits, sizeof bits);
            continue;
        }
        const gdouble value = (get_value(elements->type, at) - elements->offset) / elements->scale;
        if (elements->bits == 32)
            put_float(sink->row + sink->layout.data + (i + c) * 4, (gfloat)value);
        else
            put_level(sink, i + c,
                      (gint)ct_filterbank_level(value, elements->least, elements->most, clipped));
    }
}

/* Notes which channels have valid samples among t … t + n − 1 of a block. */
static void
note_valid(const CtSinkFile *file, const CtBlock *block, gint64 t, gint64 n)
{
    const Sink *sink = file->self;
    if (!block->validity) {
        memset(sink->valid, 1, (gsize)sink->channels.n);
        return;
    }
    const gint64 n_lanes = ct_stream_n_lanes(&file->stream);
    const gint64 of_channel = sink->loses_channels ? n_lanes / sink->channels.n : n_lanes;
    for (gint64 lane = 0; lane < n_lanes; lane++) {
        const guint8 *valid = block->validity + file->lanes[lane] * block->validity_stride + t;
        if (!memchr(valid, 1, (gsize)n))
            continue;
        if (sink->loses_channels)
            sink->valid[lane / of_channel] = 1;
        else
            memset(sink->valid, 1, (gsize)sink->channels.n);
    }
}

/* Takes back what invalid samples of a block, which are 0, have added to the counter. */
static void
uncount_invalid(CtSinkFile *file, const CtBlock *block)
{
    const Sink *sink = file->self;
    const PsrfitsElements *elements = &sink->elements;
    guint64 of_zero = 0;
    ct_filterbank_level(-elements->offset / elements->scale, elements->least, elements->most,
                        &of_zero);
    if (of_zero && elements->bits < 32)
        file->counters[CLIPPED] -= (guint64)ct_sink_n_invalid(file, block);
}

static gboolean
write_samples(CtSinkFile *file, const CtBlock *block, GError **error)
{
    Sink *sink = file->self;
    const PsrfitsElements *elements = &sink->elements;
    const gint64 time = stride_of(file, block, "time");
    const gint64 products = stride_of(file, block, elements->products);
    ct_channels_offsets(&sink->channels, stride_of(file, block, "subband"),
                        stride_of(file, block, "channel"), sink->offsets);
    for (gint64 t = 0, n; t < block->n_samples; t += n) {
        n = MIN(block->n_samples - t, sink->shape.row_samples - sink->filled);
        for (gint64 k = 0; k < n; k++)
            for (gint64 p = 0; p < elements->n_products; p++)
                put_channels(sink, block->data + (t + k) * time + p * products,
                             ((sink->filled + k) * elements->n_products + p) * sink->channels.n,
                             &file->counters[CLIPPED]);
        note_valid(file, block, t, n);
        sink->filled += n;
        if (sink->filled == sink->shape.row_samples && !write_row(file, error))
            return FALSE;
    }
    uncount_invalid(file, block);
    return TRUE;
}

/* ---- what the header says ---- */

static gboolean
put_number(CtSinkFile *file, gint64 at, gint64 value, GError **error)
{
    enum { DIGITS = 20 };
    g_autofree char *text = g_strdup_printf("%*" G_GINT64_FORMAT, DIGITS, value);
    return ct_file_write(file->path, file->fd, at, text, DIGITS, error) == DIGITS;
}

/* Makes all rows readable. Samples of a row that is not full wait in memory. A file whose process
 * ends between the numbers has at least the rows that NAXIS2 tells of. */
static gboolean
mark(CtSinkFile *file, GError **error)
{
    static const guint8 zeros[PSRFITS_RECORD];
    Sink *sink = file->self;
    const gint64 end = end_of_rows(sink), rest = end % PSRFITS_RECORD;
    const gint64 padding = rest == 0 ? 0 : PSRFITS_RECORD - rest;
    file->n_samples = file->length = sink->n_samples;
    /* The padding last: a full disk may have no room for it. */
    return put_number(file, sink->header.n_samples, sink->n_samples, error) &&
           put_number(file, sink->header.n_rows, sink->n_rows, error) &&
           ct_file_write(file->path, file->fd, end, zeros, padding, error) == padding;
}

/* Pads the last row with zeros. What follows the last whole row, after a failure, is cut off. */
static gboolean
close_file(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    const gboolean good = sink->filled == 0 || write_row(file, error);
    if (!good && ftruncate(file->fd, end_of_rows(sink)) != 0)
        error = NULL; /* the first one counts; the bytes are behind the table */
    return mark(file, good ? error : NULL) && good;
}

static void
clear(gpointer self)
{
    Sink *sink = self;
    ct_channels_clear(&sink->channels);
    psrfits_header_clear(&sink->header);
    g_free(sink->offsets);
    g_free(sink->row);
    g_free(sink->valid);
}

const CtSink psrfits_sink_files = {
    .name = "PSRFITS files",
    .self_bytes = sizeof(Sink),
    .check = check,
    .open = open_file,
    .write = write_samples,
    .mark = mark,
    .close = close_file,
    .clear = clear,
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_sink_infer(&psrfits_sink_files, node, error);
}

const CtStage psrfits_sink = {
    .name = "psrfits.sink",
    .summary = "power over time and frequency to PSRFITS files, with PATH.json beside them",
    .version = 1,
    .inputs = CT_PORTS({"power", "{time ...}", 0, "real samples"}),
    .params = params,
    .counters = counters,
    .infer = infer,
    .extensions = psrfits_extensions,
    .stands_for = "file.sink",
};
