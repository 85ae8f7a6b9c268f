/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in files: their elements, axes and order, and their description as streams. */
#include "array.h"

#include "sidecar.h"

#include <cornerturn/kit/source.h>
#include <cornerturn/text.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void
file_array_clear(FileArray *array)
{
    if (array->fd >= 0)
        close(array->fd);
    array->fd = -1;
    g_clear_pointer(&array->gaps, ct_gaps_free);
}

static gboolean
check_layout(const CtParams *given, const CtLayout *layout, GError **error)
{
    if (layout->any_order)
        return ct_params_error(given, "layout", error, "wants [ ] of an array, but is given { }");
    for (guint a = 0; a < layout->n_axes; a++) {
        if (strcmp(layout->axes[a].name, "...") == 0)
            return ct_params_error(given, "layout", error,
                                   "wants every axis of the array, but is given ...");
        if (layout->axes[a].count)
            return ct_params_error(given, "layout", error,
                                   "wants whole axes, but is given a block of '%s'",
                                   layout->axes[a].name);
        if (strcmp(layout->axes[a].name, "complex") == 0)
            return ct_params_error(given, "layout", error,
                                   "wants a complex type, but is given 'complex' as an axis");
    }
    return TRUE;
}

/* The type of a layout; NONE where it names none or several. */
static CtType
only_type(const CtLayout *layout)
{
    for (CtType type = CT_TYPE_NONE + 1; type < CT_N_TYPES; type++)
        if (layout->types == 1u << type)
            return type;
    return CT_TYPE_NONE;
}

/* The name by which NumPy calls an element: int16. */
static char *
npy_name(const CtNpyHeader *header)
{
    static const struct {
        char kind;
        const char *name;
    } kinds[] = {{'i', "int"}, {'u', "uint"}, {'f', "float"}, {'c', "complex"}};
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (kinds[i].kind == header->kind)
            return g_strdup_printf("%s%u", kinds[i].name, header->item_bytes * 8);
    return g_strdup("bool");
}

static gboolean
open_npy(FileArray *array, const CtParams *given, CtType *type, gint64 *shape, GError **error)
{
    CtNpyHeader header, wanted = {0};
    if (!ct_npy_open(array->path, &header, &array->fd, error))
        return FALSE;
    const guint n_axes = array->layout.n_axes;
    g_autofree char *given_name = npy_name(&header);
    if (*type == CT_TYPE_NONE)
        *type = file_npy_type(&header);
    if (ct_params_has(given, "shape"))
        return ct_params_error(given, "shape", error,
                               "is for raw arrays, but %s is an .npy file, which has its own",
                               array->path);
    if (*type == CT_TYPE_NONE || (array->layout.types && !(array->layout.types & 1u << *type)))
        return ct_params_error(given, "layout", error,
                               "wants the type of %s, whose elements are %s", array->path,
                               given_name);
    const gboolean has_parts = file_npy_element(*type, &wanted);
    g_autofree char *wanted_name = npy_name(&wanted);
    if (header.kind != wanted.kind || header.item_bytes != wanted.item_bytes)
        return ct_params_error(given, "layout", error, "%s wants elements of %s, but %s has %s",
                               ct_type_info(*type)->name, wanted_name, array->path, given_name);
    if (header.n_axes != n_axes + has_parts)
        return ct_params_error(given, "layout", error, "wants the %u axes of %s%s, but is given %u",
                               header.n_axes - has_parts, array->path,
                               has_parts ? " beside real and imaginary" : "", n_axes);
    if (has_parts && header.shape[n_axes] != 2)
        return ct_params_error(given, "layout", error,
                               "%s wants a last axis of 2, real and imaginary, but %s is given one "
                               "of %" G_GUINT64_FORMAT,
                               ct_type_info(*type)->name, array->path, header.shape[n_axes]);
    array->data_offset = header.header_bytes;
    array->swap = header.item_bytes > 1 && header.big_endian != (G_BYTE_ORDER == G_BIG_ENDIAN);
    array->item_bytes = header.item_bytes;
    array->value_bytes = header.kind == 'c' ? header.item_bytes / 2 : header.item_bytes;
    array->n_axes = header.n_axes;
    for (guint a = 0; a < header.n_axes; a++) {
        const guint from = header.fortran ? header.n_axes - 1 - a : a;
        array->length[a] = header.shape[from];
        array->block_axis[a] = from < n_axes ? (gint)from : -1;
    }
    for (guint a = 0; a < n_axes; a++)
        shape[a] = header.shape[a];
    /* Complex elements with separate planes of parts are gathered; others pass in the file's
     * order. */
    if (header.fortran) {
        const CtLayout logical = array->layout;
        for (guint a = 0; a < n_axes; a++)
            array->layout.axes[a] = logical.axes[n_axes - 1 - a];
        for (guint a = 0; a < array->n_axes; a++)
            if (array->block_axis[a] >= 0)
                array->block_axis[a] = n_axes - 1 - array->block_axis[a];
    }
    return TRUE;
}

