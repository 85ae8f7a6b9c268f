/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage copy: the same stream in memory of its own. */
#include "copy.h"

static const CtParam params[] = {{NULL}};

static const CtPort inputs[] = {
    {"in", "{...}", 0, "any stream"},
    {NULL},
};

static const CtPort outputs[] = {
    {"out", "{...}", 0, "the same"},
    {NULL},
};

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
    .inputs = inputs,
    .outputs = outputs,
    .params = params,
    .infer = infer,
};

CT_PLUGIN("copy", ((const CtStage *const[]){&copy, NULL}),
          ((const CtVariant *const[]){
              &ct_copy_cuda,
              CT_ISA_VARIANTS(ct_copy_cpu),
              &ct_copy_reference,
              NULL,
          }));
