/* SPDX-License-Identifier: BSD-3-Clause */
/* A trial: one candidate, run by itself and timed as it would be in a graph. */
#include "trial.h"

#include "model/node-params.h"
#include "plan/conversion.h"
#include "plan/placement.h"
#include "plan/plan-sizes.h"
#include "run/scheduler.h"
#include "trial-ends.h"

#include <math.h>

/* The most steps before the first measurement; warming up ends earlier when the sources write no
 * more. */
enum { SETTLING_STEPS = 64 };

/* The least number of firings of a measurement. */
static const gint64 least_firings = 4;

/* A sum is measured as a whole if that takes at most this many times the wanted seconds. */
static const gdouble longest_sum = 8;

/* A step is given up when it takes this many times its due, but not before this many seconds: other
 * processes may have the processors. */
static const gdouble patience = 20, least_patience = 2;

struct CtTrial {
    CtEstimated what;
    CtConfig config;
    GPtrArray *nodes;     /* of CtNode: the covered nodes, with parameters */
    CtParams *own_params; /* parameters of a node that the planner would insert … */
    CtLayout *no_wishes;  /* … and its preferred layouts, of which it has none */
    CtGraph graph;
    GHashTable *fixed;
    CtRegistry *registry;
    CtPlanOptions options;
    CtPlan *plan;
    guint node;             /* index in the plan of the node that is tried */
    CtScheduler *scheduler; /* NULL: it is not started yet */
    gboolean is_short; /* its streams end before it has warmed up, so the whole run is measured */
    gdouble seconds_per_step; /* real time per sample that steps count; 0: not known */
};

/* ---- the graph around it ---- */

static void
graph_node_free(gpointer data)
{
    CtGraphNode *node = data;
    CtConfigStage *config = (CtConfigStage *)node->config;
    if (node->node.stage == &ct_trial_source || node->node.stage == &ct_trial_sink) {
        ct_graph_node_free(node);
    } else {
        /* The original graph owns the content of the tried node. */
        g_free(node->from);
        g_free(node);
    }
    g_free(config->name);
    g_free(config);
}

/* Adds a node. The graph takes over the memory that the node of an end points to. */
static guint
add_node(CtTrial *trial, const CtNode *node, char *name)
{
    CtConfigStage *config = g_new0(CtConfigStage, 1);
    config->name = name;
    config->place = config->stage_place = config->backend_place = trial->config.place;
    config->backend = (CtConfigBackend){CT_N_BACKENDS, -1};
    CtGraphNode *own = g_new0(CtGraphNode, 1);
    own->node = *node;
    own->node.name = name;
    own->config = config;
    own->from = g_new0(CtGraphFrom, node->n_inputs + 1);
    for (guint i = 0; i < node->n_inputs; i++)
        own->from[i].node = -1;
    g_ptr_array_add(trial->graph.nodes, own);
    return trial->graph.nodes->len - 1;
}

static CtGraphNode *
graph_node(const CtTrial *trial, guint i)
{
    return g_ptr_array_index(trial->graph.nodes, i);
}

static void
fix(CtTrial *trial, guint node, CtFixed *fixed)
{
    g_hash_table_insert(trial->fixed, graph_node(trial, node)->config->name, fixed);
}

/* Adds a source or a sink of `stream` in memory of this layout. */
static guint
add_end(CtTrial *trial, const CtStage *stage, const CtStream *stream, const CtLayout *layout,
        char *name)
{
    const gboolean gives = stage == &ct_trial_source;
    g_autoptr(CtValue) none = ct_value_new(CT_VALUE_MAPPING, trial->config.place);
    CtStream *own = g_new0(CtStream, 2);
    ct_stream_copy(own, stream);
    own->type = ct_layout_stream_type(layout);
    CtNode node = {
        .stage = stage,
        .params = ct_params_new(name, stage, &trial->config.place, none, NULL),
        .n_inputs = gives ? 0 : 1,
        .n_outputs = gives ? 1 : 0,
        .footprint = {CT_FOOTPRINT_WINDOW, 1, 1, 0, CT_LANES_ALL},
        .input_layouts = g_new0(CtLayout, 2),
        .output_layouts = g_new0(CtLayout, 2),
    };
    node.inputs = gives ? g_new0(CtStream, 1) : own;
    node.outputs = gives ? own : g_new0(CtStream, 1);
    return add_node(trial, &node, name);
}