static gboolean
open_raw(FileArray *array, const CtParams *given, CtType type, gint64 *shape, GError **error)
{
    const guint n_axes = array->layout.n_axes;
    if (type == CT_TYPE_NONE)
        return ct_params_error(given, "layout", error, "wants one type, for a raw array");
    if (ct_params_count(given, "shape") != n_axes)
        return ct_params_error(given, "shape", error,
                               "wants a length for each of %u axes, but is given %u", n_axes,
                               ct_params_count(given, "shape"));
    struct stat status;
    array->fd = ct_file_open(array->path, error);
    if (array->fd < 0)
        return FALSE;
    if (fstat(array->fd, &status) != 0)
        return ct_file_error(error, array->path, "can't be read");
    array->item_bytes = ct_type_info(type)->bytes;
    array->n_axes = n_axes;
    gint64 bytes = array->item_bytes;
    for (guint a = n_axes; a-- > 0;) {
        gint64 length = ct_params_int_at(given, "shape", a);
        if (length < 0 && (a > 0 || strcmp(array->layout.axes[0].name, "time") != 0))
            return ct_params_error(given, "shape", error,
                                   "wants lengths, and -1 for a slowest time alone");
        if (length < 0) {
            length = bytes ? status.st_size / bytes : 0;
            if (bytes && status.st_size % bytes != 0) {
                g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                            "%s: wants samples of %" G_GINT64_FORMAT
                            " bytes, but is given %" G_GINT64_FORMAT " bytes more (truncated)",
                            array->path, bytes, (gint64)status.st_size % bytes);
                return FALSE;
            }
        }
        if (__builtin_mul_overflow(bytes, length, &bytes))
            return ct_params_error(given, "shape", error, "is larger than any file");
        array->length[a] = shape[a] = length;
        array->block_axis[a] = a;
    }
    if (status.st_size < bytes) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants %" G_GINT64_FORMAT " bytes as 'shape' says, but is given "
                    "%" G_GINT64_FORMAT " (truncated)",
                    array->path, bytes, (gint64)status.st_size);
        return FALSE;
    }
    return TRUE;
}

static gboolean
read_epoch(const CtParams *given, gint64 *epoch, GError **error)
{
    g_autoptr(GError) cause = NULL;
    return ct_utc_parse(ct_params_string(given, "epoch"), epoch, &cause) ||
           ct_params_error(given, "epoch", error, "%s", cause->message);
}

static gboolean
set_clock(const CtParams *given, CtStream *stream, GError **error)
{
    /* Parameters that are not read have no effect, and the graph warns of them. */
    if (ct_stream_axis(stream, "time") < 0)
        return TRUE;
    if (ct_params_has(given, "sample_rate")) {
        const gint64 before = stream->ticks_per_sample;
        const gint64 ticks = ct_params_has(given, "ticks_per_sample")
                                 ? ct_params_int(given, "ticks_per_sample")
                                 : before;
        if (ticks != before && stream->start != 0 && !ct_params_has(given, "start"))
            return ct_params_error(given, "ticks_per_sample", error,
                                   "wants 'start' beside it, for that of %s.json counts ticks of "
                                   "which a sample has %" G_GINT64_FORMAT,
                                   ct_params_string(given, "path"), before);
        ct_params_rational(given, "sample_rate", &stream->rate_num, &stream->rate_den);
        gint64 a = stream->rate_den, b = ticks;
        while (b) {
            const gint64 rest = a % b;
            a = b;
            b = rest;
        }
        stream->rate_den /= a;
        if (__builtin_mul_overflow(stream->rate_num, ticks / a, &stream->rate_num))
            return ct_params_error(given, "ticks_per_sample", error,
                                   "makes a clock faster than 63 bits can count");
        stream->ticks_per_sample = ticks;
    } else if (ct_params_has(given, "ticks_per_sample")) {
        return ct_params_error(given, "ticks_per_sample", error, "wants 'sample_rate' beside it");
    }
    if (ct_params_has(given, "start"))
        stream->start = ct_params_int(given, "start");
    /* Ticks without a rate have no UTC. */
    return stream->rate_num == 0 || !ct_params_has(given, "epoch") ||
           read_epoch(given, &stream->epoch, error);
}

