/* SPDX-License-Identifier: BSD-3-Clause */
/* The sizes of firings and rings. */
#include "plan-sizes.h"
#include "planner-firings.h"

/* Strides of axes outside time are multiples of this on a device. */
static const gint64 device_alignment = 16;

/* The least ratio of a generation to the history that is copied to its front, in rings that devices
 * use. */
static const gint64 generations_to_history = 4;

/* The inputs of the computation. */
typedef struct {
    CtPlan *plan;
    gsize cache_bytes;    /* aimed at by firings on the host */
    gint64 *firing_ticks; /* [node] ticks that a firing on a device covers; 0: on the host */
} Sizes;

static gboolean
has_time(const CtStream *stream)
{
    return ct_stream_axis(stream, "time") >= 0;
}

static gsize
bytes_of(const CtPlanLink *link, gint64 n_samples)
{
    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
    return ct_layout_strides(&link->layout, link->stream, n_samples, length, stride);
}

/* The sum, or G_MAXINT64 where it overflows. */
static gint64
add(gint64 a, gint64 b)
{
    gint64 sum;
    return __builtin_add_overflow(a, b, &sum) ? G_MAXINT64 : sum;
}

static gint64
multiply(gint64 a, gint64 b)
{
    gint64 product;
    return __builtin_mul_overflow(a, b, &product) ? G_MAXINT64 : product;
}

/* The least multiple of `granule` that is at least `n`. */
static gint64
round_up(gint64 n, gint64 granule)
{
    return n > G_MAXINT64 - granule ? n : (n + granule - 1) / granule * granule;
}

/* The number of samples, limited to the whole stream. */
static gint64
at_most_all(const CtPlanLink *link, gint64 samples)
{
    const gint64 length = link->stream->axes[ct_stream_axis(link->stream, "time")].length;
    return length < 0 ? samples : MIN(samples, round_up(MAX(1, length), link->granule));
}

/* The samples of a link that take about `bytes`: at least one granule, at most the whole stream. */
static gint64
samples_in(const CtPlanLink *link, gsize bytes)
{
    const gsize of_granule = MAX(1, bytes_of(link, link->granule));
    return at_most_all(link, (gint64)MAX(1, bytes / of_granule) * link->granule);
}

/* The samples of a link that a firing over this many ticks makes. */
static gint64
samples_over(const CtPlanLink *link, gint64 ticks)
{
    if (!has_time(link->stream))
        return 1;
    const gint64 of_sample = MAX(1, link->stream->ticks_per_sample);
    return at_most_all(link,
                       round_up(MAX(1, round_up(ticks, of_sample) / of_sample), link->granule));
}

gboolean
ct_plan_flows(const CtPlan *plan, const CtPlanNode *node, guint port)
{
    return node->inputs[port] >= 0 && has_time(ct_plan_link(plan, node->inputs[port])->stream) &&
           !(ct_node_input_port(&node->nodes[0], port)->flags & CT_PORT_STATIC);
}

gboolean
ct_plan_is_source(const CtPlan *plan, const CtPlanNode *node)
{
    for (guint i = 0; i < node->n_inputs; i++) {
        if (ct_plan_flows(plan, node, i))
            return FALSE;
    }
    return TRUE;
}

gboolean
ct_plan_is_marking(const CtPlanNode *node)
{
    for (guint k = 0; k < node->n_nodes; k++) {
        const CtPort *ports = node->nodes[k].stage->outputs;
        for (; ports && ports->name && !node->nodes[k].footprint.is_unmarked; ports++)
            if (ports->flags & CT_PORT_MARKED)
                return TRUE;
    }
    return FALSE;
}

gboolean
ct_plan_shows_late(const CtPlan *plan, const CtPlanLink *link)
{
    const CtPlanNode *writer = ct_plan_node(plan, link->writer);
    return writer->queue >= 0 && (link->place == CT_HOST || ct_plan_is_marking(writer));
}

/* The granule of a node's output: whole blocks of each output, made from whole blocks of each
 * input. */
