/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan run as it is, except for its ends. */
#include "dry-run.h"

#include "model/node-params.h"
#include "plan/placement.h"
#include "plan/plan-sizes.h"
#include "run/scheduler.h"
#include "trial-ends.h"

#include <string.h>

struct CtDryRun {
    const CtPlan *original;
    CtGraph graph;
    GPtrArray *configs; /* of CtConfigStage: of the ends */
    GHashTable *fixed;
    CtRegistry *registry;
    CtPlanOptions options;
    CtPlan *plan;
    guint source;           /* of the plan's nodes: the one that goes step by step */
    guint n_nodes;          /* of the plan, as the caller has counted them */
    CtScheduler *scheduler; /* NULL: to be started */
    gint64 started;         /* when it was, in microseconds */
    gdouble allocation;     /* seconds before that, for memory and preparation */
};

static const CtGraphNode *
original_at(const CtDryRun *dry_run, guint n)
{
    return ct_graph_node(dry_run->original->graph, n);
}

static void
graph_node_free(gpointer data)
{
    CtGraphNode *node = data;
    if (node->node.stage == &ct_trial_source || node->node.stage == &ct_trial_sink) {
        ct_graph_node_free(node);
    } else {
        /* The original graph owns everything but the links. */
        g_free(node->from);
        g_free(node);
    }
}

static void
config_free(gpointer data)
{
    CtConfigStage *config = data;
    g_free(config->name);
    g_free(config);
}

/* The node of the plan that runs node `n` of the graph; not an inserted one. */
static const CtPlanNode *
find_runner(const CtDryRun *dry_run, guint n)
{
    for (guint i = 0; i < dry_run->original->nodes->len; i++) {
        const CtPlanNode *node = g_ptr_array_index(dry_run->original->nodes, i);
        for (guint k = 0; k < node->n_nodes && !node->inserted; k++)
            if (node->nodes[k].name == original_at(dry_run, n)->node.name)
                return node;
    }
    g_assert_not_reached();
}

gboolean
ct_dry_run_replaces(const CtVariant *variant)
{
    return variant->waits || !variant->work;
}

/* ---- the graph ---- */

/* The new output in place of each output of the original's nodes: `map` is [node] of CtGraphFrom
 * [outputs]. */

static CtGraphFrom *
map_at(const GPtrArray *map, guint n)
{
    return g_ptr_array_index(map, n);
}

static guint
add_end(CtDryRun *dry_run, const CtGraphNode *original, const CtStage *stage,
        const CtStream *stream, const CtLayout *layout, char *name)
{
    const gboolean gives = stage == &ct_trial_source;
    const CtPlace *place = &original->config->place;
    g_autoptr(CtValue) none = ct_value_new(CT_VALUE_MAPPING, *place);
    CtConfigStage *config = g_new0(CtConfigStage, 1);
    *config = (CtConfigStage){
        .name = name,
        .place = *place,
        .stage_place = *place,
        .backend = {CT_N_BACKENDS, -1},
        .backend_place = *place,
    };
    g_ptr_array_add(dry_run->configs, config);
    CtStream *own = g_new0(CtStream, 1);
    ct_stream_copy(own, stream);
    own->type = ct_layout_stream_type(layout);
    CtGraphNode *node = g_new0(CtGraphNode, 1);
    node->config = config;
    node->from = g_new0(CtGraphFrom, 2);
    node->from[0].node = -1;
    node->node = (CtNode){
        .name = name,
        .stage = stage,
        .params = ct_params_new(name, stage, place, none, NULL),
        .n_inputs = gives ? 0 : 1,
        .inputs = gives ? g_new0(CtStream, 1) : own,
        .n_outputs = gives ? 1 : 0,
        .outputs = gives ? own : g_new0(CtStream, 1),
        .footprint = {CT_FOOTPRINT_WINDOW, 1, 1, 0, CT_LANES_ALL},
        .input_layouts = g_new0(CtLayout, 2),
        .output_layouts = g_new0(CtLayout, 2),
        .block = gives ? original->node.block : 0,
    };
    g_ptr_array_add(dry_run->graph.nodes, node);
    return dry_run->graph.nodes->len - 1;
}

static void
fix(CtDryRun *dry_run, guint node, CtFixed *fixed)
{
    const CtGraphNode *own = g_ptr_array_index(dry_run->graph.nodes, node);
    g_hash_table_insert(dry_run->fixed, own->config->name, fixed);
}

