/* SPDX-License-Identifier: BSD-3-Clause */
/* What a PSRFITS file can hold of a stream, and how: products, levels, rows. */
#include "psrfits-elements.h"

#include <string.h>

static gboolean
labels_are(const CtAxis *axis, const char *const *names)
{
    gboolean same = TRUE;
    for (gsize i = 0; axis->labels && i < ct_labels_count(axis->labels); i++)
        same = same && strcmp(ct_labels_name(axis->labels, i, 0), names[i]) == 0;
    return same;
}

static gboolean
choose_products(const CtStream *stream, PsrfitsElements *elements, GError **error)
{
    static const struct {
        const char *axis;
        gint64 n;
        const char *names[4];
        const char *type;
    } kinds[] = {
        {"stokes", 1, {"I"}, "INTEN"},
        {"stokes", 4, {"I", "Q", "U", "V"}, "IQUV"},
        {"coherence", 4, {"AA", "BB", "CR", "CI"}, "AABBCRCI"},
    };
    if (!ct_filterbank_products(stream, "a PSRFITS file", &elements->products,
                                &elements->n_products, error))
        return FALSE;
    static const char *const axes[] = {"pol", "stokes", "coherence"};
    const CtAxis *axis = NULL;
    for (guint i = 0; i < G_N_ELEMENTS(axes); i++) {
        const gint a = ct_stream_axis(stream, axes[i]);
        if (a >= 0 && (!axis || stream->axes[a].length > 1))
            axis = &stream->axes[a];
    }
    elements->name = axis ? NULL : "INTEN";
    if (axis && strcmp(axis->name, "pol") == 0 && axis->length <= 2)
        elements->name = axis->length == 1 ? "AA" : "AABB";
    for (guint i = 0; axis && i < G_N_ELEMENTS(kinds); i++)
        if (strcmp(axis->name, kinds[i].axis) == 0 && axis->length == kinds[i].n &&
            labels_are(axis, kinds[i].names))
            elements->name = kinds[i].type;
    if (elements->name)
        return TRUE;
    const char *first = axis->labels ? ct_labels_name(axis->labels, 0, 0) : "?";
    g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                "wants one or two of pol, stokes I or I Q U V, or coherence AA BB CR CI, but is "
                "given '%s' with %" G_GINT64_FORMAT " (%s …)",
                axis->name, axis->length, first);
    return FALSE;
}

static gboolean
choose_type(const CtParams *given, const CtStream *stream, PsrfitsElements *elements,
            GError **error)
{
    const CtType type = stream->type;
    const gboolean is_byte = type == CT_U8 || type == CT_I8, is_own = is_byte || type == CT_I16;
    const gint64 bits = ct_params_has(given, "bits") ? ct_params_int(given, "bits")
                        : is_byte                    ? 8
                        : is_own                     ? 16
                                                     : 32;
    if (bits > 32 || (bits & (bits - 1)) != 0)
        return ct_params_error(given, "bits", error,
                               "wants 1, 2, 4, 8, 16 or 32, but is given %" G_GINT64_FORMAT, bits);
    elements->scale = (gfloat)ct_params_real(given, "scale");
    elements->offset = (gfloat)ct_params_real(given, "offset");
    if (!(elements->scale > 0) || !isfinite(elements->scale))
        return ct_params_error(given, "scale", error,
                               "wants a number above 0 that f32 holds, but is given %g",
                               ct_params_real(given, "scale"));
    if (!isfinite(elements->offset))
        return ct_params_error(given, "offset", error,
                               "wants a number that f32 holds, but is given %g",
                               ct_params_real(given, "offset"));
    elements->bits = (guint)bits;
    elements->type = is_own ? type : CT_F32;
    elements->is_signed = bits == 16 || (bits == 8 && type == CT_I8 && elements->offset == 0);
    const gdouble range = bits < 32 ? (gdouble)(1u << bits) : INFINITY;
    elements->least = bits == 32 ? -INFINITY : elements->is_signed ? -range / 2 : 0;
    elements->most = bits == 32 ? INFINITY : elements->is_signed ? range / 2 - 1 : range - 1;
    return TRUE;
}