static gint64
granule_of(const CtPlan *plan, const CtPlanNode *node)
{
    const gint64 hop = MAX(node->footprint.hop, 1);
    gint64 granule = 1;
    for (guint i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] >= 0 && has_time(ct_plan_link(plan, node->outputs[i])->stream))
            granule = MAX(granule, ct_plan_link(plan, node->outputs[i])->granule);
    }
    for (guint i = 0; node->footprint.kind == CT_FOOTPRINT_WINDOW && i < node->n_inputs; i++) {
        if (ct_plan_flows(plan, node, i))
            granule = ct_least_multiple(
                granule,
                ct_least_multiple(hop, ct_plan_link(plan, node->inputs[i])->granule) / hop);
    }
    return MAX(granule, 1);
}

static void
set_granules(CtPlan *plan)
{
    for (guint i = 0; i < plan->links->len; i++) {
        CtPlanLink *link = ct_plan_link(plan, i);
        const gint time = ct_layout_block_axis(&link->layout, "time");
        link->granule = time >= 0 && has_time(link->stream) ? link->layout.axes[time].count : 1;
    }
    for (guint n = 0; n < plan->nodes->len; n++) {
        CtPlanNode *node = ct_plan_node(plan, n);
        node->granule = granule_of(plan, node);
    }
}

gsize
ct_plan_bytes_of_sums(const CtPlan *plan, const CtPlanNode *node)
{
    gsize bytes = 0;
    for (guint i = 0; node->footprint.kind == CT_FOOTPRINT_SUM && i < node->n_outputs; i++)
        bytes += node->outputs[i] >= 0 ? bytes_of(ct_plan_link(plan, node->outputs[i]), 1) : 0;
    return bytes;
}

gsize
ct_plan_bytes_of_statics(const CtPlan *plan, const CtPlanNode *node)
{
    gsize bytes = 0;
    for (guint i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] >= 0 && ct_node_input_port(&node->nodes[0], i)->flags & CT_PORT_STATIC)
            bytes += bytes_of(ct_plan_link(plan, node->inputs[i]), 1);
    return bytes;
}

/* The samples of an input that a firing may see: about `cache_bytes`, or more where sums or static
 * inputs are large. */
static gint64
input_in_cache(const CtPlan *plan, const CtPlanNode *node, guint port, gsize cache_bytes)
{
    const gsize whole = MAX(CT_INPUT_TO_SUM * ct_plan_bytes_of_sums(plan, node),
                            ct_plan_bytes_of_statics(plan, node));
    return samples_in(ct_plan_link(plan, node->inputs[port]), MAX(cache_bytes, whole));
}

/* Adapts the samples of a firing on the host to a reader on a device, which takes blocks: a whole
 * number of firings makes a block, unless they would be much smaller. */
static gint64
fit_to_blocks(const Sizes *sizes, const CtPlanLink *link, gint64 samples)
{
    for (guint r = 0; r < link->readers->len; r++) {
        const gint64 firing_ticks =
            sizes->firing_ticks[g_array_index(link->readers, CtPlanReader, r).node];
        if (firing_ticks == 0)
            continue;
        const gint64 block = samples_over(link, firing_ticks);
        const gint64 least = (block + samples - 1) / samples;
        for (gint64 n = least; n <= 2 * least; n++) {
            if (block % n == 0 && block / n % link->granule == 0)
                return MIN(samples, block / n);
        }
    }
    return samples;
}

/* Whether a firing of the node reads and writes every sample once, and nothing else: windows do not
 * overlap. So do stages that join a list of streams. */
static gboolean
is_pointwise(const CtPlan *plan, const CtPlanNode *node)
{
    const CtFootprint *footprint = &node->footprint;
    const gboolean joins = node->n_nodes == 1 && node->nodes[0].stage->inputs &&
                           node->nodes[0].stage->inputs[0].flags & CT_PORT_MANY;
    const gboolean is_window =
        footprint->kind == CT_FOOTPRINT_WINDOW && footprint->window <= footprint->hop;
    return !ct_plan_is_source(plan, node) && (is_window || joins) &&
           ct_plan_bytes_of_statics(plan, node) == 0;
}

/* The bytes of a link that a firing of the node aims at. A node that reads every sample once has no
 * other costs than their way through the cache: its inputs and outputs share the bytes, and so do
 * those of a source whose readers are such nodes. */
