/* SPDX-License-Identifier: BSD-3-Clause */
/* A node at run time: its rings, its state, and the preparation of its variant. */
#include "arrays.h"
#include "change.h"
#include "firing.h"
#include "graph/plugin-call.h"
#include "graph/tuning.h"
#include "model/node-params.h"

#include <string.h>

guint
ct_run_node_first_flow(const CtRunNode *node)
{
    guint i = 0;
    while (i < node->n_inputs && (!node->inputs[i].ring || node->inputs[i].is_static))
        i++;
    return i;
}

gboolean
ct_run_node_is_source(const CtRunNode *node)
{
    return ct_run_node_first_flow(node) == node->n_inputs;
}

gboolean
ct_run_node_is_unread(const CtRunNode *node)
{
    guint n_rings = 0;
    for (guint o = 0; o < node->n_outputs; o++) {
        const CtRing *ring = node->outputs[o].ring;
        n_rings += ring != NULL;
        for (guint r = 0; ring && r < ring->n_readers; r++)
            if (ring->readers[r].position != CT_RING_GONE)
                return FALSE;
    }
    return n_rings > 0;
}

static gboolean
has_flag(const CtPlanNode *plan, guint input, guint flag)
{
    const CtPort *ports = plan->nodes[0].stage->inputs;
    return !(ports[0].flags & CT_PORT_MANY) && (ports[input].flags & flag);
}

/* Maps the ticks of static inputs to the clock of the first input that flows. Clocks that do not
 * relate are allowed where there is only one block. */
static void
relate_clocks(CtRunNode *node)
{
    const guint flows = ct_run_node_first_flow(node);
    for (guint i = 0; i < node->n_inputs; i++) {
        CtRunInput *input = &node->inputs[i];
        input->clock = (CtClockMap){1, 1, 0, 1, 1};
        if (input->is_static && flows < node->n_inputs)
            ct_clock_map_init(&input->clock, input->ring->link->stream,
                              node->inputs[flows].ring->link->stream);
    }
}

static gboolean
connect_output(CtRunNode *node, CtRunOutput *output, const CtStream *stream, GError **error)
{
    const CtPlanNode *plan = node->plan;
    output->maps = g_new0(CtLaneMap, MAX(plan->n_inputs, 1));
    output->carry = CT_TABLE(guint8, output->ring->n_lanes, "lanes", error);
    gboolean good = output->carry != NULL;
    for (guint i = 0; i < plan->n_inputs && good; i++)
        if (node->inputs[i].ring && !node->inputs[i].is_static)
            good =
                ct_lane_map_init(&output->maps[i], plan->input_bindings[i].stream, stream, error);
    return good;
}

/* The samples before the first sum of a node, in those of the first of the nodes that its variant
 * covers. */
static gint64
count_early(const CtPlanNode *plan)
{
    gint64 n_early = 0, hop = 1;
    for (guint n = 0; n < plan->n_nodes; n++) {
        const CtFootprint *rule = &plan->nodes[n].footprint;
        n_early += rule->kind == CT_FOOTPRINT_SUM ? rule->offset * hop : 0;
        hop *= rule->hop;
    }
    return n_early;
}

static gboolean
connect(CtRunNode *node, guint index, CtRing *const *rings, GError **error)
{
    const CtPlanNode *plan = node->plan;
    node->n_early = count_early(plan);
    node->n_inputs = plan->n_inputs;
    node->inputs = g_new0(CtRunInput, MAX(plan->n_inputs, 1));
    node->n_outputs = plan->n_outputs;
    node->outputs = g_new0(CtRunOutput, MAX(plan->n_outputs, 1));
    gint64 longest = 1;
    for (guint i = 0; i < plan->n_inputs; i++) {
        if (plan->inputs[i] < 0)
            continue;
        CtRing *ring = rings[plan->inputs[i]];
        for (guint r = 0; r < ring->n_readers; r++) {
            const CtPlanReader *reader = &g_array_index(ring->link->readers, CtPlanReader, r);
            if (reader->node != index || reader->port != i)
                continue;
            node->inputs[i] = (CtRunInput){
                .ring = ring,
                .reader = r,
                .is_static = has_flag(plan, i, CT_PORT_STATIC),
                .is_prepared = has_flag(plan, i, CT_PORT_PREPARED),
                .prepared = -1,
            };
        }
        longest = MAX(longest, ring->history + ring->capacity);
        /* A fold in an epilogue derives the validity of all windows of a firing. */
        longest = MAX(longest, 2 * plan->input_bindings[i].max_samples);
    }
    relate_clocks(node);
    for (guint o = 0; o < plan->n_outputs; o++) {
        if (plan->outputs[o] < 0)
            continue;
        CtRunOutput *output = &node->outputs[o];
        output->ring = rings[plan->outputs[o]];
        if (!connect_output(node, output, plan->output_bindings[o].stream, error))
            return FALSE;
        longest = MAX(longest, 2 * output->ring->link->max_samples);
    }
    node->lane = CT_TABLE(guint8, longest, "validity", error);
    return node->lane != NULL;
}

