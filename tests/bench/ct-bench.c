/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages of the benchmarks: a source whose blocks cost nothing, an empty stage, a sink.
 *
 * bench.source fills the memory of its ring with random elements when it first reaches it, and then
 * leaves it as it is. It and bench.sink measure the stream's time, from the first firing that ends
 * after `skip` samples to the last one, and count the samples between them. */
#include "measure/moment.h"

#include <cornerturn/stage.h>
#include <math.h>
#include <string.h>

/* ---- the clock of a stream ---- */

enum { NANOSECONDS, PROCESSOR, SAMPLES };

static const char *const counters[] = {"nanoseconds", "processor", "timed", NULL};

typedef struct {
    gint64 skip; /* samples before the measurement */
    guint n_workers;
    gboolean begun;
    CtMoment from;
    gint64 timed; /* samples since then */
} Meter;

/* Counts a firing of samples index … index + n − 1. */
static void
meter_count(Meter *meter, guint64 *counts, gint64 index, gint64 n, gboolean ended)
{
    if (meter->begun) {
        meter->timed += n;
    } else if (index + n >= meter->skip) {
        meter->from = ct_moment_of_process();
        meter->begun = TRUE;
    }
    if (!ended)
        return;
    const CtMoment to = ct_moment_of_process();
    counts[NANOSECONDS] += (guint64)ct_moments_between(&meter->from, &to, meter->n_workers);
    counts[PROCESSOR] += (guint64)(to.processor - meter->from.processor);
    counts[SAMPLES] += (guint64)meter->timed;
}

/* ---- random elements ---- */

