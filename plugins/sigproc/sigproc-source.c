/* SPDX-License-Identifier: BSD-3-Clause */
/* sigproc.source: power over time and frequency from SIGPROC files. */
#include "sigproc-header.h"
#include "sigproc-telescopes.h"
#include "sigproc.h"

#include <cornerturn/kit/filterbank.h>
#include <cornerturn/packets.h>
#include <string.h>

enum { AUTO, INTENSITY, POL, STOKES, COHERENCE };
static const char *const products[] = {"auto", "intensity", "pol", "stokes", "coherence", NULL};

static const CtParam params[] = {
    {.name = "path",
     .kind = CT_PARAM_PATH,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_LIST,
     .endings = (const char *const[]){".json", NULL},
     .help = "the file; several files, or a pattern for names (*), are one stream"},
    {.name = "products",
     .kind = CT_PARAM_CHOICE,
     .choices = products,
     .fallback = "auto",
     .help = "what the IFs are; auto: intensity for one, pol for two"},
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

/* The axis that the IFs are, and its labels; NULL: none. */
static gboolean
choose_ifs(const CtArrayFile *file, const CtParams *given, gint n_ifs, const char **axis,
           const char *const **labels, GError **error)
{
    static const struct {
        const char *axis;
        gint least, most;
        const char *labels[4];
    } kinds[] = {
        [INTENSITY] = {NULL, 1, 1, {NULL}},
        [POL] = {"pol", 1, 2, {NULL}},
        [STOKES] = {"stokes", 1, 4, {"I", "Q", "U", "V"}},
        [COHERENCE] = {"coherence", 4, 4, {"AA", "BB", "CR", "CI"}},
    };
    guint kind = ct_params_choice(given, "products");
    if (n_ifs != 1 && n_ifs != 2 && n_ifs != 4)
        return refuse(file, error, "wants nifs of 1, 2 or 4, but is given %d", n_ifs);
    if (kind == AUTO && n_ifs == 4)
        return ct_params_error(given, "products", error,
                               "wants stokes or coherence, for %s has four IFs and does not say "
                               "what they are",
                               file->path);
    if (kind == AUTO)
        kind = n_ifs == 1 ? INTENSITY : POL;
    if (n_ifs < kinds[kind].least || n_ifs > kinds[kind].most || (kind == STOKES && n_ifs == 2))
        return ct_params_error(given, "products", error,
                               "wants what the IFs of %s can be, of which there are %d, but is "
                               "given %s",
                               file->path, n_ifs, products[kind]);
    *axis = kinds[kind].axis;
    *labels = kinds[kind].labels[0] ? kinds[kind].labels : NULL;
    return TRUE;
}

static void
add_axis(CtArrayFile *file, CtStream *stream, const char *name, gint64 length)
{
    ct_stream_add_axis(stream, name, length);
    file->layout.axes[file->layout.n_axes++] = (CtLayoutAxis){.name = ct_axis_name(name)};
}

/* The samples that the file has. What its header says of them is often 0 or wrong. */
static gint64
count_samples(const CtArrayFile *file, const CtParams *given, const SigprocHeader *header,
              gint64 sample_bits)
{
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

static gboolean
set_axes(CtArrayFile *file, const CtParams *given, const SigprocHeader *header, CtStream *stream,
         GError **error)
{
    const gint n_ifs = sigproc_has(header, SIGPROC_NIFS) ? (gint)header->number[SIGPROC_NIFS] : 1;
    const gint n_channels = (gint)header->number[SIGPROC_NCHANS];
    const char *ifs = NULL;
    const char *const *labels = NULL;
    if (n_channels < 1)
        return refuse(file, error, "wants nchans of at least 1, but is given %d", n_channels);
    if (!choose_ifs(file, given, n_ifs, &ifs, &labels, error))
        return FALSE;
    const gint64 sample_bits = (gint64)file->bits * n_ifs * n_channels;
    add_axis(file, stream, "time", count_samples(file, given, header, sample_bits));
    if (ifs) {
        add_axis(file, stream, ifs, n_ifs);
        CtAxis *axis = &stream->axes[ct_stream_axis(stream, ifs)];
        if (labels)
            ct_axis_take_labels(axis, ct_labels_new(labels, (gsize)n_ifs));
    }
    add_axis(file, stream, "channel", n_channels);
    return TRUE;
}

/* ---- what the header says of it ---- */

static gboolean
set_frequencies(const CtArrayFile *file, const SigprocHeader *header, CtStream *stream,
                GError **error)
{
    CtAxis *axis = &stream->axes[ct_stream_axis(stream, "channel")];
    const gsize n = header->n_frequencies;
    axis->coordinate.unit = g_intern_static_string("Hz");
    if (n == 0) {
        axis->coordinate.first = header->number[SIGPROC_FCH1] * 1e6;
        axis->coordinate.step = header->number[SIGPROC_FOFF] * 1e6;
        return (isfinite(axis->coordinate.first) && isfinite(axis->coordinate.step)) ||
               refuse(file, error, "wants fch1 and foff that are numbers, but is given %g and %g",
                      header->number[SIGPROC_FCH1], header->number[SIGPROC_FOFF]);
    }
    if ((gint64)n != axis->length)
        return refuse(file, error,
                      "wants a frequency of each of %" G_GINT64_FORMAT
                      " channels, but is given %zu",
                      axis->length, n);
    g_autofree gdouble *table = g_new(gdouble, n);
    for (gsize i = 0; i < n; i++) {
        table[i] = header->frequencies[i] * 1e6;
        if (!isfinite(table[i]))
            return refuse(file, error, "wants frequencies that are numbers, but is given %g",
                          header->frequencies[i]);
    }
    axis->coordinate.table = g_bytes_new(table, n * sizeof *table);
    return TRUE;
}

static gboolean
set_rate(const CtArrayFile *file, const SigprocHeader *header, CtStream *stream, GError **error)
{
    const gdouble period = header->number[SIGPROC_TSAMP];
    return ct_filterbank_set_period(stream, period) ||
           refuse(file, error, "wants tsamp in seconds, but is given %.17g", period);
}

static gboolean
set_start(CtArrayFile *file, const CtParams *given, const SigprocHeader *header, CtStream *stream,
          GError **error)
{
    enum { DAY = 86400 };
    const gdouble start = header->number[SIGPROC_TSTART];
    if (start == 0)
        return TRUE;
    if (!(start > 0 && start < 1e6))
        return refuse(file, error, "wants tstart as a modified Julian date, but is given %g",
                      start);
    const gdouble rate = (gdouble)stream->rate_num / (gdouble)stream->rate_den;
    const gdouble day = floor(start), seconds = (start - day) * DAY;
    ct_filterbank_set_start(stream, (gint64)day, (gint64)seconds, seconds - floor(seconds));
    file->has_start = TRUE;
    file->start_error = (nextafter(start, 1e9) - start) / 2 * DAY + 0.5 / rate;
    if (header->number[SIGPROC_BARYCENTRIC] != 0 || header->number[SIGPROC_PULSARCENTRIC] != 0)
        ct_params_warn(given, "path",
                       "the times of %s are those of a barycentre, and are read as UTC",
                       file->path);
    return TRUE;
}

static void
set_observation(const SigprocHeader *header, CtStream *stream)
{
    CtObservationFacts facts = *ct_observation_facts(NULL);
    const gint id = (gint)header->number[SIGPROC_TELESCOPE_ID];
    const char *source = header->text[SIGPROC_SOURCE_NAME];
    for (const SigprocTelescope *of = sigproc_telescopes; of->name; of++)
        if (of->id == id)
            facts.telescope = of->name;
    facts.source = source && *source ? source : NULL;
    facts.direction[0] = sigproc_angle_read(header->number[SIGPROC_SRC_RAJ], TRUE);
    facts.direction[1] = sigproc_angle_read(header->number[SIGPROC_SRC_DEJ], FALSE);
    facts.has_direction = facts.direction[0] != 0 || facts.direction[1] != 0;
    if (!isfinite(facts.direction[0]) || !isfinite(facts.direction[1]))
        facts.has_direction = FALSE;
    if (facts.telescope || facts.source || facts.has_direction)
        ct_stream_take_observation(stream, ct_observation_new(&facts));
}

/* Reads the header, whose length only its end tells, from more and more of the file. */
static gboolean
read_header(const CtArrayFile *file, SigprocHeader *header, GError **error)
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
        !set_axes(file, given, &header, stream, error) ||
        !set_frequencies(file, &header, stream, error) || !set_rate(file, &header, stream, error) ||
        !set_start(file, given, &header, stream, error))
        return FALSE;
    set_observation(&header, stream);
    return TRUE;
}

const CtArraySource sigproc_source_files = {
    .files = "path", .name = "SIGPROC files", .open = open_file};

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
