/* SPDX-License-Identifier: BSD-3-Clause */
/* Skew: the samples that rings must hold so that ways that part and meet again never wait for one
 * another.
 *
 * The progress of a node is the tick of the first sample that it has not taken yet (for a source:
 * not given yet). If node n waits for data of link l from node u, then n is at least as far as u,
 * less a constant D(l) in ticks: the samples that n needs at once, those that u may have taken
 * without giving anything, and the offset between the ticks that u takes and gives. Each node n
 * gets a lag L(n), with
 *
 *     L(n) ≥ L(u) + D(l)    for all links l from u to n,
 *
 * so the sum "progress + lag" of a node that waits for data is at least that of the node it waits
 * for. If a ring holds a firing of its writer and the skew
 *
 *     S(l) = L(n) − L(u) + offset of u
 *
 * (less the offset of n if l is static, because a block is in effect by the ticks that n gives; if
 * this offset is positive, it adds to D(l))
 *
 * then the sum of a writer that waits for room is greater than that of the reader it waits for. So
 * nodes never wait in a circle: if one of them waited for room, its sum would be greater than
 * itself; if none did, all of them would wait for data, upstream without end. Nodes on a device
 * also wait for memory that links share; docs/planning.md#skew contains the whole proof.
 *
 * Any lags that fulfil this will do. The planner takes those for which the rings hold the fewest
 * bytes (lags.c). Sources may lag behind one another, so only ways from the same source need
 * rings. */
#include "lags.h"
#include "plan-sizes.h"

#include <math.h>

/* If clocks differ, ticks are counted in units of a tick of the fastest clock, divided by this. */
static const gdouble parts_of_tick = 1024;

/* Samples that the program feeds are in blocks of any length, and a window across two blocks must
 * be copied: a byte of skew there costs as much as this many elsewhere. */
static const gdouble cost_of_fed = 1e6;

typedef struct {
    const CtPlan *plan;
    gdouble fastest; /* clock, ticks per second; 0: all streams have the same */
    GArray *edges;   /* of CtLagEdge */
    GArray *nodes; /* of guint: the nodes, then, for each link with several readers, its writer: it
                      stands for a node that lags as much as the last of the readers */
} Ways;

static gdouble
clock_of(const CtStream *stream)
{
    return stream->rate_num > 0 ? (gdouble)stream->rate_num / (gdouble)stream->rate_den : 0;
}

/* The ticks of a sample of the stream. */
static gint64
ticks_of(const CtStream *stream)
{
    return MAX(1, stream->ticks_per_sample);
}

/* The duration of a sample in seconds, or in ticks where the stream has no clock. */
static gdouble
duration_of(const CtStream *stream)
{
    const gdouble rate = clock_of(stream);
    return (gdouble)ticks_of(stream) / (rate > 0 ? rate : 1);
}

/* ---- needs of a node ---- */

/* The first stream along time that leaves the node and is read; NULL: none is. */
static const CtStream *
output_stream(const CtPlan *plan, const CtPlanNode *node)
{
    for (guint i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] >= 0 && ct_stream_axis(node->output_bindings[i].stream, "time") >= 0)
            return ct_plan_link(plan, node->outputs[i])->stream;
    }
    return NULL;
}

gdouble
ct_plan_samples_each(const CtPlan *plan, const CtPlanNode *node, guint port)
{
    const CtStream *output = output_stream(plan, node);
    if (node->footprint.kind != CT_FOOTPRINT_OWN || !output)
        return (gdouble)node->footprint.hop;
    return duration_of(output) / duration_of(node->input_bindings[port].stream);
}

gint64
ct_plan_samples_seen(const CtPlan *plan, const CtPlanNode *node, guint port, gint64 made)
{
    const CtFootprint footprint = ct_plan_footprint(plan, node, port);
    const gdouble each = ct_plan_samples_each(plan, node, port);
    const gdouble before = ceil((gdouble)(made - 1) * each - 1e-9);
    /* Samples of other lengths need not begin together. */
    const gint64 one =
        MAX(footprint.window, footprint.hop) + (footprint.kind == CT_FOOTPRINT_OWN && each != 1);
    return before > 0x1p62 || one > ((gint64)1 << 62) ? G_MAXINT64 : (gint64)before + one;
}

