/* SPDX-License-Identifier: BSD-3-Clause */
/* file.sink: a stream as one array in an .npy or raw file, time anywhere, and PATH.json beside it.
 */
#include "file.h"
#include "sidecar.h"
#include "sink-files.h"
#include "slabs.h"

#include <string.h>

/* Endings of the names of files beside PATH, final and partial. */
static const char *const endings[] = {".json", ".partial", ".json.partial", NULL};

enum { DIGEST_NONE, DIGEST_SHA256 };
static const char *const digests[] = {"none", "sha256", NULL};

static const CtParam params[] = {
    {.name = "path",
     .kind = CT_PARAM_PATH,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_WRITTEN,
     .endings = endings,
     .help = "the array; PATH.partial until the stream has ended"},
    {.name = "format",
     .kind = CT_PARAM_CHOICE,
     .choices = file_formats,
     .fallback = "auto",
     .help = "auto: by the ending of the name, .npy or .raw"},
    {.name = "layout",
     .kind = CT_PARAM_LAYOUT,
     .help = "types and axes of the array, slowest first; left out: the canonical order"},
    {.name = "digest",
     .kind = CT_PARAM_CHOICE,
     .choices = digests,
     .fallback = "none",
     .help =
         "sha256: PATH.json has this digest of the array's file, which is read once more for it"},
    {NULL},
};

/* Interval, in microseconds, at which the header and PATH.json.partial are updated; while samples
 * come, none waits longer in memory. */
enum { MARK_EVERY = 500000 };

typedef struct {
    SinkFiles files;
    gboolean is_npy;
    gboolean wants_digest;
    gboolean is_closed; /* the array is final */
    char *generation;
    CtStream stream;
    CtLayout layout;
    gint time_axis; /* −1: none */
    Slabs slabs;
    gint64 marked; /* time of the last update of the files */
    CtGaps *gaps;  /* invalid samples */
} Sink;

static gboolean
infer(CtNode *node, GError **error)
{
    const CtLayout *layout = ct_params_layout(node->params, "layout");
    CtLayout *wish = &node->input_layouts[0];
    const char *path = ct_params_string(node->params, "path");
    guint format;
    /* Another sink may be writing this file, and would rename it. */
    if (g_str_has_suffix(path, ".partial"))
        return ct_params_error(node->params, "path", error,
                               "wants a name without the ending .partial, but is given '%s'", path);
    g_autoptr(GError) cause = NULL;
    if (!sink_files_check(path, &cause))
        return ct_params_error(node->params, "path", error, "%s", cause->message);
    if (!file_format(node->params, path, &format, error))
        return FALSE;
    if (!layout) {
        ct_layout_canonical(wish, &node->inputs[0]);
        return TRUE;
    }
    for (guint a = 0; a < layout->n_axes; a++)
        if (layout->axes[a].count && strcmp(layout->axes[a].name, "time") == 0)
            return ct_params_error(node->params, "layout", error,
                                   "wants time as a whole axis, but is given a block of it");
    /* The planner may convert the input, so its type is not checked here. */
    CtStream stream = node->inputs[0];
    stream.type = CT_TYPE_NONE;
    if (!ct_layout_accepts(layout, &stream, &cause))
        return ct_params_error(node->params, "layout", error, "%s", cause->message);
    *wish = *layout;
    return TRUE;
}

/* The length of the array in the file along time, including samples not written yet. */
static gint64
time_length(const Sink *sink)
{
    return sink->slabs.n_slabs == 1 ? sink->slabs.n_samples : sink->slabs.capacity;
}

/* The header of the array in its current state; empty for a raw file. */
static GBytes *
format_header(const Sink *sink)
{
    if (!sink->is_npy)
        return g_bytes_new(NULL, 0);
    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
    CtNpyHeader header = {.n_axes = sink->layout.n_axes};
    const gboolean has_parts = file_npy_element(ct_layout_type(&sink->layout), &header);
    ct_layout_strides(&sink->layout, &sink->stream, time_length(sink), length, stride);
    for (guint a = 0; a < header.n_axes; a++)
        header.shape[a] = length[a];
    if (has_parts)
        header.shape[header.n_axes++] = 2;
    return ct_npy_header_format(&header);
}

static gboolean
write_header(const Sink *sink, GError **error)
{
    g_autoptr(GBytes) header = format_header(sink);
    const gint64 n = (gint64)g_bytes_get_size(header);
    return file_write(sink->files.partial, sink->files.fd, 0, g_bytes_get_data(header, NULL), n,
                      error) == n;
}

/* PATH.json of the array in its current state; `array` has the properties that are known only at
 * the end. */
