/* SPDX-License-Identifier: BSD-3-Clause */
/* The layouts that stages have by default. */
#pragma once

#include "candidates.h"
#include "graph/graph.h"

/* Appends the stage's default layouts, patterns of its inputs and outputs, to the orders. */
gboolean ct_default_orders(const CtNode *node, GArray *inputs, GArray *outputs, GError **error);
/* Keeps, for each node whose stage has default layouts, the candidates nearest to them at each
 * place: those in which the fewest pairs of axes are in reverse order. Fused candidates are
 * dropped, unless one of their nodes has no candidate of its own. */
gboolean ct_default_keep(CtCandidates *candidates, const CtGraph *graph, GError **error);