CtFootprint
ct_plan_footprint(const CtPlan *plan, const CtPlanNode *node, guint port)
{
    CtFootprint footprint = node->footprint;
    const CtStream *output = output_stream(plan, node);
    if (footprint.kind != CT_FOOTPRINT_OWN || !output)
        return footprint;
    const gdouble ratio = ct_plan_samples_each(plan, node, port);
    footprint.hop = (gint64)CLAMP(floor(ratio + 1e-9), 1, 0x1p50);
    footprint.window = MAX(footprint.window, (gint64)CLAMP(ceil(ratio - 1e-9), 1, 0x1p50));
    return footprint;
}

gint64
ct_plan_needs(const CtPlan *plan, const CtPlanNode *node, guint port)
{
    if (!ct_plan_flows(plan, node, port) || !output_stream(plan, node))
        return 1;
    const CtFootprint footprint = ct_plan_footprint(plan, node, port);
    const gint64 granule = ct_plan_link(plan, node->inputs[port])->granule;
    const gint64 one =
        footprint.kind == CT_FOOTPRINT_SUM ? 1 : MAX(footprint.window, footprint.hop);
    gint64 before;
    if (__builtin_mul_overflow(node->granule - 1, footprint.hop, &before) ||
        __builtin_add_overflow(before, one - 1, &before) || before == G_MAXINT64)
        return G_MAXINT64;
    /* Samples come and go in whole blocks, so the remainder is whole blocks, too. */
    return before / granule * granule + 1;
}

/* ---- ticks ---- */

/* The common ticks of this many samples of the stream, within the range of lags. */
static gint64
common_ticks(const Ways *ways, const CtStream *stream, gdouble samples)
{
    const gdouble most = ldexp(1, CT_LAG_BITS - 2);
    gdouble ticks = samples * (gdouble)ticks_of(stream);
    if (ways->fastest > 0)
        ticks *= parts_of_tick * (clock_of(stream) > 0 ? ways->fastest / clock_of(stream) : 1);
    return (gint64)rint(CLAMP(ticks, -most, most));
}

/* The first input that has data along time; NULL: the node is a source. */
static const CtStream *
input_stream(const CtPlan *plan, const CtPlanNode *node)
{
    for (guint i = 0; i < node->n_inputs; i++) {
        if (ct_plan_flows(plan, node, i))
            return node->input_bindings[i].stream;
    }
    return NULL;
}

/* The ticks between a node's input and the output that it makes of it. */
static gint64
offset_of(const Ways *ways, const CtPlanNode *node)
{
    const CtStream *input = input_stream(ways->plan, node);
    if (!input || node->footprint.kind == CT_FOOTPRINT_SUM)
        return 0;
    return common_ticks(ways, input, (gdouble)node->footprint.offset);
}

/* The ticks by which a node's place in a link comes after its progress: blocks of a static input
 * are in effect by the ticks of the output. */
static gint64
shift_of(const Ways *ways, const CtPlanReader *reader)
{
    const CtPlanNode *node = ct_plan_node(ways->plan, reader->node);
    return ct_plan_flows(ways->plan, node, reader->port) ? 0 : offset_of(ways, node);
}

/* The ticks of input that a node may have taken without giving any output. */
static gint64
kept_by(const Ways *ways, const CtPlanNode *node)
{
    const CtStream *input = input_stream(ways->plan, node);
    if (!input || node->footprint.kind != CT_FOOTPRINT_SUM)
        return 0;
    return common_ticks(ways, input, (gdouble)node->footprint.hop - 1);
}

/* Whether a static stream has several blocks, of which its clock tells the one in effect. */
static gboolean
has_blocks(const CtPlan *plan, const CtPlanLink *link)
{
    return ct_stream_axis(link->stream, "time") >= 0 ||
           !ct_plan_is_source(plan, ct_plan_node(plan, link->writer));
}

