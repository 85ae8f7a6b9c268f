/* SPDX-License-Identifier: BSD-3-Clause */
/* file.source: a stream from an array in an .npy or raw file, time anywhere among its axes. */
#include "array.h"

#include <cornerturn/packets.h>

static const char *const endings[] = {".json", NULL};

static const CtParam params[] = {
    {.name = "path",
     .kind = CT_PARAM_PATH,
     .flags = CT_PARAM_REQUIRED,
     .endings = endings,
     .help = "the array"},
    {.name = "format",
     .kind = CT_PARAM_CHOICE,
     .choices = file_formats,
     .fallback = "auto",
     .help = "auto: by the ending of the name, .npy or .raw"},
    {.name = "layout",
     .kind = CT_PARAM_LAYOUT,
     .help = "types and axes of the array, slowest first; left out: as PATH.json says"},
    {.name = "shape",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_LIST | CT_PARAM_RANGED,
     .minimum = -1,
     .maximum = 1e15,
     .help = "length of each axis of a raw array; -1 for a slowest time: as long as the file"},
    {.name = "sample_rate",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_RANGED,
     .unit = "Hz",
     .minimum = 1e-9,
     .maximum = 1e15,
     .help = "samples per second along time"},
    {.name = "ticks_per_sample",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 1,
     .maximum = 1e12,
     .help = "ticks of the clock from a sample to the next; left out: as PATH.json says, or 1"},
    {.name = "start", .kind = CT_PARAM_INT, .help = "tick of the first sample; left out: 0"},
    {.name = "epoch",
     .kind = CT_PARAM_STRING,
     .help = "UTC of tick 0 to the second, 2022-06-29T01:30:00Z, or unix seconds; with a sample "
             "rate"},
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
     .help = "of each subband or, without subbands, channel"},
    {NULL},
};

typedef struct {
    FileArray array;
    gint64 n_samples;
    gint64 position;
    gint64 start, ticks_per_sample;
    guint8 *staging;
    gint64 staging_samples;
} Source;

static gboolean
infer(CtNode *node, GError **error)
{
    g_auto(FileArray) array = {.fd = -1};
    CtStream *stream = &node->outputs[0];
    if (!file_array_open(&array, node->params, stream, error))
        return FALSE;
    node->output_layouts[0] = array.layout;
    return TRUE;
}

enum { STAGING_BYTES = 1 << 20 };

static void
source_free(gpointer state)
{
    Source *source = state;
    if (!source)
        return;
    file_array_clear(&source->array);
    g_free(source->staging);
    g_free(source);
}

/* Checks that the array is the one that the graph was planned with. */
static gboolean
check_planned(const FileArray *array, const CtStream *stream, const CtBinding *planned,
              GError **error)
{
    const CtStream *wanted = planned->stream;
    g_autofree char *is = ct_stream_describe(stream);
    g_autofree char *was = ct_stream_describe(wanted);
    if (g_str_equal(is, was) && stream->type == wanted->type &&
        ct_layout_equal(&array->layout, &planned->layout) && stream->rate_num == wanted->rate_num &&
        stream->rate_den == wanted->rate_den &&
        stream->ticks_per_sample == wanted->ticks_per_sample && stream->start == wanted->start)
        return TRUE;
    g_set_error(
        error, CT_ERROR, CT_ERROR_DATA,
        "%s: wants the array that the graph was checked with (%s), but it has been replaced "
        "(%s)",
        array->path, was, is);
    return FALSE;
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Source *source = g_new0(Source, 1);
    source->array.fd = -1;
    *state = source;
    CtStream stream;
    ct_stream_init(&stream);
    const gboolean opened =
        file_array_open(&source->array, prepare->nodes[0].params, &stream, error) &&
        check_planned(&source->array, &stream, &prepare->outputs[0], error);
    const gint time = ct_stream_axis(&stream, "time");
    source->n_samples = time >= 0 ? stream.axes[time].length : 1;
    source->start = stream.start;
    source->ticks_per_sample = stream.ticks_per_sample;
    ct_stream_clear(&stream);
    if (!opened)
        return FALSE;
    const gint64 bytes = file_array_inner_bytes(&source->array);
    source->staging_samples = MAX(1, STAGING_BYTES / MAX(1, bytes));
    source->staging = g_try_malloc(source->staging_samples * MAX(1, bytes));
    if (!source->staging) {
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY,
                    "%s: no memory for %" G_GINT64_FORMAT " bytes to read it by",
                    source->array.path, source->staging_samples * bytes);
        return FALSE;
    }
    return TRUE;
}

