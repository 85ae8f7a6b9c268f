/* SPDX-License-Identifier: BSD-3-Clause */
/* Footprints of whole paths.
 *
 * A run of missing samples stays a run: through a window of W samples with a hop of H, n missing
 * samples touch (W + n − 1)/H outputs in a row, rounded down or up depending on where the run
 * begins. A sum is a window of its hop; it is lost if all its terms are. All positions modulo the
 * hops occur, so bounds that are passed on from node to node are reached. */
#include "footprint.h"

#include "model/clock.h"

#include <string.h>

/* The samples of one source that a sample of a node's output is made of. Ticks count from the start
 * of that output sample. */
typedef struct {
    gboolean is_reached;
    gint64 behind; /* ticks back to the first of the source's samples */
    gint64 ahead;  /* ticks forward to the end of the last */
    gint64 wait;   /* ticks forward to the end of the last that must have arrived */
    gint64 spread; /* ticks by which lanes are shifted against each other */
    CtCount touched, lost, terms;
    gboolean sums;
    gboolean exact;
    guint n_apart;
    const char *apart[CT_MAX_AXES];
} Flow;

/* Keeps the axes along which `stream` loses data. */
static void
keep_apart(Flow *flow, const CtStream *stream)
{
    guint n = 0;
    for (guint k = 0; k < flow->n_apart; k++) {
        const gint axis = ct_stream_axis(stream, flow->apart[k]);
        if (axis >= 0 && stream->axes[axis].loses)
            flow->apart[n++] = flow->apart[k];
    }
    flow->n_apart = n;
}

static gint64
ceiling(gint64 a, gint64 b)
{
    return a > 0 ? (a - 1) / b + 1 : 0;
}

/* a + b · c, saturating: windows, sums and graphs may be arbitrarily large. */
static gint64
add(gint64 a, gint64 b, gint64 c)
{
    return ct_saturating_add(a, ct_saturating_multiply(b, c));
}

/* The number of multiples of `hop` among (run + more) consecutive numbers, for any start. */
static CtCount
multiples(CtCount runs, gint64 more, gint64 hop)
{
    return (CtCount){
        .least = runs.least > 0 ? MAX(add(runs.least, more, 1), 0) / hop : 0,
        .most = runs.most > 0 ? ceiling(add(runs.most, more, 1), hop) : 0,
    };
}

/* The number of windows that a run of samples touches if an output sample is made of only `needs`
 * samples of its window, at unknown places in it. The touched windows are consecutive if the run is
 * longer than any gap between the used samples. */
static CtCount
places(CtCount runs, const CtFootprint *footprint, gboolean *exact)
{
    const gint64 needs = footprint->needs, others = footprint->window - needs;
    const gint64 most = needs == 1 ? 0 : footprint->window - 1;
    const gint64 least = runs.least > others ? most : needs - 1;
    *exact &= least == most;
    return (CtCount){
        .least = multiples(runs, least, footprint->hop).least,
        .most = multiples(runs, most, footprint->hop).most,
    };
}

static void
pass_window(Flow *flow, const CtFootprint *footprint)
{
    if (footprint->needs == 0) {
        flow->touched = multiples(flow->touched, footprint->window - 1, footprint->hop);
        flow->lost = multiples(flow->lost, footprint->window - 1, footprint->hop);
        return;
    }
    if (footprint->moves) {
        const gint64 more = footprint->needs - 1;
        flow->touched.least = MAX(flow->touched.least - more, 0) / footprint->hop;
        flow->touched.most = multiples(flow->touched, more, footprint->hop).most;
        flow->lost.least = MAX(flow->lost.least - more, 0) / footprint->hop;
        flow->lost.most = multiples(flow->lost, more, footprint->hop).most;
        flow->exact &= footprint->needs == 1;
        return;
    }
    flow->touched = places(flow->touched, footprint, &flow->exact);
    flow->lost = places(flow->lost, footprint, &flow->exact);
}

