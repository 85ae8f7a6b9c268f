/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5.sink: a stream to HDF5 files, as one dataset with a scale for each axis. */
#include "hdf5-header.h"
#include "hdf5.h"

#include <cornerturn/packets.h>
#include <string.h>

static const CtParam params[] = {CT_SINK_PARAMS("the HDF5 file"), {NULL}};

typedef struct {
    Hdf5Header header;
} Sink;

static gboolean
open_file(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    if (!hdf5_header_make(&sink->header, file->path, &file->stream, &file->layout, error))
        return FALSE;
    gsize n;
    const guint8 *bytes = g_bytes_get_data(sink->header.bytes, &n);
    return ct_sink_append(file, bytes, (gint64)n, error);
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

/* ---- the numbers of the header ---- */

/* Writes a number at a place of the header. It is within a page, so that it is written whole or not
 * at all, whenever the process ends. */
static gboolean
put(CtSinkFile *file, gsize place, gint64 value, GError **error)
{
    const guint64 bytes = GUINT64_TO_LE((guint64)value);
    return place == 0 || ct_file_write(file->path, file->fd, (gint64)place, &bytes, sizeof bytes,
                                       error) == sizeof bytes;
}

static gboolean
put_length(CtSinkFile *file, const Hdf5Places *places, gint64 n, GError **error)
{
    return put(file, places->most_length, n, error) && put(file, places->length, n, error);
}

/* Room is told of first, then what is in it. */
static gboolean
mark(CtSinkFile *file, GError **error)
{
    const Sink *sink = file->self;
    const Hdf5Places *data = &sink->header.data, *time = &sink->header.time;
    const gint64 bytes = file->n_samples * file->sample_bytes;
    if (file->n_samples == 0)
        return TRUE;
    if (!put(file, HDF5_END_PLACE, file->header_bytes + bytes, error) ||
        !put(file, data->bytes, bytes, error) ||
        !put(file, data->address, file->header_bytes, error))
        return FALSE;
    return time->length == 0 || (put_length(file, time, file->n_samples, error) &&
                                 put_length(file, data, file->n_samples, error));
}

/* Writes the seconds of all samples behind them, in pieces. */
static gboolean
write_times(CtSinkFile *file, gint64 at, GError **error)
{
    enum { PIECE = 1 << 16 };
    const CtStream *stream = &file->stream;
    g_autofree gdouble *times = g_new(gdouble, PIECE);
    for (gint64 first = 0; first < file->n_samples; first += PIECE) {
        const gint64 n = MIN(PIECE, file->n_samples - first);
        const gint64 bytes = n * (gint64)sizeof *times;
        for (gint64 i = 0; i < n; i++)
            times[i] = stream->rate_num == 0
                           ? (gdouble)(first + i)
                           : (gdouble)((__int128)(first + i) * stream->ticks_per_sample *
                                       stream->rate_den) /
                                 (gdouble)stream->rate_num;
        if (ct_file_write(file->path, file->fd, at + first * (gint64)sizeof *times, times, bytes,
                          error) != bytes)
            return FALSE;
    }
    return TRUE;
}

static gboolean
close_file(CtSinkFile *file, GError **error)
{
    const Sink *sink = file->self;
    const Hdf5Places *time = &sink->header.time;
    const gint64 end = file->header_bytes + file->n_samples * file->sample_bytes;
    const gint64 at = (end + 7) / 8 * 8, bytes = file->n_samples * (gint64)sizeof(gdouble);
    if (!mark(file, error))
        return FALSE;
    if (time->length == 0 || file->n_samples == 0)
        return TRUE;
    return write_times(file, at, error) && put(file, HDF5_END_PLACE, at + bytes, error) &&
           put(file, time->bytes, bytes, error) && put(file, time->address, at, error);
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
    .extensions = hdf5_extensions,
    .stands_for = "file.sink",
};
