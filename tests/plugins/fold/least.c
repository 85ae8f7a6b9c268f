/* SPDX-License-Identifier: BSD-3-Clause */
/* A fold that leaves invalid samples out: the least sample, marked if fewer are valid than needed.
 * Elements of all axes but `channel` share lanes of marks. */
#include "least.kernel.h"

#include <cornerturn/kit/fold.h>

static const CtParam params[] = {{"length", CT_PARAM_INT, CT_PARAM_REQUIRED, .help = "of a hop"},
                                 {"needed", CT_PARAM_INT, .fallback = "1", .help = "valid ones"},
                                 {NULL}};
static const CtPort inputs[] = {{"in", "f16|f32|i16{time ...}", 0, "samples"}, {NULL}};
static const CtPort outputs[] = {{"out", "f16|f32{time ...}", CT_PORT_MARKED, "the least"}, {NULL}};

static gboolean
infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    CtStream *out = &node->outputs[0];
    ct_fold_infer(node, ct_params_int(node->params, "length"));
    out->type = out->type == CT_F16 ? CT_F16 : CT_F32;
    out->axes[ct_stream_axis(out, "channel")].loses = TRUE;
    return TRUE;
}

static gboolean
choose(const CtNode *node, CtFormChoice *choice, G_GNUC_UNUSED GError **error)
{
    Least *settings = ct_form_kernel(choice, "least", sizeof(Least));
    settings->needed = (unsigned)ct_params_int(node->params, "needed");
    return TRUE;
}

static void
reference_add(G_GNUC_UNUSED gconstpointer settings, gdouble *state, const gdouble *x,
              G_GNUC_UNUSED guint n_parts)
{
    state[0] = state[1] == 0 || x[0] < state[0] ? x[0] : state[0];
    state[1] = 1;
}

static gboolean
reference_give(gconstpointer settings, const gdouble *state, guint32 n, gdouble *y)
{
    y[0] = state[0];
    return n >= ((const Least *)settings)->needed;
}

static const CtStage stage = {
    .name = "least",
    .summary = "the least of some samples",
    .version = 1,
    .inputs = inputs,
    .outputs = outputs,
    .params = params,
    .infer = infer,
};

static const CtFold fold = {CT_FORM("least", choose), 2, reference_add, reference_give};
static const CtRow rows[] = {{"f16|f32|i16{time ...} -> f16|f32{time ...}", 0.5}, {NULL}};

CT_PLUGIN("least", ((const CtStage *const[]){&stage, NULL}),
          ((const CtVariant *const[]){CT_FOLD_VARIANTS(fold, "least", rows, rows), NULL}));
