/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that make a graph share. */
#pragma once

#include "graph.h"
#include "model/errors.h"

/* The rows of a table of ports; NULL has none. */
guint ct_ports_count(const CtPort *ports);
/* Takes `error`, a fault of the node. */
void ct_graph_break(CtGraphNode *node, GError *error, CtErrors *errors);
/* Connects the inputs of a node; `nodes` are in the order of the configuration, `failed` has the
 * names of those that are not made. */
void ct_graph_connect(CtGraphNode *node, const GPtrArray *nodes, GHashTable *failed,
                      CtErrors *errors);
/* Sorts the nodes so that each follows those that feed it, and otherwise keeps their order. */
gboolean ct_graph_order(GPtrArray *nodes, GError **error);
