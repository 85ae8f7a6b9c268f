/* SPDX-License-Identifier: BSD-3-Clause */
/* All combinations of the ways to run a graph's nodes, with what the planner puts between them. */
#include "tune-exhaust-space.h"

#include "rehearsal.h"

#include <string.h>

static const CtGraphNode *
node_at(const CtSpace *space, guint n)
{
    return g_ptr_array_index(space->planner->graph->nodes, n);
}

CtWay *
ct_space_way(const CtSpace *space, guint node, guint index)
{
    return g_ptr_array_index(space->ways[node], index);
}

/* ---- ways ---- */

static void
way_free(gpointer data)
{
    CtWay *way = data;
    g_free(way->in_spots);
    g_free(way->out_spots);
    g_free(way->refusal);
    g_free(way);
}

static guint
spot_index(GArray *spots, const CtLayout *layout, gint place)
{
    for (guint i = 0; i < spots->len; i++) {
        const CtSpot *other = &g_array_index(spots, CtSpot, i);
        if (other->place == place && ct_layout_equal(&other->layout, layout))
            return i;
    }
    const CtSpot spot = {*layout, place};
    g_array_append_val(spots, spot);
    return spots->len - 1;
}

static void
add_way(CtSpace *space, const CtArrangement *arrangement, const CtOffer *offer)
{
    const guint first = arrangement->nodes[0];
    const guint last = arrangement->nodes[arrangement->n_nodes - 1];
    const guint n_in = node_at(space, first)->node.n_inputs;
    const guint n_out = node_at(space, last)->node.n_outputs;
    CtWay *way = g_new0(CtWay, 1);
    way->arrangement = arrangement;
    way->offer = offer;
    way->in_spots = g_new0(guint, n_in + 1);
    way->out_spots = g_new0(guint, n_out + 1);
    for (guint i = 0; i < n_in; i++) {
        const gint outlet = space->input_outlets[first][i];
        if (outlet >= 0)
            way->in_spots[i] =
                spot_index(((CtPassage *)g_ptr_array_index(space->passages, (guint)outlet))->to,
                           &arrangement->inputs[i], arrangement->place);
    }
    for (guint o = 0; o < n_out; o++) {
        const gint outlet = space->output_outlets[last][o];
        if (outlet >= 0)
            way->out_spots[o] =
                spot_index(((CtPassage *)g_ptr_array_index(space->passages, (guint)outlet))->from,
                           &arrangement->outputs[o], arrangement->place);
    }
    g_ptr_array_add(space->ways[first], way);
}

/* ---- from spot to spot ---- */

static void
passage_free(gpointer data)
{
    CtPassage *passage = data;
    for (guint i = 0; passage->crossings && i < passage->from->len * passage->to->len; i++)
        g_ptr_array_unref(passage->crossings[i]);
    g_free(passage->crossings);
    g_array_unref(passage->from);
    g_array_unref(passage->to);
    g_free(passage);
}

static CtPassage *
passage_new(void)
{
    CtPassage *passage = g_new0(CtPassage, 1);
    passage->from = g_array_new(FALSE, FALSE, sizeof(CtSpot));
    passage->to = g_array_new(FALSE, FALSE, sizeof(CtSpot));
    return passage;
}

CtPart *
ct_space_step(CtSpace *space, guint outlet, const CtVariant *variant, const CtSpot *from,
              const CtSpot *to)
{
    g_autofree char *before = ct_layout_to_string(&from->layout);
    g_autofree char *after = ct_layout_to_string(&to->layout);
    g_autofree char *key = g_strdup_printf("%u %p %d %s %d %s", outlet, (const void *)variant,
                                           from->place, before, to->place, after);
    CtPart *part = g_hash_table_lookup(space->steps, key);
    if (!part) {
        part = g_new0(CtPart, 1);
        g_hash_table_insert(space->steps, g_steal_pointer(&key), part);
    }
    return part;
}

/* The ways from one spot to another, each as a row of steps. */
static GPtrArray *
crossing_new(CtSpace *space, guint outlet, const CtSpot *from, const CtSpot *to)
{
    const CtOutlet *given = g_ptr_array_index(space->outlets, outlet);
    const CtStream *stream = &node_at(space, given->node)->node.outputs[given->port];
    g_autoptr(GArray) bridges = ct_bridges_known(space->planner, stream, from, to);
    GPtrArray *crossing = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (guint b = 0; b < bridges->len; b++) {
        const CtBridge *bridge = &g_array_index(bridges, CtBridge, b);
        GArray *steps = g_array_new(FALSE, FALSE, sizeof(CtStepPart));
        CtSpot here = *from;
        for (guint s = 0; s < bridge->n_steps; s++) {
            const CtBridgeStep *step = &bridge->steps[s];
            const CtStepPart part = {ct_space_step(space, outlet, step->variant, &here, &step->to),
                                     step->cost};
            g_array_append_val(steps, part);
            here = step->to;
        }
        g_ptr_array_add(crossing, steps);
    }
    return crossing;
}

