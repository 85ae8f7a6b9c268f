/* SPDX-License-Identifier: BSD-3-Clause */
/* The length of stream that a firing on a device covers.
 *
 * All nodes on devices between which data flows without passing through the host fire over the
 * same number of ticks, so that each fires once for a block. This number makes the largest link a
 * block of the size aimed at, and is a multiple of the ticks of a sample on each link before the
 * sums, so that consecutive windows leave no remainder. */
#include "plan-queues.h"
#include "plan-sizes.h"

#include <math.h>

/* The least ratio of a firing's input to the sums or weights that it goes through as a whole, in
 * bytes; but no link may take more than this share of a device's memory. */
static const gdouble input_to_whole = 4;
static const gdouble largest_share = 1.0 / 64;

/* A firing may be at most this many times longer than aimed at to be such a multiple. */
static const gdouble most_to_round = 4;

/* The demands of one group of connected nodes. */
typedef struct {
    gdouble aimed;  /* ticks for which the largest link has the size aimed at */
    gdouble least;  /* ticks wanted because of sums and weights */
    gdouble most;   /* ticks that memory allows */
    gint64 unit;    /* the firing should be a multiple of these ticks; 0: they are too many */
    gint64 by_user; /* ticks of a source's `block`; 0: none is set */
} Wish;