/* Whether all readers of the output are static inputs. */
static gboolean
is_static(const CtDryRun *dry_run, guint n, guint port)
{
    gboolean any = FALSE, all = TRUE;
    for (guint r = 0; r < dry_run->original->graph->nodes->len; r++) {
        const CtGraphNode *reader = original_at(dry_run, r);
        for (guint i = 0; i < reader->node.n_inputs; i++) {
            if (reader->from[i].node != (gint)n || reader->from[i].port != port)
                continue;
            any = TRUE;
            all &= (ct_node_input_port(&reader->node, i)->flags & CT_PORT_STATIC) != 0;
        }
    }
    return any && all;
}

/* Replaces a node by sources for its outputs and sinks for its inputs, of which the first has the
 * node's name. */
static void
replace(CtDryRun *dry_run, guint n, const CtPlanNode *runner, GPtrArray *map)
{
    const CtGraphNode *original = original_at(dry_run, n);
    const gboolean on_device = runner->place != CT_HOST;
    CtGraphFrom *given = map_at(map, n);
    for (guint i = 0; i < original->node.n_inputs; i++) {
        const CtGraphFrom *from = &original->from[i];
        if (from->node < 0 || !ct_node_input_flows(&original->node, i))
            continue;
        const CtLayout *layout = &runner->input_bindings[i].layout;
        const guint sink =
            add_end(dry_run, original, &ct_trial_sink, &original->node.inputs[i], layout,
                    i == 0 ? g_strdup(original->node.name)
                           : g_strdup_printf("%s.%u", original->node.name, i));
        CtGraphNode *own = g_ptr_array_index(dry_run->graph.nodes, sink);
        own->from[0] = map_at(map, (guint)from->node)[from->port];
        const CtVariant *variant = ct_trial_sink_variant(on_device, FALSE);
        fix(dry_run, sink,
            ct_fixed_new(variant, variant->rows, NULL, runner->place, 1, layout, 0, NULL));
    }
    for (guint o = 0; o < original->node.n_outputs; o++) {
        const CtStream *stream = &original->node.outputs[o];
        const CtLayout *layout = &runner->output_bindings[o].layout;
        if (stream->type == CT_TYPE_NONE)
            continue;
        const gboolean once = ct_stream_axis(stream, "time") < 0 || is_static(dry_run, n, o);
        const guint source = add_end(dry_run, original, &ct_trial_source, stream, layout,
                                     o == 0 ? g_strdup(original->node.name)
                                            : g_strdup_printf("%s.%u", original->node.name, o));
        given[o] = (CtGraphFrom){.node = (gint)source};
        const CtVariant *variant = ct_trial_source_variant(on_device, once, FALSE);
        fix(dry_run, source,
            ct_fixed_new(variant, variant->rows, NULL, runner->place, 0, NULL, 1, layout));
    }
}

static void
keep(CtDryRun *dry_run, guint n, const CtPlanNode *runner, GPtrArray *map)
{
    const CtGraphNode *original = original_at(dry_run, n);
    const guint n_in = original->node.n_inputs;
    CtGraphNode *own = g_new0(CtGraphNode, 1);
    own->node = original->node;
    own->config = original->config;
    own->from = g_new0(CtGraphFrom, n_in + 1);
    for (guint i = 0; i < n_in; i++) {
        const CtGraphFrom *from = &original->from[i];
        own->from[i] = *from;
        if (from->node >= 0)
            own->from[i] = map_at(map, (guint)from->node)[from->port];
    }
    g_ptr_array_add(dry_run->graph.nodes, own);
    const guint index = dry_run->graph.nodes->len - 1;
    for (guint o = 0; o < original->node.n_outputs; o++)
        map_at(map, n)[o] = (CtGraphFrom){.node = (gint)index, .port = o};
    if (runner->nodes[0].name != original->node.name)
        return;
    g_autofree CtLayout *layouts = g_new0(CtLayout, runner->n_inputs + runner->n_outputs + 1);
    for (guint i = 0; i < runner->n_inputs; i++)
        layouts[i] = runner->input_bindings[i].layout;
    for (guint o = 0; o < runner->n_outputs; o++)
        layouts[runner->n_inputs + o] = runner->output_bindings[o].layout;
    fix(dry_run, index,
        ct_fixed_new(runner->variant, runner->row, runner->tuning, runner->place, runner->n_inputs,
                     layouts, runner->n_outputs, &layouts[runner->n_inputs]));
}

