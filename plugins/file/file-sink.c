/* SPDX-License-Identifier: BSD-3-Clause */
/* file.sink: a stream as one array in an .npy or raw file, time anywhere. */
#include "file.h"
#include "slabs.h"

#include <cornerturn/kit/sink.h>
#include <cornerturn/packets.h>
#include <string.h>

static const CtParam params[] = {
    CT_SINK_PARAMS("the array"),
    {.name = "format",
     .kind = CT_PARAM_CHOICE,
     .choices = file_formats,
     .fallback = "auto",
     .help = "auto: by the ending of the name, .npy or .raw"},
    {.name = "layout",
     .kind = CT_PARAM_LAYOUT,
     .help = "types and axes of the array, slowest first; left out: the canonical order"},
    {NULL},
};

/* An array of one slab is appended; any other one is written by <slabs.h>. */
typedef struct {
    gboolean is_npy;
    gint time_axis; /* −1: none */
    gboolean has_slabs;
    Slabs slabs;
} Sink;

/* The number of slabs: the samples along time at one index of the axes slower than time. */
static gint64
count_slabs(const CtLayout *layout, const CtStream *stream)
{
    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES], n = 1;
    const gint time = ct_layout_axis(layout, "time");
    ct_layout_strides(layout, stream, 1, length, stride);
    for (gint a = 0; a < time; a++)
        n *= length[a];
    return n;
}

/* The length of a .npy file along time stands before its samples. */
static gboolean
check_pipe(const CtNode *node, const CtLayout *wish, guint format, GError **error)
{
    const CtStream *stream = &node->inputs[0];
    const gint time = ct_stream_axis(stream, "time");
    CtLayout layout, order = *wish;
    order.types = 0; /* the planner may convert */
    if (!ct_layout_resolve(&layout, &order, stream, stream->type, NULL, error))
        return FALSE;
    if (count_slabs(&layout, stream) != 1)
        return ct_params_error(node->params, "layout", error,
                               "wants time as the slowest axis for a pipe");
    return format == FILE_RAW || time < 0 || stream->axes[time].length >= 0 ||
           ct_params_error(node->params, "format", error,
                           "wants raw for a pipe if the length of the stream is not known");
}

static gboolean
check(CtNode *node, GError **error)
{
    const CtLayout *layout = ct_params_layout(node->params, "layout");
    CtLayout *wish = &node->input_layouts[0];
    const char *path = ct_params_string(node->params, "path");
    guint format;
    g_autoptr(GError) cause = NULL;
    if (!file_format(node->params, path, &format, error))
        return FALSE;
    if (!layout)
        ct_layout_canonical(wish, &node->inputs[0]);
    else
        *wish = *layout;
    for (guint a = 0; a < wish->n_axes; a++)
        if (wish->axes[a].count && strcmp(wish->axes[a].name, "time") == 0)
            return ct_params_error(node->params, "layout", error,
                                   "wants time as a whole axis, but is given a block of it");
    /* The planner may convert the input, so its type is not checked here. */
    CtStream stream = node->inputs[0];
    stream.type = CT_TYPE_NONE;
    if (!ct_layout_accepts(wish, &stream, &cause))
        return ct_params_error(node->params, "layout", error, "%s", cause->message);
    return !ct_sink_is_pipe(node->params) || check_pipe(node, wish, format, error);
}

/* ---- the header ---- */

/* The header of the array if it is `n_samples` long; empty for a raw file. */
static GBytes *
format_header(const CtSinkFile *file, gint64 n_samples)
{
    const Sink *sink = file->self;
    if (!sink->is_npy)
        return g_bytes_new(NULL, 0);
    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
    CtNpyHeader header = {.n_axes = file->layout.n_axes};
    const gboolean has_parts = file_npy_element(ct_layout_type(&file->layout), &header);
    ct_layout_strides(&file->layout, &file->stream, n_samples, length, stride);
    for (guint a = 0; a < header.n_axes; a++)
        header.shape[a] = length[a];
    if (has_parts)
        header.shape[header.n_axes++] = 2;
    return ct_npy_header_format(&header);
}

static gboolean
write_header(const CtSinkFile *file, GError **error)
{
    g_autoptr(GBytes) header = format_header(file, file->length);
    const gint64 n = (gint64)g_bytes_get_size(header);
    return ct_file_write(file->path, file->fd, 0, g_bytes_get_data(header, NULL), n, error) == n;
}

