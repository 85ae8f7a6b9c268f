/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of a plan: how much each firing makes and sees, and what the rings must hold for it.
 */
#include "planner.h"

/* A sum reads and writes its output as a whole in every firing, so it wants so many times its
 * output's bytes of input in each. */
static const gint64 input_to_sum = 4;

static gboolean
has_time(const CtStream *stream)
{
    return ct_stream_axis(stream, "time") >= 0;
}

static const CtPlanNode *
node_at(const CtPlan *plan, guint i)
{
    return g_ptr_array_index(plan->nodes, i);
}

static CtPlanLink *
link_at(const CtPlan *plan, guint i)
{
    return g_ptr_array_index(plan->links, i);
}

static gsize
bytes_of(const CtPlanLink *link, gint64 n_samples)
{
    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
    return ct_layout_strides(&link->layout, link->stream, n_samples, length, stride);
}

/* The sum, or the largest number where it is larger still. */
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

/* The next multiple of `granule`, from `n` on. */
static gint64
round_up(gint64 n, gint64 granule)
{
    return n > G_MAXINT64 - granule ? n : (n + granule - 1) / granule * granule;
}

/* Samples of a link that come next to `bytes`, at least one granule, at most the whole stream. */
static gint64
samples_in(const CtPlanLink *link, gsize bytes)
{
    const gsize of_granule = MAX(1, bytes_of(link, link->granule));
    const gint64 length = link->stream->axes[ct_stream_axis(link->stream, "time")].length;
    const gint64 samples = (gint64)MAX(1, bytes / of_granule) * link->granule;
    return length < 0 ? samples : MIN(samples, round_up(MAX(1, length), link->granule));
}

/* Whether data along time comes into the node, beside what is read before the stream starts. */
static gboolean
is_source(const CtPlan *plan, const CtPlanNode *node)
{
    for (guint i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] >= 0 &&
            !(ct_node_input_port(&node->nodes[0], i)->flags & CT_PORT_STATIC) &&
            has_time(link_at(plan, node->inputs[i])->stream))
            return FALSE;
    }
    return TRUE;
}

/* What a firing of each node makes. */
static void
size_outputs(CtPlan *plan, gsize cache_bytes)
{
    for (guint n = 0; n < plan->nodes->len; n++) {
        const CtPlanNode *node = node_at(plan, n);
        gint64 samples = G_MAXINT64, granule = 1;
        for (guint i = 0; i < node->n_outputs; i++) {
            if (node->outputs[i] < 0 || !has_time(link_at(plan, node->outputs[i])->stream))
                continue;
            CtPlanLink *link = link_at(plan, node->outputs[i]);
            const gint time = ct_layout_block_axis(&link->layout, "time");
            link->granule = time >= 0 ? link->layout.axes[time].count : 1;
            granule = MAX(granule, link->granule);
            samples = MIN(samples, samples_in(link, cache_bytes));
        }
        if (is_source(plan, node) && node->nodes[0].block > 0)
            samples = node->nodes[0].block;
        for (guint i = 0; i < node->n_outputs; i++) {
            if (node->outputs[i] < 0)
                continue;
            CtPlanLink *link = link_at(plan, node->outputs[i]);
            link->max_samples = has_time(link->stream) ? round_up(samples, granule) : 1;
            link->granule = MAX(1, link->granule);
        }
    }
}

/* What a full firing of `node` wants to see of an input: *window of them for a single sample. */
static gint64
full_firing(const CtPlan *plan, const CtPlanNode *node, guint port, gint64 *window)
{
    const CtPlanLink *link = link_at(plan, node->inputs[port]);
    const CtFootprint *footprint = &node->footprint;
    *window = 1;
    if (!has_time(link->stream) ||
        ct_node_input_port(&node->nodes[0], port)->flags & CT_PORT_STATIC)
        return 1;
    gint64 made = 0;
    gsize made_bytes = 0;
    for (guint i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] < 0)
            continue;
        const CtPlanLink *output = link_at(plan, node->outputs[i]);
        if (!has_time(output->stream))
            continue;
        made = MAX(made, output->max_samples);
        made_bytes += bytes_of(output, 1);
    }
    /* A sink, or a node that nobody reads, takes what its writer makes. */
    if (made == 0)
        return link->max_samples;
    if (footprint->kind == CT_FOOTPRINT_WINDOW) {
        *window = footprint->window;
        return round_up(add(multiply(made - 1, footprint->hop), footprint->window), link->granule);
    }
    const gint64 enough = MAX(link->max_samples, samples_in(link, input_to_sum * made_bytes));
    return round_up(MIN(enough, multiply(made, footprint->hop)), link->granule);
}

