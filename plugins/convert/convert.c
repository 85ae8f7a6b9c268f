/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage convert: the same values in another type. */
#include "convert.h"

static const CtParam params[] = {
    {"type", CT_PARAM_TYPE, CT_PARAM_REQUIRED, .help = "the type of the output"},
    {NULL},
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_form_infer_type(node, "type", ct_params_type(node->params, "type"), error);
}

/* The conversion itself is exact; an input error of e changes a share e of the integers. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const gdouble error = inputs[0].rms_error;
    const gboolean rounds = ct_type_info(node->inputs[0].type)->is_float &&
                            !ct_type_info(node->outputs[0].type)->is_float;
    outputs[0].rms_error = rounds ? ct_accuracy_rounded(&outputs[0], error) : error;
}

/* Nothing is computed besides the conversion. */
static const CtForm form = CT_FORM("convert", NULL);

static const CtStage convert = {
    .name = "convert",
    .summary = "the same values in another type",
    .version = 1,
    .inputs = CT_PORTS({"in", "{...}", 0, "any stream"}),
    .outputs = CT_PORTS({"out", "{...}", 0, "the same values in the type `type`"}),
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .form = &form,
    .accuracy = accuracy,
    .accuracy_rule = "nothing: numbers are rounded once",
};

static const CtRow rows[] = {{"{...} -> {...}", 0.85}, {"any: [...] -> [...]", 0.35}, {NULL}};
static const CtRow device_rows[] = {{"{...} -> {...}", 0.92}, {"any: [...] -> [...]", 0.1}, {NULL}};

CT_STAGE_PLUGIN("convert", convert, CT_FORM_VARIANTS(form, "convert", rows, device_rows),
                &ct_convert_reference);
