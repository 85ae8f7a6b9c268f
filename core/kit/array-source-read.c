/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of arrays: the variants, which read files into blocks. */
#include "array-source-private.h"
#include "cornerturn/kit/boxes.h"
#include "cornerturn/npy.h"
#include "cornerturn/packets.h"

#include <string.h>

/* Elements are unpacked from a buffer of about PACKED_BYTES, and put in order in another of about
 * STAGING_BYTES. */
enum { PACKED_BYTES = 1 << 18, STAGING_BYTES = 1 << 20 };

typedef struct {
    CtArrays *arrays;
    gboolean is_plain;
    gint64 first;          /* of the array's samples, that the stream has */
    gint64 position;       /* the next of them to produce */
    gint64 end;            /* G_MAXINT64: not known, of a pipe */
    CtArrayWindow *window; /* of a pipe; NULL: they are files */
    gint64 start, ticks_per_sample;
    guint8 *packed;        /* elements as they are in a file; NULL: none is unpacked */
    guint8 *staging;       /* elements of whole blocks of time, in a file's order */
    gint64 staging_blocks; /* of time */
} Reader;

void
ct_array_source_finish(gpointer state)
{
    Reader *reader = state;
    if (!reader)
        return;
    ct_array_window_free(reader->window);
    ct_arrays_close(reader->arrays);
    g_free(reader->packed);
    g_free(reader->staging);
    g_free(reader);
}

/* ---- preparing ---- */

/* Checks that the files are those that the graph was planned with, which may have given an epoch.
 */
static gboolean
check_planned(const CtArrays *arrays, const CtBinding *planned, GError **error)
{
    const CtStream *stream = &arrays->stream, *wanted = planned->stream;
    g_autofree char *is = ct_stream_describe(stream);
    g_autofree char *was = ct_stream_describe(wanted);
    if (g_str_equal(is, was) && stream->type == wanted->type &&
        ct_layout_equal(&arrays->layout, &planned->layout) &&
        stream->rate_num == wanted->rate_num && stream->rate_den == wanted->rate_den &&
        stream->ticks_per_sample == wanted->ticks_per_sample && stream->start == wanted->start &&
        (stream->epoch == wanted->epoch ||
         stream->epoch == CT_NO_EPOCH)) /* the graph may give it */
        return TRUE;
    g_set_error(
        error, CT_ERROR, CT_ERROR_DATA,
        "%s: wants the array that the graph was checked with (%s), but it has been replaced "
        "(%s)",
        arrays->parts[0].path, was, is);
    return FALSE;
}

/* Leaves the part of the stream that the graph wants. */
static void
cut(CtStream *stream, const CtNode *node, const CtStream *planned)
{
    const gint time = ct_stream_axis(stream, "time");
    if (time < 0)
        return;
    gint64 *length = &stream->axes[time].length;
    stream->start += node->skip * stream->ticks_per_sample;
    const gint64 wanted = planned->axes[time].length;
    if (*length >= 0)
        *length = node->stops ? MIN(*length - node->skip, wanted) : *length - node->skip;
    else if (node->stops)
        *length = wanted;
}

/* The bytes in memory of a block of time of one slab. */
static gint64
block_bytes(const CtArrayPart *part)
{
    return part->n_elements * (gint64)part->bytes;
}

static gboolean
allocate(Reader *reader, GError **error)
{
    const CtArrays *arrays = reader->arrays;
    const CtArrayPart *first = &arrays->parts[0];
    const gint64 bytes = MAX(1, block_bytes(first));
    gboolean unpacks = FALSE;
    for (guint i = 0; i < arrays->n_parts; i++)
        unpacks |= arrays->parts[i].file.unpack != NULL;
    reader->staging_blocks = MAX(1, STAGING_BYTES / bytes);
    gsize staging;
    if (!__builtin_mul_overflow(reader->staging_blocks, bytes, &staging))
        reader->staging = g_try_malloc(staging);
    if (unpacks)
        reader->packed = g_try_malloc(PACKED_BYTES);
    if (reader->staging && (reader->packed || !unpacks))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_MEMORY,
                "%s: no memory for %" G_GINT64_FORMAT " times %" G_GINT64_FORMAT
                " bytes to read it by",
                first->path, reader->staging_blocks, bytes);
    return FALSE;
}