/* Warns of invalid samples that are read as valid, and of a stream that has not ended. */
static void
warn_of_losses(const CtParams *given, const SidecarFacts *facts)
{
    const char *path = ct_params_string(given, "path");
    if (facts->invalid > 0)
        ct_params_warn(given, "path",
                       "%" G_GINT64_FORMAT " samples are invalid, as %s.json says, but are read as "
                       "valid: it does not say which of this array's they are",
                       facts->invalid, path);
    if (facts->interrupted)
        ct_params_warn(given, "path",
                       "the run that wrote %s was interrupted, as %s.json says: the array is read "
                       "as a whole stream",
                       path, path);
}

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
take_gaps(FileArray *array, SidecarFacts *facts, const char *lanes, const CtStream *stream)
{
    g_autofree char *are = describe_lanes(stream);
    for (gint64 lane = 0; facts->gaps && lane < ct_gaps_n_lanes(facts->gaps); lane++)
        facts->invalid += ct_gaps_invalid(facts->gaps)[lane];
    if (!facts->gaps || strcmp(are, lanes) != 0)
        return;
    array->gaps = g_steal_pointer(&facts->gaps);
    facts->invalid = 0;
}

/* Fails if two open files differ. */
static gboolean
check_same(const char *path, int first, int second, GError **error)
{
    struct stat a, b;
    if (fstat(first, &a) != 0 || fstat(second, &b) != 0)
        return ct_file_error(error, path, "can't be read");
    if (a.st_dev == b.st_dev && a.st_ino == b.st_ino)
        return TRUE;
    g_set_error(
        error, CT_ERROR, CT_ERROR_IO,
        "%s: wants an array that does not change, but it has been replaced while it was opened",
        path);
    return FALSE;
}

static gboolean
open_array(FileArray *array, const CtParams *given, gint64 bytes, CtStream *stream, GError **error)
{
    g_auto(SidecarFacts) facts = {0};
    guint format;
    if (!file_format(given, array->path, &format, error) ||
        !sidecar_read(array->path, bytes, stream, &facts, error))
        return FALSE;
    g_autofree char *lanes = describe_lanes(stream);
    const CtLayout *layout = ct_params_layout(given, "layout");
    CtType type = layout && layout->types ? only_type(layout) : stream->type;
    if (!layout)
        layout = facts.layout;
    if (!layout)
        return ct_params_error(given, "path", error,
                               "wants 'layout' beside it, or a file %s.json that has one",
                               array->path);
    if (!check_layout(given, layout, error))
        return FALSE;
    array->layout = *layout;

    gint64 shape[CT_MAX_AXES];
    if (format == FILE_RAW) {
        if (!open_raw(array, given, type, shape, error))
            return FALSE;
    } else if (!open_npy(array, given, &type, shape, error)) {
        return FALSE;
    }
    array->layout.types = 1u << type;

    /* Axes of the sidecar that the layout lacks are dropped; those of other lengths lose their
     * coordinates. */
    for (guint a = stream->n_axes; a-- > 0;)
        if (ct_layout_axis(&array->layout, stream->axes[a].name) < 0)
            ct_stream_remove_axis(stream, stream->axes[a].name);
    for (guint a = 0; a < layout->n_axes; a++)
        if (shape[a] < 1 && strcmp(layout->axes[a].name, "time") != 0) {
            g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                        "%s: wants at least one element along %s, but is given none", array->path,
                        layout->axes[a].name);
            return FALSE;
        }
    for (guint a = 0; a < layout->n_axes; a++) {
        const gint known = ct_stream_axis(stream, layout->axes[a].name);
        if (known >= 0 && stream->axes[known].length == shape[a])
            continue;
        if (known >= 0)
            ct_stream_remove_axis(stream, layout->axes[a].name);
        ct_stream_add_axis(stream, layout->axes[a].name, shape[a]);
    }
    stream->type = type;
    const gint time = ct_layout_axis(&array->layout, "time");
    for (guint a = 0; a < array->n_axes && time >= 0; a++)
        if (array->block_axis[a] == time)
            array->time_axis = a;
    take_gaps(array, &facts, lanes, stream);
    warn_of_losses(given, &facts);
    return set_clock(given, stream, error) && ct_source_set_frequencies(given, stream, error);
}

/* A sink that replaces array and PATH.json removes the old text before the old array, and writes
 * the new text after the new array. So a text belongs to the array if the array is the same file
 * before and after the text is read. */
gboolean
file_array_open(FileArray *array, const CtParams *given, CtStream *stream, GError **error)
{
    *array = (FileArray){.path = ct_params_string(given, "path"), .fd = -1, .time_axis = -1};
    ct_stream_init(stream);
    struct stat status;
    const int before = ct_file_open(array->path, error);
    if (before < 0)
        return FALSE;
    gboolean good =
        fstat(before, &status) == 0 || ct_file_error(error, array->path, "can't be read");
    good = good && open_array(array, given, status.st_size, stream, error) &&
           check_same(array->path, before, array->fd, error);
    close(before);
    return good;
}

gint64
file_array_inner_bytes(const FileArray *array)
{
    gint64 bytes = array->item_bytes;
    for (gint a = (gint)array->n_axes - 1; a > array->time_axis; a--)
        bytes *= array->length[a];
    return bytes;
}
