/* SPDX-License-Identifier: BSD-3-Clause */
/* generate: a sky of noise sources and tones as received by stations, with receiver noise. */
#include "generate.h"

#include "../geometry.h"
#include "generate-model.h"

#include <math.h>

static const CtParam generate_params[] = {
    {"type", CT_PARAM_TYPE, .fallback = "cf32",
     .help = "of the samples; the zero of u8 and u32 is in the middle"},
    {"sample_rate", CT_PARAM_QUANTITY, CT_PARAM_REQUIRED | CT_PARAM_RANGED, .unit = "Hz",
     .minimum = 1e-9, .maximum = 1e15, .help = "samples per second"},
    {"centre_frequency", CT_PARAM_QUANTITY, .unit = "Hz",
     .help = "of a complex stream; with subbands, of the first one"},
    {"first_frequency", CT_PARAM_QUANTITY, .unit = "Hz",
     .help = "lower edge of a real stream's band"},
    {"n_subbands", CT_PARAM_INT, CT_PARAM_RANGED, .minimum = 1, .maximum = 1 << 20,
     .help = "left out: no subband axis; complex streams only"},
    {"subband_step", CT_PARAM_QUANTITY, .unit = "Hz",
     .help = "from a subband's centre to the next; left out: the sample rate"},
    {"n_stations", CT_PARAM_INT, CT_PARAM_RANGED, .minimum = 1, .maximum = 1 << 20,
     .help = "left out: as many as there are positions, or as the graph's `stations` has; without "
             "any, no "
             "station axis"},
    {"n_pols", CT_PARAM_INT, CT_PARAM_RANGED, .minimum = 1, .maximum = 2,
     .help = "left out: no pol axis"},
    {"samples", CT_PARAM_INT, CT_PARAM_RANGED, .minimum = 0, .maximum = 0x1p62,
     .help = "length of the stream; neither samples nor duration: endless"},
    {"duration", CT_PARAM_QUANTITY, CT_PARAM_RANGED, .unit = "s", .minimum = 0, .maximum = 1e18,
     .help = "length of the stream, rounded down to whole samples"},
    {"start", CT_PARAM_INT, .fallback = "0",
     .help = "tick of the first sample; a sample depends on its tick"},
    {"seed", CT_PARAM_INT, .fallback = "1", .help = "a different seed gives different noise"},
    GEOMETRY_POSITION_PARAMS,
    {"noise", CT_PARAM_REAL, CT_PARAM_LIST, .fallback = "1",
     .help = "power of the receiver's noise in each pol, one value or one per station"},
    {"source_directions", CT_PARAM_REAL, CT_PARAM_TABLE,
     .help = "noise sources: " GEOMETRY_DIRECTIONS_HELP},
    {"source_powers", CT_PARAM_REAL, CT_PARAM_LIST, .fallback = "1",
     .help = "of the sources in each pol, one value or one per source"},
    {"source_correlations", CT_PARAM_REAL, CT_PARAM_LIST, .fallback = "0",
     .help = "of a source's second pol with its first, −1 to 1"},
    {"tone_frequencies", CT_PARAM_QUANTITY, CT_PARAM_LIST, .unit = "Hz",
     .help = "tones, the same in every pol"},
    {"tone_amplitudes", CT_PARAM_REAL, CT_PARAM_LIST, .fallback = "1",
     .help = "of exp(2πi f t), or of its real part in a real stream"},
    {"tone_phases", CT_PARAM_QUANTITY, CT_PARAM_LIST, .unit = "rad", .fallback = "0",
     .help = "at tick 0"},
    {"tone_directions", CT_PARAM_REAL, CT_PARAM_TABLE,
     .help = GEOMETRY_DIRECTIONS_HELP "; left out: the same at all stations"},
    {"scale", CT_PARAM_REAL,
     .help = "a factor for the samples; left out: 1; for integers, the rms becomes a quarter of "
             "the largest value"},
    {"invalid", CT_PARAM_REAL, CT_PARAM_TABLE,
     .help = "lost samples: rows of station (−1: all), first sample, number of samples"},
    {"layout", CT_PARAM_LAYOUT,
     .help = "the layout of the output; left out: the one that the reader wants"},
    {NULL},
};