static void
allocate(CtRunNode *node)
{
    const char *names[CT_MAX_COUNTERS];
    node->n_counters = ct_plan_counters(node->plan, names);
    node->counters = g_new0(guint64, node->n_counters + 1);
    node->advance_counters = g_new0(guint64, CT_MAX_COUNTERS);
    node->arrivals = g_new0(CtArrival, node->n_inputs + 1);
    node->departures = g_new0(CtDeparture, node->n_outputs + 1);
    node->offered_arrivals = g_new0(CtArrival, node->n_inputs + 1);
    node->offered_departures = g_new0(CtDeparture, node->n_outputs + 1);
    node->input_blocks = g_new0(CtBlock, node->n_inputs + 1);
    node->output_blocks = g_new0(CtBlock, node->n_outputs + 1);
    node->taken = g_new0(guint8, 2 * (gsize)node->n_workers);
    node->advance = (CtAdvance){
        .inputs = node->arrivals,
        .outputs = node->departures,
        .counters = node->advance_counters,
        .core = node,
    };
    node->work = (CtWork){
        .inputs = node->input_blocks,
        .outputs = node->output_blocks,
        .core = node,
    };
    node->pending = TRUE;
}

/* Adds the node's place in the graph, if the node comes from one. */
gboolean
ct_run_node_blame(const CtRunNode *node, GError **error, GError *cause)
{
    const CtPlanNode *plan = node->plan;
    g_propagate_prefixed_error(error, cause, "node '%s': ", plan->name);
    if (!plan->graph_node)
        return FALSE;
    CtPlace place = plan->graph_node->config->place;
    for (guint k = 0; k < plan->n_nodes; k++)
        ct_params_take_blame((node->now.nodes ? node->now.nodes : plan->nodes)[k].params, &place);
    g_autofree char *where = ct_place_to_string(&place);
    g_prefix_error(error, "%s: ", where);
    return FALSE;
}

/* Whether a parameter of a node that the variant covers may change. */
static gboolean
is_live(const CtPlanNode *plan)
{
    for (guint k = 0; k < plan->n_nodes; k++)
        if (ct_stage_is_live(plan->nodes[k].stage))
            return TRUE;
    return FALSE;
}

gboolean
ct_run_node_init(CtRunNode *node, const CtPlanNode *plan, guint index, CtRing *const *rings,
                 const CtRunOptions *options, guint n_workers, GError **error)
{
    GError *cause = NULL;
    node->plan = plan;
    pthread_mutex_init(&node->picture.lock, NULL);
    node->options = options;
    node->n_workers = n_workers;
    node->now.nodes = plan->nodes;
    node->marks = ct_plan_is_marking(plan);
    node->is_live = is_live(plan);
    node->status = plan->variant->work ? CT_NODE_IDLE : CT_NODE_EXTERNAL;
    if (!connect(node, index, rings, &cause) || !ct_arrays_init(node, &cause))
        return ct_run_node_blame(node, error, cause);
    allocate(node);
    return TRUE;
}

gboolean
ct_run_state_clear(const CtRunNode *node, CtRunState *state, GError **error)
{
    const CtPlanNode *plan = node->plan;
    const CtNode *nodes = state->nodes ? state->nodes : plan->nodes;
    const gboolean good = ct_call_finish(plan->variant, nodes, state->state, error);
    for (guint k = 0; k < plan->n_nodes && state->owns_params; k++)
        ct_params_free((CtParams *)state->nodes[k].params);
    if (state->nodes != plan->nodes)
        g_free((gpointer)state->nodes);
    *state = (CtRunState){.nodes = plan->nodes};
    return good;
}

static gboolean
prepare_with(CtRunNode *node, CtPrepare *prepare, const gint64 *tuning, GError **error)
{
    memcpy(node->tuning, tuning, sizeof node->tuning);
    prepare->tuning = node->tuning;
    prepare->nodes = node->now.nodes = ct_arrays_nodes(node, node->plan->nodes, NULL);
    return ct_call_prepare(node->plan->variant, prepare, &node->now.state, error);
}

/* As many items as keep all workers busy to the end of a firing. */
static gint64
usual_items(guint n_workers)
{
    return n_workers > 1 ? 8 * (gint64)n_workers : 1;
}

