/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph: nodes, the links between them, and the descriptions of their streams. */
#pragma once

#include "config.h"
#include "model/warning.h"
#include "registry.h"

#include <cornerturn/stage.h>

/* The output that feeds an input. */
typedef struct {
    gint node; /* index in the graph's nodes; −1: not connected */
    guint port;
    CtPlace place; /* in `from` */
} CtGraphFrom;

typedef struct {
    CtNode node; /* as stages see it; this struct owns everything it points to. An input may have a
                    wider type than the output that feeds it, if the port asks for that and nothing
                    is lost: the planner inserts the conversion. */
    const CtConfigStage *config; /* the node in the configuration, for messages and wishes */
    CtGraphFrom *from;           /* [node.n_inputs] */
    CtGraphFacts facts;          /* for the stage: the graph's observation, the node's labels */
    gboolean begins_late;        /* the stream of a source begins after the graph's `start` */
    gboolean ends_early;         /* it ends before `stop` */
    gboolean is_broken; /* while the graph is made: a fault of it, or of a node that feeds it,
                           is reported */
} CtGraphNode;

void ct_graph_node_free(CtGraphNode *node);

typedef struct {
    const CtConfig *config;
    CtObservation *observation; /* that the configuration gives; NULL: none */
    GPtrArray *nodes;           /* of CtGraphNode; every node comes after the nodes that feed it */
} CtGraph;

static inline CtGraphNode *
ct_graph_node(const CtGraph *graph, guint i)
{
    return g_ptr_array_index(graph->nodes, i);
}

/* Looks up stages, parses parameters, connects ports, orders the nodes, describes the streams from
 * the sources to the sinks, and checks the files that parameters name. Every error names file,
 * line, column, node and port; all that do not follow from others are in `error`, a line each. The
 * configuration and the registry must outlive the graph. */
CtGraph *ct_graph_new(const CtConfig *config, CtRegistry *registry, gboolean reads_pipes,
                      GError **error);
/* Whether each file that a node writes is in a writable folder, is named by no other parameter, and
 * is not the file of the graph. */
gboolean ct_graph_check_files(const CtGraph *graph, GError **error);
/* Checks, before anything is read, that at most one node reads each pipe; without `reads_pipes`,
 * that none does. */
gboolean ct_graph_check_pipes(const CtGraph *graph, gboolean reads_pipes, GError **error);
/* Whether a node writes standard output (CT_PARAM_PIPE). */
gboolean ct_graph_writes_stdout(const CtGraph *graph);
void ct_graph_free(CtGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtGraph, ct_graph_free)

/* The row of the stage's table for input `i`. All inputs of a CT_PORT_MANY port share one row. */
const CtPort *ct_node_input_port(const CtNode *node, guint i);
/* Whether data flow over input `i`: it is connected and is not CT_PORT_SHAPE. */
gboolean ct_node_input_flows(const CtNode *node, guint i);
/* Whether input `i`, connected or not, is CT_PORT_PREPARED: its blocks are on the host, for
 * `prepare`. */
gboolean ct_node_input_is_prepared(const CtNode *node, guint i);

/* Whether data flow over input `i` along time, sample by sample. */
gboolean ct_node_input_streams(const CtNode *node, guint i);
/* The first output along time of a node without streaming inputs; −1 for all other nodes. */
gint ct_node_source_output(const CtNode *node);

/* The same for node `n` of a graph; also −1 if all data of the node end in static inputs, directly
 * or through other nodes. */
gint ct_graph_data_output(const CtGraph *graph, guint n);

/* [node] the longest `block`, in ticks, of the sources that feed the node, or the node's own if it
 * is a source; 0: none is given. Allocated. */
gint64 *ct_graph_blocks(const CtGraph *graph);

/* Adds the warnings that need only the graph: parameters without effect, streams without samples,
 * outputs that nobody reads (unless `reads_all`: the caller reads them), sums longer than their
 * streams, and the warnings of its stages. */
void ct_graph_warn(const CtGraph *graph, gboolean reads_all, GPtrArray *warnings);
/* Adds the warnings that are known once the stages are prepared: parameters that prepare has not
 * used either, and the warnings of prepare. */
void ct_graph_warn_prepared(const CtGraph *graph, GPtrArray *warnings);

/* Sixteen hexadecimal digits that identify a graph. They depend on stages, links, types, lengths
 * other than time, and on the kind, window and hop of footprints, but not on the names of nodes or
 * on other parameters. Allocated. */
char *ct_graph_key(const CtGraph *graph);

/* Sets `error` to "FILE:LINE:COLUMN: node 'NAME': …" at `place` (NULL: the node's). Returns FALSE.
 */
gboolean ct_graph_error(const CtGraphNode *node, const CtPlace *place, int code, GError **error,
                        const char *format, ...) G_GNUC_PRINTF(5, 6);
/* Prefixes `cause`, an error of a stage, with "FILE:LINE:COLUMN: node 'NAME': ", and propagates it.
 * The place is that of the parameter last blamed by ct_params_error, or else the node's. Takes
 * `cause`; returns FALSE. */
gboolean ct_graph_blame(const CtGraphNode *node, GError **error, GError *cause);

/* Whether the stream at input `i`, from the node named `giver`, matches the port's declaration. */
gboolean ct_node_check_input(const CtNode *node, guint i, const char *giver, GError **error);
/* Describes the outputs: calls the stage's infer, sets the clock of the outputs from the footprint,
 * and checks the result. `node` has its name, stage, parameters and inputs, and cleared outputs. */
gboolean ct_node_infer(CtNode *node, GError **error);
/* Whether infer describes the same outputs, footprint and wishes for `node` with other parameters:
 * whether these may change during a run. */
gboolean ct_node_infer_again(const CtNode *node, const CtParams *params, GError **error);