/* The first node that gives samples along time. */
static guint
find_source(const CtPlan *plan)
{
    for (guint n = 0; n < plan->nodes->len; n++) {
        const CtPlanNode *node = ct_plan_node(plan, n);
        if (node->n_outputs > 0 && ct_stream_axis(node->output_bindings[0].stream, "time") >= 0)
            return n;
    }
    return 0;
}

CtDryRun *
ct_dry_run_new(const CtPlan *plan, CtRegistry *registry, const CtPlanOptions *options,
               GError **error)
{
    g_autoptr(CtDryRun) dry_run = g_new0(CtDryRun, 1);
    dry_run->original = plan;
    dry_run->graph.config = plan->graph->config;
    dry_run->graph.nodes = g_ptr_array_new_with_free_func(graph_node_free);
    dry_run->configs = g_ptr_array_new_with_free_func(config_free);
    dry_run->fixed =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)ct_fixed_free);
    g_autoptr(GPtrArray) map = g_ptr_array_new_with_free_func(g_free);
    for (guint n = 0; n < plan->graph->nodes->len; n++)
        g_ptr_array_add(map, g_new0(CtGraphFrom, original_at(dry_run, n)->node.n_outputs + 1));
    for (guint n = 0; n < plan->graph->nodes->len; n++) {
        const CtPlanNode *runner = find_runner(dry_run, n);
        if (ct_dry_run_replaces(runner->variant))
            replace(dry_run, n, runner, map);
        else
            keep(dry_run, n, runner, map);
    }
    dry_run->registry = registry;
    dry_run->options = *options;
    dry_run->options.backend = CT_N_BACKENDS;
    dry_run->options.backends = dry_run->options.variants = NULL;
    dry_run->options.fixed = dry_run->fixed;
    dry_run->options.default_layouts = FALSE;
    dry_run->options.device_bytes = plan->device_aim;
    dry_run->plan = ct_plan_new(&dry_run->graph, registry, &dry_run->options, error);
    if (!dry_run->plan)
        return NULL;
    dry_run->source = find_source(dry_run->plan);
    return g_steal_pointer(&dry_run);
}

void
ct_dry_run_free(CtDryRun *dry_run)
{
    if (!dry_run)
        return;
    ct_scheduler_free(dry_run->scheduler);
    ct_plan_free(dry_run->plan);
    g_hash_table_unref(dry_run->fixed);
    g_ptr_array_unref(dry_run->graph.nodes);
    g_ptr_array_unref(dry_run->configs);
    g_free(dry_run);
}

const CtPlan *
ct_dry_run_plan(const CtDryRun *dry_run)
{
    return dry_run->plan;
}

gboolean
ct_dry_run_is_end(const CtDryRun *dry_run, guint i)
{
    const CtPlanNode *node = ct_plan_node(dry_run->plan, i);
    return node->nodes[0].stage == &ct_trial_source || node->nodes[0].stage == &ct_trial_sink;
}

gdouble
ct_dry_run_allocation(const CtDryRun *dry_run)
{
    return dry_run->allocation;
}

/* ---- running ---- */

/* The share of the measurement that runs before it, to allocate and fill the rings. */
static const gdouble warming = 0.4;

typedef struct {
    CtNodeStats *stats; /* [nodes] */
    gint64 clock;       /* microseconds */
} Mark;

static void
mark_init(Mark *mark, const CtDryRun *dry_run)
{
    const guint n = dry_run->plan->nodes->len;
    mark->stats = g_new(CtNodeStats, n);
    for (guint i = 0; i < n; i++)
        ct_scheduler_stats(dry_run->scheduler, i, &mark->stats[i]);
    mark->clock = g_get_monotonic_time();
}

/* Sets the mark to the beginning of the run. */
static void
mark_reset(Mark *mark, const CtDryRun *dry_run)
{
    memset(mark->stats, 0, dry_run->plan->nodes->len * sizeof *mark->stats);
    mark->clock = dry_run->started;
}

static void
mark_clear(Mark *mark)
{
    g_free(mark->stats);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Mark, mark_clear)

static gdouble
rate_of(const CtStream *stream)
{
    const gdouble rate = ct_stream_sample_rate(stream);
    return rate > 0 ? rate : 1.0 / (gdouble)MAX(1, stream->ticks_per_sample);
}

/* The samples per second of the node that counts steps; *length is the number of its samples, −1:
 * not known. */
static gdouble
source_rate(const CtDryRun *dry_run, gint64 *length)
{
    const CtPlanNode *node = ct_plan_node(dry_run->plan, dry_run->source);
    const CtStream *stream = node->output_bindings[0].stream;
    const gint time = ct_stream_axis(stream, "time");
    *length = time < 0 || node->nodes[0].stage == &ct_trial_source ? -1 : stream->axes[time].length;
    return rate_of(stream);
}

