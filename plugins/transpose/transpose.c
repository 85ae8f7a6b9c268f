/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage transpose: the same stream in another layout, blocked ones included. */
#include "transpose.h"

static const CtParam params[] = {
    {"layout", CT_PARAM_LAYOUT, CT_PARAM_REQUIRED,
     .help = "the order of the output's axes, slowest first: \"[channel station pol time]\""},
    {NULL},
};

static gboolean
infer(CtNode *node, GError **error)
{
    const CtStream *in = &node->inputs[0];
    const CtLayout *layout = ct_params_layout(node->params, "layout");
    const CtType type =
        ct_layout_axis(layout, "complex") >= 0 ? ct_type_info(in->type)->part : in->type;
    g_autoptr(GError) problem = NULL;

    if (!ct_layout_accepts(layout, in, &problem))
        return ct_params_error(node->params, "layout", error, "%s", problem->message);
    if (layout->types && !(layout->types & 1u << type)) {
        g_autofree char *wanted = ct_layout_to_string(layout);
        return ct_params_error(node->params, "layout", error,
                               "wants %s, but is given %s, and transpose keeps the type", wanted,
                               ct_type_info(type)->name);
    }
    ct_stream_copy(&node->outputs[0], in);
    node->output_layouts[0] = *layout;
    return TRUE;
}

static const CtStage transpose = {
    .name = "transpose",
    .summary = "the same stream in another layout",
    .version = 1,
    .inputs = CT_PORTS({"in", "{...}", 0, "any stream"}),
    .outputs = CT_PORTS({"out", "{...}", 0, "the same stream in the layout `layout`"}),
    .params = params,
    .infer = infer,
};

CT_STAGE_PLUGIN("transpose", transpose, &ct_transpose_cuda, CT_ISA_VARIANTS(ct_transpose_cpu),
                &ct_transpose_reference);
