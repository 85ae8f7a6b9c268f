/* SPDX-License-Identifier: BSD-3-Clause */
/* For all test plugins: a stage with one input and one output that have the same description. */
#pragma once

#include <cornerturn/stage.h>

static const CtPort pass_inputs[] = {{"in", "", 0, "Anything"}, {0}};
static const CtPort pass_outputs[] = {{"out", "", 0, "The same"}, {0}};
static const CtParam pass_params[] = {{0}};
static const CtRow pass_rows[] = {{"[...] -> [...]", 0.5}, {0}};

G_GNUC_UNUSED static gboolean
pass_infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    return TRUE;
}

G_GNUC_UNUSED static gboolean
pass_prepare(G_GNUC_UNUSED CtPrepare *prepare, G_GNUC_UNUSED gpointer *state,
             G_GNUC_UNUSED GError **error)
{
    return TRUE;
}

G_GNUC_UNUSED static gboolean
pass_work(G_GNUC_UNUSED gpointer state, G_GNUC_UNUSED const CtWork *work,
          G_GNUC_UNUSED GError **error)
{
    return TRUE;
}

#define PASS_STAGE(name_, summary_)                                                                \
    .name = name_, .summary = summary_, .version = 1, .inputs = pass_inputs,                       \
    .outputs = pass_outputs, .params = pass_params
