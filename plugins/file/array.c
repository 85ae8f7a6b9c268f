/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in .npy and raw files: their elements, axes and order. */
#include "array.h"

#include <cornerturn/packets.h>
#include <string.h>

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

/* Puts the axes in the reverse order; the parts of complex elements then come first, apart. */
static void
reverse(CtLayout *layout, gboolean has_parts)
{
    const CtLayout logical = *layout;
    const guint first = has_parts;
    if (has_parts)
        layout->axes[0] = (CtLayoutAxis){.name = ct_axis_name("complex")};
    layout->n_axes = logical.n_axes + first;
    for (guint a = 0; a < logical.n_axes; a++)
        layout->axes[first + a] = logical.axes[logical.n_axes - 1 - a];
}

/* Reads the header of an .npy array; the length of a pipe is not known. */
static gboolean
read_npy(CtArrayFile *file, CtNpyHeader *header, GError **error)
{
    enum { PREFIX_BYTES = 12, MOST_BYTES = PREFIX_BYTES + (1 << 16) };
    if (!file->is_pipe)
        return ct_npy_read_header(file->path, file->fd, header, error);
    g_autofree guint8 *bytes = g_malloc(MOST_BYTES);
    const gsize n = (gsize)MIN(file->length, MOST_BYTES);
    if (!ct_file_read(file->path, file->fd, 0, bytes, n, error))
        return FALSE;
    /* The length follows the magic number and the version: 2 bytes, from version 2 on 4. */
    file->needs = PREFIX_BYTES;
    if (n >= PREFIX_BYTES)
        file->needs = bytes[6] == 1
                          ? 10 + (bytes[8] | bytes[9] << 8)
                          : PREFIX_BYTES + (bytes[8] | bytes[9] << 8 | MIN(bytes[10], 1) << 16);
    if (ct_npy_header_parse(bytes, n, header, error))
        return TRUE;
    g_prefix_error(error, "%s: ", file->path);
    return FALSE;
}

static gboolean
open_npy(CtArrayFile *file, const CtParams *given, CtType *type, gint64 *shape, GError **error)
{
    CtNpyHeader header, wanted = {0};
    if (!read_npy(file, &header, error))
        return FALSE;
    const guint n_axes = file->layout.n_axes;
    const guint32 types = file->layout.types;
    g_autofree char *given_name = npy_name(&header);
    if (*type == CT_TYPE_NONE)
        *type = file_npy_type(&header);
    for (guint i = 0; i < 2; i++) {
        static const char *const of_raw[] = {"shape", "offset"};
        if (ct_params_has(given, of_raw[i]))
            return ct_params_error(given, of_raw[i], error,
                                   "is for raw arrays, but %s is an .npy file, which has its own",
                                   file->path);
    }
    if (*type == CT_TYPE_NONE || (types && !(types & 1u << *type)))
        return ct_params_error(given, "layout", error,
                               "wants the type of %s, whose elements are %s", file->path,
                               given_name);
    const gboolean has_parts = file_npy_element(*type, &wanted);
    g_autofree char *wanted_name = npy_name(&wanted);
    if (header.kind != wanted.kind || header.item_bytes != wanted.item_bytes)
        return ct_params_error(given, "layout", error, "%s wants elements of %s, but %s has %s",
                               ct_type_info(*type)->name, wanted_name, file->path, given_name);
    if (header.n_axes != n_axes + has_parts)
        return ct_params_error(given, "layout", error, "wants the %u axes of %s%s, but is given %u",
                               header.n_axes - has_parts, file->path,
                               has_parts ? " beside real and imaginary" : "", n_axes);
    if (has_parts && header.shape[n_axes] != 2)
        return ct_params_error(given, "layout", error,
                               "%s wants a last axis of 2, real and imaginary, but %s is given one "
                               "of %" G_GUINT64_FORMAT,
                               ct_type_info(*type)->name, file->path, header.shape[n_axes]);
    file->offset = (gint64)header.header_bytes;
    file->swap = header.item_bytes > 1 && header.big_endian != (G_BYTE_ORDER == G_BIG_ENDIAN);
    for (guint a = 0; a < n_axes; a++)
        shape[a] = (gint64)header.shape[a];
    if (header.fortran)
        reverse(&file->layout, has_parts);
    return TRUE;
}

static gboolean
open_raw(CtArrayFile *file, const CtParams *given, CtType type, gint64 *shape, GError **error)
{
    const guint n_axes = file->layout.n_axes;
    if (type == CT_TYPE_NONE)
        return ct_params_error(given, "layout", error, "wants one type, for a raw array");
    if (ct_params_count(given, "shape") != n_axes)
        return ct_params_error(given, "shape", error,
                               "wants a length for each of %u axes, but is given %u", n_axes,
                               ct_params_count(given, "shape"));
    file->offset = ct_params_has(given, "offset") ? ct_params_int(given, "offset") : 0;
    const gint64 given_bytes = MAX(0, file->length - file->offset);
    gint64 bytes = (gint64)ct_type_info(type)->bytes;
    for (guint a = n_axes; a-- > 0;) {
        gint64 length = ct_params_int_at(given, "shape", a);
        if (length < 0 && (a > 0 || strcmp(file->layout.axes[0].name, "time") != 0))
            return ct_params_error(given, "shape", error,
                                   "wants lengths, and -1 for a slowest time alone");
        if (length < 0 && file->is_pipe) {
            shape[a] = -1;
            return TRUE;
        }
        if (length < 0) {
            length = bytes ? given_bytes / bytes : 0;
            if (bytes && given_bytes % bytes != 0) {
                g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                            "%s: wants samples of %" G_GINT64_FORMAT
                            " bytes, but is given %" G_GINT64_FORMAT " bytes more (truncated)",
                            file->path, bytes, given_bytes % bytes);
                return FALSE;
            }
        }
        if (__builtin_mul_overflow(bytes, length, &bytes))
            return ct_params_error(given, "shape", error, "is larger than any file");
        shape[a] = length;
    }
    if (given_bytes >= bytes || file->is_pipe)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                "%s: wants %" G_GINT64_FORMAT " bytes as 'shape' says, but is given "
                "%" G_GINT64_FORMAT " (truncated)",
                file->path, bytes, given_bytes);
    return FALSE;
}

gboolean
file_array_open(CtArrayFile *file, const CtParams *given, CtStream *stream, GError **error)
{
    const CtLayout *layout = ct_params_layout(given, "layout");
    CtType type = layout && layout->types ? only_type(layout) : file->said->type;
    guint format;
    if (!file_format(given, file->path, &format, error))
        return FALSE;
    if (!layout)
        layout = file->said_layout;
    if (!layout)
        return ct_params_error(given, "path", error,
                               "wants 'layout' beside it, or a file %s.json that has one",
                               file->path);
    if (!check_layout(given, layout, error))
        return FALSE;
    file->layout = *layout;
    gint64 shape[CT_MAX_AXES];
    if (format == FILE_RAW ? !open_raw(file, given, type, shape, error)
                           : !open_npy(file, given, &type, shape, error))
        return FALSE;
    const gboolean is_apart = ct_layout_axis(&file->layout, "complex") >= 0;
    file->layout.types = 1u << (is_apart ? ct_type_info(type)->part : type);
    stream->type = type;
    for (guint a = 0; a < layout->n_axes; a++)
        ct_stream_add_axis(stream, layout->axes[a].name, shape[a]);
    return TRUE;
}