static gsize
aim_of(const Sizes *sizes, const CtPlanNode *node)
{
    const CtPlan *plan = sizes->plan;
    gboolean shares = is_pointwise(plan, node);
    guint n_readers = 0;
    if (ct_plan_is_source(plan, node)) {
        shares = TRUE;
        for (guint o = 0; o < node->n_outputs; o++) {
            if (node->outputs[o] < 0)
                continue;
            const CtPlanLink *link = ct_plan_link(plan, node->outputs[o]);
            for (guint r = 0; r < link->readers->len; r++, n_readers++) {
                const guint reader = g_array_index(link->readers, CtPlanReader, r).node;
                shares &= sizes->firing_ticks[reader] == 0 &&
                          is_pointwise(plan, ct_plan_node(plan, reader)) &&
                          ct_plan_node(plan, reader)->n_outputs > 0;
            }
        }
        shares &= n_readers > 0;
    }
    return shares ? sizes->cache_bytes / 2 : sizes->cache_bytes;
}

/* Sets the samples that a firing makes such that neither its outputs nor its inputs leave the
 * cache, but at least one sample. A history that fills the cache by itself is read again in every
 * firing, so a firing then takes a whole window of new samples. A source's `block` is taken as it
 * is. */
static void
size_on_host(const Sizes *sizes, const CtPlanNode *node)
{
    const CtPlan *plan = sizes->plan;
    const CtFootprint *footprint = &node->footprint;
    const gboolean fixed = ct_plan_is_source(plan, node) && node->nodes[0].block > 0;
    const gsize aim = aim_of(sizes, node);
    gint64 samples = fixed ? node->nodes[0].block : G_MAXINT64;
    for (guint i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] < 0 || !has_time(ct_plan_link(plan, node->outputs[i])->stream))
            continue;
        const CtPlanLink *link = ct_plan_link(plan, node->outputs[i]);
        if (!fixed)
            samples =
                MIN(samples, samples_in(link, MAX(aim, ct_plan_bytes_of_statics(plan, node))));
    }
    for (guint i = 0; i < node->n_inputs; i++) {
        if (!ct_plan_flows(plan, node, i))
            continue;
        const gint64 seen = input_in_cache(plan, node, i, aim);
        const gint64 extra =
            footprint->kind == CT_FOOTPRINT_WINDOW ? footprint->window - footprint->hop : 0;
        const gint64 least = extra > 0 ? footprint->window : 0;
        const gdouble made =
            (gdouble)MAX(seen - extra, least) / ct_plan_samples_each(plan, node, i);
        samples = made < (gdouble)samples ? MAX(1, (gint64)made) : samples;
    }
    for (guint i = 0; i < node->n_outputs && !fixed; i++) {
        if (node->outputs[i] >= 0 && has_time(ct_plan_link(plan, node->outputs[i])->stream))
            samples = fit_to_blocks(sizes, ct_plan_link(plan, node->outputs[i]), samples);
    }
    for (guint i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] < 0)
            continue;
        CtPlanLink *link = ct_plan_link(plan, node->outputs[i]);
        link->max_samples = has_time(link->stream) ? round_up(samples, node->granule) : 1;
    }
}

static void
size_on_device(const Sizes *sizes, const CtPlanNode *node, gint64 firing_ticks)
{
    for (guint i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] < 0)
            continue;
        CtPlanLink *link = ct_plan_link(sizes->plan, node->outputs[i]);
        link->max_samples = has_time(link->stream)
                                ? round_up(samples_over(link, firing_ticks), node->granule)
                                : samples_over(link, firing_ticks);
    }
}

/* The samples of an input that a full firing of node `n` sees; *least is the number that it needs
 * to fire at all. */
static gint64
full_firing(const Sizes *sizes, guint n, guint port, gint64 *least)
{
    const CtPlan *plan = sizes->plan;
    const CtPlanNode *node = ct_plan_node(plan, n);
    const CtPlanLink *link = ct_plan_link(plan, node->inputs[port]);
    const CtFootprint footprint = ct_plan_footprint(plan, node, port);
    *least = 1;
    if (!ct_plan_flows(plan, node, port))
        return 1;
    gint64 made = 0;
    for (guint i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] < 0 || !has_time(ct_plan_link(plan, node->outputs[i])->stream))
            continue;
        made = MAX(made, ct_plan_link(plan, node->outputs[i])->max_samples);
    }
    /* A sink, or a node without readers, takes as many samples as its writer makes. */
    if (made == 0)
        return link->max_samples;
    *least = ct_plan_needs(plan, node, port);
    if (footprint.kind != CT_FOOTPRINT_SUM)
        return round_up(ct_plan_samples_seen(plan, node, port, made), link->granule);
    if (sizes->firing_ticks[n] > 0)
        return round_up(MAX(*least, link->max_samples), link->granule);
    const gint64 seen = input_in_cache(plan, node, port, sizes->cache_bytes);
    return round_up(MAX(*least, MIN(seen, multiply(made, footprint.hop))), link->granule);
}

