/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph: looking up stages, describing streams. */
#include "format.h"
#include "graph-private.h"
#include "model/clock.h"
#include "model/node-params.h"
#include "observe.h"
#include "part.h"

const CtPort *
ct_node_input_port(const CtNode *node, guint i)
{
    const CtPort *ports = node->stage->inputs;
    return ports[0].flags & CT_PORT_MANY ? &ports[0] : &ports[i];
}

gboolean
ct_node_input_flows(const CtNode *node, guint i)
{
    return node->inputs[i].type != CT_TYPE_NONE &&
           !(ct_node_input_port(node, i)->flags & CT_PORT_SHAPE);
}

gboolean
ct_node_input_is_prepared(const CtNode *node, guint i)
{
    return (ct_node_input_port(node, i)->flags & CT_PORT_PREPARED) != 0;
}

gboolean
ct_node_input_streams(const CtNode *node, guint i)
{
    return ct_node_input_flows(node, i) && !(ct_node_input_port(node, i)->flags & CT_PORT_STATIC) &&
           ct_stream_axis(&node->inputs[i], "time") >= 0;
}

gint
ct_node_source_output(const CtNode *node)
{
    for (guint i = 0; i < node->n_inputs; i++) {
        if (ct_node_input_streams(node, i))
            return -1;
    }
    for (guint o = 0; o < node->n_outputs; o++) {
        if (node->outputs[o].type != CT_TYPE_NONE && ct_stream_axis(&node->outputs[o], "time") >= 0)
            return (gint)o;
    }
    return -1;
}

/* [node] whether all data of the node end in static inputs, directly or through other nodes. */
static gboolean *
find_static(const CtGraph *graph)
{
    const guint n = graph->nodes->len;
    gboolean *serves_static = g_new0(gboolean, n + 1);
    g_autofree guint *n_readers = g_new0(guint, n + 1);
    g_autofree guint *n_static = g_new0(guint, n + 1);
    for (guint r = n; r-- > 0;) {
        const CtGraphNode *node = ct_graph_node(graph, r);
        serves_static[r] = n_readers[r] > 0 && n_static[r] == n_readers[r];
        for (guint i = 0; i < node->node.n_inputs; i++) {
            const CtPortFlags flags = ct_node_input_port(&node->node, i)->flags;
            if (node->from[i].node < 0 || flags & CT_PORT_SHAPE)
                continue;
            n_readers[node->from[i].node]++;
            n_static[node->from[i].node] += serves_static[r] || (flags & CT_PORT_STATIC) != 0;
        }
    }
    return serves_static;
}

gint
ct_graph_data_output(const CtGraph *graph, guint n)
{
    const CtGraphNode *node = ct_graph_node(graph, n);
    g_autofree gboolean *serves_static = find_static(graph);
    return serves_static[n] ? -1 : ct_node_source_output(&node->node);
}

gboolean
ct_graph_error(const CtGraphNode *node, const CtPlace *place, int code, GError **error,
               const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return ct_place_error(place ? place : &node->config->place, code, error, "node '%s': %s",
                          node->config->name, message);
}

gboolean
ct_graph_blame(const CtGraphNode *node, GError **error, GError *cause)
{
    CtPlace place = node->config->place;
    if (node->node.params)
        ct_params_take_blame(node->node.params, &place);
    g_autofree char *where = ct_place_to_string(&place);
    g_propagate_prefixed_error(error, cause, "%s: node '%s': ", where, node->config->name);
    return FALSE;
}

void
ct_graph_node_free(CtGraphNode *node)
{
    if (!node)
        return;
    if (node->node.inputs) {
        for (guint i = 0; i < node->node.n_inputs; i++)
            ct_stream_clear((CtStream *)&node->node.inputs[i]);
    }
    if (node->node.outputs) {
        for (guint i = 0; i < node->node.n_outputs; i++)
            ct_stream_clear(&node->node.outputs[i]);
    }
    g_free((CtStream *)node->node.inputs);
    g_free((gpointer)node->node.input_names);
    g_free(node->node.outputs);
    g_free(node->node.input_layouts);
    g_free(node->node.output_layouts);
    ct_params_free((CtParams *)node->node.params);
    g_clear_pointer(&node->facts.stations, ct_labels_unref);
    g_free(node->from);
    g_free(node);
}