static gboolean
advance(gpointer state, CtAdvance *advance, GError **error G_GNUC_UNUSED)
{
    Source *source = state;
    CtDeparture *out = &advance->outputs[0];
    out->produced = MIN(out->room, source->n_samples - source->position);
    out->start = source->start + source->position * source->ticks_per_sample;
    if (source->array.gaps)
        out->invalid = ct_gaps_apply(source->array.gaps, source->position, out->produced,
                                     out->validity, out->validity_stride);
    source->position += out->produced;
    advance->ended = source->position == source->n_samples;
    return TRUE;
}

/* A run of the file: samples begin … begin + n − 1 of one slab. Axis 0 is time, the others are
 * inside it; strides are those of the block. */
typedef struct {
    guint n_axes;
    gint64 length[CT_MAX_AXES + 1];
    gint64 to_stride[CT_MAX_AXES + 1];
    gint64 from_stride[CT_MAX_AXES + 1];
    gboolean packed; /* the run is contiguous in the block, in the file's order */
} Run;

/* Bytes between elements of a file's axis in a block. */
static gint64
stride_in_block(const FileArray *array, const CtBlock *block, guint a)
{
    return array->block_axis[a] < 0 ? (gint64)array->item_bytes
                                    : block->stride[array->block_axis[a]];
}

static void
describe_run(const FileArray *array, const CtBlock *block, Run *run)
{
    *run = (Run){.packed = !array->swap};
    gint64 bytes = array->item_bytes;
    const guint first = MAX(array->time_axis, 0);
    run->n_axes = array->n_axes - first;
    for (guint a = array->n_axes; a-- > first;) {
        run->length[a - first] = (gint)a == array->time_axis ? block->n_samples : array->length[a];
        run->to_stride[a - first] = stride_in_block(array, block, a);
        run->from_stride[a - first] = bytes;
        run->packed = run->packed && run->to_stride[a - first] == bytes;
        bytes *= array->length[a];
    }
}

static gboolean
read_slab(const Source *source, Run *run, gint64 offset, gint64 n_samples, guint8 *to,
          GError **error)
{
    const FileArray *array = &source->array;
    const gint64 bytes = file_array_inner_bytes(array);
    if (run->packed)
        return ct_file_read(array->path, array->fd, offset, to, n_samples * bytes, error);
    const gint64 step = array->time_axis >= 0 ? source->staging_samples : 1;
    for (gint64 t = 0; t < n_samples; t += step) {
        const gint64 n = MIN(step, n_samples - t);
        if (!ct_file_read(array->path, array->fd, offset + t * bytes, source->staging, n * bytes,
                          error))
            return FALSE;
        if (array->swap)
            ct_npy_swap(source->staging, n * bytes / array->value_bytes, array->value_bytes);
        if (array->time_axis >= 0)
            run->length[0] = n;
        file_copy(run->n_axes, run->length,
                  to + (array->time_axis >= 0 ? t * run->to_stride[0] : 0), run->to_stride,
                  source->staging, run->from_stride, array->item_bytes);
    }
    return TRUE;
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    const Source *source = state;
    const FileArray *array = &source->array;
    const CtBlock *block = &work->outputs[0];
    const gint64 bytes = file_array_inner_bytes(array);
    Run run;
    describe_run(array, block, &run);
    gint64 n_slabs = 1, index[CT_MAX_AXES + 1] = {0};
    for (gint a = 0; a < array->time_axis; a++)
        n_slabs *= array->length[a];
    for (gint64 slab = 0; slab < n_slabs; slab++) {
        guint8 *to = block->data;
        for (gint a = 0; a < array->time_axis; a++)
            to += index[a] * stride_in_block(array, block, a);
        const gint64 offset =
            array->data_offset + (slab * source->n_samples + block->index) * bytes;
        if (!read_slab(source, &run, offset, block->n_samples, to, error))
            return FALSE;
        for (gint a = array->time_axis; a-- > 0;) {
            if (++index[a] < array->length[a])
                break;
            index[a] = 0;
        }
    }
    return TRUE;
}

const CtStage file_source = {
    .name = "file.source",
    .summary = "a stream from an array in an .npy or raw file",
    .version = 1,
    .outputs = CT_PORTS({"samples", "{...}", 0, "the array, in the file's order"}),
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
};

static const char *const covers[] = {"file.source", NULL};
static const CtRow rows[] = {{"-> [...]", 0.13}, {NULL}};

const CtVariant file_source_cpu = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = covers,
    .rows = rows,
    .waits = TRUE,
    .prepare = prepare,
    .advance = advance,
    .work = work,
    .finish = source_free,
};