/* The samples of input for which a firing waits while other nodes are at work. */
static gint64
batch_of(const Sizes *sizes, guint n, guint port, gint64 wanted)
{
    const CtPlan *plan = sizes->plan;
    const CtPlanNode *node = ct_plan_node(plan, n);
    if (!ct_plan_flows(plan, node, port))
        return 0;
    /* A device takes whole blocks, which then pass through it undivided. Writers on devices, and
     * the program, have blocks of their own. */
    const CtPlanNode *writer = ct_plan_node(plan, ct_plan_link(plan, node->inputs[port])->writer);
    if (sizes->firing_ticks[n] > 0)
        return writer->place == CT_HOST && writer->variant->work && wanted > 1 ? wanted : 0;
    /* A firing of few samples would spend its time on sums and static inputs; it waits for as many
     * bytes of input as those have, at most for a full firing. A power of two: integrations, and
     * the parts in which stages sum them, have such lengths. */
    const gsize whole = ct_plan_bytes_of_sums(plan, node) + ct_plan_bytes_of_statics(plan, node);
    const gint64 least = samples_in(ct_plan_link(plan, node->inputs[port]), whole);
    gint64 batch = 1;
    while (batch < least && batch <= wanted / 2)
        batch *= 2;
    return whole == 0 ? 0 : batch;
}

/* ---- links ---- */

/* The demands of a link's readers. */
typedef struct {
    gint64 wanted;    /* the most samples that a firing sees */
    gint64 fresh;     /* the same on devices, without the samples that a firing may leave */
    gboolean is_held; /* samples may stay in the ring: until a worker on the host is free for the
                         reader, until the reader's other inputs have arrived, or, in a static
                         input, until the next block is there */
    gboolean crosses; /* the link is written on one queue, or by the program, and read on another;
                         or it shows samples late */
} Demand;

/* Whether the node has no other input. */
static gboolean
reads_one(const CtPlan *plan, const CtPlanNode *node, guint port)
{
    for (guint i = 0; i < node->n_inputs; i++) {
        if (i != port && ct_plan_flows(plan, node, i))
            return FALSE;
    }
    return ct_plan_flows(plan, node, port);
}

static void
ask_readers(const Sizes *sizes, CtPlanLink *link, Demand *demand)
{
    const CtPlanNode *writer = ct_plan_node(sizes->plan, link->writer);
    gint64 history = 0;
    *demand = (Demand){.wanted = 1,
                       .crosses = ct_plan_shows_late(sizes->plan, link) ||
                                  (link->place != CT_HOST && !writer->variant->work)};
    for (guint r = 0; r < link->readers->len; r++) {
        const CtPlanReader *reader = &g_array_index(link->readers, CtPlanReader, r);
        CtPlanNode *node = ct_plan_node(sizes->plan, reader->node);
        gint64 least;
        const gint64 wanted = full_firing(sizes, reader->node, reader->port, &least);
        node->batch = MAX(node->batch, batch_of(sizes, reader->node, reader->port, wanted));
        node->input_bindings[reader->port].max_samples = wanted;
        history = MAX(history, least - 1);
        demand->wanted = MAX(demand->wanted, wanted);
        if (node->place != CT_HOST)
            demand->fresh = MAX(demand->fresh, wanted - (least - 1));
        demand->is_held |= node->place == CT_HOST || !reads_one(sizes->plan, node, reader->port);
        demand->crosses |=
            node->queue != writer->queue || (node->place != CT_HOST && !node->variant->work);
    }
    link->history = round_up(history, link->granule);
}

/* The samples to add so that, on a device, the strides of axes outside time are aligned. */
static gint64
padding(const CtPlanLink *link)
{
    const gint time = ct_layout_axis(&link->layout, "time");
    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
    if (link->place == CT_HOST || time <= 0)
        return 0;
    ct_layout_strides(&link->layout, link->stream, link->granule, length, stride);
    gint64 step = device_alignment;
    while (step > 1 && stride[time] * (step / 2) % device_alignment == 0)
        step /= 2;
    const gint64 total = add(link->history, link->capacity);
    return round_up(total, multiply(step, link->granule)) - total;
}