static void
pass_sum(Flow *flow, gint64 hop)
{
    if (!flow->sums)
        flow->terms = flow->touched;
    flow->sums = TRUE;
    flow->touched = multiples(flow->touched, hop - 1, hop);
    flow->lost = (CtCount){
        .least = MAX(flow->lost.least - (hop - 1), 0) / hop,
        .most = ceiling(flow->lost.most - (hop - 1), hop),
    };
}

/* Passes from a node's input to its output. `ticks` are those of an input sample. */
static void
pass_node(Flow *flow, const CtFootprint *footprint, gint64 ticks)
{
    const gboolean is_sum = footprint->kind == CT_FOOTPRINT_SUM;
    const gint64 window = is_sum ? footprint->hop : footprint->window;
    /* A sum has the tick of its first sample. */
    const gint64 offset = is_sum ? 0 : footprint->offset;
    flow->behind = add(flow->behind, offset, ticks);
    flow->ahead = add(flow->ahead, window - 1 - offset, ticks);
    flow->wait = add(flow->wait, MAX(window, footprint->hop) - 1 - offset, ticks);
    /* Each lane uses its own samples of the window. */
    if (footprint->needs > 0)
        flow->spread = add(flow->spread, window - 1, ticks);
    if (is_sum)
        pass_sum(flow, footprint->hop);
    else
        pass_window(flow, footprint);
}

static gboolean
same_count(CtCount a, CtCount b)
{
    return a.least == b.least && a.most == b.most;
}

/* Joins the flow of one input with that of the inputs before it. */
static void
join(Flow *flow, const Flow *other)
{
    if (!flow->is_reached) {
        *flow = *other;
        return;
    }
    const gboolean same = flow->behind == other->behind && flow->ahead == other->ahead &&
                          same_count(flow->touched, other->touched) &&
                          same_count(flow->lost, other->lost);
    flow->exact &= other->exact && same;
    flow->behind = MAX(flow->behind, other->behind);
    flow->ahead = MAX(flow->ahead, other->ahead);
    flow->wait = MAX(flow->wait, other->wait);
    flow->spread = MAX(flow->spread, other->spread);
    if (!same) {
        flow->touched.least = MAX(flow->touched.least, other->touched.least);
        flow->touched.most = add(flow->touched.most, other->touched.most, 1);
        flow->lost.least = MAX(flow->lost.least, other->lost.least);
        flow->lost.most = add(flow->lost.most, other->lost.most, 1);
    }
    flow->terms.least = MAX(flow->terms.least, other->terms.least);
    flow->terms.most = MAX(flow->terms.most, other->terms.most);
    flow->sums |= other->sums;
    guint n = 0;
    for (guint k = 0; k < flow->n_apart; k++) {
        for (guint i = 0; i < other->n_apart; i++) {
            if (g_str_equal(flow->apart[k], other->apart[i]))
                flow->apart[n++] = flow->apart[k];
        }
    }
    flow->n_apart = n;
}

/* Accounts for lanes that a node has merged by `rule`: their losses are shifted against each other
 * by the lanes' spread. */
static void
merge_lanes(Flow *flow, CtLanes rule, gint64 ticks)
{
    const gint64 spread = ceiling(flow->spread, ticks);
    if (rule == CT_LANES_ANY)
        flow->lost.least = MAX(flow->lost.least - spread, 0);
    else if (flow->lost.most > 0)
        flow->lost.most = add(flow->lost.most, spread, 1);
}

/* Counts the flow of an input whose samples last longer than those of the output, and hold for
 * several of them (CT_FOOTPRINT_OWN), by samples of the output. These wait, together, no longer
 * than the first of them. */
static void
hold(Flow *flow, const CtStream *input, const CtStream *output)
{
    const gint64 ticks = MAX(input->ticks_per_sample, 1), of_output = output->ticks_per_sample;
    if (of_output < 1 || ticks <= of_output || input->rate_num != output->rate_num ||
        input->rate_den != output->rate_den)
        return;
    flow->exact &= ticks % of_output == 0;
    for (guint k = 0; k < 2; k++) {
        CtCount *count = k == 0 ? &flow->touched : &flow->lost;
        count->least = ct_saturating_multiply(count->least, ticks) / of_output;
        count->most = ceiling(ct_saturating_multiply(count->most, ticks), of_output);
    }
}

