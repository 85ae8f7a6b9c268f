/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage fft: transforms along one axis, phase to channel by default. */
#include "fft.h"

#include <math.h>

static const char *const directions[] = {"forward", "inverse", NULL};

static const CtParam params[] = {
    {.name = "axis",
     .kind = CT_PARAM_AXIS,
     .help = "axis to transform; left out: phase (channel for the inverse)"},
    {.name = "to",
     .kind = CT_PARAM_AXIS,
     .help = "name of the new axis; left out: channel (phase for the inverse)"},
    {.name = "direction",
     .kind = CT_PARAM_CHOICE,
     .fallback = "forward",
     .choices = directions,
     .help = "forward: exponent -2πi, not normalised; inverse: +2πi, divided by the length"},
    {.name = "shift",
     .kind = CT_PARAM_BOOL,
     .fallback = "false",
     .help = "zero frequency is in the middle instead of first"},
    {.name = "length",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 1,
     .maximum = FFT_MAX_LENGTH,
     .help = "along time: samples of a transform"},
    {NULL},
};

/* Finds the axis whose frequencies the transform splits; −1: it splits those of the stream. FALSE
 * if the new axis has no frequencies that can be described: they would depend on several axes, or
 * on channels without frequencies, or the new axis is called channel and splits another axis than
 * subband, which no reader expects. */
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

/* Sets the frequencies of the channels. The samples' spacing in seconds gives their step; the
 * stream, or the axis that is split, gives the first one. */
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

/* The usual count: 5 n log2 n for a complex transform of n, half of it for a real one. */
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

/* Each of log2 n steps loses at most 7 u of the spectrum's norm, evenly over the channels. Lengths
 * with large prime factors go through two transforms of at least twice the length. */
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
    .inputs = CT_PORTS({"in", "cf32|cf64|f32|f64{...}", 0, "voltages, or spectra for the inverse"}),
    .outputs = CT_PORTS({"out", "cf32|cf64{...}", 0, "spectra, or voltages for the inverse"}),
    .params = params,
    .infer = infer,
    .operations = operations,
    .accuracy = accuracy,
    .default_layouts = "[time pol station phase] -> [time pol station channel]",
    .accuracy_rule = "7 log2(n) u |y|, of the largest |y|, u = 2⁻²⁴ (2⁻⁵³ of double precision)",
};

CT_STAGE_PLUGIN("fft", fft, CT_ISA_VARIANTS(ct_fft_cpu), &ct_fft_cuda, &ct_fft_radix_cuda,
                &ct_fft_reference);
