/* SPDX-License-Identifier: BSD-3-Clause */
/* What a SIGPROC header says of the stream. */
#include "sigproc-stream.h"

#include "sigproc-telescopes.h"

#include <cornerturn/kit/filterbank.h>

enum { AUTO, INTENSITY, POL, STOKES, COHERENCE };
const char *const sigproc_products[] = {"auto", "intensity", "pol", "stokes", "coherence", NULL};

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

/* ---- the axes ---- */

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
    /* PATH.json may know it. */
    for (guint k = POL; k < G_N_ELEMENTS(kinds) && kind == AUTO; k++)
        if (ct_stream_length(file->said, kinds[k].axis) == n_ifs &&
            ct_stream_axis(file->said, kinds[k].axis) >= 0)
            kind = k;
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
                               file->path, n_ifs, sigproc_products[kind]);
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
    add_axis(file, stream, "time", 0);
    if (ifs) {
        add_axis(file, stream, ifs, n_ifs);
        CtAxis *axis = &stream->axes[ct_stream_axis(stream, ifs)];
        if (labels)
            ct_axis_take_labels(axis, ct_labels_new(labels, (gsize)n_ifs));
    }
    add_axis(file, stream, "channel", n_channels);
    return TRUE;
}

/* ---- frequencies, clock, observation ---- */

static gboolean
set_frequencies(const CtArrayFile *file, const CtParams *given, const SigprocHeader *header,
                CtStream *stream, GError **error)
{
    CtAxis *axis = &stream->axes[ct_stream_axis(stream, "channel")];
    const gsize n = header->n_frequencies;
    axis->coordinate.unit = g_intern_static_string("Hz");
    if (n == 0) {
        axis->coordinate.first = header->number[SIGPROC_FCH1] * 1e6;
        axis->coordinate.step = header->number[SIGPROC_FOFF] * 1e6;
        if (axis->length > 1 && axis->coordinate.step == 0)
            ct_params_warn(given, "path",
                           "all channels of %s have one frequency: its foff is 0, or not given",
                           file->path);
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
    sigproc_direction(header, facts.direction);
    facts.has_direction = facts.direction[0] != 0 || facts.direction[1] != 0;
    if (!isfinite(facts.direction[0]) || !isfinite(facts.direction[1]))
        facts.has_direction = FALSE;
    if (facts.telescope || facts.source || facts.has_direction)
        ct_stream_take_observation(stream, ct_observation_new(&facts));
}

gboolean
sigproc_stream_describe(CtArrayFile *file, const CtParams *given, const SigprocHeader *header,
                        CtStream *stream, GError **error)
{
    if (!set_axes(file, given, header, stream, error) ||
        !set_frequencies(file, given, header, stream, error) ||
        !set_rate(file, header, stream, error) || !set_start(file, given, header, stream, error))
        return FALSE;
    set_observation(header, stream);
    return TRUE;
}
