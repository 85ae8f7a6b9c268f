/* SPDX-License-Identifier: BSD-3-Clause */
/* file.sink: a stream as one array in an .npy or raw file, time anywhere, and PATH.json beside it.
 */
#include "file.h"
#include "sidecar.h"
#include "slabs.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define PARTIAL ".partial"

static const CtParam params[] = {
    {.name = "path",
     .kind = CT_PARAM_PATH,
     .flags = CT_PARAM_REQUIRED,
     .help = "the array; PATH.partial until the stream has ended"},
    {.name = "format",
     .kind = CT_PARAM_CHOICE,
     .choices = file_formats,
     .fallback = "auto",
     .help = "auto: npy where the name ends so, else raw"},
    {.name = "layout",
     .kind = CT_PARAM_LAYOUT,
     .help = "types and axes of the array, slowest first; left out: the canonical order"},
    {NULL},
};

typedef struct {
    char *path, *partial, *json, *json_partial;
    gboolean is_npy;
    gboolean is_complete;
    CtStream stream;
    CtLayout layout;
    gint time_axis; /* −1: none */
    Slabs slabs;
    guint8 *staging; /* for blocks that are not packed */
    gint64 staging_samples;
    gint64 n_lanes;
    gint64 *invalid; /* [lane] */
} Sink;

static gboolean
infer(CtNode *node, GError **error)
{
    const CtLayout *layout = ct_params_layout(node->params, "layout");
    CtLayout *wish = &node->input_layouts[0];
    const char *path = ct_params_string(node->params, "path");
    /* Another sink of the graph may write there, and would rename what it finds. */
    if (g_str_has_suffix(path, PARTIAL))
        return ct_params_error(node->params, "path", error,
                               "wants a name for what is whole, but is given '%s'", path);
    if (!layout) {
        ct_layout_canonical(wish, &node->inputs[0]);
        return TRUE;
    }
    for (guint a = 0; a < layout->n_axes; a++)
        if (layout->axes[a].count && strcmp(layout->axes[a].name, "time") == 0)
            return ct_params_error(node->params, "layout", error,
                                   "wants time whole, but is given a block of it");
    *wish = *layout;
    return TRUE;
}

/* The header for what is written so far; empty for a raw file. */
static GBytes *
format_header(const Sink *sink)
{
    if (!sink->is_npy)
        return g_bytes_new(NULL, 0);
    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
    CtNpyHeader header = {.n_axes = sink->layout.n_axes};
    const gboolean has_parts = file_npy_element(ct_layout_type(&sink->layout), &header);
    ct_layout_strides(&sink->layout, &sink->stream, sink->slabs.n_samples, length, stride);
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
    gsize n;
    const guint8 *bytes = g_bytes_get_data(header, &n);
    for (gsize done = 0; done < n;) {
        const gssize given = pwrite(sink->slabs.fd, bytes + done, n - done, done);
        if (given < 0 && errno == EINTR)
            continue;
        if (given < 0)
            return file_error(error, sink->partial, "can't be written");
        done += given;
    }
    return TRUE;
}

/* Creates PATH.partial, which no other run may be writing. */
static gboolean
open_partial(Sink *sink, GError **error)
{
    sink->slabs.fd = g_open(sink->partial, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (sink->slabs.fd < 0)
        return file_error(error, sink->partial, "can't be created");
    if (flock(sink->slabs.fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: is being written by another sink",
                    sink->partial);
        close(sink->slabs.fd);
        sink->slabs.fd = -1;
        return FALSE;
    }
    if (ftruncate(sink->slabs.fd, 0) != 0)
        return file_error(error, sink->partial, "can't be written");
    return TRUE;
}

/* The end of the stream renames onto the path: a device there would be replaced, not written. */
static gboolean
check_place(const char *path, GError **error)
{
    if (!g_file_test(path, G_FILE_TEST_EXISTS) || g_file_test(path, G_FILE_TEST_IS_REGULAR))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_IO,
                "%s: wants a regular file in its place, but is given a folder or device", path);
    return FALSE;
}

