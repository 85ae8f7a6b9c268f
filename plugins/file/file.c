/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin with file.source and file.sink, and functions that both use. */
#include "file.h"

#include <string.h>

const char *const file_formats[] = {"auto", "npy", "raw", NULL};

gboolean
file_format(const CtParams *params, const char *path, guint *format, GError **error)
{
    static const char *const endings[] = {[FILE_NPY] = ".npy", [FILE_RAW] = ".raw"};
    *format = ct_params_choice(params, "format");
    for (guint f = FILE_NPY; *format == FILE_AUTO && f <= FILE_RAW; f++)
        if (g_str_has_suffix(path, endings[f]))
            *format = f;
    return *format != FILE_AUTO ||
           ct_params_error(params, "path", error,
                           "wants a name that ends in .npy or .raw, or 'format' beside it, but is "
                           "given '%s'",
                           path);
}

gboolean
file_npy_element(CtType type, CtNpyHeader *header)
{
    const CtTypeInfo *info = ct_type_info(type);
    const gboolean whole = type == CT_CI4 || type == CT_CF32 || type == CT_CF64;
    header->kind = type == CT_CI4                                ? 'u'
                   : info->is_float && info->is_complex && whole ? 'c'
                   : info->is_float                              ? 'f'
                   : info->is_signed                             ? 'i'
                                                                 : 'u';
    header->item_bytes = info->is_complex && !whole ? info->bytes / 2 : info->bytes;
    return info->is_complex && !whole;
}

CtType
file_npy_type(const CtNpyHeader *header)
{
    for (CtType type = CT_TYPE_NONE + 1; type < CT_N_TYPES; type++) {
        CtNpyHeader element = {0};
        if (type != CT_CI4 && !file_npy_element(type, &element) && element.kind == header->kind &&
            element.item_bytes == header->item_bytes)
            return type;
    }
    return CT_TYPE_NONE;
}

#define DEFINE_COPY_ROW(bytes_)                                                                    \
    static void copy_row_##bytes_(gint64 n, guint8 *to, gint64 to_stride, const guint8 *from,      \
                                  gint64 from_stride)                                              \
    {                                                                                              \
        for (gint64 i = 0; i < n; i++, to += to_stride, from += from_stride)                       \
            memcpy(to, from, bytes_);                                                              \
    }
DEFINE_COPY_ROW(1)
DEFINE_COPY_ROW(2)
DEFINE_COPY_ROW(4)
DEFINE_COPY_ROW(8)
DEFINE_COPY_ROW(16)

static void
copy_row(gint64 n, guint8 *to, gint64 to_stride, const guint8 *from, gint64 from_stride,
         gsize bytes)
{
    switch (bytes) {
    case 1:
        return copy_row_1(n, to, to_stride, from, from_stride);
    case 2:
        return copy_row_2(n, to, to_stride, from, from_stride);
    case 4:
        return copy_row_4(n, to, to_stride, from, from_stride);
    case 8:
        return copy_row_8(n, to, to_stride, from, from_stride);
    case 16:
        return copy_row_16(n, to, to_stride, from, from_stride);
    default:
        for (gint64 i = 0; i < n; i++)
            memcpy(to + i * to_stride, from + i * from_stride, bytes);
    }
}

void
file_copy(guint n_axes, const gint64 *length, guint8 *to, const gint64 *to_stride,
          const guint8 *from, const gint64 *from_stride, gsize bytes)
{
    /* Axes that are contiguous on both sides are merged into one larger element. */
    while (n_axes > 0 && to_stride[n_axes - 1] == (gint64)bytes &&
           from_stride[n_axes - 1] == (gint64)bytes)
        bytes *= length[--n_axes];
    gint64 n_rows = 1;
    for (guint a = 0; a + 1 < n_axes; a++)
        n_rows *= length[a];
    gint64 index[CT_MAX_AXES + 1] = {0};
    for (gint64 row = 0; row < n_rows; row++) {
        gint64 to_offset = 0, from_offset = 0;
        for (guint a = 0; a + 1 < n_axes; a++) {
            to_offset += index[a] * to_stride[a];
            from_offset += index[a] * from_stride[a];
        }
        if (n_axes == 0)
            memcpy(to, from, bytes);
        else
            copy_row(length[n_axes - 1], to + to_offset, to_stride[n_axes - 1], from + from_offset,
                     from_stride[n_axes - 1], bytes);
        for (guint a = n_axes; a-- > 1;) {
            if (++index[a - 1] < length[a - 1])
                break;
            index[a - 1] = 0;
        }
    }
}

CT_PLUGIN("file", ((const CtStage *const[]){&file_source, &file_sink, NULL}),
          ((const CtVariant *const[]){
              &file_source_cpu, CT_SINK_VARIANTS(file_sink_arrays, "file.sink", file_sink_rows),
              NULL}));