/* Whether the node has a file that may change during a run. */
static gboolean
has_live_file(const CtNode *node)
{
    for (const CtParam *param = ct_stage_params(node->stage); param->name; param++)
        if (param->kind == CT_PARAM_PATH && param->flags & CT_PARAM_LIVE &&
            ct_params_has(node->params, param->name))
            return TRUE;
    return FALSE;
}

/* A node with its stage, its parameters and its arrays. The streams are clear. */
static CtGraphNode *
graph_node_new(const CtConfig *config, const CtConfigStage *stage_config, CtRegistry *registry,
               GError **error)
{
    CtGraphNode *node = g_new0(CtGraphNode, 1);
    node->config = stage_config;
    GError *cause = NULL;
    const CtStage *stage = ct_registry_stage(registry, stage_config->stage, &cause);
    if (!stage) {
        ct_graph_error(node, &stage_config->stage_place, cause->code, error, "%s", cause->message);
        g_error_free(cause);
        ct_graph_node_free(node);
        return NULL;
    }
    stage = ct_format_choose(registry, stage, stage_config, error);
    if (!stage || stage->missing) {
        if (stage)
            ct_graph_error(node, &stage_config->stage_place, CT_ERROR_PLUGIN, error,
                           "stage '%s' is not in this build, which lacks %s", stage->name,
                           stage->missing);
        ct_graph_node_free(node);
        return NULL;
    }
    CtParams *params =
        ct_params_new(stage_config->name, stage, &stage_config->place, stage_config->params, error);
    if (!params) {
        ct_graph_node_free(node);
        return NULL;
    }
    const gboolean is_many = ct_ports_count(stage->inputs) && stage->inputs[0].flags & CT_PORT_MANY;
    node->node = (CtNode){
        .name = stage_config->name,
        .stage = stage,
        .params = params,
        .n_inputs = is_many ? stage_config->links->len : ct_ports_count(stage->inputs),
        .n_outputs = ct_ports_count(stage->outputs),
        .footprint = {CT_FOOTPRINT_WINDOW, 1, 1, 0, CT_LANES_ALL},
        .block = stage_config->block,
    };
    if (stage_config->reread && !has_live_file(&node->node)) {
        ct_graph_error(node, &stage_config->reread_place, CT_ERROR_CONFIG, error,
                       "'reread' wants a file that may change during a run, but '%s' is given none",
                       stage->name);
        ct_graph_node_free(node);
        return NULL;
    }
    node->node.inputs = g_new0(CtStream, node->node.n_inputs + 1);
    node->node.input_names = g_new0(const char *, node->node.n_inputs + 1);
    node->node.outputs = g_new0(CtStream, node->node.n_outputs + 1);
    for (guint o = 0; o < node->node.n_outputs; o++)
        ct_stream_init(&node->node.outputs[o]);
    node->node.input_layouts = g_new0(CtLayout, node->node.n_inputs + 1);
    node->node.output_layouts = g_new0(CtLayout, node->node.n_outputs + 1);
    node->from = g_new(CtGraphFrom, node->node.n_inputs + 1);
    gboolean flows = FALSE;
    for (guint i = 0; i < node->node.n_inputs; i++) {
        node->from[i] = (CtGraphFrom){.node = -1};
        flows |= !(ct_node_input_port(&node->node, i)->flags & CT_PORT_SHAPE);
    }
    if (!flows && !node->node.block) {
        node->node.block = config->block;
    } else if (flows && node->node.block) {
        ct_graph_error(node, &stage_config->block_place, CT_ERROR_CONFIG, error,
                       "`block` is for sources, but '%s' has inputs", stage->name);
        ct_graph_node_free(node);
        return NULL;
    }
    if (stage_config->labels && flows) {
        ct_graph_error(node, &stage_config->labels->place, CT_ERROR_CONFIG, error,
                       "`labels` are for sources, but '%s' has inputs", stage->name);
        ct_graph_node_free(node);
        return NULL;
    }
    return node;
}

/* Copies the streams of the outputs that feed the node. If a port does not take the type, it is
 * widened, provided that this is lossless. */