static void
load_of(const CtPlanNode *node, CtLoad *load)
{
    g_autofree CtLayout *layouts = g_new0(CtLayout, node->n_inputs + node->n_outputs + 1);
    for (guint i = 0; i < node->n_inputs; i++)
        layouts[i] = node->input_bindings[i].layout;
    for (guint o = 0; o < node->n_outputs; o++)
        layouts[node->n_inputs + o] = node->output_bindings[o].layout;
    ct_load_init(load, node->nodes, node->n_nodes, layouts, &layouts[node->n_inputs]);
}

void
ct_dry_run_work(const CtDryRun *dry_run, CtDryRunWork *work)
{
    *work = (CtDryRunWork){0};
    for (guint i = 0; i < dry_run->plan->nodes->len; i++) {
        const CtPlanNode *node = ct_plan_node(dry_run->plan, i);
        const gboolean on_device = node->place != CT_HOST;
        if (node->variant == ct_trial_source_variant(on_device, TRUE, FALSE))
            continue;
        CtLoad load;
        load_of(node, &load);
        const gboolean is_end = ct_dry_run_is_end(dry_run, i);
        if (is_end)
            work->bytes += load.bytes * load.rate;
        else
            work->operations += load.operations * load.rate;
        if (is_end && node->n_outputs > 0)
            work->given += load.bytes * load.rate;
        const CtStream *stream = node->n_outputs > 0 ? node->output_bindings[0].stream : NULL;
        if (!stream || !ct_plan_is_source(dry_run->plan, node) ||
            ct_stream_axis(stream, "time") < 0)
            continue;
        work->samples += (gdouble)ct_stream_width(stream) * load.rate;
        if (work->times == 0)
            work->times = load.rate;
    }
}

/* The seconds that a node takes for a second of stream. */
static gdouble
seconds_of(const CtPlanNode *node, const CtNodeStats *from, const CtNodeStats *to)
{
    CtLoad load;
    load_of(node, &load);
    const gboolean by_input = to->consumed > from->consumed && node->n_outputs > 0 &&
                              node->footprint.kind != CT_FOOTPRINT_OWN;
    const gdouble samples =
        by_input ? (gdouble)(to->consumed - from->consumed) / (gdouble)node->footprint.hop
                 : (gdouble)(to->samples - from->samples);
    const gdouble core = node->place == CT_HOST ? to->core_seconds - from->core_seconds : 0;
    return samples > 0 ? (to->work_seconds - from->work_seconds + core) * load.rate / samples : 0;
}

/* The seconds of stream that a node went through between two marks; −1: none flows there. */
static gdouble
seconds_through(const CtPlan *plan, const CtPlanNode *node, const CtNodeStats *from,
                const CtNodeStats *to)
{
    for (guint i = 0; i < node->n_inputs; i++)
        if (ct_plan_flows(plan, node, i) &&
            ct_stream_axis(node->input_bindings[i].stream, "time") >= 0)
            return (gdouble)(to->consumed - from->consumed) /
                   rate_of(node->input_bindings[i].stream);
    if (node->n_outputs == 0 || ct_stream_axis(node->output_bindings[0].stream, "time") < 0)
        return -1;
    return (gdouble)(to->samples - from->samples) / rate_of(node->output_bindings[0].stream);
}

/* Sets what all nodes have gone through, but ends and those behind sums, which have little to do
 * and get their samples late. */
static void
set_through(const CtDryRun *dry_run, const Mark *from, const Mark *to, CtDryRunResult *result)
{
    const CtPlan *plan = dry_run->plan;
    g_autofree gboolean *is_late = g_new0(gboolean, plan->nodes->len + 1);
    result->through = -1;
    result->n_firings = 0;
    for (guint n = 0; n < plan->nodes->len; n++) {
        const CtPlanNode *node = ct_plan_node(plan, n);
        for (guint i = 0; i < node->n_inputs; i++) {
            if (node->inputs[i] < 0)
                continue;
            const guint writer = ((const CtPlanLink *)ct_plan_link(plan, node->inputs[i]))->writer;
            is_late[n] |=
                is_late[writer] || ct_plan_node(plan, writer)->footprint.kind == CT_FOOTPRINT_SUM;
        }
        const gdouble through = seconds_through(plan, node, &from->stats[n], &to->stats[n]);
        if (is_late[n] || ct_dry_run_is_end(dry_run, n) || through < 0)
            continue;
        const guint64 n_firings = to->stats[n].firings - from->stats[n].firings;
        const gboolean is_first = result->through < 0;
        result->through = is_first ? through : MIN(result->through, through);
        result->n_firings = is_first ? n_firings : MIN(result->n_firings, n_firings);
    }
    result->elapsed = (gdouble)(to->clock - from->clock) * 1e-6;
}

