/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage copy: the same stream in memory of its own. */
#include "copy.h"

static const CtParam params[] = {{NULL}};

static gboolean
infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    return TRUE;
}

static const CtStage copy = {
    .name = "copy",
    .summary = "the same stream in memory of its own",
    .version = 1,
    .inputs = CT_PORTS({"in", "{...}", 0, "any stream"}),
    .outputs = CT_PORTS({"out", "{...}", 0, "the same"}),
    .params = params,
    .infer = infer,
};

CT_STAGE_PLUGIN("copy", copy, &ct_copy_cuda, CT_ISA_VARIANTS(ct_copy_cpu), &ct_copy_reference);
