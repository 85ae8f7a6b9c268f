/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage integrate: sums of consecutive samples along time, or of elements of another axis. */
#include "integrate.kernel.h"

#include <cornerturn/kit/align.h>
#include <cornerturn/kit/fold.h>

static const CtParam params[] = {
    {"length", CT_PARAM_INT, CT_PARAM_REQUIRED | CT_PARAM_RANGED | CT_PARAM_SAMPLES, NULL, 1,
     G_MAXUINT32,
     .help = "samples of a sum, counted from the start of the stream; the last may be short"},
    {"axis", CT_PARAM_AXIS, .fallback = "time", .help = "the axis along which elements are summed"},
    {"average", CT_PARAM_BOOL, .fallback = "false",
     .help = "divide each sum by the number of its valid samples"},
    CT_SUM_ALIGN,
    {NULL},
};

/* Sums of double precision, rounded once to the output's type. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const gboolean is_double = ct_type_info(node->outputs[0].type)->part_bits == 64;
    const gboolean averages = ct_params_bool(node->params, "average");
    const gdouble length = (gdouble)ct_params_int(node->params, "length"),
                  gain = averages ? 1 : length;
    const gdouble unit = is_double ? 0x1p-53 : 0x1p-24;
    outputs[0].error = unit * outputs[0].largest + length * 0x1p-53 * gain * inputs[0].largest;
    outputs[0].rms_error = unit * outputs[0].rms + length * 0x1p-53 * gain * inputs[0].rms +
                           gain * inputs[0].rms_error;
}

static gboolean
set(const CtNode *node, gpointer settings, G_GNUC_UNUSED GError **error)
{
    Integrate *self = settings;
    self->averages = ct_params_bool(node->params, "average");
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

static const CtFold fold = {
    .form = CT_KERNEL_FORM("integrate", "integrate", .set = set, .length = "length"),
    .n_numbers = 2,
    .add = reference_add,
    .give = reference_give,
    .axis = "axis",
};

static gboolean
infer(CtNode *node, GError **error)
{
    const gboolean aligns = ct_params_bool(node->params, "align");
    if (!ct_fold_infer_axis(node, &fold, error))
        return FALSE;
    if (aligns && node->footprint.kind != CT_FOOTPRINT_SUM)
        return ct_params_error(node->params, "align", error, "wants sums along time");
    return !aligns || ct_sum_align(node, "align", "length", error);
}

static const CtStage integrate = {
    .name = "integrate",
    .summary = "sums of consecutive samples along time or another axis",
    .version = 1,
    .inputs = CT_PORTS({"in", "f32|f64|cf32|cf64{time ...}", 0, "samples"}),
    .outputs = CT_PORTS({"out", "f32|f64|cf32|cf64{time ...}", 0, "sums"}, CT_FOLD_WEIGHTS("sum")),
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .form = &fold.form,
    .operations_per_part = 1,
    .accuracy = accuracy,
    .accuracy_rule =
        "u |y| + length 2⁻⁵³ Σ|x|, u = 2⁻²⁴ (2⁻⁵³ of double precision); weights are exact",
};

CT_STAGE_PLUGIN("integrate", integrate,
                CT_FOLD_VARIANTS(fold, "integrate", CT_PORT_ROWS(1), CT_PORT_ROWS(0.85)));