/* duration · rate, rounded down; both are fractions. */
static gboolean
samples_of_duration(const CtParams *params, const CtStream *stream, gint64 *samples, GError **error)
{
    gint64 num, den;
    ct_params_rational(params, "duration", &num, &den);
    gdouble estimate = (gdouble)num / den * ((gdouble)stream->rate_num / stream->rate_den);
    if (!(estimate < 0x1p62))
        return ct_params_error(params, "duration", error,
                               "wants fewer than 2^62 samples, but is given %g", estimate);
    gint64 a = num, b = den, c = stream->rate_num, d = stream->rate_den;
    __int128 top = (__int128)a * c, bottom = (__int128)b * d;
    *samples = (gint64)(top / bottom);
    return TRUE;
}

/* A spiral gives the positions of stations, but not their number, and only directions use
 * positions. */
static gboolean
uses_positions(const CtParams *params, gint64 n_stations)
{
    const gboolean is_directed =
        ct_params_has(params, "source_directions") || ct_params_has(params, "tone_directions");
    return ct_params_has(params, "positions") || ct_params_has(params, "positions_file") ||
           (ct_params_has(params, "spiral") && (is_directed || n_stations == 0));
}

static gboolean
set_axes(const CtNode *node, CtStream *stream, GError **error)
{
    const CtParams *params = node->params;
    gint64 samples = -1;
    if (ct_params_has(params, "samples") && ct_params_has(params, "duration"))
        return ct_params_error(params, "duration", error,
                               "wants to stand alone, but samples is given too");
    if (ct_params_has(params, "samples"))
        samples = ct_params_int(params, "samples");
    else if (ct_params_has(params, "duration") &&
             !samples_of_duration(params, stream, &samples, error))
        return FALSE;
    CtAxis *time = ct_stream_add_axis(stream, "time", samples);
    time->coordinate.unit = g_intern_static_string("s");
    time->coordinate.step = (gdouble)stream->rate_den / stream->rate_num;
    time->coordinate.first = stream->start * time->coordinate.step;

    if (ct_params_has(params, "n_subbands")) {
        if (!stream->has_frequency)
            return ct_params_error(params, "n_subbands", error,
                                   "wants the centre_frequency of the first, which is not given");
        CtAxis *axis = ct_stream_add_axis(stream, "subband", ct_params_int(params, "n_subbands"));
        axis->coordinate.unit = g_intern_static_string("Hz");
        axis->coordinate.first = stream->frequency;
        axis->coordinate.step = ct_params_has(params, "subband_step")
                                    ? ct_params_real(params, "subband_step")
                                    : ct_stream_sample_rate(stream);
    }

    gint64 n_stations =
        ct_params_has(params, "n_stations") ? ct_params_int(params, "n_stations") : 0;
    if (uses_positions(params, n_stations)) {
        g_autofree gdouble *positions = geometry_positions(node, &n_stations, error);
        if (!positions)
            return FALSE;
    }
    if (n_stations == 0)
        n_stations = geometry_stations(node).n;
    if (n_stations > 0) {
        CtAxis *axis = ct_stream_add_axis(stream, "station", n_stations);
        axis->loses = ct_params_has(params, "invalid");
    }
    if (ct_params_has(params, "n_pols"))
        ct_stream_add_axis(stream, "pol", ct_params_int(params, "n_pols"));
    return TRUE;
}

static gboolean
generate_infer(CtNode *node, GError **error)
{
    const CtParams *params = node->params;
    CtStream *stream = &node->outputs[0];
    stream->type = ct_params_type(params, "type");
    gboolean is_complex = ct_type_info(stream->type)->is_complex;
    ct_params_rational(params, "sample_rate", &stream->rate_num, &stream->rate_den);
    stream->ticks_per_sample = 1;
    stream->start = ct_params_int(params, "start");
    stream->epoch = CT_NO_EPOCH;
    node->seeks = TRUE;

    static const char *const frequencies[2] = {"first_frequency", "centre_frequency"};
    if (ct_params_has(params, frequencies[!is_complex]))
        return ct_params_error(params, frequencies[!is_complex], error,
                               "wants %s samples, but the type is %s",
                               is_complex ? "real" : "complex", ct_type_info(stream->type)->name);
    if (!is_complex && ct_params_has(params, "n_subbands"))
        return ct_params_error(params, "n_subbands", error,
                               "wants complex samples, but the type is %s",
                               ct_type_info(stream->type)->name);
    stream->has_frequency = ct_params_has(params, frequencies[is_complex]);
    if (stream->has_frequency)
        stream->frequency = ct_params_real(params, frequencies[is_complex]);

    if (!set_axes(node, stream, error))
        return FALSE;
    const CtLayout *layout = ct_params_layout(params, "layout");
    if (layout)
        node->output_layouts[0] = *layout;

    g_autoptr(GenerateModel) model = generate_model_new(node, stream, error);
    return model != NULL;
}