static guint64
random_bits(guint64 *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Values like a receiver's: the most negative integer, which real quantisers do not give, is raised
 * by one. */
static void
fill_element(guint8 *to, CtType type, guint64 *state)
{
    const CtTypeInfo *info = ct_type_info(type);
    const guint n_parts = info->is_complex && type != CT_CI4 ? 2 : 1;
    const gsize bytes = info->bytes / n_parts;
    for (guint part = 0; part < n_parts; part++, to += bytes) {
        const guint64 bits = random_bits(state);
        const gdouble value = ((gdouble)(bits >> 11) * 0x1p-53 - 0.5) * 3.4641016;
        const gfloat single = (gfloat)value;
        const guint16 half = (guint16)((bits & 0x83ff) | 0x3400 | (bits & 0x0800)); /* ±0.25 … 2 */
        if (type == CT_CF64 || type == CT_F64)
            memcpy(to, &value, sizeof value);
        else if (type == CT_CF32 || type == CT_F32)
            memcpy(to, &single, sizeof single);
        else if (info->is_float)
            memcpy(to, &half, sizeof half);
        else if (bytes == 1)
            *to = type != CT_CI4 && info->is_signed && (bits & 0xff) == 0x80 ? 0x81 : (guint8)bits;
        else
            memcpy(to, &bits, bytes);
    }
}

static void
fill_axes(const CtBlock *block, guint axis, guint8 *to, guint64 *state)
{
    if (axis == block->n_axes) {
        fill_element(to, block->type, state);
        return;
    }
    for (gint64 i = 0; i < block->length[axis]; i++)
        fill_axes(block, axis + 1, to + i * block->stride[axis], state);
}

/* ---- bench.source ---- */

typedef struct {
    Meter meter;
    gint64 n_samples;
    gint64 made;
    gint64 start;
    gint64 ticks;
    gint time;       /* axis of the blocks; −1: there is none */
    gint inner_time; /* the axis within its blocks; −1: there is none */
    gint64 granule;
    guint8 *low, *high; /* the memory between them is filled */
    guint64 random;
} Source;

static const CtParam source_params[] = {
    {"type", CT_PARAM_TYPE, CT_PARAM_REQUIRED, .help = "of the elements"},
    {"axes", CT_PARAM_STRING, CT_PARAM_LIST, .help = "besides time"},
    {"lengths", CT_PARAM_INT, CT_PARAM_LIST | CT_PARAM_RANGED, .minimum = 1, .maximum = 1 << 30,
     .help = "of the axes"},
    {"samples", CT_PARAM_INT, CT_PARAM_RANGED, .minimum = 0, .maximum = 0x1p62, .fallback = "65536",
     .help = "length of the stream"},
    {"skip", CT_PARAM_INT, CT_PARAM_RANGED, .minimum = 0, .maximum = 0x1p62, .fallback = "0",
     .help = "samples before the clock begins"},
    {"sample_rate", CT_PARAM_QUANTITY, CT_PARAM_RANGED, .unit = "Hz", .minimum = 1e-9,
     .maximum = 1e15, .fallback = "1 MHz", .help = "samples per second"},
    {"centre_frequency", CT_PARAM_QUANTITY, .unit = "Hz", .fallback = "150 MHz",
     .help = "of a complex stream"},
    {"layout", CT_PARAM_LAYOUT, .help = "left out: as the reader wants"},
    {NULL},
};

static gboolean
source_infer(CtNode *node, GError **error)
{
    CtStream *stream = &node->outputs[0];
    const CtParams *params = node->params;
    ct_stream_init(stream);
    stream->type = ct_params_type(params, "type");
    ct_params_rational(params, "sample_rate", &stream->rate_num, &stream->rate_den);
    stream->ticks_per_sample = 1;
    stream->has_frequency = TRUE;
    stream->frequency = ct_params_real(params, "centre_frequency");
    CtAxis *time = ct_stream_add_axis(stream, "time", ct_params_int(params, "samples"));
    time->coordinate.unit = g_intern_static_string("s");
    time->coordinate.step = (gdouble)stream->rate_den / (gdouble)stream->rate_num;
    if (ct_params_count(params, "axes") != ct_params_count(params, "lengths"))
        return ct_params_error(params, "lengths", error, "wants one length for each of `axes`");
    for (guint i = 0; i < ct_params_count(params, "axes"); i++) {
        CtAxis *axis = ct_stream_add_axis(stream, ct_params_string_at(params, "axes", i),
                                          ct_params_int_at(params, "lengths", i));
        if (!axis)
            return ct_params_error(params, "axes", error, "wants axes that do not stand twice");
        if (g_str_equal(axis->name, "channel") || g_str_equal(axis->name, "subband")) {
            axis->coordinate.unit = g_intern_static_string("Hz");
            axis->coordinate.first = stream->frequency;
            axis->coordinate.step = 1e3;
        }
    }
    if (ct_params_has(params, "layout"))
        node->output_layouts[0] = *ct_params_layout(params, "layout");
    return TRUE;
}

static gboolean
source_prepare(CtPrepare *prepare, gpointer *result, G_GNUC_UNUSED GError **error)
{
    const CtParams *params = prepare->nodes[0].params;
    const CtLayout *layout = &prepare->outputs[0].layout;
    Source *source = *result = g_new0(Source, 1);
    source->meter = (Meter){.skip = ct_params_int(params, "skip"), .n_workers = prepare->n_workers};
    source->n_samples = ct_params_int(params, "samples");
    source->ticks = prepare->outputs[0].stream->ticks_per_sample;
    source->start = prepare->outputs[0].stream->start;
    source->time = ct_layout_axis(layout, "time");
    source->inner_time = ct_layout_block_axis(layout, "time");
    source->granule = source->inner_time >= 0 ? layout->axes[source->inner_time].count : 1;
    source->random = 0x9e3779b97f4a7c15u;
    return TRUE;
}

static gboolean
source_advance(gpointer state, CtAdvance *advance, G_GNUC_UNUSED GError **error)
{
    Source *source = state;
    CtDeparture *out = &advance->outputs[0];
    out->produced = MIN(out->room, source->n_samples - source->made);
    if (source->made + out->produced < source->n_samples)
        out->produced -= out->produced % source->granule;
    out->start = source->start + source->made * source->ticks;
    advance->ended = source->made + out->produced == source->n_samples;
    meter_count(&source->meter, advance->counters, source->made, out->produced, advance->ended);
    source->made += out->produced;
    return TRUE;
}

static gboolean
source_work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    Source *source = state;
    const CtBlock *block = &work->outputs[0];
    if (!block->data)
        return TRUE;
    const gint64 step = block->stride[source->time];
    const gint64 n = block->length[source->time];
    guint8 *from = block->data, *to = block->data + n * step;
    if (source->high == NULL)
        source->low = source->high = from;
    /* A ring is written from its beginning, so the memory that is not filled is behind the filled
     * memory. */
    const gint64 known = CLAMP((source->high - from) / step, 0, n);
    if (from < source->low || known == n)
        return TRUE;
    CtBlock rest = *block;
    rest.data += known * step;
    rest.length[source->time] = n - known;
    fill_axes(&rest, 0, rest.data, &source->random);
    source->high = to;
    return TRUE;
}

