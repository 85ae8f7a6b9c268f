/* SPDX-License-Identifier: BSD-3-Clause */
/* sigmf.source: voltages from SigMF recordings. */
#include "sigmf-meta.h"

#include <cornerturn/kit/array-source.h>
#include <cornerturn/packets.h>
#include <cornerturn/text.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const channel_names[] = {"station", "pol", "beam", "subband", NULL};

static const CtParam params[] = {
    {.name = "path",
     .kind = CT_PARAM_PATH,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_LIST,
     .endings = (const char *const[]){".json", NULL},
     .help = "the samples, NAME.sigmf-data, beside NAME.sigmf-meta; several, or a pattern (*), are "
             "one stream"},
    {.name = "channels",
     .kind = CT_PARAM_CHOICE,
     .choices = channel_names,
     .fallback = "station",
     .help = "the axis that several channels are (core:num_channels)"},
    {NULL},
};

/* The file of the metadata beside that of the samples: the last extension is replaced. */
static char *
name_meta(const char *path)
{
    const char *name = strrchr(path, '/');
    const char *dot = strrchr(name ? name : path, '.');
    g_autofree char *stem = dot ? g_strndup(path, (gsize)(dot - path)) : g_strdup(path);
    return g_strconcat(stem, ".sigmf-meta", NULL);
}

static gboolean
read_bytes(const char *path, int fd, char **text, gsize *n, GError **error)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return ct_file_error(error, path, "can't be read");
    if (status.st_size > SIGMF_MOST_BYTES) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants at most %d bytes of metadata, but is given %" G_GINT64_FORMAT, path,
                    SIGMF_MOST_BYTES, (gint64)status.st_size);
        return FALSE;
    }
    *n = (gsize)status.st_size;
    *text = g_malloc(*n + 1);
    return ct_file_read(path, fd, 0, *text, *n, error);
}

static gboolean
read_meta(const CtArrayFile *file, const char *path, SigmfMeta *meta, GError **error)
{
    g_autofree char *text = NULL;
    gsize n = 0;
    if (g_str_has_suffix(file->path, ".sigmf-meta")) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants the file of the samples, NAME.sigmf-data, but is given that of the "
                    "metadata",
                    file->path);
        return FALSE;
    }
    const int fd = ct_file_open(path, error);
    if (fd < 0)
        return FALSE;
    const gboolean good = read_bytes(path, fd, &text, &n, error);
    close(fd);
    if (!good || !sigmf_meta_parse(meta, path, text, n, error))
        return FALSE;
    g_autofree char *name = g_path_get_basename(file->path);
    if (!meta->dataset || strcmp(meta->dataset, name) == 0)
        return TRUE;
    g_autofree char *printable = g_strescape(meta->dataset, NULL);
    g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                "%s: core:dataset of global wants to name %s, but is given '%s'", path, name,
                printable);
    return FALSE;
}

/* ---- captures ---- */

G_GNUC_PRINTF(5, 6)
static gboolean
refuse(const char *path, guint i, const char *key, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *what = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: %s of captures[%u] wants %s", path, key, i,
                what);
    return FALSE;
}

/* A stream has one frequency and no jumps in time: captures that say otherwise are errors. */
static gboolean
check_captures(const char *path, const SigmfMeta *meta, GError **error)
{
    const SigmfCapture *first = (const SigmfCapture *)meta->captures->data;
    for (guint i = 0; i < meta->captures->len; i++) {
        const SigmfCapture *of = &first[i];
        if (i == 0 && of->start != 0)
            return refuse(path, i, "core:sample_start", error,
                          "0, the first sample, but is given %" G_GINT64_FORMAT, of->start);
        if (i > 0 && of->header_bytes != 0)
            return refuse(path, i, "core:header_bytes", error,
                          "0, as only the first capture may have some, but is given "
                          "%" G_GINT64_FORMAT,
                          of->header_bytes);
        if (of->has_frequency && (!first->has_frequency || of->frequency != first->frequency))
            return refuse(path, i, "core:frequency", error,
                          "the frequency of the first capture, as a stream has one, but is given "
                          "%.12g",
                          of->frequency);
        if (i == 0 || !of->has_time || meta->rate == 0)
            continue;
        const gdouble off = (gdouble)(of->second - first->second) + of->fraction - first->fraction -
                            (gdouble)of->start / meta->rate;
        if (!first->has_time || fabs(off) > 0.5 / meta->rate + 1e-6)
            return refuse(path, i, "core:datetime", error,
                          "the time of its first sample after that of the first capture, but is "
                          "given one that is %.9g s later",
                          off);
    }
    return TRUE;
}

/* ---- the stream ---- */

/* A tick is a sample, if the recording begins a whole number of samples after a second. Otherwise
 * a sample has as many ticks as make a tick no longer than a nanosecond. */
