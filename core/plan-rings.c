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

/* Whether input `port` flows along time. */
static gboolean
flows(const CtPlan *plan, const CtPlanNode *node, guint port)
{
    return node->inputs[port] >= 0 && has_time(link_at(plan, node->inputs[port])->stream) &&
           !(ct_node_input_port(&node->nodes[0], port)->flags & CT_PORT_STATIC);
}

static gboolean
is_source(const CtPlan *plan, const CtPlanNode *node)
{
    for (guint i = 0; i < node->n_inputs; i++) {
        if (flows(plan, node, i))
            return FALSE;
    }
    return TRUE;
}

static void
set_granules(CtPlan *plan)
{
    for (guint i = 0; i < plan->links->len; i++) {
        CtPlanLink *link = link_at(plan, i);
        const gint time = ct_layout_block_axis(&link->layout, "time");
        link->granule = time >= 0 && has_time(link->stream) ? link->layout.axes[time].count : 1;
    }
}

/* Every firing goes through these as a whole, however few its samples: the sums that it carries on,
 * and static inputs. */
static gsize
bytes_of_sums(const CtPlan *plan, const CtPlanNode *node)
{
    gsize bytes = 0;
    for (guint i = 0; node->footprint.kind == CT_FOOTPRINT_SUM && i < node->n_outputs; i++)
        bytes += node->outputs[i] >= 0 ? bytes_of(link_at(plan, node->outputs[i]), 1) : 0;
    return bytes;
}

static gsize
bytes_of_statics(const CtPlan *plan, const CtPlanNode *node)
{
    gsize bytes = 0;
    for (guint i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] >= 0 && ct_node_input_port(&node->nodes[0], i)->flags & CT_PORT_STATIC)
            bytes += bytes_of(link_at(plan, node->inputs[i]), 1);
    return bytes;
}

/* Samples of an input that a firing of a node may see to stay near `cache_bytes`. */
static gint64
input_in_cache(const CtPlan *plan, const CtPlanNode *node, guint port, gsize cache_bytes)
{
    const gsize whole = MAX(input_to_sum * bytes_of_sums(plan, node), bytes_of_statics(plan, node));
    return samples_in(link_at(plan, node->inputs[port]), MAX(cache_bytes, whole));
}

/* A firing of few samples would spend its time on what it goes through as a whole: it is worth to
 * wait for as many bytes of input, of those that it is to see. */
static gint64
batch_of(const CtPlan *plan, const CtPlanNode *node, guint port, gint64 seen)
{
    const gsize whole = bytes_of_sums(plan, node) + bytes_of_statics(plan, node);
    if (whole == 0 || !flows(plan, node, port))
        return 0;
    return MIN(seen, samples_in(link_at(plan, node->inputs[port]), whole));
}

/* What a firing makes, so that neither what it makes nor what it sees leaves the cache: at least
 * one sample. A history that alone fills the cache is read again in every firing, which then has as
 * much that is new. A source's `block` is taken at its word. */
static void
size_outputs(CtPlan *plan, const CtPlanNode *node, gsize cache_bytes)
{
    const CtFootprint *footprint = &node->footprint;
    const gboolean fixed = is_source(plan, node) && node->nodes[0].block > 0;
    gint64 samples = fixed ? node->nodes[0].block : G_MAXINT64, granule = 1;
    for (guint i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] < 0 || !has_time(link_at(plan, node->outputs[i])->stream))
            continue;
        const CtPlanLink *link = link_at(plan, node->outputs[i]);
        granule = MAX(granule, link->granule);
        if (!fixed)
            samples =
                MIN(samples, samples_in(link, MAX(cache_bytes, bytes_of_statics(plan, node))));
    }
    for (guint i = 0; i < node->n_inputs; i++) {
        if (!flows(plan, node, i))
            continue;
        const gint64 seen = input_in_cache(plan, node, i, cache_bytes);
        const gint64 extra =
            footprint->kind == CT_FOOTPRINT_WINDOW ? footprint->window - footprint->hop : 0;
        samples = MIN(samples, MAX(1, MAX(seen - extra, extra) / footprint->hop));
    }
    for (guint i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] < 0)
            continue;
        CtPlanLink *link = link_at(plan, node->outputs[i]);
        link->max_samples = has_time(link->stream) ? round_up(samples, granule) : 1;
    }
}