static const CtPort no_ports[] = {{NULL}};
static const CtParam no_params[] = {{NULL}};

static const CtPort source_outputs[] = {{"out", "{time ...}", 0, "random elements"}, {NULL}};

static const CtStage source_stage = {
    .name = "bench.source",
    .summary = "random blocks that cost nothing",
    .version = 1,
    .inputs = no_ports,
    .outputs = source_outputs,
    .params = source_params,
    .counters = counters,
    .infer = source_infer,
};

static const CtVariant source_variant = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = (const char *const[]){"bench.source", NULL},
    .rows = (const CtRow[]){{"-> {...}", 1}, {NULL}},
    .prepare = source_prepare,
    .advance = source_advance,
    .work = source_work,
    .finish = g_free,
};

/* ---- bench.nothing ---- */

static gboolean
nothing_infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    return TRUE;
}

static gboolean
nothing_work(G_GNUC_UNUSED gpointer state, G_GNUC_UNUSED const CtWork *work,
             G_GNUC_UNUSED GError **error)
{
    return TRUE;
}

static const CtPort nothing_inputs[] = {{"in", "{time ...}", 0, "anything"}, {NULL}};
static const CtPort nothing_outputs[] = {{"out", "{time ...}", 0, "whatever lay there"}, {NULL}};

static const CtStage nothing_stage = {
    .name = "bench.nothing",
    .summary = "does nothing, in ranges along time",
    .version = 1,
    .inputs = nothing_inputs,
    .outputs = nothing_outputs,
    .params = no_params,
    .infer = nothing_infer,
};

static const CtStage nothing_whole_stage = {
    .name = "bench.nothing.whole",
    .summary = "does nothing, a block at once",
    .version = 1,
    .inputs = nothing_inputs,
    .outputs = nothing_outputs,
    .params = no_params,
    .infer = nothing_infer,
};

static const CtRow nothing_rows[] = {{"[...] -> [...]", 1}, {NULL}};

static const CtVariant nothing_variant = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = (const char *const[]){"bench.nothing", NULL},
    .rows = nothing_rows,
    .split = "time",
    .work = nothing_work,
};

static const CtVariant nothing_whole_variant = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = (const char *const[]){"bench.nothing.whole", NULL},
    .rows = nothing_rows,
    .work = nothing_work,
};

/* ---- bench.sink ---- */

static const CtParam sink_params[] = {
    {"skip", CT_PARAM_INT, CT_PARAM_RANGED, .minimum = 0, .maximum = 0x1p62, .fallback = "0",
     .help = "samples before the clock begins"},
    {"layout", CT_PARAM_LAYOUT, .help = "left out: any"},
    {NULL},
};

static gboolean
sink_infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    if (ct_params_has(node->params, "layout"))
        node->input_layouts[0] = *ct_params_layout(node->params, "layout");
    return TRUE;
}

static gboolean
sink_prepare(CtPrepare *prepare, gpointer *result, G_GNUC_UNUSED GError **error)
{
    Meter *meter = *result = g_new0(Meter, 1);
    *meter = (Meter){.skip = ct_params_int(prepare->nodes[0].params, "skip"),
                     .n_workers = prepare->n_workers};
    return TRUE;
}

static gboolean
sink_work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    meter_count(state, work->counters, work->inputs[0].index, work->inputs[0].n_samples,
                work->ended);
    return TRUE;
}

static const CtPort sink_inputs[] = {{"in", "{...}", 0, "anything"}, {NULL}};

static const CtStage sink_stage = {
    .name = "bench.sink",
    .summary = "drops what comes, and times it",
    .version = 1,
    .inputs = sink_inputs,
    .outputs = no_ports,
    .params = sink_params,
    .counters = counters,
    .infer = sink_infer,
};

static const CtVariant sink_variant = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = (const char *const[]){"bench.sink", NULL},
    .rows = (const CtRow[]){{"{...} ->", 1}, {NULL}},
    .prepare = sink_prepare,
    .work = sink_work,
    .finish = g_free,
};

CT_PLUGIN("bench",
          ((const CtStage *const[]){&source_stage, &nothing_stage, &nothing_whole_stage,
                                    &sink_stage, NULL}),
          ((const CtVariant *const[]){&source_variant, &nothing_variant, &nothing_whole_variant,
                                      &sink_variant, NULL}));
