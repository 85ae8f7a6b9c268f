/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage fir: y[t][(p + n) mod P] = Σ_k h[k][p] · x[t·H + k·P + p], the filter half of a
 * polyphase filter bank; one channel makes it an ordinary filter. n is the number of the window's
 * first sample where P does not divide H, else 0. */
#include "fir.h"

#include <math.h>

/* The order is that of `Window` in fir-design.c. */
static const char *const windows[] = {"rectangular", "hanning", "hamming",
                                      "blackman",    "kaiser",  NULL};

static const CtParam params[] = {
    {"n_channels", CT_PARAM_INT, CT_PARAM_RANGED, NULL, 1, FIR_MAX_CHANNELS,
     .help = "branches P of the filter bank; left out: as many as `coefficients` has"},
    {"n_taps", CT_PARAM_INT, CT_PARAM_RANGED, NULL, 1, FIR_MAX_TAPS,
     .help = "taps of each branch; left out: as many as `coefficients` has"},
    {"hop", CT_PARAM_INT, CT_PARAM_RANGED, NULL, 1, G_MAXINT32,
     .help = "samples from one spectrum to the next; left out: n_channels"},
    {"coefficients", CT_PARAM_PATH, CT_PARAM_LIVE,
     .help = ".npy of [tap phase], or of all taps in the order of time; instead of the port"},
    {"window", CT_PARAM_CHOICE, CT_PARAM_LIVE, .fallback = "hamming", .choices = windows,
     .help = "without coefficients: the window of the sinc with cutoff 1/P"},
    {"beta", CT_PARAM_REAL, CT_PARAM_RANGED | CT_PARAM_LIVE, NULL, 0, 100, "8",
     .help = "shape of the window kaiser"},
    {NULL},
};

/* Warns if phases depend on where the stream starts. Later stages align streams by ticks, but
 * without a sample rate phases are not counted from ticks. */
static void
warn_of_phases(const CtNode *node, const FirDesign *design)
{
    const CtStream *in = &node->inputs[0];

    if (design->hop % design->n_channels == 0 || in->rate_num > 0 || in->start == 0)
        return;
    ct_params_warn(
        node->params, "hop",
        "is no multiple of %" G_GINT64_FORMAT
        " channels, so that phases are counted from the start of a stream without sample "
        "rate, here tick %" G_GINT64_FORMAT
        ": a stream that starts at another tick differs in phase",
        design->n_channels, in->start);
}

static gboolean
infer(CtNode *node, GError **error)
{
    const CtStream *in = &node->inputs[0];
    CtStream *out = &node->outputs[0];
    FirDesign design;

    if (!ct_fir_design_init(&design, node, error))
        return FALSE;
    warn_of_phases(node, &design);
    ct_fir_design_clear(&design);

    ct_stream_copy(out, in);
    out->type = ct_type_info(in->type)->is_complex ? CT_CF32 : CT_F32;
    CtAxis *phase = ct_stream_add_axis(out, "phase", design.n_channels);
    if (phase == NULL) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants a stream without the axis phase, but is given one with it");
        return FALSE;
    }
    gdouble rate = ct_stream_sample_rate(in);
    if (rate > 0)
        phase->coordinate = (CtCoordinate){.unit = g_intern_static_string("s"), .step = 1 / rate};
    node->footprint = (CtFootprint){
        .kind = CT_FOOTPRINT_WINDOW,
        .window = design.n_channels * design.n_taps,
        .hop = design.hop,
    };
    return TRUE;
}

/* A multiplication and an addition for each tap and part. */
static gdouble
operations(const CtNode *node)
{
    gdouble parts = ct_type_info(node->outputs[0].type)->is_complex ? 2 : 1;
    gint64 n_taps = node->footprint.window / ct_stream_length(&node->outputs[0], "phase");

    return 2 * parts * (gdouble)n_taps * (gdouble)ct_stream_width(&node->outputs[0]);
}

/* Every tap is a product and a sum in single precision, to which integers are rounded. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    FirDesign design;
    gdouble gain = 0;

    if (!ct_fir_design_init(&design, node, NULL))
        return;
    if (!design.taps)
        gain = (gdouble)design.n_taps * inputs[FIR_COEFFICIENTS].largest;
    for (gint64 p = 0; p < design.n_channels && design.taps; p++) {
        gdouble sum = 0;
        for (gint64 k = 0; k < design.n_taps; k++)
            sum += fabs((gdouble)design.taps[k * design.n_channels + p]);
        gain = MAX(gain, sum);
    }
    const gdouble relative = (gdouble)(design.n_taps + 2) * 0x1p-24 * gain;
    outputs[0].error = relative * inputs[0].largest;
    outputs[0].rms_error =
        relative * inputs[0].rms + gain * inputs[0].rms_error +
        (gdouble)design.n_taps * inputs[FIR_COEFFICIENTS].rms_error * inputs[0].rms;
    ct_fir_design_clear(&design);
}

static const CtStage fir = {
    .name = "fir",
    .summary = "polyphase filter: time becomes time and phase",
    .version = 2,
    .inputs =
        CT_PORTS({"in", "{time ...}", 0, "samples; integers are converted while they are loaded"},
                 {"coefficients", "f32|f64{tap phase ...}",
                  CT_PORT_OPTIONAL | CT_PORT_STATIC | CT_PORT_PREPARED, "[tap phase]"}),
    .outputs =
        CT_PORTS({"out", "cf32|f32{time phase ...}", 0, "complex for complex samples, else real"}),
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .operations = operations,
    .accuracy = accuracy,
    .default_layouts = "any: [time station pol] -> [time pol station phase]",
    .accuracy_rule = "(n_taps + 2) u Σ|h| |x|, u = 2⁻²⁴",
};

CT_STAGE_PLUGIN("fir", fir, &ct_fir_cuda, CT_ISA_VARIANTS(ct_fir_cpu), &ct_fir_reference);