gboolean
ct_array_source_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Reader *reader = g_new0(Reader, 1);
    *state = reader;
    reader->is_plain = prepare->variant->backend == CT_REFERENCE;
    reader->arrays = ct_arrays_open(prepare->variant->form, prepare->nodes[0].params, error);
    if (!reader->arrays)
        return FALSE;
    CtStream *stream = &reader->arrays->stream;
    cut(stream, &prepare->nodes[0], prepare->outputs[0].stream);
    if (!check_planned(reader->arrays, &prepare->outputs[0], error))
        return FALSE;
    reader->start = stream->start;
    reader->ticks_per_sample = stream->ticks_per_sample;
    reader->first = reader->position = prepare->nodes[0].skip;
    const gint64 length = ct_stream_length(stream, "time");
    reader->end = length < 0 ? G_MAXINT64 : reader->first + length;
    if (!allocate(reader, error))
        return FALSE;
    const CtArrayPart *part = &reader->arrays->parts[0];
    if (part->pipe)
        reader->window = ct_array_window_new(part, prepare->nodes[0].params, error);
    return reader->window || !part->pipe;
}

/* ---- running ---- */

gboolean
ct_array_source_advance(gpointer state, CtAdvance *advance, GError **error)
{
    Reader *reader = state;
    const CtArrays *arrays = reader->arrays;
    CtDeparture *out = &advance->outputs[0];
    gboolean ended = FALSE;
    out->produced = MIN(out->room, reader->end - reader->position);
    if (reader->window && !ct_array_window_load(reader->window, reader->position, out->produced,
                                                &out->produced, &ended, error))
        return FALSE;
    out->start = reader->start + (reader->position - reader->first) * reader->ticks_per_sample;
    if (arrays->gaps)
        out->invalid = ct_gaps_apply(arrays->gaps, reader->position, out->produced, out->validity,
                                     out->validity_stride);
    reader->position += out->produced;
    advance->ended = ended || reader->position == reader->end;
    return TRUE;
}

/* Reads `n` bytes of a file or a pipe. */
static gboolean
read_bytes(const Reader *reader, const CtArrayFile *file, gint64 offset, guint8 *to, gsize n,
           GError **error)
{
    if (!reader->window)
        return ct_file_read(file->path, file->fd, offset, to, n, error);
    memcpy(to, ct_array_window_bytes(reader->window, offset), n);
    return TRUE;
}

/* Reads elements first … first + n − 1 of a file to memory, one after another. */
static gboolean
read_elements(const Reader *reader, const CtArrayPart *part, gint64 first, gint64 n, guint8 *to,
              GError **error)
{
    const CtArrayFile *file = &part->file;
    const CtTypeInfo *info = ct_type_info(part->stream.type);
    if (!file->unpack) {
        const guint value_bytes = (guint)MAX(1, info->part_bits / 8);
        const gint64 bytes = n * (gint64)part->bytes;
        if (!read_bytes(reader, file, file->offset + first * (gint64)part->bytes, to, (gsize)bytes,
                        error))
            return FALSE;
        if (file->swap)
            ct_npy_swap(to, bytes / value_bytes, value_bytes);
        return TRUE;
    }
    const CtArrayUnpack plain = file->unpack_plain ? file->unpack_plain : file->unpack;
    const CtArrayUnpack unpack = reader->is_plain ? plain : file->unpack;
    const gint64 most = (PACKED_BYTES - 1) * (gint64)8 / part->bits;
    for (gint64 k = 0, some; k < n; k += some, to += some * (gint64)part->bytes) {
        const gint64 bit = (first + k) * part->bits;
        const guint skip = (guint)(bit % 8) / part->bits;
        some = MIN(most, n - k);
        const gsize bytes = (gsize)((bit % 8 + some * part->bits + 7) / 8);
        if (!read_bytes(reader, file, file->offset + bit / 8, reader->packed, bytes, error))
            return FALSE;
        const guint value_bytes = part->bits / 8 / (info->is_complex ? 2 : 1);
        if (file->swap && value_bytes > 0)
            ct_npy_swap(reader->packed, bytes / value_bytes, value_bytes);
        unpack(file, reader->packed, skip, (gsize)some, to);
    }
    return TRUE;
}

/* The step from element to element of a file's axis in a block. */
static gint64
stride_in_block(const CtArrays *arrays, const CtArrayPart *part, const CtBlock *block, guint a)
{
    const gint axis = ct_layout_axis(&arrays->layout, part->file.layout.axes[a].name);
    return axis < 0 ? (gint64)part->bytes : block->stride[axis];
}

/* Describes the copy of blocks of time from the staging buffer to a block of the ring. The axes are
 * those of the layout from time on. */
static void
describe_box(const CtArrays *arrays, const CtArrayPart *part, const CtBlock *block, CtBox *box)
{
    const CtLayout *layout = &part->file.layout;
    const guint first = part->n_outer;
    gint64 bytes = (gint64)part->bytes;
    *box = (CtBox){.n_axes = layout->n_axes - first};
    for (guint a = layout->n_axes; a-- > first;) {
        box->axes[a - first] = (CtBoxAxis){
            .length = ct_array_part_length(part, a),
            .in = bytes,
            .out = stride_in_block(arrays, part, block, a),
        };
        bytes *= box->axes[a - first].length;
    }
}