static guint
add_source(CtTrial *trial, guint port, const CtStream *stream, const CtLayout *layout)
{
    const CtNode *first = &trial->what.nodes[0];
    const CtPort *declared = ct_node_input_port(first, port);
    const gboolean once = declared->flags & CT_PORT_STATIC || ct_stream_axis(stream, "time") < 0;
    const gint place = ct_node_input_is_prepared(first, port) ? CT_HOST : trial->what.from;
    const guint node = add_end(trial, &ct_trial_source, stream, layout,
                               g_strdup_printf("%s<%s%u", first->name, declared->name, port));
    if (!once)
        graph_node(trial, node)->node.block = ct_load_block_samples(trial->what.load, stream);
    const CtVariant *variant = ct_trial_source_variant(place != CT_HOST, once, TRUE);
    fix(trial, node, ct_fixed_new(variant, variant->rows, NULL, place, 0, NULL, 1, layout));
    return node;
}

static void
add_sink(CtTrial *trial, guint from, guint port, const CtStream *stream, const CtLayout *layout)
{
    const gint place = trial->what.to;
    const guint node = add_end(trial, &ct_trial_sink, stream, layout,
                               g_strdup_printf("%s>%u", trial->what.nodes[0].name, port));
    const CtVariant *variant = ct_trial_sink_variant(place != CT_HOST, TRUE);
    graph_node(trial, node)->from[0] = (CtGraphFrom){.node = (gint)from, .port = port};
    fix(trial, node, ct_fixed_new(variant, variant->rows, NULL, place, 1, layout, 0, NULL));
}

/* Adds the candidate's nodes with sources before and sinks after them. */
static void
add_candidate(CtTrial *trial, guint64 reads)
{
    const CtEstimated *what = &trial->what;
    const CtNode *first = &what->nodes[0], *last = &what->nodes[what->n_nodes - 1];
    g_autoptr(GArray) sources = g_array_new(FALSE, FALSE, sizeof(gint));
    for (guint i = 0; i < first->n_inputs; i++) {
        const gint source = ct_node_input_flows(first, i)
                                ? (gint)add_source(trial, i, &first->inputs[i], &what->inputs[i])
                                : -1;
        g_array_append_val(sources, source);
    }
    guint node = 0;
    for (guint k = 0; k < what->n_nodes; k++) {
        node = add_node(trial, trial->nodes->pdata[k], g_strdup(what->nodes[k].name));
        CtGraphNode *own = graph_node(trial, node);
        for (guint i = 0; i < own->node.n_inputs && k == 0; i++)
            own->from[i].node = g_array_index(sources, gint, i);
        if (k > 0)
            own->from[0] = (CtGraphFrom){.node = (gint)node - 1};
        else
            fix(trial, node,
                ct_fixed_new(what->variant, what->row, what->tuning, what->to, first->n_inputs,
                             what->inputs, last->n_outputs, what->outputs));
    }
    for (guint o = 0; o < last->n_outputs; o++)
        if (reads >> o & 1)
            add_sink(trial, node, o, &last->outputs[o], &what->outputs[o]);
}

/* Adds the ends of a copy between places; the planner inserts the copy. */
static void
add_places(CtTrial *trial)
{
    const CtEstimated *what = &trial->what;
    const CtStream *stream = &what->nodes[0].inputs[0];
    const guint source = add_source(trial, 0, stream, &what->inputs[0]);
    add_sink(trial, source, 0, stream, &what->outputs[0]);
}

/* Completes the nodes: a node that the planner would insert has no parameters yet. */
static gboolean
complete_nodes(CtTrial *trial, GError **error)
{
    const CtEstimated *what = &trial->what;
    for (guint k = 0; k < what->n_nodes; k++)
        g_ptr_array_add(trial->nodes, g_memdup2(&what->nodes[k], sizeof(CtNode)));
    CtNode *first = trial->nodes->pdata[0];
    if (first->params)
        return TRUE;
    g_autoptr(CtValue) values = ct_conversion_params(first->stage, &what->outputs[0]);
    trial->own_params =
        ct_params_new(first->name, first->stage, &trial->config.place, values, error);
    first->params = trial->own_params;
    first->input_layouts = first->output_layouts = trial->no_wishes = g_new0(CtLayout, 1);
    return first->params != NULL;
}

