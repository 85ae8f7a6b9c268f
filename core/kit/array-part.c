/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of arrays: one file, its header and its PATH.json. */
#include "array-source-private.h"
#include "cornerturn/packets.h"
#include "reserved.h"
#include "sidecar-merge.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void
ct_array_part_clear(CtArrayPart *part, const CtArraySource *source)
{
    if (source->clear)
        source->clear(&part->file);
    if (part->file.fd >= 0)
        close(part->file.fd);
    ct_pipe_free(part->pipe);
    g_free(part->path);
    ct_stream_clear(&part->stream);
    g_clear_pointer(&part->gaps, ct_gaps_free);
    g_clear_pointer(&part->file.gaps, ct_gaps_free);
}

G_GNUC_PRINTF(3, 4)
static gboolean
fault(const CtArraySource *source, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "the plugin for %s is at fault: %s", source->name,
                message);
    return FALSE;
}

/* ---- the array in the file ---- */

static gboolean
is_axis(const CtArrayPart *part, guint a, const char *name)
{
    return strcmp(part->file.layout.axes[a].name, name) == 0;
}

gint64
ct_array_part_length(const CtArrayPart *part, guint axis)
{
    const CtLayoutAxis *of = &part->file.layout.axes[axis];
    if (of->count)
        return of->count;
    if (is_axis(part, axis, "complex"))
        return 2;
    if (is_axis(part, axis, "time"))
        return part->n_samples / part->block;
    return ct_stream_length(&part->stream, of->name);
}

/* Checks that the layout that `open` has set is one that the kit can read. */
static gboolean
check_layout(const CtArrayPart *part, const CtArraySource *source, GError **error)
{
    const CtStream *stream = &part->stream;
    const CtLayout *layout = &part->file.layout;
    guint n_axes = 0;
    const CtTypeInfo *info = ct_type_info(stream->type);
    const gboolean is_apart = ct_layout_axis(layout, "complex") >= 0;
    const CtType type = is_apart ? info->part : stream->type;
    gboolean good = !layout->any_order && layout->types == 1u << type &&
                    (!is_apart || (info->is_complex && type != CT_TYPE_NONE));
    for (guint a = 0; a < layout->n_axes; a++) {
        const gboolean is_complex = is_axis(part, a, "complex");
        good = good && (is_complex || ct_stream_axis(stream, layout->axes[a].name) >= 0);
        good = good && (layout->axes[a].count == 0 ||
                        (is_axis(part, a, "time") && a > 0 && ct_layout_axis(layout, "time") == 0));
        n_axes += !is_complex && layout->axes[a].count == 0;
    }
    if (good && n_axes == stream->n_axes)
        return TRUE;
    g_autofree char *text = ct_layout_to_string(layout);
    return fault(source, error, "it reads %s as %s", part->path, text);
}

/* The bits of the whole array in the file; −1: too many, in the file or in memory. */
static gint64
count_bits(const CtArrayPart *part)
{
    gint64 n = 1, bits;
    for (guint a = 0; a < part->file.layout.n_axes; a++)
        if (__builtin_mul_overflow(n, ct_array_part_length(part, a), &n))
            return -1;
    if (__builtin_mul_overflow(n, MAX(part->bits, (gint64)part->bytes * 8), &bits))
        return -1;
    return n * part->bits;
}

/* Works out the bits and bytes of an element, and who unpacks it. */
static gboolean
measure_element(CtArrayPart *part, const CtArraySource *source, GError **error)
{
    enum { MOST_BITS = 256 };
    CtArrayFile *file = &part->file;
    const CtTypeInfo *info = ct_type_info(part->stream.type);
    const gboolean is_apart = ct_layout_axis(&file->layout, "complex") >= 0;
    part->bytes = is_apart ? info->bytes / 2 : info->bytes;
    part->bits = file->bits ? file->bits : (guint)part->bytes * 8;
    const gboolean is_few = part->bits == 1 || part->bits == 2 || part->bits == 4;
    if (!file->unpack && is_few && part->bytes == 1) {
        file->unpack = ct_array_unpack;
        file->unpack_plain = ct_array_unpack_plain;
    }
    if (file->unpack ? is_few || (part->bits % 8 == 0 && part->bits <= MOST_BITS)
                     : part->bits == part->bytes * 8)
        return TRUE;
    return fault(source, error, "it has elements of %u bits of %s", part->bits, info->name);
}