/* Updates the header with the number of samples written. */
static gboolean
mark(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    if (sink->has_slabs) {
        if (!slabs_flush(&sink->slabs, error))
            return FALSE;
        file->n_samples = sink->slabs.n_samples;
        file->length = sink->slabs.capacity;
    }
    return write_header(file, error);
}

/* Says that nothing is written, for the time in which slabs move. */
static gboolean
mark_nothing(CtSinkFile *file, GError **error)
{
    const Sink *sink = file->self;
    file->n_samples = 0;
    file->length = sink->slabs.capacity;
    return write_header(file, error) && ct_sink_describe(file, error);
}

static gboolean
open_slabs(CtSinkFile *file, gint64 header_bytes, GError **error)
{
    Sink *sink = file->self;
    Slabs *slabs = &sink->slabs;
    *slabs = (Slabs){
        .path = file->path, .fd = file->fd, .n_slabs = count_slabs(&file->layout, &file->stream)};
    slabs->header_bytes = file->header_bytes = header_bytes;
    slabs->sample_bytes = file->sample_bytes / MAX(1, slabs->n_slabs);
    sink->has_slabs = TRUE;
    return slabs_open(slabs, file->expected >= 0 ? file->expected : 16 * file->input->max_samples,
                      error);
}

static gboolean
open_file(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    guint format;
    if (!file_format(file->given, ct_params_string(file->given, "path"), &format, error))
        return FALSE;
    sink->is_npy = format == FILE_NPY;
    sink->time_axis = ct_layout_axis(&file->layout, "time");
    /* A pipe's header is right from the start. */
    g_autoptr(GBytes) header = format_header(file, file->is_pipe ? file->expected : 0);
    const gint64 n = (gint64)g_bytes_get_size(header);
    if (count_slabs(&file->layout, &file->stream) == 1)
        return ct_sink_append(file, g_bytes_get_data(header, NULL), n, error);
    return write_header(file, error) && open_slabs(file, n, error);
}

static void
clear(gpointer self)
{
    Sink *sink = self;
    slabs_clear(&sink->slabs);
}

/* ---- running ---- */

/* A range of one slab of a block; the first of its axes is time, if there is any. */
typedef struct {
    guint first;  /* its first axis in the layout */
    guint n_axes; /* from that axis on */
    gint64 length[CT_MAX_AXES];
    gint64 packed_stride[CT_MAX_AXES];
    gsize item_bytes;
    gboolean is_packed; /* contiguous in the block, in the file's order */
} Range;

static void
describe_range(const CtSinkFile *file, const CtBlock *block, Range *range)
{
    const Sink *sink = file->self;
    *range = (Range){
        .first = (guint)MAX(sink->time_axis, 0),
        .item_bytes = ct_type_info(ct_layout_type(&file->layout))->bytes,
        .is_packed = TRUE,
    };
    range->n_axes = block->n_axes - range->first;
    gint64 bytes = range->item_bytes;
    for (guint a = range->n_axes; a-- > 0;) {
        range->length[a] = block->length[range->first + a];
        range->packed_stride[a] = bytes;
        range->is_packed = range->is_packed && block->stride[range->first + a] == bytes;
        bytes *= range->length[a];
    }
}

/* The first sample of a slab in a block; `index` counts through the slabs. */
static const guint8 *
next_slab(const CtBlock *block, const Range *range, gint64 *index)
{
    const guint8 *from = block->data;
    for (guint a = 0; a < range->first; a++)
        from += index[a] * block->stride[a];
    for (guint a = range->first; a-- > 0;) {
        if (++index[a] < block->length[a])
            break;
        index[a] = 0;
    }
    return from;
}

/* Writes the samples of a block from `t` on directly from the block. */
static gboolean
write_samples(Slabs *slabs, const CtBlock *block, const Range *range, gint64 t, gint64 n,
              GError **error)
{
    gint64 index[CT_MAX_AXES] = {0};
    if (!slabs_flush(slabs, error) || !slabs_check(slabs, error))
        return FALSE;
    for (gint64 slab = 0; slab < slabs->n_slabs; slab++) {
        const guint8 *from = next_slab(block, range, index) + t * slabs->sample_bytes;
        if (!slabs_write(slabs, slab, from, n, error))
            return FALSE;
    }
    slabs->n_samples += n;
    return TRUE;
}