static gboolean
take_inputs(CtGraphNode *node, const GPtrArray *nodes, GError **error)
{
    for (guint i = 0; i < node->node.n_inputs; i++) {
        if (node->from[i].node < 0)
            continue;
        const CtGraphNode *writer = g_ptr_array_index(nodes, node->from[i].node);
        const CtStream *stream = &writer->node.outputs[node->from[i].port];
        if (stream->type == CT_TYPE_NONE)
            return ct_graph_error(node, &node->from[i].place, CT_ERROR_SHAPE, error,
                                  "port '%s' is connected to '%s.%s', which this node does not "
                                  "have with its parameters and inputs",
                                  ct_node_input_port(&node->node, i)->name, writer->config->name,
                                  writer->node.stage->outputs[node->from[i].port].name);
        CtStream *input = (CtStream *)&node->node.inputs[i];
        ct_stream_copy(input, stream);
        ((const char **)node->node.input_names)[i] = writer->node.name;
        CtLayout pattern;
        const char *declared = ct_node_input_port(&node->node, i)->layout;
        if (declared && ct_layout_parse(&pattern, declared, NULL)) {
            CtType widened = CT_TYPE_NONE;
            for (CtType type = CT_TYPE_NONE + 1; type < CT_N_TYPES; type++) {
                if (!(pattern.types & 1u << type) || !ct_type_is_lossless(input->type, type))
                    continue;
                if (type == input->type || widened == CT_TYPE_NONE ||
                    (widened != input->type &&
                     ct_type_info(type)->bytes < ct_type_info(widened)->bytes))
                    widened = type;
            }
            if (widened != CT_TYPE_NONE)
                input->type = widened;
        }
        g_autoptr(GError) cause = NULL;
        if (!ct_node_check_input(&node->node, i, writer->config->name, &cause))
            return ct_graph_error(node, &node->from[i].place, cause->code, error, "%s",
                                  cause->message);
    }
    return TRUE;
}

/* A static input of more than one block changes at ticks of the streaming input, so the two clocks
 * must be related. */
static gboolean
check_static_clocks(const CtGraphNode *node, GError **error)
{
    guint flows = 0;
    while (flows < node->node.n_inputs && !ct_node_input_streams(&node->node, flows))
        flows++;
    for (guint i = 0; i < node->node.n_inputs && flows < node->node.n_inputs; i++) {
        const CtStream *stream = &node->node.inputs[i];
        const gint time = ct_stream_axis(stream, "time");
        CtClockMap map;
        if (!ct_node_input_flows(&node->node, i) || ct_node_input_streams(&node->node, i) ||
            time < 0 || stream->axes[time].length == 1)
            continue;
        const char *cause = ct_clock_map_init(&map, stream, &node->node.inputs[flows]);
        if (cause)
            return ct_graph_error(node, &node->from[i].place, CT_ERROR_SHAPE, error,
                                  "port '%s' wants blocks whose ticks relate to those of port "
                                  "'%s', but '%s' and '%s' don't: %s",
                                  ct_node_input_port(&node->node, i)->name,
                                  ct_node_input_port(&node->node, flows)->name,
                                  node->node.input_names[i], node->node.input_names[flows], cause);
    }
    return TRUE;
}

/* Whether nothing is connected to the node, so that its streams begin here. */
static gboolean
is_source(const CtNode *node)
{
    for (guint i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].type != CT_TYPE_NONE)
            return FALSE;
    return TRUE;
}

/* Makes the nodes, and connects them. */
static void
make_nodes(CtGraph *graph, CtRegistry *registry, CtErrors *errors)
{
    const CtConfig *config = graph->config;
    g_autoptr(GHashTable) failed = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < config->stages->len; i++) {
        const CtConfigStage *stage = config->stages->pdata[i];
        GError *error = NULL;
        CtGraphNode *node = graph_node_new(config, stage, registry, &error);
        if (!node) {
            g_hash_table_add(failed, stage->name);
            ct_errors_take(errors, error);
            continue;
        }
        ct_observe_node(graph->observation, node);
        g_ptr_array_add(graph->nodes, node);
    }
    for (guint i = 0; i < graph->nodes->len; i++)
        ct_graph_connect(ct_graph_node(graph, i), graph->nodes, failed, errors);
}

/* Describes the streams of a node. */
static gboolean
describe_node(const CtGraph *graph, CtGraphNode *node, CtGraphPart *part, gboolean serves_static,
              GError **error)
{
    if (!take_inputs(node, graph->nodes, error) || !check_static_clocks(node, error))
        return FALSE;
    GError *cause = NULL;
    if (!ct_node_infer(&node->node, &cause))
        return ct_graph_blame(node, error, cause);
    if ((is_source(&node->node) || node->config->labels) &&
        !ct_observe_source(graph->observation, node, error))
        return FALSE;
    return !is_source(&node->node) || serves_static || ct_graph_part_take(part, node, error);
}