/* Checks that the elements of the array are there, and that there are not too many. */
static gboolean
check_bytes(const CtArrayPart *part, const CtArraySource *source, GError **error)
{
    const CtArrayFile *file = &part->file;
    const gint64 bits = count_bits(part);
    const gint64 bytes = bits / 8 + (bits % 8 != 0);
    const gboolean are_there = source->read || part->pipe || file->length - file->offset >= bytes;
    if (bits >= 0 && (source->read || file->offset >= 0) && are_there)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                "%s: wants %" G_GINT64_FORMAT " bytes of data, but is given %" G_GINT64_FORMAT
                " (truncated)",
                part->path, bits < 0 ? G_MAXINT64 : bytes, MAX(0, file->length - file->offset));
    return FALSE;
}

/* Works out where the elements are, and checks that the file has them all. */
static gboolean
measure(CtArrayPart *part, const CtArraySource *source, GError **error)
{
    CtArrayFile *file = &part->file;
    const gint time_axis = ct_stream_axis(&part->stream, "time");
    const gint block = ct_layout_block_axis(&file->layout, "time");
    const gint time = ct_layout_axis(&file->layout, "time");
    part->n_samples = time_axis >= 0 ? part->stream.axes[time_axis].length : 1;
    part->block = block >= 0 ? file->layout.axes[block].count : 1;
    part->n_slabs = part->n_elements = 1;
    part->n_outer = (guint)MAX(time, 0);
    if (!measure_element(part, source, error))
        return FALSE;
    if (part->pipe && time != 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "%s: wants time as the slowest axis, for it is a pipe", part->path);
        return FALSE;
    }
    if (part->n_samples >= 0 && part->n_samples % part->block != 0)
        return fault(source, error, "%s has parts of blocks of time", part->path);
    const gboolean is_open = part->pipe && part->n_samples < 0;
    /* An array whose length is not known has at least a block. */
    part->n_samples = is_open ? part->block : part->n_samples;
    const gboolean good = check_bytes(part, source, error);
    part->n_samples = is_open ? -1 : part->n_samples;
    if (!good)
        return FALSE;
    for (guint a = 0; a < file->layout.n_axes; a++)
        if ((gint)a < time)
            part->n_slabs *= ct_array_part_length(part, a);
        else if ((gint)a > time)
            part->n_elements *= ct_array_part_length(part, a);
    if (source->read && time > 0)
        return fault(source, error, "it reads by itself, but time is not slowest");
    return TRUE;
}

/* ---- the header and PATH.json ---- */

/* The axes that a stream loses data along, with their lengths, and the length of time. */
static char *
describe_lanes(const CtStream *stream)
{
    GString *text = g_string_new(NULL);
    for (guint a = 0; a < stream->n_axes; a++)
        if (stream->axes[a].loses || strcmp(stream->axes[a].name, "time") == 0)
            g_string_append_printf(text, "%s %" G_GINT64_FORMAT " ", stream->axes[a].name,
                                   stream->axes[a].length);
    return g_string_free(text, FALSE);
}

/* Gives the array the invalid samples that PATH.json names, if it still has the lanes that
 * PATH.json describes. */
static void
take_gaps(CtArrayPart *part, CtSidecar *sidecar, const char *lanes)
{
    g_autofree char *are = describe_lanes(&part->stream);
    for (gint64 lane = 0; sidecar->gaps && lane < ct_gaps_n_lanes(sidecar->gaps); lane++)
        sidecar->invalid += ct_gaps_invalid(sidecar->gaps)[lane];
    if (!sidecar->gaps || strcmp(are, lanes) != 0)
        return;
    part->gaps = g_steal_pointer(&sidecar->gaps);
    sidecar->invalid = 0;
}

/* The seconds from the epoch of `from` to the first sample of `stream`. */
static gdouble
seconds_after(const CtStream *from, const CtStream *stream)
{
    return (gdouble)(stream->epoch - from->epoch) +
           (gdouble)stream->start * (gdouble)stream->rate_den / (gdouble)stream->rate_num;
}

/* Checks that the header's start is that of PATH.json. Without an epoch they may count from
 * different moments. */
static gboolean
check_start(const CtArrayPart *part, const CtStream *header, GError **error)
{
    const CtStream *stream = &part->stream;
    if (header->rate_num == 0 || !part->file.has_start || header->epoch == CT_NO_EPOCH ||
        stream->epoch == CT_NO_EPOCH)
        return TRUE;
    /* A tick more, for the header's start is a whole number of its ticks. */
    const gdouble late = seconds_after(stream, header) - seconds_after(stream, stream);
    const gdouble tick = (gdouble)header->rate_den / (gdouble)header->rate_num;
    return fabs(late) <= part->file.start_error + tick ||
           ct_sidecar_contradicts(part->path, error, "a start that is %.3g s later", late);
}