/* The number of its own samples by which a stream begins after another one. */
static gdouble
samples_late(const CtStream *stream, const CtStream *other)
{
    const gdouble clock = clock_of(stream), others = clock_of(other);
    if (clock == others || clock == 0 || others == 0)
        return (gdouble)(stream->start - other->start) / (gdouble)ticks_of(stream);
    return ((gdouble)stream->start - (gdouble)other->start / others * clock) /
           (gdouble)ticks_of(stream);
}

/* The most ticks by which a reader that waits for data is ahead of the writer. */
static gint64
waits_ahead(const Ways *ways, const CtPlanLink *link, const CtPlanReader *reader)
{
    const CtPlan *plan = ways->plan;
    const CtPlanNode *writer = ct_plan_node(plan, link->writer),
                     *node = ct_plan_node(plan, reader->node);
    gint64 ahead;
    if (ct_plan_flows(plan, node, reader->port)) {
        const gint64 needs = ct_plan_needs(plan, node, reader->port);
        ahead = common_ticks(ways, link->stream, (gdouble)(needs - 1));
    } else {
        /* The reader needs the next block, too, and at the beginning the first two, however late
         * they are. The blocks of a source come without waiting. */
        const CtStream *input = input_stream(plan, node);
        const gboolean is_made = input && !ct_plan_is_source(plan, writer);
        const gdouble late = is_made ? MAX(0, samples_late(link->stream, input)) : 0;
        ahead = MAX(common_ticks(ways, link->stream, 1 + late),
                    common_ticks(ways, link->stream, 1) + shift_of(ways, reader));
    }
    return ahead + kept_by(ways, writer) - offset_of(ways, writer);
}

/* ---- edges ---- */

static gboolean
counts(const CtPlan *plan, const CtPlanLink *link, const CtPlanReader *reader)
{
    return ct_plan_flows(plan, ct_plan_node(plan, reader->node), reader->port) ||
           has_blocks(plan, link);
}

static void
add_edge(Ways *ways, guint from, guint to, gint64 least, gdouble weight)
{
    const CtLagEdge edge = {from, to, least, weight};
    g_array_append_val(ways->edges, edge);
}

/* Adds the edges of a link. A link holds as much as its last reader lags; where there are several
 * readers, an additional node lags as much as the last of them. */
static void
add_link(Ways *ways, guint l)
{
    const CtPlan *plan = ways->plan;
    const CtPlanLink *link = ct_plan_link(plan, l);
    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
    const gsize bytes =
        ct_layout_strides(&link->layout, link->stream, link->granule, length, stride);
    gdouble weight = (gdouble)bytes / (gdouble)link->granule /
                     (gdouble)MAX(1, common_ticks(ways, link->stream, 1));
    if (!ct_plan_node(plan, link->writer)->variant->work)
        weight *= cost_of_fed;
    const gboolean is_shared = link->readers->len > 1;
    const guint last = ways->nodes->len;
    gint64 most = G_MININT64;
    if (is_shared)
        g_array_append_val(ways->nodes, link->writer);
    for (guint r = 0; r < link->readers->len; r++) {
        const CtPlanReader *reader = &g_array_index(link->readers, CtPlanReader, r);
        if (!counts(plan, link, reader))
            continue;
        const gint64 ahead = waits_ahead(ways, link, reader), shift = shift_of(ways, reader);
        most = MAX(most, ahead - shift);
        add_edge(ways, link->writer, reader->node, ahead, is_shared ? 0 : weight);
        if (is_shared)
            add_edge(ways, reader->node, last, -shift, 0);
    }
    if (is_shared && most > G_MININT64)
        add_edge(ways, link->writer, last, most, weight);
}

static void
find_fastest(Ways *ways)
{
    gdouble least = HUGE_VAL, most = 0;
    for (guint l = 0; l < ways->plan->links->len; l++) {
        const gdouble rate = clock_of(ct_plan_link(ways->plan, l)->stream);
        least = rate > 0 ? MIN(least, rate) : least;
        most = MAX(most, rate);
    }
    ways->fastest = least < most ? most : 0;
}

/* ---- skew ---- */