/* Whether a node that feeds this one is broken; then so is this one. */
static gboolean
is_fed_by_broken(const CtGraph *graph, CtGraphNode *node)
{
    for (guint i = 0; i < node->node.n_inputs; i++)
        if (node->from[i].node >= 0 && ct_graph_node(graph, node->from[i].node)->is_broken)
            node->is_broken = TRUE;
    return node->is_broken;
}

/* Describes the streams from the sources to the sinks, as far as nodes are in order. */
static void
describe_nodes(const CtGraph *graph, CtGraphPart *part, CtErrors *errors)
{
    g_autofree gboolean *serves_static = find_static(graph);
    for (guint i = 0; i < graph->nodes->len; i++) {
        CtGraphNode *node = ct_graph_node(graph, i);
        GError *error = NULL;
        if (!is_fed_by_broken(graph, node) &&
            !describe_node(graph, node, part, serves_static[i], &error))
            ct_graph_break(node, error, errors);
    }
}

CtGraph *
ct_graph_new(const CtConfig *config, CtRegistry *registry, gboolean reads_pipes, GError **error)
{
    g_autoptr(CtErrors) errors = ct_errors_new();
    g_autoptr(CtGraph) graph = g_new0(CtGraph, 1);
    graph->config = config;
    graph->nodes = g_ptr_array_new_with_free_func((GDestroyNotify)ct_graph_node_free);
    CtGraphPart part;
    GError *cause = NULL;
    const gboolean knows_observation = ct_observe_read(config, &graph->observation, &cause);
    ct_errors_take(errors, g_steal_pointer(&cause));
    const gboolean knows_part = ct_graph_part_read(config, &part, &cause);
    ct_errors_take(errors, g_steal_pointer(&cause));
    make_nodes(graph, registry, errors);
    if (ct_graph_order(graph->nodes, &cause) && ct_graph_check_pipes(graph, reads_pipes, &cause) &&
        knows_observation && knows_part) {
        describe_nodes(graph, &part, errors);
        ct_graph_check_files(graph, &cause);
    }
    ct_errors_take(errors, cause);
    return ct_errors_finish(errors, error) ? g_steal_pointer(&graph) : NULL;
}

gint64 *
ct_graph_blocks(const CtGraph *graph)
{
    gint64 *blocks = g_new0(gint64, graph->nodes->len + 1);
    for (guint n = 0; n < graph->nodes->len; n++) {
        const CtGraphNode *node = ct_graph_node(graph, n);
        const gint output = ct_node_source_output(&node->node);
        gint64 ticks;
        for (guint i = 0; i < node->node.n_inputs; i++) {
            if (node->from[i].node >= 0 && ct_node_input_streams(&node->node, i))
                blocks[n] = MAX(blocks[n], blocks[node->from[i].node]);
        }
        if (output >= 0 && node->node.block > 0 &&
            !__builtin_mul_overflow(node->node.block,
                                    MAX(1, node->node.outputs[output].ticks_per_sample), &ticks))
            blocks[n] = ticks;
    }
    return blocks;
}

void
ct_graph_free(CtGraph *graph)
{
    if (!graph)
        return;
    g_clear_pointer(&graph->nodes, g_ptr_array_unref);
    g_clear_pointer(&graph->observation, ct_observation_unref);
    g_free(graph);
}

/* ---- the key ---- */

static void
append_stream(GString *text, const CtStream *stream)
{
    g_string_append_printf(text, " %s", ct_type_info(stream->type)->name);
    for (guint a = 0; a < stream->n_axes; a++) {
        const CtAxis *axis = &stream->axes[a];
        g_string_append_printf(text, " %s=%" G_GINT64_FORMAT, axis->name,
                               g_str_equal(axis->name, "time") ? 0 : axis->length);
    }
}

char *
ct_graph_key(const CtGraph *graph)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint n = 0; n < graph->nodes->len; n++) {
        const CtGraphNode *node = ct_graph_node(graph, n);
        const CtFootprint *footprint = &node->node.footprint;
        g_string_append_printf(text, "%s %d %" G_GINT64_FORMAT " %" G_GINT64_FORMAT,
                               node->node.stage->name, (gint)footprint->kind,
                               (gint64)footprint->window, (gint64)footprint->hop);
        for (guint i = 0; i < node->node.n_inputs; i++)
            g_string_append_printf(text, " %d.%u", node->from[i].node, node->from[i].port);
        for (guint o = 0; o < node->node.n_outputs; o++)
            append_stream(text, &node->node.outputs[o]);
        g_string_append_c(text, '\n');
    }
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text->str, -1);
    return g_strndup(sum, 16);
}