/* Copies samples of a block to the staging buffer, which has room for them. */
static gboolean
stage_samples(Slabs *slabs, const CtBlock *block, Range *range, gint64 t, gint64 n, GError **error)
{
    gint64 index[CT_MAX_AXES] = {0};
    const gint64 offset = t * block->stride[range->first];
    range->length[0] = n;
    for (gint64 slab = 0; slab < slabs->n_slabs; slab++)
        file_copy(range->n_axes, range->length, slabs_place(slabs, slab), range->packed_stride,
                  next_slab(block, range, index) + offset, block->stride + range->first,
                  range->item_bytes);
    slabs->n_staged += n;
    return slabs->n_staged < slabs->staging_samples || slabs_flush(slabs, error);
}

static gboolean
take_samples(Slabs *slabs, const CtBlock *block, Range *range, GError **error)
{
    gint64 n;
    for (gint64 t = 0; t < block->n_samples; t += n) {
        n = block->n_samples - t;
        if (range->is_packed && n >= slabs->staging_samples) {
            if (!write_samples(slabs, block, range, t, n, error))
                return FALSE;
        } else {
            n = MIN(n, slabs->staging_samples - slabs->n_staged);
            if (!stage_samples(slabs, block, range, t, n, error))
                return FALSE;
        }
    }
    return TRUE;
}

/* Makes room for `n` more samples. */
static gboolean
make_room(CtSinkFile *file, gint64 n, GError **error)
{
    Sink *sink = file->self;
    Slabs *slabs = &sink->slabs;
    const gint64 wanted = slabs->n_samples + slabs->n_staged + n;
    if (wanted <= slabs->capacity)
        return TRUE;
    return slabs_flush(slabs, error) && mark_nothing(file, error) &&
           slabs_reserve(slabs, MAX(wanted, 2 * slabs->capacity), error) && mark(file, error) &&
           ct_sink_describe(file, error);
}

/* Appends a block, in pieces of samples that the kit's buffer can hold. */
static gboolean
append_samples(CtSinkFile *file, const CtBlock *block, Range *range, GError **error)
{
    enum { PIECE_BYTES = 1 << 18 };
    const gboolean has_time = ct_layout_axis(&file->layout, "time") >= 0;
    const gint64 sample = file->sample_bytes, all = block->n_samples;
    if (range->is_packed)
        return ct_sink_append(file, block->data, all * sample, error);
    const gint64 piece = MAX(1, PIECE_BYTES / MAX(1, sample));
    for (gint64 t = 0; t < all; t += piece) {
        const gint64 n = MIN(piece, all - t);
        guint8 *to = ct_sink_room(file, n * sample, error);
        if (!to)
            return FALSE;
        if (has_time)
            range->length[0] = n;
        file_copy(range->n_axes, range->length, to, range->packed_stride,
                  block->data + t * block->stride[range->first], block->stride + range->first,
                  range->item_bytes);
    }
    return TRUE;
}

static gboolean
write_block(CtSinkFile *file, const CtBlock *block, GError **error)
{
    Sink *sink = file->self;
    Range range;
    describe_range(file, block, &range);
    if (!sink->has_slabs)
        return append_samples(file, block, &range, error);
    return make_room(file, block->n_samples, error) &&
           take_samples(&sink->slabs, block, &range, error);
}

/* Cuts slabs to their length, and updates the header. After a failure, it gives the number of
 * samples that are certainly written. */
static gboolean
close_file(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    Slabs *slabs = &sink->slabs;
    if (!sink->has_slabs)
        return write_header(file, error);
    gboolean good = slabs_flush(slabs, error);
    if (slabs->n_samples < slabs->capacity)
        good = mark_nothing(file, good ? error : NULL) && good;
    if (!slabs_close(slabs, good ? error : NULL)) {
        slabs->n_samples = 0;
        good = FALSE;
    }
    return mark(file, good ? error : NULL) && good;
}

const CtSink file_sink_arrays = {
    .name = "arrays",
    .self_bytes = sizeof(Sink),
    .streams = TRUE,
    .check = check,
    .open = open_file,
    .write = write_block,
    .mark = mark,
    .close = close_file,
    .clear = clear,
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_sink_infer(&file_sink_arrays, node, error);
}

const CtStage file_sink = {
    .name = "file.sink",
    .summary = "a stream as one array in an .npy or raw file, with PATH.json beside it",
    .version = 2,
    .inputs = CT_PORTS({"samples", "{...}", 0, "the stream to write; 'layout' gives the order"}),
    .params = params,
    .infer = infer,
};

const CtRow file_sink_rows[] = {{"any: [...] ->", 0.13}, {NULL}};