gboolean
ct_run_node_prepare_again(const CtRunNode *node, const CtNode *nodes, CtRunState *state,
                          GError **error)
{
    const CtPrepare *first = &node->prepared;
    CtPrepare prepare = *first;
    prepare.nodes = nodes;
    prepare.scratch_bytes = prepare.upload_bytes = 0;
    prepare.n_items = usual_items(prepare.n_workers);
    state->nodes = nodes;
    if (!ct_call_prepare(node->plan->variant, &prepare, &state->state, error))
        return FALSE;
    state->n_items = prepare.n_items;
    if (prepare.scratch_bytes <= first->scratch_bytes &&
        prepare.upload_bytes <= first->upload_bytes)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                "wants %" G_GSIZE_FORMAT " bytes of scratch memory and %" G_GSIZE_FORMAT
                " of uploads, but the run has %" G_GSIZE_FORMAT " and %" G_GSIZE_FORMAT,
                prepare.scratch_bytes, prepare.upload_bytes, first->scratch_bytes,
                first->upload_bytes);
    return FALSE;
}

static void
warn_of_tuning(CtRunNode *node, const gint64 *defaults, const GError *cause)
{
    const CtVariant *variant = node->plan->variant;
    g_autofree char *tuned = ct_tuning_to_string(variant, node->plan->tuning, FALSE);
    g_autofree char *usual = ct_tuning_to_string(variant, defaults, FALSE);
    node->warning = g_strdup_printf(
        "runs '%s' with its default tuning, %s: %s, which was measured to be the best, cannot be "
        "prepared here: %s",
        variant->name, usual, tuned, cause->message);
}

gboolean
ct_run_node_prepare(CtRunNode *node, CtDevice *device, gsize *scratch, gsize *upload,
                    GError **error)
{
    const CtPlanNode *plan = node->plan;
    const CtPrepare fresh = {
        .n_nodes = plan->n_nodes,
        .n_inputs = plan->n_inputs,
        .inputs = plan->input_bindings,
        .n_outputs = plan->n_outputs,
        .outputs = plan->output_bindings,
        .n_workers = node->n_workers,
        .graph = node->config ? node->config->text : NULL,
        .settings = node->config ? (const char *const *)node->config->overrides : NULL,
        .device = device,
        .n_items = usual_items(node->n_workers),
        .send = node->options->sends
                    ? g_hash_table_lookup(node->options->sends, plan->nodes[0].name)
                    : NULL,
    };
    CtPrepare prepare = fresh;
    GError *cause = NULL;
    gboolean is_prepared = prepare_with(node, &prepare, plan->tuning, &cause);
    if (!is_prepared && plan->estimate.is_tuned) {
        /* A tuning that was the best elsewhere may be impossible here. */
        gint64 defaults[CT_MAX_TUNABLES];
        ct_tuning_defaults(plan->variant, defaults);
        warn_of_tuning(node, defaults, cause);
        g_clear_error(&cause);
        prepare = fresh;
        is_prepared = ct_run_state_clear(node, &node->now, &cause) &&
                      prepare_with(node, &prepare, defaults, &cause);
    }
    if (!is_prepared)
        return ct_run_node_blame(node, error, cause);
    *scratch = MAX(*scratch, prepare.scratch_bytes);
    *upload = prepare.upload_bytes;
    node->now.n_items = prepare.n_items;
    node->prepared = prepare;
    return TRUE;
}

gboolean
ct_run_node_finish(CtRunNode *node, GError **error)
{
    const gboolean good = ct_arrays_finish(node, error);
    return ct_run_state_clear(node, &node->now, good ? error : NULL) && good;
}

void
ct_run_node_clear(CtRunNode *node)
{
    /* Without a plan, preparation has failed before it came to this node. */
    if (!node->plan)
        return;
    ct_run_node_finish(node, NULL);
    ct_change_clear(node);
    ct_arrays_clear(node);
    for (guint o = 0; o < node->n_outputs; o++) {
        for (guint i = 0; i < node->n_inputs && node->outputs[o].maps; i++)
            ct_lane_map_clear(&node->outputs[o].maps[i]);
        g_free(node->outputs[o].maps);
        g_free(node->outputs[o].carry);
    }
    g_free(node->inputs);
    g_free(node->outputs);
    g_free(node->counters);
    g_free(node->advance_counters);
    g_clear_pointer(&node->picture.newest, g_bytes_unref);
    pthread_mutex_destroy(&node->picture.lock);
    g_free(node->accounts.accounts);
    g_free(node->told.accounts);
    g_free(node->arrivals);
    g_free(node->departures);
    g_free(node->offered_arrivals);
    g_free(node->offered_departures);
    g_free(node->input_blocks);
    g_free(node->output_blocks);
    g_free(node->lane);
    g_free(node->taken);
    g_free(node->warning);
}