/* A CtPlanTaken. */
static gboolean
take_plan(const CtPlan *plan, gpointer data)
{
    CtDryRun *dry_run = data;
    dry_run->source = find_source(plan);
    return plan->nodes->len == dry_run->n_nodes;
}

static gboolean
start(CtDryRun *dry_run, gint64 n, gdouble seconds, gboolean measures_nodes, GError **error)
{
    const CtRunOptions run = {.pin = TRUE, .steps = TRUE, .processor_time = measures_nodes};
    const gint64 from = g_get_monotonic_time();
    dry_run->n_nodes = dry_run->plan->nodes->len;
    dry_run->scheduler = ct_scheduler_new_that_fits(
        &dry_run->plan, dry_run->registry, &dry_run->options, &run, take_plan, dry_run, error);
    if (!dry_run->scheduler)
        return FALSE;
    dry_run->started = g_get_monotonic_time();
    dry_run->allocation = (gdouble)(dry_run->started - from) * 1e-6;
    if (!ct_scheduler_start(dry_run->scheduler, error))
        return FALSE;
    return ct_scheduler_step(dry_run->scheduler, dry_run->source, n, seconds) ||
           ct_scheduler_result(dry_run->scheduler, error);
}

gboolean
ct_dry_run_run(CtDryRun *dry_run, gdouble stream_seconds, gdouble seconds, CtDryRunResult *result,
               GError **error)
{
    const CtPlan *plan = dry_run->plan;
    gint64 length;
    const gdouble rate = source_rate(dry_run, &length);
    gint64 n = MAX(1, (gint64)(stream_seconds * rate));
    const gboolean is_short = length >= 0 && (gdouble)length < (1 + warming) * (gdouble)n;
    if (is_short)
        n = MAX(1, (gint64)((gdouble)length / (1 + warming)));
    if (!dry_run->scheduler && !start(dry_run, MAX(1, (gint64)(warming * (gdouble)n)), seconds,
                                      result->seconds != NULL, error))
        return FALSE;
    g_auto(Mark) from, to;
    mark_init(&from, dry_run);
    /* If the stream has hardly more than one firing, nothing is left after warming up. */
    if (length >= 0 && from.stats[dry_run->source].samples >= length) {
        mark_reset(&from, dry_run);
        n = length;
    }
    /* A short stream is measured to its end. */
    const gboolean goes_on =
        ct_scheduler_step(dry_run->scheduler, dry_run->source, is_short ? G_MAXINT32 : n, seconds);
    mark_init(&to, dry_run);
    const gboolean good = goes_on || ct_scheduler_result(dry_run->scheduler, error);
    if (!goes_on || is_short)
        g_clear_pointer(&dry_run->scheduler, ct_scheduler_free);
    const gdouble given =
        (gdouble)(to.stats[dry_run->source].samples - from.stats[dry_run->source].samples);
    result->stream = (gdouble)n / rate;
    set_through(dry_run, &from, &to, result);
    result->clock = given > 0 ? (gdouble)(to.clock - from.clock) * 1e-6 * rate / given : 0;
    for (guint i = 0; i < plan->nodes->len && result->seconds; i++) {
        const CtPlanNode *node = ct_plan_node(plan, i);
        result->seconds[i] = seconds_of(node, &from.stats[i], &to.stats[i]);
    }
    return good;
}

gdouble
ct_dry_run_busiest(const CtDryRun *dry_run, const CtDryRunResult *result, gboolean sources)
{
    const CtPlan *plan = dry_run->plan;
    g_autofree gdouble *queues = g_new0(gdouble, plan->queues->len + 1);
    gdouble workers = 0, most = 0;
    for (guint i = 0; i < plan->nodes->len; i++) {
        const CtPlanNode *node = ct_plan_node(plan, i);
        if (ct_dry_run_is_end(dry_run, i) || (!sources && ct_plan_is_source(plan, node)))
            continue;
        if (node->queue < 0)
            workers += result->seconds[i];
        else
            queues[node->queue] += result->seconds[i];
    }
    for (guint q = 0; q < plan->queues->len; q++)
        most = MAX(most, queues[q]);
    return MAX(most, workers / plan->n_workers);
}
