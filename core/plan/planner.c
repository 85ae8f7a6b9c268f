/* SPDX-License-Identifier: BSD-3-Clause */
/* The planner: chooses, then makes the plan's nodes and links, inserts conversions, and sizes the
 * rings. */
#include "planner.h"

#include "candidates.h"
#include "choose.h"
#include "conversion.h"
#include "graph/plugin-call.h"
#include "graph/tuning.h"
#include "model/node-params.h"
#include "placement.h"
#include "plan-queues.h"
#include "plan-sizes.h"
#include "planner-firings.h"
#include "planner-variants.h"

#include <cornerturn/kit/epilogue.h>
#include <string.h>

/* The size of the largest link of a firing on a device that is aimed at: a small part of the
 * device's memory, but so long that launches count little beside the work. */
static const gsize parts_of_device = 256;
static const gsize least_device_bytes = 1 << 20;
static const gsize most_device_bytes = 512 << 20;

/* Firings in flight of a node on a device by default: one that runs, one to come, and one that is
 * copied. */
static const guint usual_in_flight = 3;

/* The most times that firings are halved, and the most halvings in a row that leave the rings as
 * large as they are. */
enum { MAX_HALVINGS = 40, MAX_SAME = 4 };

const CtRowPatterns *
ct_planner_row(CtPlanner *planner, const CtRow *row)
{
    CtRowPatterns *patterns = g_hash_table_lookup(planner->patterns, row->layouts);
    if (patterns)
        return patterns;
    CtRowPatterns parsed;
    if (!ct_row_parse(&parsed, row->layouts, NULL))
        g_assert_not_reached(); /* plugins have been checked */
    patterns = g_memdup2(&parsed, sizeof(parsed));
    g_hash_table_insert(planner->patterns, (gpointer)row->layouts, patterns);
    return patterns;
}

/* A placement at which an output is available. */
typedef struct {
    CtPlacement placement;
    guint link;
} Made;

typedef struct {
    CtPlanner *planner;
    CtPlan *plan;
    const GPtrArray *fan_outs;
    const CtChoice *choice;
    GArray **made;     /* [fan-out] of Made */
    guint *first;      /* [graph nodes] index of the node's first fan-out */
    GHashTable *names; /* name of an inserted node → how often it was given */
} Build;

CtFixed *
ct_fixed_new(const CtVariant *variant, const CtRow *row, const gint64 *tuning, gint place,
             guint n_inputs, const CtLayout *inputs, guint n_outputs, const CtLayout *outputs)
{
    CtFixed *fixed = g_new0(CtFixed, 1);
    fixed->variant = variant;
    fixed->row = row;
    if (tuning)
        memcpy(fixed->tuning, tuning, sizeof(fixed->tuning));
    else
        ct_tuning_defaults(variant, fixed->tuning);
    fixed->place = place;
    fixed->n_inputs = n_inputs;
    fixed->inputs = g_memdup2(inputs, n_inputs * sizeof(*inputs));
    fixed->n_outputs = n_outputs;
    fixed->outputs = g_memdup2(outputs, n_outputs * sizeof(*outputs));
    return fixed;
}

void
ct_fixed_free(CtFixed *fixed)
{
    if (!fixed)
        return;
    g_free(fixed->inputs);
    g_free(fixed->outputs);
    g_free(fixed);
}

/* ---- nodes ---- */

static void
plan_node_free(gpointer data)
{
    CtPlanNode *node = data;
    for (guint i = 0; i < node->n_inputs; i++)
        ct_stream_clear(&node->streams[i]);
    g_free(node->streams);
    g_free(node->name);
    g_free(node->nodes);
    g_free(node->inputs);
    g_free(node->input_bindings);
    g_free(node->outputs);
    g_free(node->output_bindings);
    g_free(node);
}

static void
plan_link_free(gpointer data)
{
    CtPlanLink *link = data;
    g_array_unref(link->readers);
    g_free(link->circle);
    g_free(link);
}