static void
find_crossings(CtSpace *space)
{
    for (guint o = 0; o < space->passages->len; o++) {
        CtPassage *passage = g_ptr_array_index(space->passages, o);
        const guint n_to = passage->to->len;
        passage->crossings = g_new(GPtrArray *, (gsize)passage->from->len * n_to + 1);
        for (guint i = 0; i < passage->from->len * n_to; i++)
            passage->crossings[i] =
                crossing_new(space, o, &g_array_index(passage->from, CtSpot, i / n_to),
                             &g_array_index(passage->to, CtSpot, i % n_to));
    }
}

/* ---- how many ---- */

static gboolean
is_counted(const CtWay *way, CtCount what)
{
    switch (what) {
    case CT_COUNT_LAYOUTS:
        return way->offer == &g_array_index(way->arrangement->offers, CtOffer, 0);
    case CT_COUNT_DIFFERENT:
        return !way->is_double;
    case CT_COUNT_RUNNING:
        return !way->is_double && !way->fails;
    default:
        return TRUE;
    }
}

gdouble
ct_space_count(const CtSpace *space, CtCount what)
{
    const GPtrArray *all = space->candidates->all;
    g_autofree gdouble *n_ways = g_new0(gdouble, all->len + 1);
    for (guint i = 0; i < all->len; i++) {
        const CtArrangement *arrangement = g_ptr_array_index(all, i);
        const GPtrArray *ways = space->ways[arrangement->nodes[0]];
        for (guint k = 0; k < ways->len; k++) {
            const CtWay *way = g_ptr_array_index(ways, k);
            n_ways[i] += way->arrangement == arrangement && is_counted(way, what);
        }
    }
    return ct_candidates_count(space->candidates, n_ways);
}

/* ---- combinations ---- */

static guint
find_way(const CtSpace *space, guint node, const CtArrangement *arrangement, const CtOffer *offer)
{
    guint i = 0;
    while (ct_space_way(space, node, i)->arrangement != arrangement ||
           ct_space_way(space, node, i)->offer != offer)
        i++;
    return i;
}

guint16 *
ct_space_planned(const CtSpace *space)
{
    guint16 *chosen = g_new(guint16, space->n_nodes + 1);
    for (guint n = 0; n < space->n_nodes; n++) {
        const CtArrangement *arrangement = space->choice->arrangements[n];
        chosen[n] = arrangement->nodes[0] != n
                        ? CT_COVERED
                        : (guint16)find_way(space, n, arrangement, space->choice->offers[n]);
    }
    return chosen;
}

static GBytes *
key_of(const CtSpace *space, const guint16 *chosen)
{
    return g_bytes_new(chosen, space->n_nodes * sizeof(*chosen));
}

void
ct_space_set_tried(CtSpace *space, const guint16 *chosen)
{
    g_hash_table_add(space->tried, key_of(space, chosen));
}

gboolean
ct_space_is_tried(const CtSpace *space, const guint16 *chosen)
{
    g_autoptr(GBytes) key = key_of(space, chosen);
    return g_hash_table_contains(space->tried, key);
}

/* ---- the space ---- */

static gboolean
flows_along_time(const CtNode *node)
{
    for (guint i = 0; i < node->n_inputs; i++)
        if (ct_node_input_flows(node, i) && ct_stream_axis(&node->inputs[i], "time") >= 0)
            return TRUE;
    for (guint o = 0; o < node->n_outputs; o++)
        if (node->outputs[o].type != CT_TYPE_NONE && ct_stream_axis(&node->outputs[o], "time") >= 0)
            return TRUE;
    return FALSE;
}

/* By itself, and nothing along time: whatever its way, it has run before anything counts. */
static gboolean
is_still(const CtSpace *space, guint n)
{
    for (guint i = 0; i < space->candidates->nodes[n]->len; i++)
        if (((const CtArrangement *)g_ptr_array_index(space->candidates->nodes[n], i))->n_nodes > 1)
            return FALSE;
    return !flows_along_time(&node_at(space, n)->node);
}

