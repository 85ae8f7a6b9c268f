/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage fft: transforms along one axis, phase to channel by default. */
#include "fft.h"

#include <math.h>

#define MAX_LENGTH (1 << 26)

static const char *const directions[] = {"forward", "inverse", NULL};

static const CtParam params[] = {
    {.name = "axis",
     .kind = CT_PARAM_AXIS,
     .help = "axis to transform; left out: phase (channel for the inverse)"},
    {.name = "to",
     .kind = CT_PARAM_AXIS,
     .help = "axis to make of it; left out: channel (phase for the inverse)"},
    {.name = "direction",
     .kind = CT_PARAM_CHOICE,
     .fallback = "forward",
     .choices = directions,
     .help = "forward: exponent -2πi, not normalised; inverse: +2πi, divided by the length"},
    {.name = "shift",
     .kind = CT_PARAM_BOOL,
     .fallback = "false",
     .help = "zero frequency in the middle instead of first"},
    {.name = "length",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 1,
     .maximum = MAX_LENGTH,
     .help = "along time: samples of a transform"},
    {NULL},
};

static const CtPort inputs[] = {
    {"in", "cf32|cf64|f32|f64{...}", 0, "voltages, or spectra for the inverse"},
    {NULL},
};

static const CtPort outputs[] = {
    {"out", "cf32|cf64{...}", 0, "spectra, or voltages for the inverse"},
    {NULL},
};

gboolean
ct_fft_design_init(FftDesign *design, const CtParams *given, const CtStream *in, GError **error)
{
    FftDesign made = {
        .inverse = ct_params_choice(given, "direction") == 1,
        .shift = ct_params_bool(given, "shift"),
        .real = !ct_type_info(in->type)->is_complex,
        .wide = in->type == CT_CF64 || in->type == CT_F64,
    };
    const char *axis = ct_params_string(given, "axis"), *to = ct_params_string(given, "to");

    made.axis = ct_axis_name(axis != NULL ? axis : made.inverse ? "channel" : "phase");
    made.to = ct_axis_name(to != NULL ? to : made.inverse ? "phase" : "channel");
    made.along_time = made.axis == ct_axis_name("time");

    gint found = ct_stream_axis(in, made.axis);
    if (found < 0) {
        g_autofree char *described = ct_stream_describe(in);
        if (axis != NULL)
            return ct_params_error(given, "axis", error,
                                   "wants an axis of the input, but %s is none of: %s", made.axis,
                                   described);
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants the axis %s (%s'axis' names another one), but is given %s", made.axis,
                    strcmp(made.axis, "phase") == 0 ? "as fir makes it, or " : "", described);
        return FALSE;
    }
    if (made.to != made.axis && ct_stream_axis(in, made.to) >= 0) {
        g_set_error(
            error, CT_ERROR, CT_ERROR_SHAPE,
            "wants to make the axis %s, but the input has one already: 'to' gives it another name",
            made.to);
        return FALSE;
    }
    if (made.along_time && made.to == made.axis)
        return ct_params_error(given, "to", error, "wants an axis other than time");
    if (made.along_time != ct_params_has(given, "length"))
        return ct_params_error(given, "length", error,
                               made.along_time
                                   ? "wants the samples of a transform along time, but is not given"
                                   : "wants the axis time, but the transform is along %s",
                               made.axis);
    if (made.real && made.inverse)
        return ct_params_error(given, "direction", error,
                               "inverse wants complex input, but is given %s",
                               ct_type_info(in->type)->name);
    if (made.real && made.shift)
        return ct_params_error(given, "shift", error,
                               "wants complex input, but is given %s, whose spectra have no "
                               "negative frequencies",
                               ct_type_info(in->type)->name);
    made.length = made.along_time ? ct_params_int(given, "length") : in->axes[found].length;
    if (made.length > MAX_LENGTH) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants at most %d samples along %s, but is given %" G_GINT64_FORMAT, MAX_LENGTH,
                    made.axis, made.length);
        return FALSE;
    }
    made.out_length = made.real ? made.length / 2 + 1 : made.length;
    *design = made;
    return TRUE;
}

gint64
ct_fft_design_unshift(const FftDesign *design, gint64 i)
{
    return design->shift ? (i + (design->length + 1) / 2) % design->length : i;
}