static guint
find_tried(const CtTrial *trial)
{
    guint n = 0;
    for (;; n++) {
        const CtPlanNode *node = ct_plan_node(trial->plan, n);
        if (node->nodes[0].stage == trial->what.nodes[0].stage)
            return n;
    }
}

/* Limits the samples of a firing. The sources fill the rings, while in a graph a node on the host
 * fires as soon as its writer has made a block, or as much as it waits for. */
static void
limit_firings(CtTrial *trial)
{
    CtPlanNode *node = ct_plan_node(trial->plan, trial->node);
    const CtFootprint *rule = &node->footprint;
    gint64 granule = 1;
    if (node->place != CT_HOST)
        return;
    for (guint o = 0; o < node->n_outputs; o++)
        if (node->outputs[o] >= 0)
            granule =
                MAX(granule,
                    ((const CtPlanLink *)ct_plan_link(trial->plan, node->outputs[o]))->granule);
    for (guint i = 0; i < node->n_inputs; i++) {
        if (!ct_plan_flows(trial->plan, node, i))
            continue;
        const CtPlanLink *link = ct_plan_link(trial->plan, node->inputs[i]);
        const gboolean is_window = rule->kind == CT_FOOTPRINT_WINDOW;
        const gint64 history = is_window ? MAX(0, rule->window - rule->hop) : 0;
        const gint64 block = MAX(node->batch, link->max_samples);
        const gint64 least = is_window ? granule * rule->hop : granule;
        const gint64 seen = MAX(block, least) + history + link->granule - 1;
        gint64 *most = &node->input_bindings[i].max_samples;
        *most = MIN(*most, seen / link->granule * link->granule);
    }
}

/* Lets the sinks wait for as many samples as the readers in the graph go through at once, so that
 * the node writes to memory that is in no cache, at the same strides. */
static void
hold_outputs(CtTrial *trial)
{
    const CtPlanNode *node = ct_plan_node(trial->plan, trial->node);
    for (guint o = 0; o < node->n_outputs; o++) {
        if (node->outputs[o] < 0)
            continue;
        CtPlanLink *link = ct_plan_link(trial->plan, node->outputs[o]);
        const gint64 held =
            (trial->what.load->held + link->granule - 1) / link->granule * link->granule;
        if (link->place != CT_HOST || held <= link->max_samples)
            continue;
        for (guint r = 0; r < link->readers->len; r++) {
            const CtPlanReader *reader = &g_array_index(link->readers, CtPlanReader, r);
            CtPlanNode *sink = ct_plan_node(trial->plan, reader->node);
            sink->batch = held;
            sink->input_bindings[reader->port].max_samples = held;
        }
        gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
        link->capacity = MAX(link->capacity, 2 * link->max_samples + held);
        link->bytes = ct_layout_strides(&link->layout, link->stream, link->history + link->capacity,
                                        length, stride);
    }
}

/* Makes a plan that of the trial; a CtPlanTaken. */
static gboolean
finish_plan(const CtPlan *plan G_GNUC_UNUSED, gpointer data)
{
    CtTrial *trial = data;
    trial->node = find_tried(trial);
    limit_firings(trial);
    hold_outputs(trial);
    return TRUE;
}

char *
ct_trial_refusal(const CtEstimated *what)
{
    const CtNode *first = &what->nodes[0], *last = &what->nodes[what->n_nodes - 1];
    if (!what->variant->work)
        return g_strdup("its work is the program's");
    if (what->variant->waits)
        return g_strdup("it waits for files or the network");
    gboolean flows = last->n_outputs > 0 && ct_stream_axis(&last->outputs[0], "time") >= 0;
    for (guint i = 0; i < first->n_inputs; i++)
        flows |= ct_node_input_flows(first, i) && ct_stream_axis(&first->inputs[i], "time") >= 0;
    return flows ? NULL : g_strdup("it does nothing along time");
}