static void
size_link(CtPlan *plan, CtPlanLink *link)
{
    gint64 largest = 1, history = 0;
    for (guint r = 0; r < link->readers->len; r++) {
        const CtPlanReader *reader = &g_array_index(link->readers, CtPlanReader, r);
        const CtPlanNode *node = node_at(plan, reader->node);
        gint64 window;
        const gint64 wanted = full_firing(plan, node, reader->port, &window);
        node->input_bindings[reader->port].max_samples = wanted;
        largest = MAX(largest, wanted);
        history = MAX(history, window - 1);
    }
    link->history = round_up(history, link->granule);
    link->capacity = has_time(link->stream)
                         ? round_up(add(multiply(2, link->max_samples), largest), link->granule)
                         : 1;
    link->bytes = bytes_of(link, add(link->history, link->capacity));
}

static gboolean
check_memory(const CtPlan *plan, const CtMachine *machine, GError **error)
{
    if (machine->memory_bytes == 0 || plan->bytes <= machine->memory_bytes)
        return TRUE;
    const CtPlanLink *largest = link_at(plan, 0);
    for (guint i = 1; i < plan->links->len; i++) {
        if (link_at(plan, i)->bytes > largest->bytes)
            largest = link_at(plan, i);
    }
    const CtPlanNode *writer = node_at(plan, largest->writer);
    g_autofree char *total = g_format_size_full(plan->bytes, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *there_is = g_format_size_full(machine->memory_bytes, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *of_largest = g_format_size_full(largest->bytes, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *layout = ct_layout_to_string(&largest->layout);
    g_autofree char *axes = ct_stream_describe(largest->stream);
    g_autofree char *message = g_strdup_printf(
        "the rings of this graph want %s, but this machine has %s; the largest is that behind "
        "'%s': %s of %s, %" G_GINT64_FORMAT " samples (2 × %" G_GINT64_FORMAT
        " of a firing, %" G_GINT64_FORMAT " that a reader sees, %" G_GINT64_FORMAT
        " of history) of %" G_GSIZE_FORMAT " bytes are %s; a smaller `block` needs less",
        total, there_is, writer->name, layout, axes, add(largest->capacity, largest->history),
        largest->max_samples, largest->capacity - 2 * largest->max_samples, largest->history,
        bytes_of(largest, largest->granule) / (gsize)largest->granule, of_largest);
    if (writer->graph_node)
        return ct_graph_error(writer->graph_node, NULL, CT_ERROR_MEMORY, error, "%s", message);
    g_set_error_literal(error, CT_ERROR, CT_ERROR_MEMORY, message);
    return FALSE;
}

gboolean
ct_plan_size_rings(CtPlan *plan, const CtMachine *machine, gsize cache_bytes, GError **error)
{
    if (cache_bytes == 0)
        cache_bytes = machine->cache_bytes / 2 * machine->n_workers;
    size_outputs(plan, cache_bytes);
    for (guint i = 0; i < plan->links->len; i++) {
        CtPlanLink *link = link_at(plan, i);
        size_link(plan, link);
        gsize sum;
        plan->bytes = __builtin_add_overflow(plan->bytes, link->bytes, &sum) ? G_MAXSIZE : sum;
        node_at(plan, link->writer)->output_bindings[link->port].max_samples = link->max_samples;
    }
    return check_memory(plan, machine, error);
}