static char *
format_sidecar(Sink *sink, SidecarArray array)
{
    const gint time = ct_stream_axis(&sink->stream, "time");
    if (time >= 0)
        sink->stream.axes[time].length = time_length(sink);
    array.bytes = sink->slabs.file_bytes;
    array.generation = sink->generation;
    array.n_samples = sink->slabs.n_samples;
    array.gaps = sink->gaps;
    return sidecar_format(&sink->stream, &sink->layout, &array);
}

/* Updates the header and PATH.json.partial with the number of samples written. */
static gboolean
mark(Sink *sink, GError **error)
{
    sink->marked = g_get_monotonic_time();
    g_autofree char *text = format_sidecar(sink, (SidecarArray){.is_partial = TRUE});
    return write_header(sink, error) && sink_files_describe(&sink->files, text, error);
}

/* Updates them with no samples, for the time in which slabs move. */
static gboolean
mark_nothing(Sink *sink, GError **error)
{
    const gint64 n_samples = sink->slabs.n_samples;
    sink->slabs.n_samples = 0;
    const gboolean good = mark(sink, error);
    sink->slabs.n_samples = n_samples;
    return good;
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtBinding *input = &prepare->inputs[0];
    const CtParams *given = prepare->nodes[0].params;
    Sink *sink = g_new0(Sink, 1);
    *state = sink;
    guint format;
    ct_stream_copy(&sink->stream, input->stream);
    if (!sink_files_open(&sink->files, ct_params_string(given, "path"), error) ||
        !file_format(given, sink->files.path, &format, error))
        return FALSE;
    sink->is_npy = format == FILE_NPY;
    sink->wants_digest = ct_params_choice(given, "digest") == DIGEST_SHA256;
    sink->generation = g_uuid_string_random();
    sink->layout = input->layout;
    sink->time_axis = ct_layout_axis(&sink->layout, "time");
    sink->gaps = ct_gaps_new(ct_stream_n_lanes(&sink->stream), error);
    if (!sink->gaps)
        return FALSE;

    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
    ct_layout_strides(&sink->layout, &sink->stream, 1, length, stride);
    Slabs *slabs = &sink->slabs;
    slabs->path = sink->files.partial;
    slabs->fd = sink->files.fd;
    slabs->n_slabs = slabs->sample_bytes = 1;
    for (gint a = 0; a < (gint)sink->layout.n_axes; a++)
        *(a < sink->time_axis ? &slabs->n_slabs : &slabs->sample_bytes) *= length[a];
    slabs->sample_bytes *= ct_type_info(ct_layout_type(&sink->layout))->bytes;
    g_autoptr(GBytes) header = format_header(sink);
    slabs->header_bytes = g_bytes_get_size(header);
    const gint time = ct_stream_axis(&sink->stream, "time");
    const gint64 expected = time < 0 ? 1 : sink->stream.axes[time].length;
    return write_header(sink, error) &&
           slabs_open(slabs, expected >= 0 ? expected : 16 * input->max_samples, error) &&
           mark(sink, error);
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
describe_range(const Sink *sink, const CtBlock *block, Range *range)
{
    *range = (Range){
        .first = MAX(sink->time_axis, 0),
        .item_bytes = ct_type_info(ct_layout_type(&sink->layout))->bytes,
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
write_samples(Sink *sink, const CtBlock *block, const Range *range, gint64 t, gint64 n,
              GError **error)
{
    gint64 index[CT_MAX_AXES] = {0};
    if (!slabs_flush(&sink->slabs, error) || !slabs_check(&sink->slabs, error))
        return FALSE;
    for (gint64 slab = 0; slab < sink->slabs.n_slabs; slab++) {
        const guint8 *from = next_slab(block, range, index) + t * sink->slabs.sample_bytes;
        if (!slabs_write(&sink->slabs, slab, from, n, error))
            return FALSE;
    }
    sink->slabs.n_samples += n;
    return TRUE;
}

/* Copies samples of a block to the staging buffer, which has room for them. */
static gboolean
stage_samples(Sink *sink, const CtBlock *block, Range *range, gint64 t, gint64 n, GError **error)
{
    gint64 index[CT_MAX_AXES] = {0};
    const gint64 offset = sink->time_axis >= 0 ? t * block->stride[range->first] : 0;
    if (sink->time_axis >= 0)
        range->length[0] = n;
    for (gint64 slab = 0; slab < sink->slabs.n_slabs; slab++)
        file_copy(range->n_axes, range->length, slabs_place(&sink->slabs, slab),
                  range->packed_stride, next_slab(block, range, index) + offset,
                  block->stride + range->first, range->item_bytes);
    sink->slabs.n_staged += n;
    return sink->slabs.n_staged < sink->slabs.staging_samples || slabs_flush(&sink->slabs, error);
}

static gboolean
take_samples(Sink *sink, const CtBlock *block, GError **error)
{
    Range range;
    describe_range(sink, block, &range);
    gint64 n;
    for (gint64 t = 0; t < block->n_samples; t += n) {
        n = block->n_samples - t;
        if (range.is_packed && n >= sink->slabs.staging_samples) {
            if (!write_samples(sink, block, &range, t, n, error))
                return FALSE;
        } else {
            n = MIN(n, sink->slabs.staging_samples - sink->slabs.n_staged);
            if (!stage_samples(sink, block, &range, t, n, error))
                return FALSE;
        }
    }
    return TRUE;
}

/* Makes room for `n` more samples. */
static gboolean
make_room(Sink *sink, gint64 n, GError **error)
{
    Slabs *slabs = &sink->slabs;
    const gint64 wanted = slabs->n_samples + slabs->n_staged + n;
    if (slabs->n_slabs == 1 || wanted <= slabs->capacity)
        return TRUE;
    return slabs_flush(slabs, error) && mark_nothing(sink, error) &&
           slabs_reserve(slabs, MAX(wanted, 2 * slabs->capacity), error) && mark(sink, error);
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    Sink *sink = state;
    const CtBlock *block = &work->inputs[0];
    /* A stream without time is one array; the last block counts. */
    if (sink->time_axis < 0) {
        sink->slabs.n_samples = sink->slabs.n_staged = 0;
        ct_gaps_clear(sink->gaps);
    }
    CtBlock placed = *block;
    placed.index = sink->slabs.n_samples + sink->slabs.n_staged;
    ct_gaps_add_block(sink->gaps, &placed);
    if (!make_room(sink, block->n_samples, error) || !take_samples(sink, block, error))
        return FALSE;
    if (g_get_monotonic_time() - sink->marked < MARK_EVERY)
        return TRUE;
    return slabs_flush(&sink->slabs, error) && mark(sink, error);
}

/* ---- the end ---- */

/* Writes staged samples, cuts the file to its length, and updates header and text. After a failure,
 * these give the number of samples that are certainly written. */
static gboolean
close_array(Sink *sink, GError **error)
{
    Slabs *slabs = &sink->slabs;
    sink->is_closed = TRUE;
    gboolean good = slabs_flush(slabs, error);
    if (slabs->n_slabs > 1 && slabs->n_samples < slabs->capacity)
        good = mark_nothing(sink, good ? error : NULL) && good;
    if (!slabs_close(slabs, good ? error : NULL)) {
        slabs->n_samples = 0;
        good = FALSE;
    }
    return mark(sink, good ? error : NULL) && good;
}

static gboolean
close_sink(gpointer state, gboolean interrupted, GError **error)
{
    Sink *sink = state;
    if (!close_array(sink, error))
        return FALSE;
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    if (sink->wants_digest && !sink_files_digest(&sink->files, checksum, error))
        return FALSE;
    const SidecarArray array = {
        .interrupted = interrupted,
        .sha256 = sink->wants_digest ? g_checksum_get_string(checksum) : NULL,
    };
    g_autofree char *text = format_sidecar(sink, array);
    return sink_files_seal(&sink->files, text, error);
}

static gboolean
complete(gpointer state, G_GNUC_UNUSED gboolean interrupted, GError **error)
{
    const Sink *sink = state;
    return sink_files_commit(&sink->files, error);
}

/* After a failure, the samples written remain as a valid array under its partial name. */
static void
sink_free(gpointer state)
{
    Sink *sink = state;
    if (!sink)
        return;
    if (sink->slabs.staging && !sink->is_closed)
        close_array(sink, NULL);
    slabs_clear(&sink->slabs);
    sink_files_close(&sink->files);
    ct_stream_clear(&sink->stream);
    g_free(sink->generation);
    ct_gaps_free(sink->gaps);
    g_free(sink);
}

const CtStage file_sink = {
    .name = "file.sink",
    .summary = "a stream as one array in an .npy or raw file, with PATH.json beside it",
    .version = 2,
    .inputs = CT_PORTS({"samples", "{...}", 0, "the stream to write; 'layout' gives the order"}),
    .params = params,
    .infer = infer,
};

static const char *const covers[] = {"file.sink", NULL};
static const CtRow rows[] = {{"any: [...] ->", 0.13}, {NULL}};

const CtVariant file_sink_cpu = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = covers,
    .rows = rows,
    .waits = TRUE,
    .prepare = prepare,
    .work = work,
    .close = close_sink,
    .complete = complete,
    .finish = sink_free,
};
