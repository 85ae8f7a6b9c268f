/* SPDX-License-Identifier: BSD-3-Clause */
/* sigproc.source: power over time and frequency from SIGPROC files. */
#include "sigproc-stream.h"
#include "sigproc.h"

#include <cornerturn/packets.h>
#include <string.h>

static const CtParam params[] = {
    {.name = "path",
     .kind = CT_PARAM_PATH,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_LIST | CT_PARAM_PIPE,
     .endings = (const char *const[]){".json", NULL},
     .help = "the file, or a pipe; several files, or a pattern (*), are one stream"},
    SIGPROC_PRODUCTS_PARAM,
    {NULL},
};

/* ---- the array ---- */

G_GNUC_PRINTF(3, 4)
static gboolean
refuse(const CtArrayFile *file, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: %s", file->path, message);
    return FALSE;
}

/* Unsigned elements of 16 bits, which the project has no type for: f32 has all their values. */
static void
unpack_u16(G_GNUC_UNUSED const CtArrayFile *file, const guint8 *bytes, G_GNUC_UNUSED guint first,
           gsize n, guint8 *to)
{
    for (gsize i = 0; i < n; i++) {
        guint16 value;
        memcpy(&value, bytes + i * sizeof value, sizeof value);
        const gfloat real = value;
        memcpy(to + i * sizeof real, &real, sizeof real);
    }
}

static gboolean
set_elements(CtArrayFile *file, const SigprocHeader *header, CtStream *stream, GError **error)
{
    const gint bits = (gint)header->number[SIGPROC_NBITS];
    const gboolean is_signed = header->number[SIGPROC_SIGNED] != 0;
    if (bits == 1 || bits == 2 || bits == 4 || bits == 8)
        stream->type = is_signed && bits == 8 ? CT_I8 : CT_U8;
    else if (bits == 16)
        stream->type = is_signed ? CT_I16 : CT_F32;
    else if (bits == 32)
        stream->type = CT_F32;
    else
        return refuse(file, error, "wants nbits of 1, 2, 4, 8, 16 or 32, but is given %d", bits);
    file->bits = (guint)bits;
    file->unpack = bits == 16 && !is_signed ? unpack_u16 : NULL;
    file->swap = bits > 8 && header->big_endian != (G_BYTE_ORDER == G_BIG_ENDIAN);
    file->offset = (gint64)header->bytes;
    file->layout.types = 1u << stream->type;
    return TRUE;
}

/* The samples that the file has; −1: of a pipe. What its header says of them is often 0 or wrong.
 */
static gint64
count_samples(const CtArrayFile *file, const CtParams *given, const SigprocHeader *header,
              gint64 sample_bits)
{
    if (file->is_pipe)
        return -1;
    const gint64 bytes = file->length - file->offset;
    const gint64 n = bytes / sample_bits * 8 + bytes % sample_bits * 8 / sample_bits;
    const gint64 used = n / 8 * sample_bits + (n % 8 * sample_bits + 7) / 8;
    const gdouble said = header->number[SIGPROC_NSAMPLES];
    if (said > 0 && (gint64)said != n)
        ct_params_warn(given, "path",
                       "%s has %" G_GINT64_FORMAT " samples, though its header says %.0f: all that "
                       "it has are read",
                       file->path, n, said);
    else if (used < bytes)
        ct_params_warn(given, "path",
                       "%s ends with %" G_GINT64_FORMAT " bytes that are less than a sample, which "
                       "are not read",
                       file->path, bytes - used);
    return n;
}

/* Reads the header, whose length only its end tells, from more and more of the file. */
static gboolean
read_header(CtArrayFile *file, SigprocHeader *header, GError **error)
{
    enum { USUAL_BYTES = 1 << 16 };
    for (gint64 n = MIN(file->length, USUAL_BYTES);; n = MIN(n * 16, file->length)) {
        g_autoptr(GError) cause = NULL;
        g_autofree guint8 *bytes = ct_table_new((gsize)n, 1, "a header", error);
        if (!bytes || !ct_file_read(file->path, file->fd, 0, bytes, (gsize)n, error))
            return FALSE;
        if (sigproc_header_parse(header, file->path, bytes, (gsize)n, &cause))
            return TRUE;
        if (n == file->length || n >= SIGPROC_MOST_BYTES) {
            file->needs = n < SIGPROC_MOST_BYTES ? (gint64)header->bytes : 0;
            g_propagate_error(error, g_steal_pointer(&cause));
            return FALSE;
        }
        sigproc_header_clear(header);
    }
}

static gboolean
open_file(CtArrayFile *file, const CtParams *given, CtStream *stream, GError **error)
{
    g_auto(SigprocHeader) header = {0};
    if (!read_header(file, &header, error))
        return FALSE;
    const gint type = (gint)header.number[SIGPROC_DATA_TYPE];
    if (type > 2)
        return refuse(file, error,
                      "wants a filterbank or a time series (data_type 1 or 2), but is given "
                      "data_type %d",
                      type);
    if (!set_elements(file, &header, stream, error) ||
        !sigproc_stream_describe(file, given, &header, stream, error))
        return FALSE;
    const gint64 sample_bits = (gint64)file->bits * ct_stream_width(stream);
    stream->axes[ct_stream_axis(stream, "time")].length =
        count_samples(file, given, &header, sample_bits);
    return TRUE;
}

const CtArraySource sigproc_source_files = {
    .files = "path", .name = "SIGPROC files", .open = open_file, .streams = TRUE};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_array_source_infer(&sigproc_source_files, node, error);
}

const char *const sigproc_extensions[] = {".fil", ".tim", NULL};

const CtStage sigproc_source = {
    .name = "sigproc.source",
    .summary = "power over time and frequency from SIGPROC files",
    .version = 1,
    .outputs = CT_PORTS({"power", "u8|i8|i16|f32{time channel ...}", 0, "samples as in the file"}),
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .extensions = sigproc_extensions,
    .stands_for = "file.source",
};
