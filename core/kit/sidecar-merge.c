/* SPDX-License-Identifier: BSD-3-Clause */
/* What PATH.json and the header of a file say together, of arrays and of recordings. */
#include "sidecar-merge.h"

#include "cornerturn/error.h"

#include <math.h>
#include <string.h>

gboolean
ct_sidecar_contradicts(const char *path, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *what = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                "%s: wants a header that agrees with %s.json, but is given %s", path, path, what);
    return FALSE;
}

static gboolean
is_near(gdouble a, gdouble b)
{
    return fabs(a - b) <= 1e-10 * fmax(fabs(a), fabs(b));
}

/* Adds the header's clock, unless PATH.json has one. */
static gboolean
merge_clock(const char *path, CtStream *stream, const CtStream *header, GError **error)
{
    if (header->rate_num == 0)
        return TRUE;
    if (stream->rate_num == 0) {
        stream->rate_num = header->rate_num;
        stream->rate_den = header->rate_den;
        stream->ticks_per_sample = header->ticks_per_sample;
        stream->start = header->start;
        stream->epoch = header->epoch;
        return TRUE;
    }
    const gdouble rate = ct_stream_sample_rate(header), said = ct_stream_sample_rate(stream);
    return is_near(rate, said) ||
           ct_sidecar_contradicts(path, error, "%.12g instead of %.12g samples per second", rate,
                                  said);
}

/* Adds what the header says of the coordinates and lanes of an axis, unless PATH.json has it. */
static gboolean
merge_axis(const char *path, const CtStream *stream, CtAxis *axis, const CtAxis *header,
           GError **error)
{
    CtCoordinate *has = &axis->coordinate;
    const CtCoordinate *from = &header->coordinate;
    axis->loses |= header->loses;
    if (!from->unit)
        return TRUE;
    if (!has->unit) {
        *has = *from;
        has->table = from->table ? g_bytes_ref(from->table) : NULL;
        return TRUE;
    }
    CtStream one = {.n_axes = 1, .axes = {*header}};
    const guint a = (guint)(axis - stream->axes);
    gboolean same = has->unit == from->unit && !has->parent == !from->parent;
    for (gint64 i = 0; i < axis->length && same && !from->parent; i++)
        same = is_near(ct_stream_coordinate(stream, a, i, 0), ct_stream_coordinate(&one, 0, i, 0));
    return same ||
           ct_sidecar_contradicts(path, error, "other coordinates of axis '%s'", axis->name);
}

gboolean
ct_sidecar_merge(const char *path, CtStream *stream, const CtStream *header, GError **error)
{
    if (stream->type == CT_TYPE_NONE && header->rate_num == 0) { /* ticks without a rate */
        stream->start = header->start;
        stream->ticks_per_sample = header->ticks_per_sample;
    }
    for (guint a = stream->n_axes; a-- > 0;) {
        const gint of = ct_stream_axis(header, stream->axes[a].name);
        if (of < 0 || header->axes[of].length != stream->axes[a].length)
            ct_stream_remove_axis(stream, stream->axes[a].name);
    }
    for (guint a = 0; a < header->n_axes; a++) {
        const CtAxis *from = &header->axes[a];
        if (ct_stream_axis(stream, from->name) >= 0)
            continue; /* which has no names if PATH.json says none */
        CtAxis *axis = ct_stream_add_axis(stream, from->name, from->length);
        if (axis && from->labels)
            ct_axis_take_labels(axis, ct_labels_ref(from->labels));
    }
    for (guint a = 0; a < header->n_axes; a++) {
        CtAxis *axis = &stream->axes[ct_stream_axis(stream, header->axes[a].name)];
        if (!merge_axis(path, stream, axis, &header->axes[a], error))
            return FALSE;
    }
    stream->type = header->type;
    if (header->has_frequency && stream->has_frequency &&
        !is_near(header->frequency, stream->frequency))
        return ct_sidecar_contradicts(path, error, "%.12g instead of %.12g Hz", header->frequency,
                                      stream->frequency);
    if (header->has_frequency && !stream->has_frequency) {
        stream->has_frequency = TRUE;
        stream->frequency = header->frequency;
    }
    if (header->observation && !stream->observation)
        ct_stream_take_observation(stream, ct_observation_ref(header->observation));
    return merge_clock(path, stream, header, error);
}

/* Whether two axes, other than time, have the same length, coordinates and lanes. */
static gboolean
is_same_axis(const CtAxis *a, const CtAxis *b)
{
    const CtCoordinate *x = &a->coordinate, *y = &b->coordinate;
    return a->name == b->name && a->length == b->length && a->loses == b->loses &&
           x->unit == y->unit && x->first == y->first && x->step == y->step &&
           x->parent == y->parent && !x->table == !y->table &&
           (!x->table || g_bytes_equal(x->table, y->table)) &&
           ct_labels_equal(a->labels, b->labels);
}

gboolean
ct_sidecar_is_alike(const CtStream *a, const CtStream *b)
{
    gboolean same = a->n_axes == b->n_axes && a->rate_num == b->rate_num &&
                    a->rate_den == b->rate_den && a->ticks_per_sample == b->ticks_per_sample &&
                    (a->epoch == CT_NO_EPOCH) == (b->epoch == CT_NO_EPOCH) &&
                    a->has_frequency == b->has_frequency && a->frequency == b->frequency;
    for (guint i = 0; i < a->n_axes && same; i++)
        same = strcmp(a->axes[i].name, "time") == 0 || is_same_axis(&a->axes[i], &b->axes[i]);
    return same;
}

void
ct_sidecar_warn(const CtSidecar *sidecar, const char *path, const CtParams *given,
                const char *param, const char *but)
{
    if (sidecar->invalid > 0)
        ct_params_warn(given, param,
                       "%" G_GINT64_FORMAT " samples are invalid, as %s.json says, but are read as "
                       "%s: it does not say which of this array's they are",
                       sidecar->invalid, path, but);
    if (sidecar->interrupted)
        ct_params_warn(given, param,
                       "the run that wrote %s was interrupted, as %s.json says: the array is read "
                       "as a whole stream",
                       path, path);
}