CtTrial *
ct_trial_new(const CtEstimated *what, guint64 reads, CtRegistry *registry,
             const CtPlanOptions *options, GError **error)
{
    g_autoptr(CtTrial) trial = g_new0(CtTrial, 1);
    trial->what = *what;
    trial->config = (CtConfig){
        .place = {.file = "a trial"},
        .backend = {CT_N_BACKENDS, -1},
        .backend_place = {.file = "a trial"},
    };
    trial->nodes = g_ptr_array_new_with_free_func(g_free);
    trial->graph.config = &trial->config;
    trial->graph.nodes = g_ptr_array_new_with_free_func(graph_node_free);
    trial->fixed =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)ct_fixed_free);
    trial->registry = registry;
    trial->options = *options;
    trial->options.backend = CT_N_BACKENDS;
    trial->options.backends = trial->options.variants = NULL;
    trial->options.fixed = trial->fixed;
    trial->options.costs = "off";
    trial->options.judge = NULL;
    trial->options.default_layouts = FALSE;
    if (!complete_nodes(trial, error))
        return NULL;
    if (what->from != what->to)
        add_places(trial);
    else
        add_candidate(trial, reads);
    trial->plan = ct_plan_new(&trial->graph, registry, &trial->options, error);
    if (!trial->plan)
        return NULL;
    finish_plan(trial->plan, trial);
    return g_steal_pointer(&trial);
}

void
ct_trial_free(CtTrial *trial)
{
    if (!trial)
        return;
    ct_scheduler_free(trial->scheduler);
    ct_plan_free(trial->plan);
    g_hash_table_unref(trial->fixed);
    g_ptr_array_unref(trial->graph.nodes);
    g_ptr_array_unref(trial->nodes);
    ct_params_free(trial->own_params);
    g_free(trial->no_wishes);
    g_free(trial);
}

gsize
ct_trial_bytes(const CtTrial *trial)
{
    return ct_plan_bytes(trial->plan);
}

/* ---- running ---- */

static const CtPlanNode *
tried(const CtTrial *trial)
{
    return ct_plan_node(trial->plan, trial->node);
}

/* The first input that flows; −1: there is none. */
static gint
flowing_input(const CtTrial *trial)
{
    const CtPlanNode *node = tried(trial);
    for (guint i = 0; i < node->n_inputs; i++)
        if (ct_plan_flows(trial->plan, node, i))
            return (gint)i;
    return -1;
}

/* The samples by which a full firing advances. */
static gint64
firing_samples(const CtTrial *trial)
{
    const CtPlanNode *node = tried(trial);
    const gint input = flowing_input(trial);
    if (input < 0)
        return MAX(1, node->output_bindings[0].max_samples);
    const gint64 history = node->footprint.kind == CT_FOOTPRINT_WINDOW
                               ? MAX(0, node->footprint.window - node->footprint.hop)
                               : 0;
    return MAX(1, node->input_bindings[input].max_samples - history);
}

/* The samples that the sources have written so far. */
static guint64
written(const CtTrial *trial)
{
    guint64 sum = 0;
    for (guint i = 0; i < trial->plan->nodes->len; i++) {
        const CtPlanNode *node = ct_plan_node(trial->plan, i);
        CtNodeStats stats;
        if (node->nodes[0].stage != &ct_trial_source)
            continue;
        ct_scheduler_stats(trial->scheduler, i, &stats);
        sum += stats.counters[CT_TRIAL_WRITTEN];
    }
    return sum;
}

typedef struct {
    CtNodeStats stats;
    gint64 clock; /* microseconds */
} Mark;

static void
mark(const CtTrial *trial, Mark *mark)
{
    ct_scheduler_stats(trial->scheduler, trial->node, &mark->stats);
    mark->clock = g_get_monotonic_time();
}

static gint64
progress(const CtTrial *trial, const CtNodeStats *stats)
{
    return flowing_input(trial) < 0 ? stats->samples : stats->consumed;
}

/* Makes one step and notes its pace; *goes_on is set to whether the stream continues. */
static gboolean
step(CtTrial *trial, gint64 n, gdouble seconds, Mark *from, Mark *to, gboolean *goes_on,
     GError **error)
{
    mark(trial, from);
    *goes_on = ct_scheduler_step(trial->scheduler, trial->node, n,
                                 MAX(patience * seconds, least_patience));
    mark(trial, to);
    const gint64 done = progress(trial, &to->stats) - progress(trial, &from->stats);
    if (done > 0)
        trial->seconds_per_step = (gdouble)(to->clock - from->clock) * 1e-6 / (gdouble)done;
    return *goes_on || ct_scheduler_result(trial->scheduler, error);
}

static gboolean
start(CtTrial *trial, GError **error)
{
    const CtRunOptions run = {.pin = TRUE, .steps = TRUE, .processor_time = TRUE};
    g_clear_pointer(&trial->scheduler, ct_scheduler_free);
    trial->scheduler = ct_scheduler_new_that_fits(&trial->plan, trial->registry, &trial->options,
                                                  &run, finish_plan, trial, error);
    return trial->scheduler && ct_scheduler_start(trial->scheduler, error);
}