/* The planner's way, or of those that are replaced alike the first, stands for the others. */
static void
find_doubles(CtSpace *space)
{
    g_autofree guint16 *planned = ct_space_planned(space);
    for (guint n = 0; n < space->n_nodes; n++) {
        const gboolean still = is_still(space, n);
        const CtWay *chosen = planned[n] == CT_COVERED ? NULL : ct_space_way(space, n, planned[n]);
        const CtWay *first = NULL;
        for (guint i = 0; i < space->ways[n]->len; i++) {
            CtWay *way = ct_space_way(space, n, i);
            if (still)
                way->is_double = way != chosen;
            if (still || !ct_rehearsal_replaces(way->offer->variant))
                continue;
            if (chosen && way->arrangement == chosen->arrangement &&
                ct_rehearsal_replaces(chosen->offer->variant))
                first = chosen;
            else if (!first || first->arrangement != way->arrangement)
                first = way;
            way->is_double = way != first;
        }
    }
}

void
ct_space_leave_out(CtSpace *space, gdouble seconds)
{
    g_autofree guint16 *planned = ct_space_planned(space);
    for (guint n = 0; n < space->n_nodes; n++) {
        const CtWay *chosen = planned[n] == CT_COVERED ? NULL : ct_space_way(space, n, planned[n]);
        const CtWay *first = NULL;
        for (guint i = 0; i < space->ways[n]->len; i++) {
            CtWay *way = ct_space_way(space, n, i);
            if (way->is_double || way->part.n == 0 || way->part.least > seconds)
                continue;
            if (chosen && way->arrangement == chosen->arrangement && chosen->part.least <= seconds)
                first = chosen;
            else if (!first || first->arrangement != way->arrangement)
                first = way;
            way->is_double = way != first;
        }
    }
}

static void
find_outlets(CtSpace *space)
{
    for (guint n = 0; n < space->n_nodes; n++) {
        const CtNode *node = &node_at(space, n)->node;
        space->input_outlets[n] = g_new(gint, node->n_inputs + 1);
        space->output_outlets[n] = g_new(gint, node->n_outputs + 1);
        for (guint i = 0; i < node->n_inputs; i++)
            space->input_outlets[n][i] = -1;
        for (guint o = 0; o < node->n_outputs; o++)
            space->output_outlets[n][o] = -1;
    }
    for (guint o = 0; o < space->outlets->len; o++) {
        const CtOutlet *outlet = g_ptr_array_index(space->outlets, o);
        space->output_outlets[outlet->node][outlet->port] = (gint)o;
        for (guint r = 0; r < outlet->readers->len; r++) {
            const CtPlanReader *reader = &g_array_index(outlet->readers, CtPlanReader, r);
            space->input_outlets[reader->node][reader->port] = (gint)o;
        }
        g_ptr_array_add(space->passages, passage_new());
    }
}

gboolean
ct_space_init(CtSpace *space, CtPlanner *planner, GError **error)
{
    const guint n_nodes = planner->graph->nodes->len;
    *space = (CtSpace){
        .planner = planner,
        .outlets = ct_outlets_new(planner->graph),
        .n_nodes = n_nodes,
        .n_resources = ct_n_resources(&planner->machine),
        .ways = g_new0(GPtrArray *, n_nodes + 1),
        .input_outlets = g_new0(gint *, n_nodes + 1),
        .output_outlets = g_new0(gint *, n_nodes + 1),
        .passages = g_ptr_array_new_with_free_func(passage_free),
        .steps = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .tried =
            g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL),
    };
    ct_planner_keep_bridges(planner);
    find_outlets(space);
    for (guint n = 0; n < n_nodes; n++)
        space->ways[n] = g_ptr_array_new_with_free_func(way_free);
    space->candidates = ct_candidates_new(planner, error);
    if (!space->candidates)
        return FALSE;
    space->choice = ct_planner_choose(planner, space->candidates, space->outlets, error);
    if (!space->choice)
        return FALSE;
    for (guint i = 0; i < space->candidates->all->len; i++) {
        const CtArrangement *arrangement = g_ptr_array_index(space->candidates->all, i);
        for (guint k = 0; k < arrangement->offers->len; k++)
            add_way(space, arrangement, &g_array_index(arrangement->offers, CtOffer, k));
    }
    find_doubles(space);
    find_crossings(space);
    return TRUE;
}

void
ct_space_clear(CtSpace *space)
{
    for (guint n = 0; n < space->n_nodes; n++) {
        g_ptr_array_unref(space->ways[n]);
        g_free(space->input_outlets[n]);
        g_free(space->output_outlets[n]);
    }
    g_clear_pointer(&space->ways, g_free);
    g_clear_pointer(&space->input_outlets, g_free);
    g_clear_pointer(&space->output_outlets, g_free);
    g_clear_pointer(&space->passages, g_ptr_array_unref);
    g_clear_pointer(&space->steps, g_hash_table_unref);
    g_clear_pointer(&space->tried, g_hash_table_unref);
    g_clear_pointer(&space->choice, ct_choice_free);
    g_clear_pointer(&space->candidates, ct_candidates_free);
    g_clear_pointer(&space->outlets, g_ptr_array_unref);
}