/* What a full firing of `node` wants to see of an input: *least of them before it can fire at all.
 */
static gint64
full_firing(const CtPlan *plan, const CtPlanNode *node, guint port, gsize cache_bytes,
            gint64 *least)
{
    const CtPlanLink *link = link_at(plan, node->inputs[port]);
    const CtFootprint *footprint = &node->footprint;
    *least = 1;
    if (!flows(plan, node, port))
        return 1;
    gint64 made = 0, granule = 1;
    for (guint i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] < 0 || !has_time(link_at(plan, node->outputs[i])->stream))
            continue;
        made = MAX(made, link_at(plan, node->outputs[i])->max_samples);
        granule = MAX(granule, link_at(plan, node->outputs[i])->granule);
    }
    /* A sink, or a node that nobody reads, takes what its writer makes. */
    if (made == 0)
        return link->max_samples;
    const gboolean is_sum = footprint->kind == CT_FOOTPRINT_SUM;
    const gint64 one = is_sum ? 1 : MAX(footprint->window, footprint->hop);
    *least = add(multiply(granule - 1, footprint->hop), one);
    if (!is_sum)
        return round_up(add(multiply(made - 1, footprint->hop), one), link->granule);
    const gint64 seen = input_in_cache(plan, node, port, cache_bytes);
    return round_up(MAX(*least, MIN(seen, multiply(made, footprint->hop))), link->granule);
}

static void
size_link(CtPlan *plan, CtPlanLink *link, gsize cache_bytes)
{
    gint64 largest = 1, history = 0;
    for (guint r = 0; r < link->readers->len; r++) {
        const CtPlanReader *reader = &g_array_index(link->readers, CtPlanReader, r);
        CtPlanNode *node = g_ptr_array_index(plan->nodes, reader->node);
        gint64 least;
        const gint64 wanted = full_firing(plan, node, reader->port, cache_bytes, &least);
        node->batch = MAX(node->batch, batch_of(plan, node, reader->port, wanted));
        node->input_bindings[reader->port].max_samples = wanted;
        largest = MAX(largest, wanted);
        history = MAX(history, least - 1);
    }
    link->history = round_up(history, link->granule);
    if (has_time(link->stream)) {
        link->capacity = round_up(add(multiply(2, link->max_samples), largest), link->granule);
        link->bytes = bytes_of(link, add(link->history, link->capacity));
    } else {
        /* The block that holds, and the next. */
        link->capacity = 2;
        link->bytes = 2 * (gsize)round_up((gint64)bytes_of(link, 1), 64);
    }
}

char *
ct_format_bytes(gsize bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    guint unit = 0;
    gdouble value = bytes;
    while (value >= 1024 && unit + 1 < G_N_ELEMENTS(units)) {
        value /= 1024;
        unit++;
    }
    return g_strdup_printf(unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
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
    g_autofree char *total = ct_format_bytes(plan->bytes);
    g_autofree char *there_is = ct_format_bytes(machine->memory_bytes);
    g_autofree char *of_largest = ct_format_bytes(largest->bytes);
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
    set_granules(plan);
    for (guint n = 0; n < plan->nodes->len; n++)
        size_outputs(plan, node_at(plan, n), cache_bytes);
    for (guint i = 0; i < plan->links->len; i++) {
        CtPlanLink *link = link_at(plan, i);
        size_link(plan, link, cache_bytes);
        gsize sum;
        plan->bytes = __builtin_add_overflow(plan->bytes, link->bytes, &sum) ? G_MAXSIZE : sum;
        node_at(plan, link->writer)->output_bindings[link->port].max_samples = link->max_samples;
    }
    return check_memory(plan, machine, error);
}
