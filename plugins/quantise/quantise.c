/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage quantise: floating point to few bits, times a scale. */
#include "quantise.h"

#include "quantise.kernel.h"

#include <math.h>

static const char *const types[] = {"ci4", "ci8", "ci16", "i8", "i16", NULL};

static const CtParam params[] = {
    {"type", CT_PARAM_CHOICE, CT_PARAM_REQUIRED, .choices = types,
     .help = "the type of the output"},
    {"scale", CT_PARAM_REAL, CT_PARAM_RANGED, .minimum = 1e-30, .maximum = 1e30, .fallback = "1",
     .help = "factor before rounding, in single precision"},
    {NULL},
};

static const CtPort inputs[] = {
    {"in", "f32|cf32{...}", 0, "samples"},
    {NULL},
};

static const CtPort outputs[] = {
    {"out", "ci4|ci8|ci16|i8|i16{...}", 0, "the same values in few bits"},
    {NULL},
};

static const char *const counters[] = {[QUANTISE_CLIPPED] = "clipped", NULL};

static gboolean
infer(CtNode *node, GError **error)
{
    const CtStream *in = &node->inputs[0];
    const char *name = types[ct_params_choice(node->params, "type")];
    const CtType type = ct_type_from_name(name);
    if (ct_type_info(type)->is_complex != ct_type_info(in->type)->is_complex)
        return ct_params_error(node->params, "type", error,
                               "wants a %s type, but is given %s for %s",
                               ct_type_info(in->type)->is_complex ? "complex" : "real", name,
                               ct_type_info(in->type)->name);
    ct_stream_copy(&node->outputs[0], in);
    node->outputs[0].type = type;
    return TRUE;
}

static gdouble
operations(const CtNode *node)
{
    const CtStream *in = &node->inputs[0];
    return (gdouble)ct_stream_width(in) * (ct_type_info(in->type)->is_complex ? 2 : 1);
}

/* Quantisation itself is exact; an input error of e levels changes a share e of the values. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const gdouble levels = ct_params_real(node->params, "scale") * inputs[0].rms_error;
    outputs[0].rms_error = sqrt(levels) + levels;
}

static const CtStage quantise = {
    .name = "quantise",
    .summary = "floating point to few bits: scale, round half to even, clip",
    .version = 1,
    .inputs = inputs,
    .outputs = outputs,
    .params = params,
    .counters = counters,
    .infer = infer,
    .operations = operations,
    .accuracy = accuracy,
    .accuracy_rule = "nothing: the product is rounded once, to the level",
};

static gboolean
choose(const CtNode *node, CtFormChoice *choice, G_GNUC_UNUSED GError **error)
{
    Quantise *settings = ct_form_kernel(choice, "quantise", sizeof(Quantise));
    settings->scale = (float)ct_params_real(node->params, "scale");
    return TRUE;
}

static const CtForm form = CT_FORM("quantise", choose);

#define LAYOUTS "f32|cf32{...} -> ci4|ci8|ci16|i8|i16{...}"
static const CtRow rows[] = {{LAYOUTS, 0.55}, {NULL}}, device_rows[] = {{LAYOUTS, 1}, {NULL}};

CT_PLUGIN("quantise", ((const CtStage *const[]){&quantise, NULL}),
          ((const CtVariant *const[]){CT_FORM_VARIANTS(form, "quantise", rows, device_rows),
                                      &ct_quantise_reference, NULL}));