static gboolean
check_axes(const CtArrayPart *part, const CtStream *header, GError **error)
{
    for (guint a = 0; a < header->n_axes; a++)
        if (header->axes[a].length < 1 && strcmp(header->axes[a].name, "time") != 0) {
            g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                        "%s: wants at least one element along %s, but is given none", part->path,
                        header->axes[a].name);
            return FALSE;
        }
    return TRUE;
}

static gboolean
read_array(CtArrayPart *part, const CtArraySource *source, const CtParams *given, CtStream *header,
           GError **error)
{
    CtArrayFile *file = &part->file;
    g_auto(CtSidecar) sidecar = {0};
    if (!part->pipe && !ct_sidecar_read(part->path, file->length, &part->stream, &sidecar, error))
        return FALSE;
    g_autofree char *lanes = describe_lanes(&part->stream);
    file->said = &part->stream;
    file->said_layout = sidecar.layout;
    const gboolean has_clock = part->stream.rate_num > 0;
    if (!source->open(file, given, header, error) ||
        !CT_RESERVED_CHECK(source->name, CtArrayFile, file, error) ||
        !check_axes(part, header, error) ||
        !ct_sidecar_merge(part->path, &part->stream, header, error) ||
        !check_start(part, header, error))
        return FALSE;
    file->said_layout = NULL;
    file->has_start |= has_clock;
    take_gaps(part, &sidecar, lanes);
    if (!part->gaps && file->gaps) {
        if (ct_gaps_n_lanes(file->gaps) != ct_stream_n_lanes(&part->stream))
            return fault(source, error, "the gaps of a file have other lanes than its stream");
        part->gaps = g_steal_pointer(&file->gaps);
    }
    ct_sidecar_warn(&sidecar, part->path, given, source->files, "valid");
    return check_layout(part, source, error) && measure(part, source, error);
}

static gboolean
open_file(CtArrayPart *part, const CtArraySource *source, const CtParams *given, GError **error)
{
    struct stat status;
    part->file = (CtArrayFile){.path = part->path, .fd = ct_file_open(part->path, error)};
    if (part->file.fd < 0)
        return FALSE;
    if (fstat(part->file.fd, &status) != 0)
        return ct_file_error(error, part->path, "can't be read");
    part->file.length = status.st_size;
    CtStream header;
    ct_stream_init(&header);
    const gboolean good = read_array(part, source, given, &header, error);
    ct_stream_clear(&header);
    return good && ct_sidecar_check_file(part->path, part->file.fd, error);
}

/* Reads the header of a pipe from its head, which is made longer until it has the header. */
static gboolean
open_pipe(CtArrayPart *part, const CtArraySource *source, const CtParams *given, GError **error)
{
    if (source->read)
        return fault(source, error, "it streams, but reads by itself");
    part->pipe = ct_pipe_get(part->path, error);
    if (!part->pipe)
        return FALSE;
    g_autofree char *path = part->path;
    part->path = g_strdup(ct_pipe_name(path, FALSE));
    for (gint64 needs = 0;;) {
        GError *cause = NULL;
        CtStream header;
        part->file = (CtArrayFile){.path = part->path, .is_pipe = TRUE, .fd = -1};
        if (!ct_pipe_need(part->pipe, needs, error))
            return FALSE;
        part->file.fd = ct_pipe_head(part->pipe, &part->file.length, error);
        if (part->file.fd < 0)
            return FALSE;
        ct_stream_init(&header);
        const gboolean good = read_array(part, source, given, &header, &cause);
        ct_stream_clear(&header);
        if (good)
            return TRUE;
        if (part->file.needs <= part->file.length || part->file.length < needs) {
            g_propagate_error(error, cause);
            return FALSE;
        }
        g_clear_error(&cause);
        needs = part->file.needs;
        if (source->clear)
            source->clear(&part->file);
        close(part->file.fd);
        g_clear_pointer(&part->file.gaps, ct_gaps_free);
        ct_stream_clear(&part->stream);
        ct_stream_init(&part->stream);
    }
}

gboolean
ct_array_part_open(CtArrayPart *part, const CtArraySource *source, const CtParams *given,
                   GError **error)
{
    ct_stream_init(&part->stream);
    part->file.fd = -1;
    return source->streams && ct_pipe_is(part->path) ? open_pipe(part, source, given, error)
                                                     : open_file(part, source, given, error);
}
