/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage convert: the same values in another type. */
#include "convert.h"

#include <math.h>

static const CtParam params[] = {
    {"type", CT_PARAM_TYPE, CT_PARAM_REQUIRED, .help = "the type of the output"},
    {NULL},
};

static const CtPort inputs[] = {
    {"in", "{...}", 0, "any stream"},
    {NULL},
};

static const CtPort outputs[] = {
    {"out", "{...}", 0, "the same values in the type `type`"},
    {NULL},
};

static gboolean
infer(CtNode *node, GError **error)
{
    const CtStream *in = &node->inputs[0];
    const CtType type = ct_params_type(node->params, "type");
    if (ct_type_info(type)->is_complex != ct_type_info(in->type)->is_complex)
        return ct_params_error(node->params, "type", error,
                               "wants a %s type, but is given %s for %s",
                               ct_type_info(in->type)->is_complex ? "complex" : "real",
                               ct_type_info(type)->name, ct_type_info(in->type)->name);
    ct_stream_copy(&node->outputs[0], in);
    node->outputs[0].type = type;
    return TRUE;
}

/* The conversion itself is exact; an input error of e changes a share e of the integers. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const gdouble error = inputs[0].rms_error;
    const gboolean rounds = ct_type_info(node->inputs[0].type)->is_float &&
                            !ct_type_info(node->outputs[0].type)->is_float;
    outputs[0].rms_error = rounds ? sqrt(error) + error : error;
}

static const CtStage convert = {
    .name = "convert",
    .summary = "the same values in another type",
    .version = 1,
    .inputs = inputs,
    .outputs = outputs,
    .params = params,
    .infer = infer,
    .accuracy = accuracy,
    .accuracy_rule = "nothing: numbers are rounded once",
};

/* Nothing is computed besides the conversion. */
static const CtForm form = CT_FORM("convert", NULL);

static const CtRow rows[] = {{"{...} -> {...}", 0.85}, {"any: [...] -> [...]", 0.35}, {NULL}};
static const CtRow device_rows[] = {{"{...} -> {...}", 0.92}, {"any: [...] -> [...]", 0.1}, {NULL}};

CT_PLUGIN("convert", ((const CtStage *const[]){&convert, NULL}),
          ((const CtVariant *const[]){CT_FORM_VARIANTS(form, "convert", rows, device_rows),
                                      &ct_convert_reference, NULL}));