gsize
ct_plan_bytes(const CtPlan *plan)
{
    gsize bytes = plan->bytes;
    for (guint d = 0; d < plan->n_devices; d++)
        bytes += MIN(plan->device_bytes[d], G_MAXSIZE - bytes);
    return bytes;
}

void
ct_plan_free(CtPlan *plan)
{
    if (!plan)
        return;
    g_ptr_array_unref(plan->nodes);
    g_ptr_array_unref(plan->links);
    g_ptr_array_unref(plan->inserted);
    g_array_unref(plan->queues);
    g_free(plan->device_bytes);
    g_free(plan->numas);
    ct_plan_processors_clear(&plan->processors);
    g_clear_pointer(&plan->warnings, g_ptr_array_unref);
    g_free(plan->busy);
    g_free(plan->shrunk);
    g_free(plan);
}

CtFootprint
ct_chain_footprint(const CtNode *nodes, guint n_nodes)
{
    CtFootprint whole = nodes[0].footprint;
    for (guint k = 1; k < n_nodes; k++) {
        const CtFootprint *next = &nodes[k].footprint;
        whole.window += (next->window - 1) * whole.hop;
        whole.offset += next->offset * whole.hop;
        whole.hop *= next->hop;
        whole.kind = whole.kind == CT_FOOTPRINT_SUM ? whole.kind : next->kind;
        whole.lanes = whole.lanes == CT_LANES_ANY ? whole.lanes : next->lanes;
    }
    return whole;
}

/* A node over `n_nodes` nodes, not connected yet; takes `name`. */
static CtPlanNode *
plan_node_new(Build *build, char *name, const CtVariant *variant, const CtRow *row, gint place,
              const CtNode *nodes, guint n_nodes, const CtLayout *inputs, const CtLayout *outputs)
{
    const CtNode *first = &nodes[0], *last = &nodes[n_nodes - 1];
    CtPlanNode *node = g_new0(CtPlanNode, 1);
    node->name = name;
    node->variant = variant;
    node->row = row;
    node->place = place;
    node->queue = -1;
    node->nodes = g_memdup2(nodes, n_nodes * sizeof(*nodes));
    node->n_nodes = n_nodes;
    node->n_inputs = first->n_inputs;
    node->inputs = g_new(gint, first->n_inputs + 1);
    node->streams = g_new0(CtStream, first->n_inputs + 1);
    node->input_bindings = g_new0(CtBinding, first->n_inputs + 1);
    for (guint i = 0; i < first->n_inputs; i++) {
        ct_stream_copy(&node->streams[i], &first->inputs[i]);
        if (inputs[i].n_axes > 0)
            node->streams[i].type = ct_layout_stream_type(&inputs[i]);
        node->inputs[i] = -1;
        node->input_bindings[i] = (CtBinding){.stream = &node->streams[i], .layout = inputs[i]};
    }
    node->nodes[0].inputs = node->streams;
    node->n_outputs = last->n_outputs;
    node->outputs = g_new(gint, last->n_outputs + 1);
    node->output_bindings = g_new0(CtBinding, last->n_outputs + 1);
    for (guint i = 0; i < last->n_outputs; i++) {
        node->outputs[i] = -1;
        node->output_bindings[i] = (CtBinding){.stream = &last->outputs[i], .layout = outputs[i]};
    }
    node->footprint = ct_chain_footprint(nodes, n_nodes);
    /* Such a variant has all windows of a sum in one firing. */
    if (ct_epilogue_variant_folds(variant))
        node->footprint.kind = CT_FOOTPRINT_WINDOW;
    g_ptr_array_add(build->plan->nodes, node);
    return node;
}

/* Adds the link of output `port` of node `n` of the plan, at `place`; returns its index. */
static guint
add_link(Build *build, guint n, guint port, gint place)
{
    CtPlanNode *writer = ct_plan_node(build->plan, n);
    CtPlanLink *link = g_new0(CtPlanLink, 1);
    link->writer = n;
    link->port = port;
    link->stream = writer->output_bindings[port].stream;
    link->layout = writer->output_bindings[port].layout;
    link->place = place;
    link->readers = g_array_new(FALSE, FALSE, sizeof(CtPlanReader));
    g_ptr_array_add(build->plan->links, link);
    writer->outputs[port] = build->plan->links->len - 1;
    return build->plan->links->len - 1;
}

