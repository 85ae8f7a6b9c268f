/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage quantise: floating point to few bits, times a scale. */
#include "quantise.h"

#include "quantise.kernel.h"

static const char *const types[] = {"ci4", "ci8", "ci16", "i8", "i16", NULL};

static const CtParam params[] = {
    {"type", CT_PARAM_CHOICE, CT_PARAM_REQUIRED, .choices = types,
     .help = "the type of the output"},
    {"scale", CT_PARAM_REAL, CT_PARAM_RANGED, .minimum = 1e-30, .maximum = 1e30, .fallback = "1",
     .help = "factor before rounding, in single precision"},
    {NULL},
};

static const char *const counters[] = {[QUANTISE_CLIPPED] = "clipped", NULL};

static gboolean
infer(CtNode *node, GError **error)
{
    const CtType type = ct_type_from_name(types[ct_params_choice(node->params, "type")]);
    return ct_form_infer_type(node, "type", type, error);
}

/* Quantisation itself is exact; an input error of e levels changes a share e of the values. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const gdouble scale = ct_params_real(node->params, "scale");
    outputs[0].rms_error = ct_accuracy_rounded(&outputs[0], scale * inputs[0].rms_error);
}

static gboolean
set(const CtNode *node, gpointer settings, G_GNUC_UNUSED GError **error)
{
    Quantise *self = settings;
    self->scale = (float)ct_params_real(node->params, "scale");
    return TRUE;
}

static const CtForm form = CT_KERNEL_FORM("quantise", "quantise", .set = set);

static const CtStage quantise = {
    .name = "quantise",
    .summary = "floating point to few bits: scale, round half to even, clip",
    .version = 1,
    .inputs = CT_PORTS({"in", "f32|cf32{...}", 0, "samples"}),
    .outputs = CT_PORTS({"out", "ci4|ci8|ci16|i8|i16{...}", 0, "the same values in few bits"}),
    .params = params,
    .counters = counters,
    .infer = infer,
    .infer_uses_params = TRUE,
    .form = &form,
    .operations_per_part = 1,
    .accuracy = accuracy,
    .accuracy_rule = "nothing: the product is rounded once, to the level",
};

CT_STAGE_PLUGIN("quantise", quantise,
                CT_FORM_VARIANTS(form, "quantise", CT_PORT_ROWS(0.55), CT_PORT_ROWS(1)),
                &ct_quantise_reference);
