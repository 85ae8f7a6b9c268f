/* SPDX-License-Identifier: BSD-3-Clause */
/* file.source: a stream from an array in an .npy or raw file, time anywhere among its axes. */
#include "array.h"

#include <cornerturn/kit/source.h>
#include <cornerturn/text.h>

static const char *const endings[] = {".json", NULL};

static const CtParam params[] = {
    {.name = "path",
     .kind = CT_PARAM_PATH,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_LIST,
     .endings = endings,
     .help = "the array; several files, or a pattern for names (*), are one array along time"},
    {.name = "format",
     .kind = CT_PARAM_CHOICE,
     .choices = file_formats,
     .fallback = "auto",
     .help = "auto: by the ending of the name, .npy or .raw"},
    {.name = "layout",
     .kind = CT_PARAM_LAYOUT,
     .help = "types and axes of the array, slowest first; left out: as PATH.json says"},
    {.name = "shape",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_LIST | CT_PARAM_RANGED,
     .minimum = -1,
     .maximum = 1e15,
     .help = "length of each axis of a raw array; -1 for a slowest time: as long as the file"},
    {.name = "offset",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 0,
     .maximum = 1e15,
     .help = "bytes before a raw array; left out: 0"},
    {.name = "sample_rate",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_RANGED,
     .unit = "Hz",
     .minimum = 1e-9,
     .maximum = 1e15,
     .help = "samples per second along time"},
    {.name = "ticks_per_sample",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 1,
     .maximum = 1e12,
     .help = "ticks of the clock from a sample to the next; left out: as PATH.json says, or 1"},
    {.name = "start", .kind = CT_PARAM_INT, .help = "tick of the first sample; left out: 0"},
    {.name = "epoch",
     .kind = CT_PARAM_STRING,
     .help = "UTC of tick 0 to the second, 2022-06-29T01:30:00Z, or unix seconds; with a sample "
             "rate"},
    {.name = "centre_frequency",
     .kind = CT_PARAM_QUANTITY,
     .unit = "Hz",
     .help = "of the band of complex samples"},
    {.name = "first_frequency",
     .kind = CT_PARAM_QUANTITY,
     .unit = "Hz",
     .help = "lower edge of the band of real samples"},
    {.name = "frequencies",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_LIST,
     .unit = "Hz",
     .help = "of each subband or, without subbands, channel"},
    {NULL},
};

/* ---- the clock ---- */

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

/* Changes the stream as the parameters say. */
static gboolean
describe(const CtParams *given, CtStream *stream, GError **error)
{
    return set_clock(given, stream, error) && ct_source_set_frequencies(given, stream, error);
}

const CtArraySource file_source_arrays = {
    .files = "path",
    .name = "arrays",
    .open = file_array_open,
    .describe = describe,
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_array_source_infer(&file_source_arrays, node, error);
}

const CtStage file_source = {
    .name = "file.source",
    .summary = "a stream from an array in an .npy or raw file",
    .version = 1,
    .outputs = CT_PORTS({"samples", "{...}", 0, "the array, in the file's order"}),
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .extensions = file_extensions,
};
