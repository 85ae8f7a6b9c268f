/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of arrays: parameters that say what a file does not, clock and frequencies. */
#include "cornerturn/kit/array-source.h"
#include "cornerturn/kit/source.h"
#include "cornerturn/text.h"

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
                                   ct_params_string_at(given, "path", 0), before);
        gint64 numerator, denominator;
        ct_params_rational(given, "sample_rate", &numerator, &denominator);
        if (!ct_stream_set_rate(stream, numerator, denominator, ticks))
            return ct_params_error(given, "ticks_per_sample", error,
                                   "makes a clock faster than 63 bits can count");
    } else if (ct_params_has(given, "ticks_per_sample")) {
        return ct_params_error(given, "ticks_per_sample", error, "wants 'sample_rate' beside it");
    }
    if (ct_params_has(given, "start"))
        stream->start = ct_params_int(given, "start");
    /* Ticks without a rate have no UTC. */
    return stream->rate_num == 0 || !ct_params_has(given, "epoch") ||
           read_epoch(given, &stream->epoch, error);
}

gboolean
ct_array_source_describe(const CtParams *given, CtStream *stream, GError **error)
{
    return set_clock(given, stream, error) && ct_source_set_frequencies(given, stream, error);
}