/* Connects input `port` of the last node. */
static void
read_link(Build *build, CtPlanNode *reader, guint port, guint link)
{
    const CtPlanReader entry = {build->plan->nodes->len - 1, port};
    reader->inputs[port] = link;
    g_array_append_val(((CtPlanLink *)ct_plan_link(build->plan, link))->readers, entry);
}

/* ---- inserted nodes ---- */

/* "spectra>transpose", "spectra.weights>convert", "spectra>transpose2" */
static char *
inserted_name(Build *build, const CtFanOut *fan_out, const char *stage)
{
    const CtGraphNode *writer = ct_graph_node(build->planner->graph, fan_out->node);
    const char *port = writer->node.stage->outputs[fan_out->port].name;
    g_autofree char *name =
        g_strdup_printf("%s%s%s>%s", writer->config->name, fan_out->port > 0 ? "." : "",
                        fan_out->port > 0 ? port : "", stage);
    const guint n = GPOINTER_TO_UINT(g_hash_table_lookup(build->names, name)) + 1;
    g_hash_table_insert(build->names, g_strdup(name), GUINT_TO_POINTER(n));
    return n == 1 ? g_steal_pointer(&name) : g_strdup_printf("%s%u", name, n);
}

/* Inserts a step behind `link`. `from` is the layout that the step was found for: it has the same
 * memory as the link's, but axes of length 1 may be elsewhere. *made is set to the link of the
 * step's output. */
static gboolean
insert_step(Build *build, const CtFanOut *fan_out, const CtLayout *from,
            const CtConversionStep *step, guint link, guint *made, GError **error)
{
    const CtGraphNode *writer = ct_graph_node(build->planner->graph, fan_out->node);
    const CtPlanLink *before = ct_plan_link(build->plan, link);
    g_autofree char *name = inserted_name(build, fan_out, step->stage->name);
    g_autoptr(CtValue) values = ct_conversion_params(step->stage, &step->to.layout);

    CtGraphNode *own = g_new0(CtGraphNode, 1);
    g_ptr_array_add(build->plan->inserted, own);
    own->config = writer->config;
    own->node.params = ct_params_new(name, step->stage, &writer->config->place, values, error);
    if (!own->node.params)
        return FALSE;
    own->node.name = g_intern_string(name);
    own->node.stage = step->stage;
    own->node.footprint = (CtFootprint){CT_FOOTPRINT_WINDOW, 1, 1, 0, CT_LANES_ALL};
    CtStream *input = g_new0(CtStream, 1);
    ct_stream_copy(input, before->stream);
    own->node.n_inputs = own->node.n_outputs = 1;
    own->node.inputs = input;
    own->node.outputs = g_new0(CtStream, 1);
    own->node.input_layouts = g_new0(CtLayout, 1);
    own->node.output_layouts = g_new0(CtLayout, 1);
    GError *cause = NULL;
    if (!ct_node_infer(&own->node, &cause)) {
        g_prefix_error(&cause, "inserted '%s': ", name);
        return ct_graph_blame(writer, error, cause);
    }
    CtPlanNode *node = plan_node_new(build, g_steal_pointer(&name), step->variant, step->row,
                                     step->place, &own->node, 1, from, &step->to.layout);
    memcpy(node->tuning, step->estimate.tuning, sizeof(node->tuning));
    node->inserted = TRUE;
    node->graph_node = writer;
    node->estimate = step->estimate;
    node->cost = step->cost;
    node->operations = step->load.operations;
    node->bytes = step->load.bytes;
    node->block = step->load.block;
    node->held = step->load.held;
    read_link(build, node, 0, link);
    *made = add_link(build, build->plan->nodes->len - 1, 0, step->to.place);
    return TRUE;
}