/* Sets the samples of the ring beside its history: firings of the writer, and the rest. */
static void
set_capacity(const Sizes *sizes, CtPlanLink *link, const Demand *demand)
{
    const gint64 made = link->max_samples, skew = at_most_all(link, link->skew);
    const gint64 block = demand->crosses ? MAX(made, demand->fresh) : made;
    const gint64 generations = multiply(generations_to_history, link->history);
    gint64 firings = demand->crosses ? sizes->plan->n_in_flight : 1;
    /* Samples that a reader leaves lie beyond the beginning of the next generation; and the host
     * fills one block while another is copied. */
    if (link->history > 0 || (link->place == CT_HOST && made < demand->fresh))
        firings = MAX(firings, 2);
    firings = multiply(firings, (block + made - 1) / made);
    link->n_firings = firings;
    link->rest = link->history;
    link->rest_kind = CT_REST_READER;
    /* The history is copied for every generation, so generations are several times as long. The
     * sizes of rings that only the host uses are set below, without regard to this. */
    if (add(multiply(firings, made), link->rest) < generations) {
        link->rest = generations - multiply(firings, made);
        link->rest_kind = CT_REST_GENERATIONS;
    }
    const gint64 capacity = add(multiply(firings, made), link->rest);
    const gboolean on_host = link->place == CT_HOST && !demand->crosses;
    gint64 least = on_host || demand->is_held ? demand->wanted : 0;
    /* Whole firings divide the memory beyond the history into generations; one firing's share may
     * be left empty at the end of a generation. */
    if (skew > link->history)
        least = MAX(least, skew);
    if (least > 0 && (on_host || add(multiply(2, made), least) > capacity)) {
        link->n_firings = 2;
        link->rest = least;
        link->rest_kind = skew == least && skew > demand->wanted ? CT_REST_SKEW : CT_REST_READER;
    }
    link->capacity = round_up(add(multiply(link->n_firings, made), link->rest), link->granule);
}

static void
size_link(const Sizes *sizes, CtPlanLink *link)
{
    const CtPlanNode *writer = ct_plan_node(sizes->plan, link->writer);
    Demand demand;
    ask_readers(sizes, link, &demand);
    /* The ring of a fed input holds a fixed number of blocks, which may be short: only the samples
     * that splices copy are sure to be kept. */
    if (!writer->variant->work && has_time(link->stream))
        link->history = MAX(link->history, round_up(at_most_all(link, link->skew), link->granule));
    if (has_time(link->stream)) {
        set_capacity(sizes, link, &demand);
        link->capacity = add(link->capacity, padding(link));
        link->bytes = bytes_of(link, add(link->history, link->capacity));
    } else {
        /* The block in effect, and the next one. */
        link->capacity = MAX(2, link->skew);
        link->n_firings = 2;
        link->rest = link->capacity - 2;
        link->rest_kind = CT_REST_SKEW;
        link->bytes = (gsize)multiply(link->capacity, round_up((gint64)bytes_of(link, 1), 64));
    }
}

void
ct_plan_size_rings(CtPlan *plan, const CtMachine *machine, gsize cache_bytes)
{
    cache_bytes = ct_machine_aim(machine, cache_bytes);
    set_granules(plan);
    ct_plan_find_skew(plan);
    g_autofree gint64 *firing_ticks = ct_plan_device_firings(plan, machine);
    const Sizes sizes = {plan, cache_bytes, firing_ticks};
    for (guint n = 0; n < plan->nodes->len; n++) {
        if (firing_ticks[n] > 0)
            size_on_device(&sizes, ct_plan_node(plan, n), firing_ticks[n]);
        else
            size_on_host(&sizes, ct_plan_node(plan, n));
    }
    for (guint i = 0; i < plan->links->len; i++) {
        CtPlanLink *link = ct_plan_link(plan, i);
        size_link(&sizes, link);
        const CtPlanNode *writer = ct_plan_node(plan, link->writer);
        writer->output_bindings[link->port].max_samples = link->max_samples;
        gsize sum;
        /* Blocks that the program feeds are in its own memory. */
        if (link->place == CT_HOST && writer->variant->work)
            plan->bytes = __builtin_add_overflow(plan->bytes, link->bytes, &sum) ? G_MAXSIZE : sum;
    }
}