static gboolean
set_clock(CtArrayFile *file, const char *path, const SigmfMeta *meta, CtStream *stream,
          GError **error)
{
    const SigmfCapture *first =
        meta->captures->len > 0 ? (const SigmfCapture *)meta->captures->data : NULL;
    if (meta->rate == 0)
        return TRUE;
    const gdouble samples = first ? first->fraction * meta->rate : 0;
    gint64 numerator, denominator, ticks = 1;
    ct_quantity_approximate(meta->rate, meta->rate * 1e-15, &numerator, &denominator);
    if (fabs(samples - rint(samples)) > 1e-6)
        ticks = (gint64)CLAMP(ceil(1e9 / meta->rate), 1, 0x1p22);
    if (!ct_stream_set_rate(stream, numerator, denominator, ticks)) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: core:sample_rate of global wants a rate whose ticks 63 bits count, but is "
                    "given %.17g",
                    path, meta->rate);
        return FALSE;
    }
    if (first && first->has_time) {
        stream->epoch = first->second;
        stream->start = llrint(samples * (gdouble)ticks);
        file->has_start = TRUE;
        file->start_error = 0.5 / meta->rate;
    }
    return TRUE;
}

static void
set_facts(const SigmfMeta *meta, CtStream *stream)
{
    const SigmfCapture *first = (const SigmfCapture *)meta->captures->data;
    CtObservationFacts facts = *ct_observation_facts(NULL);
    if (meta->captures->len > 0 && first->has_frequency) {
        const gboolean is_complex = ct_type_info(stream->type)->is_complex;
        stream->has_frequency = TRUE;
        stream->frequency = first->frequency - (is_complex ? 0 : meta->rate / 4);
    }
    facts.observer = meta->author;
    facts.has_location = meta->has_location;
    memcpy(facts.location, meta->location, sizeof facts.location);
    if (facts.observer || facts.has_location)
        ct_stream_take_observation(stream, ct_observation_new(&facts));
}

static gboolean
open_file(CtArrayFile *file, const CtParams *given, CtStream *stream, GError **error)
{
    const char *channels = channel_names[ct_params_choice(given, "channels")];
    g_autofree char *path = name_meta(file->path);
    g_auto(SigmfMeta) meta = {0};
    if (!read_meta(file, path, &meta, error) || !check_captures(path, &meta, error))
        return FALSE;
    const CtTypeInfo *info = ct_type_info(meta.type);
    stream->type = meta.type;
    file->layout.types = 1u << meta.type;
    file->swap = info->part_bits > 8 && meta.is_big != (G_BYTE_ORDER == G_BIG_ENDIAN);
    if (meta.captures->len > 0)
        file->offset = g_array_index(meta.captures, SigmfCapture, 0).header_bytes;
    gint64 bytes = file->length - meta.trailing_bytes;
    if (bytes < file->offset) {
        g_set_error(
            error, CT_ERROR, CT_ERROR_DATA,
            "%s: wants the bytes of core:header_bytes and core:trailing_bytes, but is given "
            "%" G_GINT64_FORMAT " bytes",
            file->path, file->length);
        return FALSE;
    }
    bytes -= file->offset;
    const gint64 sample = meta.n_channels * (gint64)info->bytes;
    if (bytes % sample != 0)
        ct_params_warn(given, "path",
                       "%s ends with %" G_GINT64_FORMAT
                       " bytes that are less than a sample, which are not read",
                       file->path, bytes % sample);
    ct_stream_add_axis(stream, "time", bytes / sample);
    file->layout.axes[file->layout.n_axes++].name = ct_axis_name("time");
    if (meta.n_channels > 1) {
        ct_stream_add_axis(stream, channels, meta.n_channels);
        file->layout.axes[file->layout.n_axes++].name = ct_axis_name(channels);
    }
    if (!set_clock(file, path, &meta, stream, error))
        return FALSE;
    set_facts(&meta, stream);
    return TRUE;
}

static const CtArraySource source = {.files = "path", .name = "SigMF files", .open = open_file};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_array_source_infer(&source, node, error);
}

static const CtStage sigmf_source = {
    .name = "sigmf.source",
    .summary = "voltages from SigMF recordings",
    .version = 1,
    .outputs = CT_PORTS({"voltages", "i8|i16|i32|u8|u32|f32|f64|ci8|ci16|ci32|cf32|cf64{time ...}",
                         0, "as in the file"}),
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .extensions = (const char *const[]){".sigmf-data", NULL},
    .stands_for = "file.source",
};

CT_STAGE_PLUGIN("sigmf", sigmf_source,
                CT_ARRAY_SOURCE_VARIANT(source, "sigmf.source", CT_PORT_ROWS(0.1), CT_CPU, "cpu"));
