/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph: nodes and links as the configuration names them, with the streams that flow. */
#pragma once

#include "config.h"
#include "registry.h"

#include <cornerturn/stage.h>

/* Whose output feeds an input. */
typedef struct {
    gint node; /* index in the graph's nodes; −1: not connected */
    guint port;
} CtGraphFrom;

typedef struct {
    CtNode node;         /* as stages see it; everything it points to is owned by this struct */
    const CtConfigStage *config; /* where it stands, for messages and wishes */
    CtGraphFrom *from;   /* [node.n_inputs] */
} CtGraphNode;

typedef struct {
    GPtrArray *nodes; /* of CtGraphNode, every node after those that feed it */
} CtGraph;

/* Looks up stages, parses parameters, connects ports, orders the nodes, and lets shapes flow from the
 * sources to the sinks. Every error names file, line, column, node and port. The configuration and the
 * registry must outlive the graph. */
CtGraph *ct_graph_new(const CtConfig *config, CtRegistry *registry, GError **error);
void ct_graph_free(CtGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtGraph, ct_graph_free)

/* Puts "FILE:LINE:COLUMN: node 'NAME': " in front of what a stage said; the place is that of the
 * parameter last blamed by ct_params_error, else the node's. Returns FALSE. */
gboolean ct_graph_blame(const CtGraphNode *node, GError **error, GError *cause);
