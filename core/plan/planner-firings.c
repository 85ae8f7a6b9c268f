/* SPDX-License-Identifier: BSD-3-Clause */
/* The sizes of firings that follow from the graph alone, before there is a plan; estimates use
 * them.
 *
 * A source's `block` is as many ticks everywhere behind it. The output of a node in the host's
 * memory leaves the caches where its reader waits for many samples and goes through them at once:
 * readers that carry on a sum, go through weights as a whole, or take blocks to a device. This is
 * assumed whatever is inserted between the two: a transpose would read at once, and writing its
 * input would be a little cheaper than estimated. */
#include "planner-firings.h"

#include "choose.h"
#include "planner-variants.h"
#include "planner.h"

/* The sizes for one stream. */
typedef struct {
    gint64 block;        /* ticks; 0: nothing */
    gdouble block_bytes; /* bytes of the block */
    gboolean is_own;     /* the source writes the stream */
    gint64 held;         /* samples */
} Firing;

static gdouble
aim_of(const CtPlanner *planner)
{
    return (gdouble)ct_machine_aim(&planner->machine, planner->options->cache_bytes);
}

static gboolean
has_time(const CtStream *stream)
{
    return stream->type != CT_TYPE_NONE && ct_stream_axis(stream, "time") >= 0;
}

static gdouble
sample_bytes(const CtStream *stream)
{
    return (gdouble)ct_type_info(stream->type)->bytes * (gdouble)ct_stream_width(stream);
}

static Firing *
firing_at(CtPlanner *planner, const CtStream *stream)
{
    Firing *firing = g_hash_table_lookup(planner->firings, stream);
    if (!firing) {
        firing = g_new0(Firing, 1);
        g_hash_table_insert(planner->firings, (gpointer)stream, firing);
    }
    return firing;
}

/* ---- blocks ---- */

static void
note_block(CtPlanner *planner, const CtStream *stream, gint64 ticks, gboolean is_own)
{
    Firing *firing = firing_at(planner, stream);
    firing->block = ticks;
    firing->block_bytes =
        (gdouble)ticks / (gdouble)MAX(1, stream->ticks_per_sample) * sample_bytes(stream);
    firing->is_own = is_own;
}

static void
find_blocks(CtPlanner *planner)
{
    g_autofree gint64 *blocks = ct_graph_blocks(planner->graph);
    for (guint n = 0; n < planner->graph->nodes->len; n++) {
        const CtGraphNode *node = ct_graph_node(planner->graph, n);
        const gboolean is_source = ct_node_source_output(&node->node) >= 0;
        for (guint i = 0; i < node->node.n_inputs && blocks[n] > 0; i++) {
            if (node->from[i].node < 0 || !ct_node_input_streams(&node->node, i))
                continue;
            const CtNode *writer = &ct_graph_node(planner->graph, (guint)node->from[i].node)->node;
            note_block(planner, &node->node.inputs[i], blocks[n],
                       ct_node_source_output(writer) >= 0);
        }
        for (guint o = 0; o < node->node.n_outputs && blocks[n] > 0; o++)
            if (has_time(&node->node.outputs[o]))
                note_block(planner, &node->node.outputs[o], blocks[n], is_source);
    }
}

gint64
ct_planner_block(const CtPlanner *planner, const CtStream *stream, gint place)
{
    const Firing *firing = g_hash_table_lookup(planner->firings, stream);
    const guint n_halvings = planner->machine.n_halvings;
    if (!firing || firing->block == 0)
        return 0;
    if (place != CT_HOST)
        return MAX(1, n_halvings < 63 ? firing->block >> n_halvings : 0);
    return firing->is_own || firing->block_bytes < aim_of(planner) ? firing->block : 0;
}

/* ---- readers that go through many samples at once ---- */

/* Whether the node can run on devices only. */
static gboolean
is_of_device(const CtPlanner *planner, const CtGraphNode *node)
{
    const GPtrArray *variants = ct_registry_variants(planner->registry, node->node.stage->name);
    gboolean any = FALSE;
    for (guint v = 0; v < variants->len; v++) {
        const CtVariant *variant = g_ptr_array_index(variants, v);
        if (!ct_planner_leaves(planner, node, variant, NULL))
            continue;
        if (variant->backend != CT_CUDA)
            return FALSE;
        any = TRUE;
    }
    return any;
}

