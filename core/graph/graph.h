/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph: nodes and links as the configuration names them, with the streams that flow. */
#pragma once

#include "config.h"
#include "model/warning.h"
#include "registry.h"

#include <cornerturn/stage.h>

/* Whose output feeds an input. */
typedef struct {
    gint node; /* index in the graph's nodes; −1: not connected */
    guint port;
    CtPlace place; /* in `from` */
} CtGraphFrom;

typedef struct {
    CtNode node; /* as stages see it; everything it points to is owned by this struct. The type of
                    an input may be wider than that of the output which feeds it, without loss,
                    where the port wants it so: the planner then converts. */
    const CtConfigStage *config; /* where it stands, for messages and wishes */
    CtGraphFrom *from;           /* [node.n_inputs] */
} CtGraphNode;

void ct_graph_node_free(CtGraphNode *node);

typedef struct {
    const CtConfig *config;
    GPtrArray *nodes; /* of CtGraphNode, every node after those that feed it */
} CtGraph;

/* Looks up stages, parses parameters, connects ports, orders the nodes, and lets shapes flow from
 * the sources to the sinks; checks the files that are named. Every error names file, line, column,
 * node and port. The configuration and the registry must outlive the graph. */
CtGraph *ct_graph_new(const CtConfig *config, CtRegistry *registry, GError **error);
/* Whether the files that nodes write have folders, and no other parameter names them. */
gboolean ct_graph_check_files(const CtGraph *graph, GError **error);
void ct_graph_free(CtGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtGraph, ct_graph_free)

/* The row of the stage's table for input `i`: of CT_PORT_MANY all inputs have the one. */
const CtPort *ct_node_input_port(const CtNode *node, guint i);
/* Whether data flows over input `i`: it is connected, and not for its description alone. */
gboolean ct_node_input_flows(const CtNode *node, guint i);

/* Whether it does along time, sample by sample. */
gboolean ct_node_input_streams(const CtNode *node, guint i);
/* The first output along time of a node that nothing flows into so; −1 of all others. */
gint ct_node_source_output(const CtNode *node);

/* The same of a graph's node `n`; −1 as well where all that reads it, directly or through others,
 * are static inputs. */
gint ct_graph_data_output(const CtGraph *graph, guint n);

/* [node] ticks of the `block` of the sources that feed each, or of its own, the longest; 0: none
 * says. Allocated. */
gint64 *ct_graph_blocks(const CtGraph *graph);

/* Adds to `warnings` what the graph warns of by itself: parameters without effect, streams without
 * samples, outputs that nobody reads (unless `reads_all`: the caller does), sums longer than their
 * streams, and what its stages say. */
void ct_graph_warn(const CtGraph *graph, gboolean reads_all, GPtrArray *warnings);
/* Adds what is known once the graph's stages are prepared: parameters that these have not used,
 * either, and what they say. */
void ct_graph_warn_prepared(const CtGraph *graph, GPtrArray *warnings);

/* Sixteen hexadecimal digits by which graphs are known: equal where stages, footprints, links,
 * types and lengths are, time left aside, whatever nodes are called and other parameters say.
 * Allocated. */
char *ct_graph_key(const CtGraph *graph);

/* Sets `error` to "FILE:LINE:COLUMN: node 'NAME': …" at `place` (NULL: the node's). Returns FALSE.
 */
gboolean ct_graph_error(const CtGraphNode *node, const CtPlace *place, int code, GError **error,
                        const char *format, ...) G_GNUC_PRINTF(5, 6);
/* Puts "FILE:LINE:COLUMN: node 'NAME': " in front of what a stage said, which it takes; the place
 * is that of the parameter last blamed by ct_params_error, else the node's. Returns FALSE. */
gboolean ct_graph_blame(const CtGraphNode *node, GError **error, GError *cause);

/* Whether the stream at input `i`, of the node `giver`, is what the port declares. */
gboolean ct_node_check_input(const CtNode *node, guint i, const char *giver, GError **error);
/* Describes the outputs: runs the stage's rule, fills in the clock of the outputs from the
 * footprint, and checks what the stage said. `node` has its name, stage, parameters, and inputs
 * with their arrays; its outputs are clear. */
gboolean ct_node_infer(CtNode *node, GError **error);