/* The same for integers and floats: 10 rounds of Philox, a logarithm, a root, sine and cosine are
 * about 150 for a sample; a tap of a source's filter is 4. */
static gdouble
generate_operations(const CtNode *node)
{
    guint n_sources = ct_params_count(node->params, "source_directions");
    guint n_tones = ct_params_count(node->params, "tone_frequencies");
    gdouble a_sample = 150.0 + 4.0 * GENERATE_TAPS * n_sources + 8.0 * n_tones;
    return ct_stream_width(&node->outputs[0]) * a_sample;
}

gboolean
generate_state_init(GenerateState *state, const CtPrepare *prepare, GError **error)
{
    const CtBinding *output = &prepare->outputs[0];
    state->model = generate_model_new(&prepare->nodes[0], output->stream, error);
    if (!state->model)
        return FALSE;
    for (guint i = 0; i < GENERATE_N_AXES; i++)
        state->place[i] = ct_layout_axis(&output->layout, generate_axes[i]);
    return TRUE;
}

gboolean
generate_advance(gpointer user_data, CtAdvance *advance, G_GNUC_UNUSED GError **error)
{
    GenerateState *state = user_data;
    const GenerateModel *model = state->model;
    CtDeparture *output = &advance->outputs[0];
    gint64 n = output->room;
    if (model->n_samples >= 0) {
        n = MIN(n, model->n_samples - state->produced);
        advance->ended = state->produced + n == model->n_samples;
    }
    output->produced = n;
    output->start = model->first + state->produced;

    for (guint i = 0; i < model->n_gaps; i++) {
        const GenerateGap *gap = &model->gaps[i];
        gint64 first = MAX(gap->first - output->start, 0), last = MIN(gap->last - output->start, n);
        if (first >= last)
            continue;
        gint64 lane = gap->station < 0 ? 0 : gap->station;
        gint64 last_lane = gap->station < 0 ? model->n_stations - 1 : gap->station;
        for (; lane <= last_lane; lane++)
            memset(output->validity + lane * output->validity_stride + first, 0, last - first);
        output->invalid = TRUE;
    }
    state->produced += n;
    return TRUE;
}

/* About 10⁻⁶ of the amplitude in single precision; integers may then be rounded to the neighbouring
 * value, and half precision is rounded once more. */
static void
generate_accuracy(const CtNode *node, G_GNUC_UNUSED const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const CtTypeInfo *type = ct_type_info(node->outputs[0].type);
    const gdouble error = 4e-6 * outputs[0].largest, rms_error = 4e-6 * outputs[0].rms;
    const gdouble half = type->is_float && type->part_bits == 16 ? 0x1p-11 : 0;
    const gdouble level = type->is_float ? 0 : type->is_complex ? G_SQRT2 / 2 : 0.5;
    outputs[0].error = error + half * outputs[0].largest + level;
    outputs[0].rms_error = type->is_float ? rms_error + half * outputs[0].rms
                                          : ct_accuracy_rounded(&outputs[0], rms_error);
}

static const CtStage generate = {
    .name = "generate",
    .summary = "a simulated sky: noise sources and tones as stations see them, receiver noise",
    .version = 1,
    .outputs = CT_PORTS(
        {"voltages", "{time ...}",
         .help =
             "[time subband station pol], of these axes, those for which a parameter is given"}),
    .params = generate_params,
    .counters = (const char *const[]){"clipped", NULL},
    .infer = generate_infer,
    .infer_uses_params = TRUE,
    .operations = generate_operations,
    .accuracy = generate_accuracy,
    .accuracy_rule = "4·10⁻⁶ of the amplitude; integers half a level more in each part",
};

CT_STAGE_PLUGIN("generate", generate, CT_ISA_VARIANTS(generate_cpu), &generate_cuda,
                &generate_reference);