/* The samples of a link that wait for a reader that lags by this many ticks. */
static gint64
samples_in(const Ways *ways, const CtPlanLink *link, const CtPlanReader *reader, gint64 ticks)
{
    const CtPlan *plan = ways->plan;
    const CtPlanNode *node = ct_plan_node(plan, reader->node);
    const gint64 of_sample = MAX(1, common_ticks(ways, link->stream, 1));
    gint64 samples = MAX(0, ticks) / of_sample;
    /* The block in effect and those after it. */
    if (!ct_plan_flows(plan, node, reader->port))
        return 1 + samples + (MAX(0, ticks) % of_sample > 0);
    /* The reader may keep a sample that lasts longer than those that it makes; and ticks may have
     * been rounded. */
    const CtStream *output = output_stream(plan, node);
    if (ways->fastest > 0 || (node->footprint.kind == CT_FOOTPRINT_OWN && output &&
                              duration_of(output) != duration_of(link->stream)))
        samples++;
    return samples;
}

/* "late > both < sky": the nodes of the circle, beginning with the link's writer; > goes with the
 * stream, < against it. NULL: the ways do not meet. */
static char *
describe_circle(const Ways *ways, const gboolean *in_forest, const CtPlanLink *link, guint reader)
{
    const CtPlan *plan = ways->plan;
    const CtLagEdge *edges = (const CtLagEdge *)(gpointer)ways->edges->data;
    guint length;
    g_autofree guint *way = ct_lags_way(ways->nodes->len, edges, ways->edges->len, in_forest,
                                        reader, link->writer, &length);
    g_autoptr(GString) text = g_string_new(NULL);
    guint before = reader;
    for (guint k = 0; way && k < length; k++) {
        const guint node = g_array_index(ways->nodes, guint, way[k]);
        if (node == link->writer)
            break;
        /* Each node comes after those that feed it. */
        if (node != before)
            g_string_append_printf(text, " %c %s", node > before ? '>' : '<',
                                   ct_plan_node(plan, node)->name);
        before = node;
    }
    return text->len == 0 ? NULL
                          : g_strdup_printf("%s > %s%s", ct_plan_node(plan, link->writer)->name,
                                            ct_plan_node(plan, reader)->name, text->str);
}

static void
set_skew(const Ways *ways, const gint64 *lags, const gboolean *in_forest, CtPlanLink *link)
{
    const CtPlan *plan = ways->plan;
    const CtPlanNode *writer = ct_plan_node(plan, link->writer);
    gint64 left = 0;
    guint last = link->writer;
    link->skew = 0;
    for (guint r = 0; r < link->readers->len; r++) {
        const CtPlanReader *reader = &g_array_index(link->readers, CtPlanReader, r);
        if (!counts(plan, link, reader))
            continue;
        const gint64 ticks = lags[reader->node] - lags[link->writer] + offset_of(ways, writer) -
                             shift_of(ways, reader);
        const gint64 samples = samples_in(ways, link, reader, ticks);
        left = MAX(left, ct_plan_needs(plan, ct_plan_node(plan, reader->node), reader->port) - 1);
        if (samples > link->skew) {
            link->skew = samples;
            last = reader->node;
        }
    }
    g_clear_pointer(&link->circle, g_free);
    if (link->skew > left)
        link->circle = describe_circle(ways, in_forest, link, last);
}

void
ct_plan_find_skew(CtPlan *plan)
{
    Ways ways = {
        .plan = plan,
        .edges = g_array_new(FALSE, FALSE, sizeof(CtLagEdge)),
        .nodes = g_array_new(FALSE, FALSE, sizeof(guint)),
    };
    for (guint n = 0; n < plan->nodes->len; n++)
        g_array_append_val(ways.nodes, n);
    find_fastest(&ways);
    for (guint l = 0; l < plan->links->len; l++)
        add_link(&ways, l);
    g_autofree gboolean *in_forest = g_new0(gboolean, ways.edges->len + 1);
    g_autofree gint64 *lags = ct_lags_new(
        ways.nodes->len, (const CtLagEdge *)(gpointer)ways.edges->data, ways.edges->len, in_forest);
    for (guint l = 0; l < plan->links->len; l++)
        set_skew(&ways, lags, in_forest, ct_plan_link(plan, l));
    g_array_unref(ways.edges);
    g_array_unref(ways.nodes);
}