/* ---- the graph's nodes ---- */

static guint
find_fan_out(const Build *build, guint node, guint port)
{
    guint o = build->first[node];
    while (((const CtFanOut *)g_ptr_array_index(build->fan_outs, o))->port != port)
        o++;
    return o;
}

static gint
find_made(const GArray *made, const CtPlacement *placement, const CtStream *stream)
{
    for (guint i = 0; i < made->len; i++) {
        if (ct_placement_same_memory(&g_array_index(made, Made, i).placement, placement, stream))
            return g_array_index(made, Made, i).link;
    }
    return -1;
}

/* Makes every placement at which a reader wants the fan-out of node `n` of the plan. */
static gboolean
make_placements(Build *build, guint o, guint n, GError **error)
{
    const CtPlanNode *writer = ct_plan_node(build->plan, n);
    const CtFanOut *fan_out = g_ptr_array_index(build->fan_outs, o);
    GArray *made = build->made[o];
    const CtStream *stream = writer->output_bindings[fan_out->port].stream;
    const Made first = {{writer->output_bindings[fan_out->port].layout, writer->place},
                        add_link(build, n, fan_out->port, writer->place)};
    g_array_append_val(made, first);
    for (guint i = 0; i < fan_out->readers->len; i++) {
        const CtConversion *conversion = &build->choice->conversions[o][i];
        const CtLayout *from = &first.placement.layout;
        guint link = first.link;
        for (guint s = 0; s < conversion->n_steps; s++) {
            const gint known = find_made(made, &conversion->steps[s].to, stream);
            Made next = {conversion->steps[s].to, known};
            if (known < 0) {
                if (!insert_step(build, fan_out, from, &conversion->steps[s], link, &next.link,
                                 error))
                    return FALSE;
                g_array_append_val(made, next);
            }
            from = &conversion->steps[s].to.layout;
            link = next.link;
        }
    }
    return TRUE;
}

