/* SPDX-License-Identifier: BSD-3-Clause */
/* A fold that is right where its states need not be merged: sums, with a port of weights. */
#include "unmerged.kernel.h"

#include <cornerturn/kit/fold.h>

static const CtParam params[] = {{"length", CT_PARAM_INT, CT_PARAM_REQUIRED, .help = "of a hop"},
                                 {NULL}};

/* As of integrate. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const gdouble length = (gdouble)ct_params_int(node->params, "length");
    outputs[0].error = 0x1p-24 * outputs[0].largest + length * length * 0x1p-53 * inputs[0].largest;
    outputs[0].rms_error = 0x1p-24 * outputs[0].rms + length * length * 0x1p-53 * inputs[0].rms +
                           length * inputs[0].rms_error;
}

static void
reference_add(G_GNUC_UNUSED gconstpointer settings, gdouble *state, const gdouble *x,
              G_GNUC_UNUSED guint n_parts)
{
    state[0] += x[0];
}

static gboolean
reference_give(G_GNUC_UNUSED gconstpointer settings, const gdouble *state, G_GNUC_UNUSED guint32 n,
               gdouble *y)
{
    y[0] = state[0];
    return TRUE;
}

static const CtFold fold = {
    .form = CT_KERNEL_FORM("unmerged", "unmerged", .length = "length"),
    .n_numbers = 1,
    .add = reference_add,
    .give = reference_give,
};

static const CtStage stage = {
    .name = "unmerged",
    .summary = "sums, wrong where states are merged",
    .version = 1,
    .inputs = CT_PORTS({"in", "f32{time ...}", 0, "samples"}),
    .outputs = CT_PORTS({"out", "f32{time ...}", 0, "sums"}, CT_FOLD_WEIGHTS("sum")),
    .params = params,
    CT_FORM_STAGE(fold.form),
    .accuracy = accuracy,
};

CT_STAGE_PLUGIN("unmerged", stage,
                CT_FOLD_VARIANTS(fold, "unmerged", CT_PORT_ROWS(1), CT_PORT_ROWS(0.85)));
