/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage integrate: sums of consecutive samples along time. */
#include "integrate.kernel.h"

#include <cornerturn/kit/fold.h>

static const CtParam params[] = {
    {"length", CT_PARAM_INT, CT_PARAM_REQUIRED | CT_PARAM_RANGED, NULL, 1, G_MAXUINT32,
     .help = "samples of a sum, counted from the start of the stream; the last may be short"},
    {"average", CT_PARAM_BOOL, .fallback = "false",
     .help = "divide each sum by the number of its valid samples"},
    {NULL},
};

static const CtPort inputs[] = {
    {"in", "f32|f64|cf32|cf64{time ...}", 0, "samples"},
    {NULL},
};

static const CtPort outputs[] = {
    {"out", "f32|f64|cf32|cf64{time ...}", 0, "sums"},
    {"weights", "u32{time ...}", 0, "valid samples of every sum, where they are lost separately"},
    {NULL},
};

static gboolean
infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_fold_infer(node, ct_params_int(node->params, "length"));
    return TRUE;
}

/* One addition for every number. */
static gdouble
operations(const CtNode *node)
{
    const CtStream *in = &node->inputs[0];
    return (gdouble)ct_stream_width(in) * (ct_type_info(in->type)->is_complex ? 2 : 1) *
           (gdouble)node->footprint.hop;
}

/* Sums of double precision, rounded once to the output's type. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const gboolean is_double = ct_type_info(node->outputs[0].type)->part_bits == 64;
    const gboolean averages = ct_params_bool(node->params, "average");
    const gdouble length = (gdouble)node->footprint.hop, gain = averages ? 1 : length;
    const gdouble unit = is_double ? 0x1p-53 : 0x1p-24;
    outputs[0].error = unit * outputs[0].largest + length * 0x1p-53 * gain * inputs[0].largest;
    outputs[0].rms_error = unit * outputs[0].rms + length * 0x1p-53 * gain * inputs[0].rms +
                           gain * inputs[0].rms_error;
}

static const CtStage integrate = {
    .name = "integrate",
    .summary = "sums of consecutive samples along time",
    .version = 1,
    .inputs = inputs,
    .outputs = outputs,
    .params = params,
    .infer = infer,
    .operations = operations,
    .accuracy = accuracy,
    .accuracy_rule =
        "u |y| + length 2⁻⁵³ Σ|x|, u = 2⁻²⁴ (2⁻⁵³ of double precision); weights are exact",
};

static gboolean
choose(const CtNode *node, CtFormChoice *choice, G_GNUC_UNUSED GError **error)
{
    Integrate *settings = ct_form_kernel(choice, "integrate", sizeof(Integrate));
    settings->averages = ct_params_bool(node->params, "average");
    return TRUE;
}

static void
reference_add(G_GNUC_UNUSED gconstpointer settings, gdouble *sum, const gdouble *x,
              G_GNUC_UNUSED guint n_parts)
{
    sum[0] += x[0];
    sum[1] += x[1];
}

static gboolean
reference_give(gconstpointer settings, const gdouble *sum, guint32 n, gdouble *y)
{
    const Integrate *self = settings;
    for (guint part = 0; part < 2; part++)
        y[part] = !self->averages ? sum[part] : n > 0 ? sum[part] / n : 0;
    return TRUE;
}

static const CtFold fold = {CT_FORM("integrate", choose), 2, reference_add, reference_give};

#define LAYOUTS "f32|f64|cf32|cf64{time ...} -> f32|f64|cf32|cf64{time ...}, u32{time ...}"
static const CtRow rows[] = {{LAYOUTS, 1}, {NULL}}, device_rows[] = {{LAYOUTS, 0.85}, {NULL}};
static const CtRow any_rows[] = {{"any: " LAYOUTS, 0.01}, {NULL}};

CT_PLUGIN("integrate", ((const CtStage *const[]){&integrate, NULL}),
          ((const CtVariant *const[]){
              CT_FOLD_VARIANTS(fold, "integrate", rows, device_rows, any_rows), NULL}));