static gboolean
build_node(Build *build, guint n, GError **error)
{
    const CtCandidate *candidate = build->choice->candidates[n];
    const CtImplementation *implementation = build->choice->implementations[n];
    if (candidate->nodes[candidate->n_nodes - 1] != n)
        return TRUE;
    const GPtrArray *graph_nodes = build->planner->graph->nodes;
    g_autofree CtNode *nodes = g_new(CtNode, candidate->n_nodes);
    g_autoptr(GString) name = g_string_new(NULL);
    for (guint k = 0; k < candidate->n_nodes; k++) {
        const CtGraphNode *covered = g_ptr_array_index(graph_nodes, candidate->nodes[k]);
        nodes[k] = covered->node;
        g_string_append_printf(name, "%s%s", k ? "+" : "", covered->config->name);
    }
    CtPlanNode *node = plan_node_new(build, g_strdup(name->str), implementation->variant,
                                     implementation->row, candidate->place, nodes,
                                     candidate->n_nodes, candidate->inputs, candidate->outputs);
    memcpy(node->tuning, implementation->estimate.tuning, sizeof(node->tuning));
    node->graph_node = g_ptr_array_index(graph_nodes, n);
    node->estimate = implementation->estimate;
    node->cost = implementation->cost;
    node->operations = candidate->load.operations;
    node->bytes = candidate->load.bytes;
    node->block = candidate->load.block;
    node->held = candidate->load.held;

    const CtGraphNode *first = g_ptr_array_index(graph_nodes, candidate->nodes[0]);
    for (guint i = 0; i < node->n_inputs; i++) {
        if (first->from[i].node < 0 || !ct_node_input_flows(&first->node, i))
            continue;
        const guint o = find_fan_out(build, first->from[i].node, first->from[i].port);
        const CtPlacement placement = ct_candidate_reads(candidate, i);
        const gint link = find_made(build->made[o], &placement, &first->node.inputs[i]);
        g_assert(link >= 0);
        read_link(build, node, i, link);
    }
    const guint index = build->plan->nodes->len - 1;
    for (guint o = build->first[n]; o < build->first[n + 1]; o++) {
        if (!make_placements(build, o, index, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean
build_plan(CtPlanner *planner, CtPlan *plan, const GPtrArray *fan_outs, const CtChoice *choice,
           GError **error)
{
    const guint n = planner->graph->nodes->len;
    g_autoptr(GPtrArray) made = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (guint o = 0; o < fan_outs->len; o++)
        g_ptr_array_add(made, g_array_new(FALSE, FALSE, sizeof(Made)));
    g_autofree guint *first = g_new0(guint, n + 2);
    for (guint o = 0; o < fan_outs->len; o++)
        first[((const CtFanOut *)g_ptr_array_index(fan_outs, o))->node + 1]++;
    for (guint i = 0; i < n; i++)
        first[i + 1] += first[i];
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    Build build = {planner, plan, fan_outs, choice, (GArray **)made->pdata, first, names};
    for (guint i = 0; i < n; i++) {
        if (!build_node(&build, i, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean
always_peers(G_GNUC_UNUSED guint from, G_GNUC_UNUSED guint to)
{
    return TRUE;
}

static void
set_devices(CtMachine *machine, const CtPlanOptions *options)
{
    if (options->devices) {
        machine->n_devices = options->n_devices;
        machine->devices = options->devices;
        machine->no_device = "none is given";
        machine->are_peers = options->no_peers ? NULL : always_peers;
    } else {
        ct_machine_find_devices(machine);
    }
    if (options->device_bytes > 0)
        machine->device_bytes = options->device_bytes;
    else if (machine->n_devices > 0)
        machine->device_bytes = CLAMP(machine->devices[0].memory_bytes / parts_of_device,
                                      least_device_bytes, most_device_bytes);
}

char *
ct_planner_block_name(const CtGraph *graph)
{
    g_autofree char *key = ct_graph_key(graph);
    return g_strconcat("block ", key, NULL);
}

/* Takes the size of firings on devices that tuning has found, if any. */
static void
take_block(CtPlanner *planner)
{
    if (planner->options->device_bytes > 0 || planner->machine.n_devices == 0)
        return;
    g_autofree char *name = ct_planner_block_name(planner->graph);
    const CtCeiling *ceiling = ct_estimates_ceiling(planner->estimates, 0, name);
    if (ceiling && ceiling->value >= 1)
        planner->machine.device_bytes = (gsize)ceiling->value;
    planner->is_block_tuned = ceiling && ceiling->value >= 1;
}

void
ct_planner_init(CtPlanner *planner, const CtGraph *graph, CtRegistry *registry,
                const CtPlanOptions *options)
{
    *planner = (CtPlanner){
        .graph = graph,
        .registry = registry,
        .options = options,
        .n_in_flight = options->n_in_flight ? options->n_in_flight : usual_in_flight,
        .patterns = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free),
    };
    for (guint kind = 0; kind < CT_N_INSERTED; kind++)
        planner->inserted[kind] = ct_registry_stage(registry, ct_inserted_stages[kind], NULL);
    ct_plan_processors_find(&planner->processors, graph, options, &planner->processors_fault);
    ct_machine_init(&planner->machine, planner->processors.workers->len);
    if (options->bandwidth > 0)
        planner->machine.bandwidth = options->bandwidth;
    set_devices(&planner->machine, options);
    const gsize aim = ct_machine_aim(&planner->machine, options->cache_bytes);
    const CtEstimateSources sources = {options->costs, options->shipped};
    planner->estimates = ct_estimates_new(&planner->machine, graph, registry, &sources, aim);
    if (options->judge)
        ct_estimates_set_judge(planner->estimates, options->judge, options->judge_data);
    take_block(planner);
    ct_planner_find_firings(planner);
}

void
ct_planner_resume(CtPlanner *planner, const CtPlan *plan)
{
    planner->machine.device_bytes = plan->device_aim;
    planner->machine.n_halvings = plan->n_halvings;
    planner->n_in_flight = plan->n_in_flight;
}

void
ct_planner_clear(CtPlanner *planner)
{
    g_clear_pointer(&planner->patterns, g_hash_table_unref);
    g_clear_pointer(&planner->firings, g_hash_table_unref);
    g_clear_pointer(&planner->conversions_known, g_hash_table_unref);
    g_clear_pointer(&planner->estimates, ct_estimates_free);
    ct_plan_processors_clear(&planner->processors);
    g_clear_error(&planner->processors_fault);
}

/* Adds up what the nodes of the plan keep busy. A choice that is not proven the best may share more
 * steps than it counted on. */
static void
add_up(const CtMachine *machine, CtPlan *plan)
{
    plan->n_resources = ct_n_resources(machine);
    plan->busy = g_new0(gdouble, plan->n_resources);
    for (guint n = 0; n < plan->nodes->len; n++) {
        const CtCost *cost = &((const CtPlanNode *)ct_plan_node(plan, n))->cost;
        for (guint p = 0; p < cost->n_parts; p++)
            plan->busy[cost->parts[p].resource] += cost->parts[p].seconds;
        plan->alone = MAX(plan->alone, cost->alone);
    }
    plan->seconds = plan->alone;
    for (guint r = 0; r < plan->n_resources; r++)
        plan->seconds = MAX(plan->seconds, plan->busy[r]);
}

const CtPlanNode *
ct_plan_longest_alone(const CtPlan *plan)
{
    const CtPlanNode *longest = NULL;
    for (guint n = 0; n < plan->nodes->len; n++) {
        const CtPlanNode *node = ct_plan_node(plan, n);
        if (node->cost.alone > (longest ? longest->cost.alone : 0))
            longest = node;
    }
    return longest;
}

/* Makes a plan with firings of the machine's size, whether it fits or not. */
static CtPlan *
plan_once(CtPlanner *planner, GError **error)
{
    const CtPlanOptions *options = planner->options;
    g_autoptr(CtPlan) plan = g_new0(CtPlan, 1);
    plan->graph = planner->graph;
    plan->warnings = ct_warnings_new();
    if (ct_estimates_warning(planner->estimates))
        ct_warnings_add(plan->warnings, CT_WARNING_PLAN, NULL, NULL, "%s",
                        ct_estimates_warning(planner->estimates));
    plan->n_workers = planner->machine.n_workers;
    plan->processors = planner->processors;
    g_array_ref(plan->processors.processors);
    g_array_ref(plan->processors.workers);
    plan->n_missing = MAX(options->n_missing, 1);
    plan->nodes = g_ptr_array_new_with_free_func(plan_node_free);
    plan->links = g_ptr_array_new_with_free_func(plan_link_free);
    plan->inserted = g_ptr_array_new_with_free_func((GDestroyNotify)ct_graph_node_free);
    plan->devices = planner->machine.devices;
    plan->queues = g_array_new(FALSE, FALSE, sizeof(CtPlanQueue));
    plan->n_in_flight = planner->n_in_flight;
    plan->n_halvings = planner->machine.n_halvings;
    plan->device_aim = planner->machine.device_bytes;
    plan->is_block_tuned = planner->is_block_tuned;

    g_autoptr(CtCandidates) candidates = ct_candidates_new(planner, error);
    if (!candidates || !ct_graph_check_kept(planner->graph, error))
        return NULL;
    g_autoptr(GPtrArray) fan_outs = ct_fan_outs_new(planner->graph);
    g_autoptr(CtChoice) choice = ct_planner_choose(planner, candidates, fan_outs, error);
    if (!choice || !build_plan(planner, plan, fan_outs, choice, error))
        return NULL;
    add_up(&planner->machine, plan);
    plan->least =
        choice->least < choice->seconds ? MIN(choice->least, plan->seconds) : plan->seconds;
    ct_plan_set_queues(plan);
    ct_plan_set_numas(plan, &planner->machine);
    ct_plan_size_rings(plan, &planner->machine, options->cache_bytes);
    ct_plan_place_links(plan);
    return g_steal_pointer(&plan);
}

/* Sets the reason why firings are smaller than aimed at. */
static void
explain_smaller(CtPlan *smaller, const CtPlan *first, const CtPlanner *planner)
{
    g_autofree char *whose = NULL;
    if (ct_plan_fits(first, &planner->machine, &whose))
        whose = g_strdup(planner->options->why_smaller);
    const CtPlanNode *source = ct_plan_asked_block(first);
    g_autofree char *asked = source ? g_strdup_printf("the `block` of '%s'", source->name)
                                    : g_strdup("what is aimed at");
    g_autoptr(GString) text = g_string_new(NULL);
    if (smaller->n_halvings > 0)
        g_string_append_printf(text, "firings on devices cover 1/%" G_GINT64_FORMAT " of %s",
                               (gint64)1 << smaller->n_halvings, asked);
    if (smaller->n_in_flight < first->n_in_flight)
        g_string_append_printf(
            text, "%s%u %s in flight, not %u", text->len ? ", and " : "", smaller->n_in_flight,
            smaller->n_in_flight == 1 ? "block is" : "blocks are", first->n_in_flight);
    g_string_append_printf(text, ": else %s", whose);
    smaller->shrunk = g_strdup(text->str);
    /* The user has asked for another size. */
    if (source)
        ct_warnings_add(smaller->warnings, CT_WARNING_PLAN, source->name,
                        &source->graph_node->config->block_place, "%s", smaller->shrunk);
}

/* Plans again with firings on devices of half the size, a quarter, and so on; where that does not
 * help, with fewer of them in flight, unless the user has set their number. The choice is made
 * again each time, since launches then cost more. NULL with an error where no plan fits. */
static CtPlan *
plan_smaller(CtPlanner *planner, const CtPlan *first, GError **error)
{
    CtMachine *machine = &planner->machine;
    const gsize aim = machine->device_bytes;
    const gboolean is_asked = ct_plan_asked_block(first) != NULL;
    const guint least_in_flight = planner->options->n_in_flight ? first->n_in_flight : 1;
    g_autoptr(CtPlan) smaller = NULL;
    for (; planner->n_in_flight >= least_in_flight; planner->n_in_flight--) {
        gsize bytes = G_MAXSIZE;
        machine->n_halvings = planner->options->n_halvings;
        for (guint n_same = 0; n_same < MAX_SAME && machine->n_halvings < MAX_HALVINGS;) {
            /* A source's `block` replaces the size aimed at; only the halvings apply to it. */
            machine->device_bytes = is_asked ? aim : MAX(1, aim >> machine->n_halvings);
            g_clear_pointer(&smaller, ct_plan_free);
            smaller = plan_once(planner, error);
            if (!smaller)
                return NULL;
            if (ct_plan_fits(smaller, machine, NULL)) {
                explain_smaller(smaller, first, planner);
                return g_steal_pointer(&smaller);
            }
            n_same = ct_plan_bytes(smaller) < bytes ? 0 : n_same + 1;
            bytes = MIN(bytes, ct_plan_bytes(smaller));
            machine->n_halvings++;
        }
    }
    ct_plan_refuse(smaller, machine, least_in_flight > 1 ? "a smaller --in-flight" : NULL, error);
    return NULL;
}

CtPlan *
ct_plan_new(const CtGraph *graph, CtRegistry *registry, const CtPlanOptions *options,
            GError **error)
{
    g_auto(CtPlanner) planner;
    ct_planner_init(&planner, graph, registry, options);
    if (!ct_planner_check_options(&planner, error))
        return NULL;
    g_autoptr(CtPlan) plan = plan_once(&planner, error);
    if (!plan || (options->n_halvings == 0 && ct_plan_fits(plan, &planner.machine, NULL)))
        return g_steal_pointer(&plan);
    if (plan->n_devices > 0)
        return plan_smaller(&planner, plan, error);
    ct_plan_refuse(plan, &planner.machine, "a smaller `block`", error);
    return NULL;
}
