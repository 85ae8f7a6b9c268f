/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage fold: profiles of a pulsar, sums of the samples in each bin of its turns. */
#include "fold.h"

#include <cornerturn/kit/align.h>

static const CtParam params[] = {
    {"subintegration", CT_PARAM_INT, CT_PARAM_REQUIRED | CT_PARAM_RANGED | CT_PARAM_SAMPLES, NULL,
     1, G_MAXUINT32,
     .help = "samples of a profile, counted from the start of the stream; the last may have fewer"},
    {"n_bins", CT_PARAM_INT, CT_PARAM_REQUIRED | CT_PARAM_RANGED, NULL, 1, 1 << 20,
     .help = "bins of a turn"},
    {"period", CT_PARAM_QUANTITY, CT_PARAM_RANGED, "s", 1e-9, 1e9,
     .help = "seconds of a turn at the epoch; this or 'frequency'"},
    {"frequency", CT_PARAM_QUANTITY, CT_PARAM_RANGED, "Hz", 1e-9, 1e9,
     .help = "turns per second at the epoch"},
    {"period_derivative", CT_PARAM_REAL, CT_PARAM_RANGED, NULL, -1, 1,
     .help = "of 'period', in seconds per second; left out: 0"},
    {"frequency_derivative", CT_PARAM_REAL, CT_PARAM_RANGED, NULL, -1e9, 1e9,
     .help = "of 'frequency', in hertz per second; left out: 0"},
    {"epoch", CT_PARAM_STRING,
     .help = "the UTC at which a turn begins; left out: the start of the stream"},
    {"average", CT_PARAM_BOOL, .fallback = "false",
     .help = "divide each sum by the number of its valid samples"},
    CT_SUM_ALIGN,
    {NULL},
};

/* Adds the axis bin, whose coordinates are the middles of the bins. */
static gboolean
add_axis(const CtNode *node, CtStream *stream, GError **error)
{
    const gint64 n = ct_params_int(node->params, "n_bins");
    CtAxis *axis = ct_stream_add_axis(stream, "bin", n);
    if (!axis) {
        g_autofree char *given = ct_stream_describe(&node->inputs[0]);
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "input '%s' wants room for another axis, and none of the name bin, but is "
                    "given %s",
                    node->stage->inputs[0].name, given);
        return FALSE;
    }
    axis->coordinate.unit = g_intern_static_string("turn");
    axis->coordinate.first = 0.5 / (gdouble)n;
    axis->coordinate.step = 1 / (gdouble)n;
    return TRUE;
}

/* Warns of samples that are longer than half a turn: no pulse is seen in their profiles. */
static void
warn_of_long_samples(const CtNode *node)
{
    const gboolean has_period = ct_params_has(node->params, "period");
    const char *name = has_period ? "period" : "frequency";
    const gdouble value = ct_params_real(node->params, name);
    const gdouble samples =
        ct_stream_sample_rate(&node->inputs[0]) * (has_period ? value : 1 / value);
    if (samples < 2)
        ct_params_warn(node->params, name,
                       "makes turns of %.3g samples: no pulse is seen in fewer than 2", samples);
}

static gboolean
infer(CtNode *node, GError **error)
{
    const CtStream *in = &node->inputs[0];
    CtStream *out = &node->outputs[0], *counts = &node->outputs[1];
    TurnsRule rule;
    if (!ct_turns_rule(&rule, node, error))
        return FALSE;
    warn_of_long_samples(node);
    const gint64 hop = ct_params_int(node->params, "subintegration");
    node->footprint = (CtFootprint){.kind = CT_FOOTPRINT_SUM, .window = hop, .hop = hop};
    ct_params_use(node->params, "average");
    ct_stream_copy(out, in);
    ct_stream_copy(counts, in);
    counts->type = CT_U32;
    for (guint a = 0; a < in->n_axes; a++)
        if (!in->axes[a].loses && in->axes[a].name != ct_axis_name("time"))
            ct_stream_remove_axis(counts, in->axes[a].name);
    return add_axis(node, out, error) && add_axis(node, counts, error) &&
           (!ct_params_bool(node->params, "align") ||
            ct_sum_align(node, "align", "subintegration", error));
}

/* Sums of double precision, rounded once to the output's type. A bin has at most all samples of the
 * subintegration. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const gdouble n = (gdouble)node->footprint.hop,
                  gain = ct_params_bool(node->params, "average") ? 1 : n;
    const gdouble unit = node->outputs[0].type == CT_F64 ? 0x1p-53 : 0x1p-24;
    outputs[0].error = unit * outputs[0].largest + n * 0x1p-53 * gain * inputs[0].largest;
    outputs[0].rms_error =
        unit * outputs[0].rms + n * 0x1p-53 * gain * inputs[0].rms + gain * inputs[0].rms_error;
}

static const CtStage stage = {
    .name = "fold",
    .summary = "pulse profiles: sums of the samples in each bin of a pulsar's turns",
    .version = 1,
    .inputs = CT_PORTS({"in", "f32|f64{time ...}", 0, "powers"}),
    .outputs = CT_PORTS({"out", "f32|f64{time bin ...}", 0, "profiles of every subintegration"},
                        {"counts", "u32{time bin ...}", 0,
                         "valid samples of every bin, where they are lost separately"}),
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .operations_per_part = 1,
    .accuracy = accuracy,
    .accuracy_rule =
        "u |y| + n 2⁻⁵³ Σ|x| of n samples, u = 2⁻²⁴ (2⁻⁵³ of double precision); counts are exact",
};

CT_STAGE_PLUGIN("fold", stage, CT_ISA_VARIANTS(ct_profile_cpu), &ct_profile_reference);