/* Whether a run along time is contiguous in the block, in the file's order. */
static gboolean
is_packed(const CtArrayPart *part, const CtBox *box)
{
    gboolean packed = part->block == 1;
    for (guint a = 0; a < box->n_axes; a++)
        packed = packed && box->axes[a].in == box->axes[a].out;
    return packed;
}

/* Copies samples begin … end − 1, counted from the first of the staging buffer. `to` is where
 * sample `begin` goes. */
static void
copy_samples(const CtArrayPart *part, const CtBox *described, const guint8 *staging, gint64 begin,
             gint64 end, guint8 *to)
{
    const gint has_time = part->file.layout.n_axes > part->n_outer;
    const gint inner = ct_layout_block_axis(&part->file.layout, "time") - (gint)part->n_outer;
    if (part->block == 1) {
        CtBox box = *described;
        box.in = staging;
        box.out = to;
        if (has_time && ct_layout_axis(&part->file.layout, "time") >= 0)
            box.axes[0].length = end - begin;
        ct_box_copy(&box, part->bytes);
        return;
    }
    for (gint64 at = begin, n; at < end; at += n) {
        CtBox box = *described;
        n = MIN(part->block - at % part->block, end - at);
        box.axes[0].length = 1;
        box.axes[inner].length = n;
        box.in =
            staging + at / part->block * box.axes[0].in + at % part->block * box.axes[inner].in;
        box.out = to + (at - begin) * box.axes[inner].out;
        ct_box_copy(&box, part->bytes);
    }
}

/* Reads samples first … first + n − 1 of a slab to `to`. */
static gboolean
read_slab(const Reader *reader, const CtArrayPart *part, const CtBox *box, gint64 slab,
          gint64 first, gint64 n, guint8 *to, GError **error)
{
    const CtArraySource *source = reader->arrays->source;
    const gint64 n_blocks = part->n_samples / part->block;
    const gint64 begin = first / part->block, end = (first + n + part->block - 1) / part->block;
    const gboolean packed = is_packed(part, box);
    const gint64 step = packed ? n : reader->staging_blocks;
    for (gint64 b = begin, some; b < end; b += some) {
        some = MIN(step, end - b);
        guint8 *elements = packed ? to : reader->staging;
        if (!(source->read
                  ? source->read(&part->file, b * part->block, some * part->block, elements, error)
                  : read_elements(reader, part, (slab * n_blocks + b) * part->n_elements,
                                  some * part->n_elements, elements, error)))
            return FALSE;
        if (packed)
            continue;
        const gint64 from = MAX(first, b * part->block);
        const gint64 until = MIN(first + n, (b + some) * part->block);
        const gint inner = ct_layout_block_axis(&part->file.layout, "time");
        const guint time = inner >= 0 ? (guint)inner - part->n_outer : 0;
        copy_samples(part, box, reader->staging, from - b * part->block, until - b * part->block,
                     to + (from - first) * box->axes[time].out);
    }
    return TRUE;
}

/* Reads samples first … first + n − 1 of a file to the block, from its sample `at` on. */
static gboolean
read_part(const Reader *reader, const CtArrayPart *part, const CtBlock *block, gint64 first,
          gint64 n, gint64 at, GError **error)
{
    const CtArrays *arrays = reader->arrays;
    const gint time = ct_layout_axis(&arrays->layout, "time");
    gint64 index[CT_MAX_AXES] = {0};
    CtBox box;
    describe_box(arrays, part, block, &box);
    for (gint64 slab = 0; slab < part->n_slabs; slab++) {
        guint8 *to = block->data + (time >= 0 ? at * block->stride[time] : 0);
        for (guint a = 0; a < part->n_outer; a++)
            to += index[a] * stride_in_block(arrays, part, block, a);
        if (!read_slab(reader, part, &box, slab, first, n, to, error))
            return FALSE;
        for (guint a = part->n_outer; a-- > 0;) {
            if (++index[a] < ct_array_part_length(part, a))
                break;
            index[a] = 0;
        }
    }
    return TRUE;
}

gboolean
ct_array_source_work(gpointer state, const CtWork *work, GError **error)
{
    const Reader *reader = state;
    const CtArrays *arrays = reader->arrays;
    const CtBlock *block = &work->outputs[0];
    const gint64 first = reader->first + block->index;
    for (guint i = 0; i < arrays->n_parts; i++) {
        const CtArrayPart *part = &arrays->parts[i];
        const gint64 begin = MAX(first, part->first);
        const gint64 last = part->n_samples < 0 ? G_MAXINT64 : part->first + part->n_samples;
        const gint64 end = MIN(first + block->n_samples, last);
        if (begin < end &&
            !read_part(reader, part, block, begin - part->first, end - begin, begin - first, error))
            return FALSE;
    }
    return TRUE;
}