/* The most samples of an input that a firing on the host goes through because of a sum or static
 * inputs; 0 without these, as a firing is then about as large as the caches. */
static gdouble
held_on_host(const CtPlanner *planner, const CtNode *reader, guint input, const gboolean *is_read)
{
    gdouble sums = 0, static_bytes = 0;
    for (guint o = 0; o < reader->n_outputs && reader->footprint.kind == CT_FOOTPRINT_SUM; o++)
        sums += is_read[o] ? sample_bytes(&reader->outputs[o]) : 0;
    for (guint i = 0; i < reader->n_inputs; i++)
        if (ct_node_input_flows(reader, i) && ct_node_input_port(reader, i)->flags & CT_PORT_STATIC)
            static_bytes += sample_bytes(&reader->inputs[i]);
    gdouble samples =
        MAX(CT_INPUT_TO_SUM * sums, static_bytes) / sample_bytes(&reader->inputs[input]);
    for (guint o = 0; o < reader->n_outputs; o++) {
        if (!is_read[o] || !has_time(&reader->outputs[o]))
            continue;
        const gdouble made = MAX(aim_of(planner), static_bytes) / sample_bytes(&reader->outputs[o]);
        samples = MIN(samples, MAX(1, made) * (gdouble)reader->footprint.hop);
    }
    return samples;
}

/* The samples of a block that goes to a device. */
static gdouble
held_for_device(CtPlanner *planner, const CtStream *stream)
{
    const gint64 block = firing_at(planner, stream)->block;
    return block > 0 ? (gdouble)block / (gdouble)MAX(1, stream->ticks_per_sample)
                     : (gdouble)planner->machine.device_bytes / sample_bytes(stream);
}

static void
find_held(CtPlanner *planner, const GPtrArray *fan_outs)
{
    g_autofree gboolean **is_read = g_new0(gboolean *, planner->graph->nodes->len + 1);
    for (guint n = 0; n < planner->graph->nodes->len; n++)
        is_read[n] = g_new0(gboolean, ct_graph_node(planner->graph, n)->node.n_outputs + 1);
    for (guint k = 0; k < fan_outs->len; k++) {
        const CtFanOut *fan_out = g_ptr_array_index(fan_outs, k);
        is_read[fan_out->node][fan_out->port] = TRUE;
    }
    for (guint k = 0; k < fan_outs->len; k++) {
        const CtFanOut *fan_out = g_ptr_array_index(fan_outs, k);
        const CtStream *stream =
            &ct_graph_node(planner->graph, fan_out->node)->node.outputs[fan_out->port];
        gdouble held = 0;
        if (!has_time(stream))
            continue;
        for (guint r = 0; r < fan_out->readers->len; r++) {
            const CtPlanReader *reader = &g_array_index(fan_out->readers, CtPlanReader, r);
            const CtGraphNode *node = ct_graph_node(planner->graph, reader->node);
            if (!ct_node_input_streams(&node->node, reader->port))
                continue;
            held = MAX(held, is_of_device(planner, node)
                                 ? held_for_device(planner, stream)
                                 : held_on_host(planner, &node->node, reader->port,
                                                is_read[reader->node]));
        }
        const gint64 length = stream->axes[ct_stream_axis(stream, "time")].length;
        held = length < 0 ? held : MIN(held, (gdouble)length);
        if (held * sample_bytes(stream) > aim_of(planner))
            firing_at(planner, stream)->held = (gint64)MIN(held, 0x1p60);
    }
    for (guint n = 0; n < planner->graph->nodes->len; n++)
        g_free(is_read[n]);
}

gint64
ct_planner_held(const CtPlanner *planner, const CtStream *stream, gint place)
{
    const Firing *firing = g_hash_table_lookup(planner->firings, stream);
    return firing && place == CT_HOST ? firing->held : 0;
}

void
ct_planner_find_firings(CtPlanner *planner)
{
    g_autoptr(GPtrArray) fan_outs = ct_fan_outs_new(planner->graph);
    planner->firings = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    find_blocks(planner);
    find_held(planner, fan_outs);
}