/* The samples that fill the rings of the node's outputs on the host. */
static gint64
generation(const CtTrial *trial)
{
    const CtPlanNode *node = tried(trial);
    gint64 samples = 0;
    for (guint o = 0; o < node->n_outputs; o++) {
        if (node->outputs[o] < 0)
            continue;
        const CtPlanLink *link = ct_plan_link(trial->plan, node->outputs[o]);
        samples = MAX(samples, link->place == CT_HOST ? link->capacity : 0);
    }
    return samples;
}

/* Starts the run, and continues until the memory is allocated and filled, and the pace is known. */
static gboolean
warm_up(CtTrial *trial, gdouble seconds, GError **error)
{
    if (!start(trial, error))
        return FALSE;
    const gint64 started = g_get_monotonic_time();
    gboolean goes_on = TRUE;
    for (guint k = 0; k < SETTLING_STEPS && goes_on; k++) {
        Mark from, to;
        const guint64 before = written(trial);
        if (!step(trial, 2 * firing_samples(trial), seconds, &from, &to, &goes_on, error))
            return FALSE;
        const gboolean is_filled = to.stats.samples >= generation(trial) || to.stats.samples == 0;
        /* The first use of memory takes far longer than the measurement. */
        const gdouble most = (is_filled ? 2 : 20) * seconds;
        const gboolean is_late = (gdouble)(g_get_monotonic_time() - started) * 1e-6 > most;
        if (k > 0 && ((written(trial) == before && is_filled) || is_late))
            break;
    }
    trial->is_short = !goes_on;
    return goes_on || start(trial, error);
}

/* The samples of a measurement. */
static gint64
measured_samples(const CtTrial *trial, gdouble seconds)
{
    const CtFootprint *rule = &tried(trial)->footprint;
    const gdouble pace = MAX(trial->seconds_per_step, 1e-12);
    gint64 n = (gint64)MIN(seconds / pace, 1e15);
    n = MAX(n, MIN(least_firings * firing_samples(trial), (gint64)(4 * seconds / pace)));
    n = MAX(n, 1);
    if (rule->kind == CT_FOOTPRINT_SUM && (gdouble)rule->hop * pace <= longest_sum * seconds)
        n = (n + rule->hop - 1) / rule->hop * rule->hop;
    return n;
}

/* The samples between two marks: of the first output, or of a sink's first input. */
static gdouble
counted(const CtTrial *trial, const Mark *from, const Mark *to)
{
    const CtPlanNode *node = tried(trial);
    const gdouble samples = (gdouble)(to->stats.samples - from->stats.samples);
    if (node->n_outputs == 0 || flowing_input(trial) < 0 ||
        node->footprint.kind == CT_FOOTPRINT_OWN)
        return samples;
    return (gdouble)(to->stats.consumed - from->stats.consumed) / (gdouble)node->footprint.hop;
}

static gboolean
run_once(CtTrial *trial, gdouble seconds, CtTrialResult *result, GError **error)
{
    *result = (CtTrialResult){0};
    if (!trial->scheduler &&
        !(trial->is_short ? start(trial, error) : warm_up(trial, seconds, error)))
        return FALSE;
    Mark from, to;
    gboolean goes_on;
    if (!step(trial, measured_samples(trial, seconds), seconds, &from, &to, &goes_on, error))
        return FALSE;
    const gdouble core =
        tried(trial)->place == CT_HOST ? to.stats.core_seconds - from.stats.core_seconds : 0;
    result->samples = counted(trial, &from, &to);
    if (result->samples > 0)
        result->seconds =
            (to.stats.work_seconds - from.stats.work_seconds + core) / result->samples;
    result->ended = !goes_on;
    /* Streams that have ended begin again. */
    if (!goes_on)
        g_clear_pointer(&trial->scheduler, ct_scheduler_free);
    return TRUE;
}

gboolean
ct_trial_run(CtTrial *trial, gdouble seconds, CtTrialResult *result, GError **error)
{
    if (!run_once(trial, seconds, result, error))
        return FALSE;
    /* The run before had nothing left. */
    return result->samples > 0 || !result->ended || run_once(trial, seconds, result, error);
}
