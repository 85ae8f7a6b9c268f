/* SPDX-License-Identifier: BSD-3-Clause */
/* Warnings of a graph before it is planned: work without a result, and parameters without
 * effect. */
#include "graph.h"
#include "model/node-params.h"
#include "part.h"

static gint64
time_length(const CtStream *stream)
{
    const gint time = ct_stream_axis(stream, "time");
    return time < 0 ? -1 : stream->axes[time].length;
}

/* Marks the nodes that have a reader. */
static void
mark_read(const CtGraph *graph, gboolean *is_read)
{
    for (guint n = 0; n < graph->nodes->len; n++) {
        const CtGraphNode *node = ct_graph_node(graph, n);
        for (guint i = 0; i < node->node.n_inputs; i++)
            if (node->from[i].node >= 0)
                is_read[node->from[i].node] = TRUE;
    }
}

static void
warn_of_block(const CtGraphNode *node, GPtrArray *warnings)
{
    if (node->config->block > 0 && ct_node_source_output(&node->node) < 0)
        ct_warnings_add(
            warnings, CT_WARNING_PARAMETER, node->config->name, &node->config->block_place,
            "'block' has no effect: what '%s' gives has no axis time", node->config->stage);
}

/* The first input along time. NULL if there is none, or if one of them has no samples: the node
 * that gives it has its own warning. */
static const CtStream *
find_filled_input(const CtNode *node)
{
    const CtStream *first = NULL;
    for (guint i = 0; i < node->n_inputs; i++) {
        if (!ct_node_input_streams(node, i))
            continue;
        if (time_length(&node->inputs[i]) == 0)
            return NULL;
        first = first ? first : &node->inputs[i];
    }
    return first;
}

static void
warn_of_no_samples(const CtGraphNode *node, GPtrArray *warnings)
{
    const CtFootprint *footprint = &node->node.footprint;
    const gboolean is_source = ct_node_source_output(&node->node) >= 0;
    const CtStream *input = find_filled_input(&node->node);
    for (guint o = 0; o < node->node.n_outputs; o++) {
        const CtStream *output = &node->node.outputs[o];
        if (output->type == CT_TYPE_NONE || time_length(output) != 0 || (!is_source && !input))
            continue;
        const gint64 length = input ? time_length(input) : 0;
        if (length > 0 && length < footprint->window)
            ct_warnings_add(warnings, CT_WARNING_EMPTY, node->config->name, &node->config->place,
                            "gives no samples: one is made of %" G_GINT64_FORMAT
                            ", but only %" G_GINT64_FORMAT " come in",
                            footprint->window, length);
        else
            ct_warnings_add(warnings, CT_WARNING_EMPTY, node->config->name, &node->config->place,
                            input ? "gives no samples: its inputs have none in common"
                                  : "gives no samples");
        return;
    }
}

static void
warn_of_short_sums(const CtGraphNode *node, GPtrArray *warnings)
{
    const CtStream *input = find_filled_input(&node->node);
    const gint64 length = input ? time_length(input) : -1;
    if (node->node.footprint.kind == CT_FOOTPRINT_SUM)
        ct_warnings_add_short(warnings, node->config->name, &node->config->place,
                              node->node.footprint.hop, length);
}

void
ct_graph_warn(const CtGraph *graph, gboolean reads_all, GPtrArray *warnings)
{
    g_autofree gboolean *is_read = g_new0(gboolean, graph->nodes->len + 1);
    mark_read(graph, is_read);
    ct_warnings_join(warnings, graph->config->warnings);
    for (guint n = 0; n < graph->nodes->len; n++) {
        const CtGraphNode *node = ct_graph_node(graph, n);
        ct_params_join_warnings(node->node.params, node->config->name, warnings);
        if (node->node.stage->infer_uses_params)
            ct_params_warn_unused(node->node.params, node->config->name, warnings);
        warn_of_block(node, warnings);
        ct_graph_part_warn(graph->config, node, warnings);
        if (node->node.n_outputs > 0 && !is_read[n] && !reads_all)
            ct_warnings_add(warnings, CT_WARNING_UNREAD, node->config->name, &node->config->place,
                            "nobody reads what it gives: it does not run");
        warn_of_no_samples(node, warnings);
        warn_of_short_sums(node, warnings);
    }
}

void
ct_graph_warn_prepared(const CtGraph *graph, GPtrArray *warnings)
{
    for (guint n = 0; n < graph->nodes->len; n++) {
        const CtGraphNode *node = ct_graph_node(graph, n);
        ct_params_join_warnings(node->node.params, node->config->name, warnings);
        ct_params_warn_unused(node->node.params, node->config->name, warnings);
    }
}
