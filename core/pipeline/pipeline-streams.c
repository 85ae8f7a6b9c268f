/* SPDX-License-Identifier: BSD-3-Clause */
/* The streams of a pipeline, for programs and for people. */
#include "graph/stream-facts.h"
#include "kit/stream-json.h"
#include "pipeline-private.h"

const CtStream *
ct_pipeline_stream(CtPipeline *pipeline, const char *name, const char *output, GError **error)
{
    if (!ct_pipeline_check(pipeline, error))
        return NULL;
    for (guint i = 0; i < pipeline->graph->nodes->len; i++) {
        const CtGraphNode *node = ct_graph_node(pipeline->graph, i);
        if (!g_str_equal(node->node.name, name))
            continue;
        for (guint o = 0; o < node->node.n_outputs; o++)
            if (!output || g_str_equal(node->node.stage->outputs[o].name, output))
                return &node->node.outputs[o];
    }
    g_set_error(error, CT_ERROR, CT_ERROR_CONFIG, "%s has no output '%s%s%s'", pipeline->name, name,
                output ? "." : "", output ? output : "");
    return NULL;
}

char *
ct_pipeline_streams_text(CtPipeline *pipeline, GError **error)
{
    if (!ct_pipeline_check(pipeline, error))
        return NULL;
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < pipeline->graph->nodes->len; i++) {
        const CtNode *node = &ct_graph_node(pipeline->graph, i)->node;
        g_string_append_printf(text, "%s: %s\n", node->name, node->stage->name);
        for (guint o = 0; o < node->n_outputs; o++) {
            g_autofree char *stream = ct_stream_describe(&node->outputs[o]);
            g_autofree char *facts = ct_stream_facts(&node->outputs[o]);
            g_string_append_printf(text, "  %s  %s  %s\n%s", node->stage->outputs[o].name,
                                   ct_type_info(node->outputs[o].type)->name, stream, facts);
        }
    }
    return g_string_free(text, FALSE);
}

/* "filter.out"; null where nothing is connected */
static void
add_inputs(CtJson *json, const CtGraph *graph, const CtGraphNode *node)
{
    ct_json_begin_array(json, "inputs");
    for (guint i = 0; i < node->node.n_inputs; i++) {
        const CtGraphFrom *from = &node->from[i];
        const CtNode *giver = from->node < 0 ? NULL : &ct_graph_node(graph, from->node)->node;
        g_autofree char *name =
            giver ? g_strconcat(giver->name, ".", giver->stage->outputs[from->port].name, NULL)
                  : NULL;
        ct_json_begin_object(json, NULL);
        ct_json_add_text(json, "name", ct_node_input_port(&node->node, i)->name);
        ct_json_add_text(json, "from", name);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
}

static void
add_axes(CtJson *json, const CtStream *stream)
{
    ct_json_begin_array(json, "axes");
    for (guint a = 0; a < stream->n_axes; a++) {
        ct_json_begin_object(json, NULL);
        ct_json_add_text(json, "name", stream->axes[a].name);
        ct_json_add_integer(json, "length", stream->axes[a].length);
        ct_json_add_boolean(json, "loses", stream->axes[a].loses);
        ct_stream_json_add_axis_facts(json, stream, a);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
}

static void
add_outputs(CtJson *json, const CtNode *node)
{
    ct_json_begin_array(json, "outputs");
    for (guint o = 0; o < node->n_outputs; o++) {
        const CtStream *stream = &node->outputs[o];
        const CtLayout *wish = &node->output_layouts[o];
        g_autofree char *layout = wish->n_axes > 0 ? ct_layout_to_string(wish) : NULL;
        ct_json_begin_object(json, NULL);
        ct_json_add_text(json, "name", node->stage->outputs[o].name);
        ct_json_add_text(json, "layout", layout);
        ct_json_add_text(json, "type", ct_type_info(stream->type)->name);
        ct_stream_json_add_facts(json, stream);
        add_axes(json, stream);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
}

void
ct_pipeline_add_nodes_json(CtJson *json, const CtGraph *graph)
{
    ct_json_begin_array(json, "nodes");
    for (guint i = 0; graph && i < graph->nodes->len; i++) {
        const CtGraphNode *node = ct_graph_node(graph, i);
        ct_json_begin_object(json, NULL);
        ct_json_add_text(json, "name", node->node.name);
        ct_json_add_text(json, "stage", node->node.stage->name);
        add_inputs(json, graph, node);
        add_outputs(json, &node->node);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
}

char *
ct_pipeline_streams_json(CtPipeline *pipeline, GError **error)
{
    if (!ct_pipeline_check(pipeline, error))
        return NULL;
    CtJson *json = ct_json_new();
    ct_pipeline_add_nodes_json(json, pipeline->graph);
    return ct_json_free_to_text(json, TRUE);
}