void
ct_fft_axes_init(FftAxes *axes, const FftDesign *design, const CtLayout *in, const CtLayout *out)
{
    *axes = (FftAxes){
        .transformed_in = (guint)ct_layout_axis(in, design->axis),
        .transformed_out = (guint)ct_layout_axis(out, design->to),
        .time_step = design->along_time ? design->length : 1,
    };
    for (guint i = 0; i < out->n_axes; i++) {
        if (i == axes->transformed_out)
            continue;
        axes->in_axis[axes->n_axes] = (guint)ct_layout_axis(in, out->axes[i].name);
        axes->out_axis[axes->n_axes++] = i;
    }
}

void
ct_fft_axes_apply(const FftAxes *axes, const CtBlock *in, const CtBlock *out, FftBatch *batch)
{
    *batch = (FftBatch){
        .n_axes = axes->n_axes,
        .n_transforms = 1,
        .step_in = in->stride[axes->transformed_in],
        .step_out = out->stride[axes->transformed_out],
    };
    for (guint i = 0; i < axes->n_axes; i++) {
        batch->length[i] = out->length[axes->out_axis[i]];
        batch->out[i] = out->stride[axes->out_axis[i]];
        batch->in[i] = in->stride[axes->in_axis[i]];
        if (axes->in_axis[i] == axes->transformed_in)
            batch->in[i] *= axes->time_step;
        batch->n_transforms *= batch->length[i];
    }
}

void
ct_fft_batch_offset(const FftBatch *batch, gint64 i, gint64 *in, gint64 *out)
{
    *in = *out = 0;
    for (guint axis = batch->n_axes; axis-- > 0; i /= batch->length[axis]) {
        *in += i % batch->length[axis] * batch->in[axis];
        *out += i % batch->length[axis] * batch->out[axis];
    }
}

/* The axis whose frequencies the transform splits; −1: none, the stream's own. FALSE where the new
 * axis cannot say its frequencies: it would hang on several axes, on channels that do not say
 * theirs, or be channels on another axis than subband, where their readers do not look. */
static gboolean
find_split(const FftDesign *design, const CtStream *out, gint *split)
{
    const char *channel = ct_axis_name("channel"), *subband = ct_axis_name("subband");
    *split = -1;
    for (guint a = 0; a < out->n_axes; a++) {
        const CtAxis *axis = &out->axes[a];
        const gboolean hertz = g_strcmp0(axis->coordinate.unit, "Hz") == 0;
        if (axis->name == design->to || (!hertz && axis->name != channel))
            continue;
        if (!hertz || *split >= 0 || (design->to == channel && axis->name != subband))
            return FALSE;
        *split = (gint)a;
    }
    return TRUE;
}

/* Frequencies of the channels: the samples' spacing (seconds) gives their step, the stream or the
 * axis that is split where they begin. */
static gboolean
set_frequencies(const FftDesign *design, const CtStream *in, CtStream *out, gdouble spacing,
                GError **error)
{
    CtCoordinate *made = &out->axes[ct_stream_axis(out, design->to)].coordinate;
    gint split;
    if (!find_split(design, out, &split))
        return TRUE;
    gdouble centre = split < 0 && in->has_frequency ? in->frequency : 0;
    gdouble step = 1 / (spacing * (gdouble)design->length);

    *made = (CtCoordinate){.unit = g_intern_static_string("Hz"), .first = centre, .step = step};
    if (split >= 0)
        made->parent = out->axes[split].name;
    if (design->shift)
        made->first -= (gdouble)(design->length / 2) * step;
    if (design->real || design->shift || design->length == 1)
        return TRUE;

    gint64 n_parents = split >= 0 ? out->axes[split].length : 1;
    gdouble *table = CT_TABLE(gdouble, n_parents * design->length, "frequencies", error);
    if (table == NULL)
        return FALSE;
    for (gint64 parent = 0; parent < n_parents; parent++) {
        gdouble first = split >= 0 ? ct_stream_coordinate(out, (guint)split, parent, 0) : centre;
        for (gint64 c = 0; c < design->length; c++)
            table[parent * design->length + c] =
                first + step * (gdouble)(c < (design->length + 1) / 2 ? c : c - design->length);
    }
    made->table = g_bytes_new_take(table, (gsize)(n_parents * design->length) * sizeof *table);
    return TRUE;
}

