/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of a node that are numbers of samples and given as times: `1 ms`. */
#include "params-private.h"

#include <math.h>

/* The samples in a time, as a fraction; FALSE: its terms are too large to be exact. */
static gboolean
find_samples(const CtQuantity *time, const CtStream *stream, gint64 *num, gint64 *den)
{
    return time->denominator != 0 &&
           !__builtin_mul_overflow(time->numerator, stream->rate_num, num) &&
           !__builtin_mul_overflow(time->denominator, stream->rate_den, den) &&
           !__builtin_mul_overflow(*den, MAX(1, stream->ticks_per_sample), den);
}

/* "195 (998.4 us)" */
static char *
describe_count(gint64 n, const CtStream *stream)
{
    g_autofree char *time = ct_quantity_format((gdouble)n / ct_stream_sample_rate(stream), "s");
    return g_strdup_printf("%" G_GINT64_FORMAT " (%s)", n, time);
}

static gboolean
refuse_part(const CtParams *params, const Entry *entry, const CtStream *stream, gdouble samples,
            GError **error)
{
    const CtParam *param = entry->param;
    const gdouble least = param->flags & CT_PARAM_RANGED ? param->minimum : 1;
    const gdouble most = param->flags & CT_PARAM_RANGED ? param->maximum : 0x1p62;
    const gdouble below = floor(samples), above = below + 1;
    g_autofree char *time =
        ct_quantity_format(g_array_index(entry->cells, Cell, 0).time.value, "s");
    g_autofree char *rate = ct_quantity_format(ct_stream_sample_rate(stream), "Hz");
    g_autofree char *low =
        below >= least && below <= most ? describe_count((gint64)below, stream) : NULL;
    g_autofree char *high =
        above >= least && above <= most ? describe_count((gint64)above, stream) : NULL;
    return ct_params_error(params, param->name, error,
                           "wants a whole number of samples at %s, but is given %s, %.9g samples%s"
                           "%s%s%s",
                           rate, time, samples, low || high ? ": the nearest are " : "",
                           low ? low : "", low && high ? " and " : "", high ? high : "");
}

static gboolean
count_samples(const CtParams *params, const Entry *entry, const CtStream *stream, GError **error)
{
    const CtParam *param = entry->param;
    Cell *cell = &g_array_index(entry->cells, Cell, 0);
    gint64 num, den;
    if (!stream || stream->rate_num == 0)
        return ct_params_error(params, param->name, error,
                               "wants an input with a sample rate for a time, but is given one "
                               "without: give the number of samples");
    const gdouble samples = cell->time.value * ct_stream_sample_rate(stream);
    if (!find_samples(&cell->time, stream, &num, &den) || num % den != 0)
        return refuse_part(params, entry, stream, samples, error);
    if (param->flags & CT_PARAM_RANGED && (samples < param->minimum || samples > param->maximum)) {
        g_autofree char *wanted = ct_param_describe(param);
        return ct_params_error(params, param->name, error,
                               "wants %s, but is given %" G_GINT64_FORMAT " samples", wanted,
                               num / den);
    }
    cell->integer = num / den;
    return TRUE;
}

gboolean
ct_params_count_samples(const CtParams *params, const CtStream *stream, GError **error)
{
    for (guint i = 0; i < params->n; i++) {
        const Entry *entry = &params->entries[i];
        if (entry->param->flags & CT_PARAM_SAMPLES &&
            ct_params_is_time(params, entry->param->name) &&
            !count_samples(params, entry, stream, error))
            return FALSE;
    }
    return TRUE;
}
