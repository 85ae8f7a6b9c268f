/* SPDX-License-Identifier: BSD-3-Clause */
/* The layouts that stages have by default. */
#pragma once

#include "candidates.h"
#include "graph/graph.h"

/* Adds the orders of the stage's default layouts, patterns of its inputs and outputs. */
gboolean ct_default_orders(const CtNode *node, GArray *inputs, GArray *outputs, GError **error);
/* Leaves, of each node whose stage has default layouts, the candidates nearest to them at each
 * place: those that turn round the fewest pairs of axes. Fused ones go. */
gboolean ct_default_keep(CtCandidates *candidates, const CtGraph *graph, GError **error);