static gboolean
infer(CtNode *node, GError **error)
{
    const CtStream *in = &node->inputs[0];
    CtStream *out = &node->outputs[0];
    FftDesign design;

    if (!ct_fft_design_init(&design, node->params, in, error))
        return FALSE;
    const CtCoordinate *was = &in->axes[ct_stream_axis(in, design.axis)].coordinate;
    gboolean seconds = was->unit == g_intern_static_string("s") && was->table == NULL;
    gboolean hertz = was->unit == g_intern_static_string("Hz");
    gdouble spacing = seconds ? was->step : 0;

    if (hertz && design.length > 1) {
        guint axis = (guint)ct_stream_axis(in, design.axis);
        gdouble width = ct_stream_coordinate(in, axis, 1, 0) - ct_stream_coordinate(in, axis, 0, 0);
        spacing = width != 0 ? 1 / (fabs(width) * (gdouble)design.length) : 0;
    }
    ct_stream_copy(out, in);
    out->type = design.wide ? CT_CF64 : CT_CF32;
    if (design.along_time) {
        gdouble rate = ct_stream_sample_rate(in);
        spacing = rate > 0 ? 1 / rate : 0;
        node->footprint = (CtFootprint){
            .kind = CT_FOOTPRINT_WINDOW, .window = design.length, .hop = design.length};
    } else {
        ct_stream_remove_axis(out, design.axis);
    }
    CtAxis *made = ct_stream_add_axis(out, design.to, design.out_length);
    if (made == NULL) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants room for the axis %s, but there is none", design.to);
        return FALSE;
    }
    if (design.inverse && spacing > 0)
        made->coordinate = (CtCoordinate){.unit = g_intern_static_string("s"), .step = spacing};
    return design.inverse || !(spacing > 0) || set_frequencies(&design, in, out, spacing, error);
}

/* 5 n log2 n for a complex transform of n, half of it for a real one: the field's count. */
static gdouble
operations(const CtNode *node)
{
    g_autoptr(GError) error = NULL;
    FftDesign design;

    if (!ct_fft_design_init(&design, node->params, &node->inputs[0], &error))
        return 0;
    gdouble n = (gdouble)design.length;
    gdouble n_transforms = (gdouble)(ct_stream_width(&node->outputs[0]) / design.out_length);
    return n_transforms * (design.real ? 2.5 : 5) * n * log2(n);
}

/* log2 n steps lose 7 u of the spectrum's norm each at most, evenly over the channels; lengths of
 * large prime factors go through transforms of twice the length and products between them. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    FftDesign design;

    if (!ct_fft_design_init(&design, node->params, &node->inputs[0], NULL))
        return;
    gint64 factor = design.length;
    for (gint64 prime = 2; prime <= 13; prime++)
        while (factor % prime == 0)
            factor /= prime;
    const gdouble n = (gdouble)design.length;
    const gdouble steps = factor == 1 ? MAX(log2(n), 1) : 2 * log2(4 * n);
    const gdouble relative = 7 * steps * (design.wide ? 0x1p-53 : 0x1p-24);
    const gdouble gain = design.inverse ? 1 / sqrt(n) : sqrt(n);
    outputs[0].error = relative * outputs[0].largest;
    outputs[0].rms_error = relative * outputs[0].rms + gain * inputs[0].rms_error;
}

static const CtStage fft = {
    .name = "fft",
    .summary = "Fourier transform: phase becomes channel",
    .version = 1,
    .inputs = inputs,
    .outputs = outputs,
    .params = params,
    .infer = infer,
    .operations = operations,
    .accuracy = accuracy,
    .default_layouts = "[time pol station phase] -> [time pol station channel]",
    .accuracy_rule = "7 log2(n) u |y|, of the largest |y|, u = 2⁻²⁴ (2⁻⁵³ of double precision)",
};

CT_PLUGIN("fft", ((const CtStage *const[]){&fft, NULL}),
          ((const CtVariant *const[]){
#ifdef __x86_64__
              &ct_fft_cpu_avx512,
              &ct_fft_cpu_avx2,
              &ct_fir_fft_cpu_avx512,
              &ct_fir_fft_cpu_avx2,
#endif
              &ct_fft_cpu_baseline,
              &ct_fir_fft_cpu_baseline,
              &ct_fft_cuda,
              &ct_fft_radix_cuda,
              &ct_fft_reference,
              NULL,
          }));