gboolean
psrfits_elements_choose(const CtParams *given, const CtStream *stream, PsrfitsElements *elements,
                        GError **error)
{
    *elements = (PsrfitsElements){0};
    return ct_filterbank_check(stream, error) && choose_products(stream, elements, error) &&
           choose_type(given, stream, elements, error);
}

/* The samples of a row: what the parameter says; else as many as make whole bytes, and DATA up to a
 * MiB, in files that have as many, without a rest if all files have the same number. */
static gint64
choose_row(const CtParams *given, const CtStream *stream, const PsrfitsElements *elements,
           gint64 n_channels)
{
    enum { USUAL_BITS = 8 << 20 };
    if (ct_params_has(given, "row_samples"))
        return ct_params_int(given, "row_samples");
    const gint64 sample = n_channels * elements->n_products * elements->bits;
    const gint64 length = stream->axes[ct_stream_axis(stream, "time")].length;
    gint64 unit = 1, n;
    while (unit * sample % 8 != 0)
        unit *= 2;
    for (n = unit; n * sample <= USUAL_BITS / 2; n *= 2)
        ;
    if (length >= 0)
        n = MIN(n, MAX(1, (length + unit - 1) / unit) * unit);
    if (!ct_params_has(given, "rotate_samples"))
        return n;
    const gint64 most = ct_params_int(given, "rotate_samples");
    for (gint64 fits = MIN(n, most) / unit * unit; fits > 0; fits -= unit)
        if (most % fits == 0)
            return fits;
    return n;
}

void
psrfits_shape_choose(const CtParams *given, const CtStream *stream, const PsrfitsElements *elements,
                     const CtChannels *channels, PsrfitsShape *shape)
{
    *shape = (PsrfitsShape){
        .stream = stream,
        .channels = channels,
        .n_products = elements->n_products,
        .products = elements->name,
        .bits = elements->bits,
        .is_signed = elements->is_signed,
        .row_samples = choose_row(given, stream, elements, channels->n),
        .frontend = ct_params_string(given, "receiver"),
        .backend = ct_params_string(given, "instrument"),
    };
    const CtObservationFacts *facts = ct_observation_facts(stream->observation);
    const gint pol = ct_stream_axis(stream, "pol");
    const char *name = pol >= 0 && stream->axes[pol].labels
                           ? ct_labels_name(stream->axes[pol].labels, 0, 0)
                       : facts->n_polarisations > 0 ? facts->polarisations[0]
                                                    : "";
    static const char *const linear[] = {"X", "Y", "H", "V", NULL};
    static const char *const circular[] = {"R", "L", NULL};
    shape->feed = g_strv_contains(linear, name)     ? "LIN"
                  : g_strv_contains(circular, name) ? "CIRC"
                                                    : "";
}

gboolean
psrfits_shape_check(const CtParams *given, const PsrfitsShape *shape, GError **error)
{
    enum { MOST = 1 << 26 }; /* CFITSIO has room for 9 characters of TFORM */
    const gint64 n = shape->n_products * shape->channels->n;
    const gint64 bytes = psrfits_row(shape).bytes;
    if (bytes < 0 || bytes > MOST)
        return ct_params_error(given, "row_samples", error,
                               "wants rows of at most 64 MiB, but is given %" G_GINT64_FORMAT
                               " samples of %" G_GINT64_FORMAT " elements of %u bits",
                               shape->row_samples, n, shape->bits);
    return shape->row_samples * n * shape->bits % 8 == 0 ||
           ct_params_error(given, "row_samples", error,
                           "wants rows of whole bytes, but is given %" G_GINT64_FORMAT
                           " samples of %" G_GINT64_FORMAT " elements of %u bits",
                           shape->row_samples, n, shape->bits);
}
