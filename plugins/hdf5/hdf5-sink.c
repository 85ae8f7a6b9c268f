/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5.sink: a stream to HDF5 files, as one dataset with a scale for each axis. */
#include "hdf5-header.h"
#include "hdf5-stream.h"
#include "hdf5.h"

#include <string.h>

static const CtParam params[] = {CT_SINK_PARAMS("the HDF5 file"), {NULL}};

typedef struct {
    Hdf5Header header;
} Sink;

static hid_t
fill(hid_t file, const CtSinkFile *sink)
{
    return hdf5_stream_write(file, &sink->stream, &sink->layout);
}

static gboolean
open_file(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    return hdf5_header_append(&sink->header, file, fill, error);
}

/* Copies the samples of a block from axis `axis` on, packed. Returns where they end. */
static guint8 *
pack(const CtBlock *block, guint axis, gint64 element, const guint8 *from, guint8 *to)
{
    if (axis == block->n_axes || (axis + 1 == block->n_axes && block->stride[axis] == element)) {
        const gint64 n = element * (axis == block->n_axes ? 1 : block->length[axis]);
        memcpy(to, from, (gsize)n);
        return to + n;
    }
    for (gint64 i = 0; i < block->length[axis]; i++)
        to = pack(block, axis + 1, element, from + i * block->stride[axis], to);
    return to;
}

static gboolean
write_samples(CtSinkFile *file, const CtBlock *block, GError **error)
{
    enum { PIECE_BYTES = 1 << 20 };
    const gint64 element = (gint64)ct_type_info(block->type)->bytes;
    const gboolean has_time = ct_stream_axis(&file->stream, "time") >= 0;
    const gint64 most = MAX(1, PIECE_BYTES / file->sample_bytes);
    for (gint64 first = 0; first < block->n_samples; first += most) {
        CtBlock piece = *block;
        const gint64 n = MIN(most, block->n_samples - first);
        if (has_time) {
            piece.length[0] = n;
            piece.data += first * piece.stride[0];
        }
        guint8 *to = ct_sink_room(file, n * file->sample_bytes, error);
        if (!to)
            return FALSE;
        pack(&piece, 0, element, piece.data, to);
    }
    return TRUE;
}

static gboolean
mark(CtSinkFile *file, GError **error)
{
    const Sink *sink = file->self;
    return hdf5_header_mark(&sink->header, file, error);
}

static gboolean
close_file(CtSinkFile *file, GError **error)
{
    const Sink *sink = file->self;
    return hdf5_header_close(&sink->header, file, error);
}

static void
clear(gpointer self)
{
    Sink *sink = self;
    hdf5_header_clear(&sink->header);
}

const CtSink hdf5_sink_files = {
    .name = "HDF5 files",
    .self_bytes = sizeof(Sink),
    .open = open_file,
    .write = write_samples,
    .mark = mark,
    .close = close_file,
    .clear = clear,
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_sink_infer(&hdf5_sink_files, node, error);
}

const CtStage hdf5_sink = {
    .name = "hdf5.sink",
    .summary = "streams to HDF5 files, with PATH.json beside them",
    .version = 1,
    .inputs = CT_PORTS({"in", "{...}", 0, "any stream"}),
    .params = params,
    .infer = infer,
    .extensions = (const char *const[]){".h5", ".hdf5", NULL},
    .stands_for = "file.sink",
};