/* The joined flow of the node's inputs. Sets *stream to the last of them. */
static Flow
flow_in(const CtGraph *graph, const Flow *flows, guint n, const CtStream **stream)
{
    const CtGraphNode *node = ct_graph_node(graph, n);
    Flow joined = {0};
    for (guint i = 0; i < node->node.n_inputs; i++) {
        if (!ct_node_input_streams(&node->node, i) || !flows[node->from[i].node].is_reached)
            continue;
        Flow one = flows[node->from[i].node];
        const guint n_apart = one.n_apart;
        keep_apart(&one, &node->node.inputs[i]);
        if (one.n_apart < n_apart)
            merge_lanes(&one, ct_graph_node(graph, (guint)node->from[i].node)->node.footprint.lanes,
                        MAX(1, node->node.inputs[i].ticks_per_sample));
        if (node->node.footprint.kind == CT_FOOTPRINT_OWN && node->node.n_outputs > 0)
            hold(&one, &node->node.inputs[i], &node->node.outputs[0]);
        join(&joined, &one);
        *stream = &node->node.inputs[i];
    }
    return joined;
}

static void
add_path(GArray *paths, const CtStream *first, const CtStream *last, const Flow *flow, guint source,
         guint sink, gint64 n_missing)
{
    const gint64 ticks = MAX(first->ticks_per_sample, 1);
    CtPathFootprint path = {
        .source = source,
        .sink = sink,
        .rate = ct_stream_sample_rate(first),
        .step = last->ticks_per_sample / ticks,
        .reach = add(flow->behind, flow->ahead, 1) / ticks,
        .wait = add(flow->behind, flow->wait, 1) / ticks,
        .n_missing = n_missing,
        .touched = flow->touched,
        .lost = flow->lost,
        .sums = flow->sums,
        .terms = flow->terms,
        .exact = flow->exact,
        .n_apart = flow->n_apart,
    };
    memcpy(path.apart, flow->apart, sizeof(path.apart));
    path.history = MAX(path.reach - path.step, 0);
    path.start_up = MAX(add(flow->ahead, last->start - first->start, 1) / ticks - path.step, 0);
    g_array_append_val(paths, path);
}

/* Follows the samples of one source to all sinks. */
static void
follow(GArray *paths, const CtGraph *graph, guint source, const CtStream *first, gint64 n_missing)
{
    g_autofree Flow *flows = g_new0(Flow, graph->nodes->len);
    Flow begin = {
        .is_reached = TRUE,
        .ahead = MAX(first->ticks_per_sample, 1),
        .wait = MAX(first->ticks_per_sample, 1),
        .touched = {n_missing, n_missing},
        .lost = {n_missing, n_missing},
        .exact = TRUE,
    };
    for (guint a = 0; a < first->n_axes; a++) {
        if (first->axes[a].loses)
            begin.apart[begin.n_apart++] = first->axes[a].name;
    }
    flows[source] = begin;
    for (guint n = source + 1; n < graph->nodes->len; n++) {
        const CtNode *node = &ct_graph_node(graph, n)->node;
        const CtStream *stream = NULL;
        flows[n] = flow_in(graph, flows, n, &stream);
        if (!flows[n].is_reached)
            continue;
        if (node->n_outputs == 0)
            add_path(paths, first, stream, &flows[n], source, n, n_missing);
        else
            pass_node(&flows[n], &node->footprint, MAX(stream->ticks_per_sample, 1));
    }
}

GArray *
ct_footprints_new(const CtGraph *graph, gint64 n_missing)
{
    GArray *paths = g_array_new(FALSE, FALSE, sizeof(CtPathFootprint));
    for (guint n = 0; n < graph->nodes->len; n++) {
        const CtNode *node = &ct_graph_node(graph, n)->node;
        const gint output = ct_node_source_output(node);
        if (output >= 0)
            follow(paths, graph, n, &node->outputs[output], n_missing);
    }
    return paths;
}