enum { STAGING_BYTES = 1 << 20 };

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtBinding *input = &prepare->inputs[0];
    const CtParams *given = prepare->nodes[0].params;
    Sink *sink = g_new0(Sink, 1);
    *state = sink;
    sink->slabs.fd = -1;
    sink->path = g_strdup(ct_params_string(given, "path"));
    sink->partial = g_strconcat(sink->path, PARTIAL, NULL);
    sink->json = g_strconcat(sink->path, ".json", NULL);
    sink->json_partial = g_strconcat(sink->json, PARTIAL, NULL);
    sink->is_npy = file_format(given, sink->path) == FILE_NPY;
    ct_stream_copy(&sink->stream, input->stream);
    sink->layout = input->layout;
    sink->time_axis = ct_layout_axis(&sink->layout, "time");
    sink->n_lanes = ct_stream_n_lanes(&sink->stream);
    sink->invalid = g_new0(gint64, sink->n_lanes);

    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
    ct_layout_strides(&sink->layout, &sink->stream, 1, length, stride);
    Slabs *slabs = &sink->slabs;
    slabs->path = sink->partial;
    slabs->n_slabs = slabs->sample_bytes = 1;
    for (gint a = 0; a < (gint)sink->layout.n_axes; a++)
        *(a < sink->time_axis ? &slabs->n_slabs : &slabs->sample_bytes) *= length[a];
    slabs->sample_bytes *= ct_type_info(ct_layout_type(&sink->layout))->bytes;
    sink->staging_samples = MAX(1, STAGING_BYTES / MAX(1, slabs->sample_bytes));
    sink->staging = g_try_malloc(sink->staging_samples * MAX(1, slabs->sample_bytes));
    if (!sink->staging) {
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY,
                    "%s: no memory for %" G_GINT64_FORMAT " bytes to write it by", sink->path,
                    sink->staging_samples * slabs->sample_bytes);
        return FALSE;
    }
    if (!check_place(sink->path, error) || !check_place(sink->json, error) ||
        !open_partial(sink, error))
        return FALSE;
    g_autoptr(GBytes) header = format_header(sink);
    slabs->header_bytes = g_bytes_get_size(header);
    const gint time = ct_stream_axis(&sink->stream, "time");
    const gint64 expected = time < 0 ? 1 : sink->stream.axes[time].length;
    return write_header(sink, error) &&
           slabs_reserve(slabs, expected >= 0 ? expected : 16 * input->max_samples, error);
}

/* ---- running ---- */

