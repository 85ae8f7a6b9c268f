/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage kurtosis: the generalised spectral kurtosis of consecutive samples along time. */
#include "kurtosis.kernel.h"

#include <cornerturn/kit/fold.h>
#include <math.h>

static const CtParam params[] = {
    {"length", CT_PARAM_INT, CT_PARAM_REQUIRED | CT_PARAM_RANGED | CT_PARAM_SAMPLES, NULL, 4,
     G_MAXUINT32, .help = "M: samples of an estimate, counted from the start of the stream"},
    {"averaged", CT_PARAM_REAL, CT_PARAM_RANGED, NULL, 0.5, 1e9, "1",
     .help = "of powers: N d, the spectra averaged in a sample (of real voltages, half)"},
    {"sigma", CT_PARAM_REAL, CT_PARAM_RANGED, NULL, 0, 30, "3",
     .help = "thresholds that noise passes as often as a normal distribution those of ± sigma"},
    {"lower", CT_PARAM_REAL, CT_PARAM_RANGED, NULL, 0, 1,
     .help = "the lower threshold, instead of that of sigma"},
    {"upper", CT_PARAM_REAL, CT_PARAM_RANGED, NULL, 1, 1e9,
     .help = "the upper threshold, instead of that of sigma"},
    {NULL},
};

/* The quantile of noise at z standard deviations, less 1: that of the log-normal distribution with
 * an offset whose first three moments are those of the estimator (Nita & Gary 2010). */
static gdouble
quantile(gdouble m, gdouble k, gdouble z)
{
    const gdouble variance = 2 * k * (k + 1) * m * m / ((m - 1) * (m * k + 2) * (m * k + 3));
    const gdouble ratio = 4 * m * (k * (m * (4 + k) - 5) - 2) /
                          ((m - 1) * (m * k + 4) * (m * k + 5)); /* third moment over variance */
    const gdouble u = 2 * sinh(asinh(ratio / sqrt(variance) / 2) / 3); /* u³ + 3 u = skewness */
    const gdouble s2 = log1p(u * u);
    return sqrt(variance) * expm1(sqrt(s2) * z - s2 / 2) / u;
}

/* The squared distance of a threshold from 1, times the length. */
static gdouble
distance(const CtParams *params, const char *threshold, gdouble shape, gdouble sign)
{
    const gdouble m = (gdouble)ct_params_int(params, "length");
    return m * pow(ct_params_has(params, threshold)
                       ? ct_params_real(params, threshold) - 1
                       : quantile(m, shape, sign * ct_params_real(params, "sigma")),
                   2);
}

static gboolean
set(const CtNode *node, gpointer settings, G_GNUC_UNUSED GError **error)
{
    Kurtosis *self = settings;
    const gboolean is_complex = ct_type_info(node->inputs[0].type)->is_complex;
    self->shape = is_complex ? 1 : ct_params_real(node->params, "averaged");
    self->below = distance(node->params, "lower", self->shape, -1);
    self->above = distance(node->params, "upper", self->shape, 1);
    return TRUE;
}

/* Both sums have `length` positive terms; S2/S1² has at most three times the error of one. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    Kurtosis self;
    set(node, &self, NULL);
    const gdouble sums = 4 * (gdouble)node->footprint.hop * 0x1p-53;
    const gdouble relative = inputs[0].rms > 0 ? inputs[0].rms_error / inputs[0].rms : 0;
    outputs[0].error = 0x1p-24 * outputs[0].largest + sums * (outputs[0].largest + self.shape + 2);
    outputs[0].rms_error = outputs[0].error + 8 * relative * (outputs[0].largest + self.shape + 2);
}

static void
reference_add(G_GNUC_UNUSED gconstpointer settings, gdouble *sums, const gdouble *x, guint n_parts)
{
    const gdouble power = n_parts == 2 ? x[0] * x[0] + x[1] * x[1] : x[0];
    sums[0] += power;
    sums[1] += power * power;
}

static gboolean
reference_give(gconstpointer settings, const gdouble *sums, guint32 n, gdouble *y)
{
    const Kurtosis *self = settings;
    const gdouble m = n, ratio = m * sums[1] / pow(sums[0], 2);
    y[0] = (m * self->shape + 1) / (m - 1) * (ratio - 1);
    return pow(y[0] - 1, 2) * m <= (y[0] < 1 ? self->below : self->above);
}

static const CtFold fold = {CT_KERNEL_FORM("kurtosis", "kurtosis", .set = set, .length = "length"),
                            2, reference_add, reference_give};

static const CtStage kurtosis = {
    .name = "kurtosis",
    .summary = "spectral kurtosis along time: marks what is no noise",
    .version = 1,
    .inputs = CT_PORTS(
        {"in", "ci4|ci8|ci16|cf16|cf32|cf64|f16|f32|f64{time ...}", 0, "spectra, or their powers"}),
    .outputs = CT_PORTS({"out", "f32{time ...}", CT_PORT_MARKED,
                         "estimates; beyond the thresholds they are marked"},
                        CT_FOLD_WEIGHTS("estimate")),
    .params = params,
    CT_FORM_STAGE(fold.form),
    .operations_per_part = 3,
    .accuracy = accuracy,
    .accuracy_rule = "u |y| + 4 length 2⁻⁵³ (|y| + N d + 2), u = 2⁻²⁴; weights are exact",
};

CT_STAGE_PLUGIN("kurtosis", kurtosis,
                CT_FOLD_VARIANTS(fold, "kurtosis", CT_PORT_ROWS(0.8), CT_PORT_ROWS(0.8)));