static gint64
greatest_divisor(gint64 a, gint64 b)
{
    while (b != 0) {
        const gint64 rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

gint64
ct_least_multiple(gint64 a, gint64 b)
{
    gint64 product;
    if (a == 0 || b == 0 || __builtin_mul_overflow(a / greatest_divisor(a, b), b, &product))
        return 0;
    return product;
}

static gint64
ticks_of(const CtPlanLink *link)
{
    return MAX(1, link->stream->ticks_per_sample);
}

static gdouble
bytes_per_tick(const CtPlanLink *link)
{
    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
    const gsize bytes =
        ct_layout_strides(&link->layout, link->stream, link->granule, length, stride);
    return (gdouble)bytes / (gdouble)link->granule / (gdouble)ticks_of(link);
}

/* Whether data flows along time on the link, which is on a device. */
static gboolean
flows(const CtPlan *plan, const CtPlanLink *link)
{
    gboolean any = FALSE;
    for (guint r = 0; link->place != CT_HOST && r < link->readers->len; r++) {
        const CtPlanReader *reader = &g_array_index(link->readers, CtPlanReader, r);
        any |= ct_plan_flows(plan, ct_plan_node(plan, reader->node), reader->port);
    }
    return any;
}

static void
add_link(const CtPlan *plan, const CtMachine *machine, const CtPlanLink *link, Wish *wish)
{
    const gdouble bytes = MAX(bytes_per_tick(link), 1e-300);
    const gdouble memory = (gdouble)machine->devices[link->place].memory_bytes;
    wish->aimed = MIN(wish->aimed, (gdouble)machine->device_bytes / bytes);
    wish->most = MIN(wish->most, memory * largest_share / bytes);
    wish->unit = ct_least_multiple(wish->unit, ct_least_multiple(link->granule, ticks_of(link)));
    for (guint r = 0; r < link->readers->len; r++) {
        const CtPlanReader *reader = &g_array_index(link->readers, CtPlanReader, r);
        const CtPlanNode *node = ct_plan_node(plan, reader->node);
        const gsize whole =
            ct_plan_bytes_of_sums(plan, node) + ct_plan_bytes_of_statics(plan, node);
        if (ct_plan_flows(plan, node, reader->port))
            wish->least = MAX(wish->least, input_to_whole * (gdouble)whole / bytes);
    }
}

/* Marks the nodes that sum on a device, and those that follow them there: they make one sample in
 * many firings, however long the firings are. */
static gboolean *
find_summed(const CtPlan *plan)
{
    gboolean *is_summed = g_new0(gboolean, plan->nodes->len + 1);
    for (guint n = 0; n < plan->nodes->len; n++) {
        const CtPlanNode *node = ct_plan_node(plan, n);
        is_summed[n] = node->place != CT_HOST && node->footprint.kind == CT_FOOTPRINT_SUM;
        for (guint i = 0; i < node->n_inputs; i++) {
            const CtPlanLink *link =
                node->inputs[i] < 0 ? NULL : ct_plan_link(plan, node->inputs[i]);
            if (link && link->place != CT_HOST && ct_plan_flows(plan, node, i))
                is_summed[n] |= is_summed[link->writer];
        }
    }
    return is_summed;
}

/* The result of ct_graph_blocks, by node of the plan. */
static gint64 *
find_blocks(const CtPlan *plan)
{
    g_autofree gint64 *of_graph = ct_graph_blocks(plan->graph);
    gint64 *blocks = g_new0(gint64, plan->nodes->len + 1);
    for (guint n = 0; n < plan->nodes->len; n++) {
        guint index;
        if (g_ptr_array_find(plan->graph->nodes, ct_plan_node(plan, n)->graph_node, &index))
            blocks[n] = of_graph[index];
    }
    return blocks;
}

const CtPlanNode *
ct_plan_asked_block(const CtPlan *plan)
{
    g_autofree gint64 *blocks = find_blocks(plan);
    gboolean any = FALSE;
    for (guint n = 0; n < plan->nodes->len; n++)
        any |= ct_plan_node(plan, n)->place != CT_HOST && blocks[n] > 0;
    const CtPlanNode *longest = NULL;
    for (guint n = 0; n < plan->nodes->len && any; n++) {
        const CtPlanNode *node = ct_plan_node(plan, n);
        if (node->nodes[0].block > (longest ? longest->nodes[0].block : 0))
            longest = node;
    }
    return longest;
}

/* The ticks of a firing that only the length of the stream limits. */
static const gdouble longest = 0x1p60;

static gint64
choose(const Wish *wish, guint n_halvings)
{
    if (wish->by_user > 0)
        return MAX(1, n_halvings < 63 ? wish->by_user >> n_halvings : 0);
    const gdouble least = ldexp(MIN(wish->least, wish->most), -(int)n_halvings);
    const gdouble wanted = MAX(wish->aimed, least);
    const gint64 ticks = wanted < 1 ? 1 : wanted > longest ? (gint64)longest : (gint64)wanted;
    if (wish->unit > 0 && ticks >= wish->unit)
        return ticks / wish->unit * wish->unit;
    return wish->unit > 0 && (gdouble)wish->unit <= most_to_round * wanted ? wish->unit : ticks;
}

gint64 *
ct_plan_device_firings(const CtPlan *plan, const CtMachine *machine)
{
    const guint n = plan->nodes->len;
    gint64 *firing_ticks = g_new0(gint64, n + 1);
    g_autofree guint *components = ct_plan_components(plan, TRUE);
    g_autofree gint64 *blocks = find_blocks(plan);
    g_autofree gboolean *is_summed = find_summed(plan);
    g_autofree Wish *wishes = g_new(Wish, n + 1);
    for (guint i = 0; i < n; i++)
        wishes[i] = (Wish){.aimed = HUGE_VAL, .most = HUGE_VAL, .unit = 1};
    for (guint i = 0; i < n; i++) {
        if (ct_plan_node(plan, i)->place != CT_HOST)
            wishes[components[i]].by_user = MAX(wishes[components[i]].by_user, blocks[i]);
    }
    g_autofree gboolean *is_set = g_new0(gboolean, n + 1);
    for (guint l = 0; l < plan->links->len; l++) {
        const CtPlanLink *link = ct_plan_link(plan, l);
        if (!flows(plan, link) || is_summed[link->writer])
            continue;
        add_link(plan, machine, link, &wishes[components[link->writer]]);
        is_set[components[link->writer]] = TRUE;
    }
    for (guint l = 0; l < plan->links->len; l++) {
        const CtPlanLink *link = ct_plan_link(plan, l);
        if (flows(plan, link) && !is_set[components[link->writer]])
            add_link(plan, machine, link, &wishes[components[link->writer]]);
    }
    for (guint i = 0; i < n; i++) {
        if (ct_plan_node(plan, i)->place != CT_HOST)
            firing_ticks[i] = choose(&wishes[components[i]], machine->n_halvings);
    }
    return firing_ticks;
}