/* A range of one slab of a block: time, where there is any, is axis 0 of what follows. */
typedef struct {
    guint first;  /* axis of the layout */
    guint n_axes; /* from there */
    gint64 length[CT_MAX_AXES];
    gint64 packed_stride[CT_MAX_AXES];
    gsize item_bytes;
    gboolean is_packed; /* in the block as in the file */
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

/* Writes samples of the only slab, from wherever they stand in the block. */
static gboolean
write_samples(Sink *sink, const CtBlock *block, Range *range, const guint8 *from, GError **error)
{
    if (range->is_packed)
        return slabs_append(&sink->slabs, from, block->n_samples, error);
    const gint64 step = sink->time_axis >= 0 ? sink->staging_samples : 1;
    for (gint64 t = 0; t < block->n_samples; t += step) {
        const gint64 n = MIN(step, block->n_samples - t);
        const gint64 offset = sink->time_axis >= 0 ? t * block->stride[range->first] : 0;
        if (sink->time_axis >= 0)
            range->length[0] = n;
        file_copy(range->n_axes, range->length, sink->staging, range->packed_stride, from + offset,
                  block->stride + range->first, range->item_bytes);
        if (!slabs_append(&sink->slabs, sink->staging, n, error))
            return FALSE;
    }
    return TRUE;
}

static void
copy_slabs(Sink *sink, const CtBlock *block, const Range *range)
{
    gint64 index[CT_MAX_AXES] = {0};
    for (gint64 slab = 0; slab < sink->slabs.n_slabs; slab++) {
        const guint8 *from = block->data;
        for (guint a = 0; a < range->first; a++)
            from += index[a] * block->stride[a];
        file_copy(range->n_axes, range->length, slabs_place(&sink->slabs, slab),
                  range->packed_stride, from, block->stride + range->first, range->item_bytes);
        for (guint a = range->first; a-- > 0;) {
            if (++index[a] < block->length[a])
                break;
            index[a] = 0;
        }
    }
    sink->slabs.n_samples += block->n_samples;
}

static void
count_invalid(Sink *sink, const CtBlock *block)
{
    for (gint64 lane = 0; block->validity && lane < sink->n_lanes; lane++) {
        const guint8 *validity = block->validity + lane * block->validity_stride;
        gint64 valid = 0;
        for (gint64 t = 0; t < block->n_samples; t++)
            valid += validity[t];
        sink->invalid[lane] += block->n_samples - valid;
    }
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    Sink *sink = state;
    const CtBlock *block = &work->inputs[0];
    /* A stream without time is one array, of which the last counts. */
    if (sink->time_axis < 0)
        sink->slabs.n_samples = 0;
    count_invalid(sink, block);
    Range range;
    describe_range(sink, block, &range);
    if (sink->slabs.n_slabs == 1) {
        const guint8 *from = block->data;
        return write_samples(sink, block, &range, from, error);
    }
    const gint64 wanted = sink->slabs.n_samples + block->n_samples;
    if (wanted > sink->slabs.capacity &&
        !slabs_reserve(&sink->slabs, MAX(wanted, 2 * sink->slabs.capacity), error))
        return FALSE;
    copy_slabs(sink, block, &range);
    return TRUE;
}

/* Cuts the file to what is written, and makes its header say so. */
static gboolean
close_array(Sink *sink, GError **error)
{
    gboolean good = slabs_close(&sink->slabs, error);
    good = good && write_header(sink, error);
    const int fd = sink->slabs.fd;
    sink->slabs.fd = -1;
    if (close(fd) != 0 && good)
        return file_error(error, sink->partial, "can't be written");
    return good;
}

static gboolean
complete(gpointer state, gboolean interrupted G_GNUC_UNUSED, GError **error)
{
    Sink *sink = state;
    sink->is_complete = TRUE;
    if (!close_array(sink, error))
        return FALSE;
    const gint time = ct_stream_axis(&sink->stream, "time");
    if (time >= 0)
        sink->stream.axes[time].length = sink->slabs.n_samples;
    const SidecarCounts counts = {sink->slabs.n_samples, sink->n_lanes, sink->invalid};
    g_autofree char *text = sidecar_format(&sink->stream, &sink->layout, &counts);
    GError *failure = NULL;
    if (!g_file_set_contents(sink->json_partial, text, -1, &failure)) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: can't be written: %s", sink->json_partial,
                    failure->message);
        g_error_free(failure);
        return FALSE;
    }
    if (g_rename(sink->partial, sink->path) != 0)
        return file_error(error, sink->path, "can't be created");
    if (g_rename(sink->json_partial, sink->json) != 0)
        return file_error(error, sink->json, "can't be created");
    return TRUE;
}

/* After a failure, what is written is left as a valid array under its partial name. */
static void
sink_free(gpointer state)
{
    Sink *sink = state;
    if (!sink)
        return;
    if (sink->slabs.fd >= 0 && !sink->is_complete)
        close_array(sink, NULL);
    else if (sink->slabs.fd >= 0)
        close(sink->slabs.fd);
    ct_stream_clear(&sink->stream);
    g_free(sink->path);
    g_free(sink->partial);
    g_free(sink->json);
    g_free(sink->json_partial);
    g_free(sink->staging);
    g_free(sink->invalid);
    g_free(sink);
}

static const CtPort inputs[] = {
    {.name = "samples", .layout = "{...}", .help = "what is written, in the order of 'layout'"},
    {NULL},
};

static const CtPort outputs[] = {{NULL}};

const CtStage file_sink = {
    .name = "file.sink",
    .summary = "a stream as one array in an .npy or raw file, with PATH.json beside it",
    .version = 1,
    .inputs = inputs,
    .outputs = outputs,
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
    .complete = complete,
    .finish = sink_free,
};
