/* SPDX-License-Identifier: BSD-3-Clause */
/* All combinations of the ways to run a graph's nodes, with the conversions that the planner
 * inserts. */
#include "space.h"

#include "measure/dry-run.h"

#include <string.h>

static const CtGraphNode *
node_at(const CtSpace *space, guint n)
{
    return ct_graph_node(space->planner->graph, n);
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
    g_free(way->in_placements);
    g_free(way->out_placements);
    g_free(way->refusal);
    g_free(way);
}

static guint
placement_index(GArray *placements, const CtLayout *layout, gint place)
{
    for (guint i = 0; i < placements->len; i++) {
        const CtPlacement *other = &g_array_index(placements, CtPlacement, i);
        if (other->place == place && ct_layout_equal(&other->layout, layout))
            return i;
    }
    const CtPlacement placement = {*layout, place};
    g_array_append_val(placements, placement);
    return placements->len - 1;
}

static void
add_way(CtSpace *space, const CtCandidate *candidate, const CtImplementation *implementation)
{
    const guint first = candidate->nodes[0];
    const guint last = candidate->nodes[candidate->n_nodes - 1];
    const guint n_in = node_at(space, first)->node.n_inputs;
    const guint n_out = node_at(space, last)->node.n_outputs;
    CtWay *way = g_new0(CtWay, 1);
    way->candidate = candidate;
    way->implementation = implementation;
    way->in_placements = g_new0(guint, n_in + 1);
    way->out_placements = g_new0(guint, n_out + 1);
    for (guint i = 0; i < n_in; i++) {
        const gint fan_out = space->input_fan_outs[first][i];
        if (fan_out >= 0)
            way->in_placements[i] = placement_index(
                ((CtPassage *)g_ptr_array_index(space->passages, (guint)fan_out))->to,
                &candidate->inputs[i], candidate->place);
    }
    for (guint o = 0; o < n_out; o++) {
        const gint fan_out = space->output_fan_outs[last][o];
        if (fan_out >= 0)
            way->out_placements[o] = placement_index(
                ((CtPassage *)g_ptr_array_index(space->passages, (guint)fan_out))->from,
                &candidate->outputs[o], candidate->place);
    }
    g_ptr_array_add(space->ways[first], way);
}

/* ---- from placement to placement ---- */

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
    passage->from = g_array_new(FALSE, FALSE, sizeof(CtPlacement));
    passage->to = g_array_new(FALSE, FALSE, sizeof(CtPlacement));
    return passage;
}

CtPart *
ct_space_step(CtSpace *space, guint fan_out, const CtVariant *variant, const CtPlacement *from,
              const CtPlacement *to)
{
    g_autofree char *before = ct_layout_to_string(&from->layout);
    g_autofree char *after = ct_layout_to_string(&to->layout);
    g_autofree char *key = g_strdup_printf("%u %p %d %s %d %s", fan_out, (const void *)variant,
                                           from->place, before, to->place, after);
    CtPart *part = g_hash_table_lookup(space->steps, key);
    if (!part) {
        part = g_new0(CtPart, 1);
        g_hash_table_insert(space->steps, g_steal_pointer(&key), part);
    }
    return part;
}

/* The ways from one placement to another, each as a row of steps. */
static GPtrArray *
crossing_new(CtSpace *space, guint fan_out, const CtPlacement *from, const CtPlacement *to)
{
    const CtFanOut *given = g_ptr_array_index(space->fan_outs, fan_out);
    const CtStream *stream = &node_at(space, given->node)->node.outputs[given->port];
    g_autoptr(GArray) conversions = ct_conversions_known(space->planner, stream, from, to);
    GPtrArray *crossing = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (guint b = 0; b < conversions->len; b++) {
        const CtConversion *conversion = &g_array_index(conversions, CtConversion, b);
        GArray *steps = g_array_new(FALSE, FALSE, sizeof(CtStepPart));
        CtPlacement here = *from;
        for (guint s = 0; s < conversion->n_steps; s++) {
            const CtConversionStep *step = &conversion->steps[s];
            const CtStepPart part = {ct_space_step(space, fan_out, step->variant, &here, &step->to),
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
                crossing_new(space, o, &g_array_index(passage->from, CtPlacement, i / n_to),
                             &g_array_index(passage->to, CtPlacement, i % n_to));
    }
}

/* ---- how many ---- */

static gboolean
is_counted(const CtWay *way, CtCount what)
{
    switch (what) {
    case CT_COUNT_LAYOUTS:
        return way->implementation ==
               &g_array_index(way->candidate->implementations, CtImplementation, 0);
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
        const CtCandidate *candidate = g_ptr_array_index(all, i);
        const GPtrArray *ways = space->ways[candidate->nodes[0]];
        for (guint k = 0; k < ways->len; k++) {
            const CtWay *way = g_ptr_array_index(ways, k);
            n_ways[i] += way->candidate == candidate && is_counted(way, what);
        }
    }
    return ct_candidates_count(space->candidates, n_ways);
}

/* ---- combinations ---- */

static guint
find_way(const CtSpace *space, guint node, const CtCandidate *candidate,
         const CtImplementation *implementation)
{
    guint i = 0;
    while (ct_space_way(space, node, i)->candidate != candidate ||
           ct_space_way(space, node, i)->implementation != implementation)
        i++;
    return i;
}

guint16 *
ct_space_planned(const CtSpace *space)
{
    guint16 *chosen = g_new(guint16, space->n_nodes + 1);
    for (guint n = 0; n < space->n_nodes; n++) {
        const CtCandidate *candidate = space->choice->candidates[n];
        chosen[n] = candidate->nodes[0] != n
                        ? CT_COVERED
                        : (guint16)find_way(space, n, candidate, space->choice->implementations[n]);
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

/* Whether the node has no fused candidates and does nothing along time, so that it runs once,
 * before the measurement. */
static gboolean
is_still(const CtSpace *space, guint n)
{
    for (guint i = 0; i < space->candidates->nodes[n]->len; i++)
        if (((const CtCandidate *)g_ptr_array_index(space->candidates->nodes[n], i))->n_nodes > 1)
            return FALSE;
    return !flows_along_time(&node_at(space, n)->node);
}

/* Marks the ways that are the same as another one: of each group, the planner's way or the first
 * one represents the others. */
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
            if (still || !ct_dry_run_replaces(way->implementation->variant))
                continue;
            if (chosen && way->candidate == chosen->candidate &&
                ct_dry_run_replaces(chosen->implementation->variant))
                first = chosen;
            else if (!first || first->candidate != way->candidate)
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
            if (chosen && way->candidate == chosen->candidate && chosen->part.least <= seconds)
                first = chosen;
            else if (!first || first->candidate != way->candidate)
                first = way;
            way->is_double = way != first;
        }
    }
}

static void
find_fan_outs(CtSpace *space)
{
    for (guint n = 0; n < space->n_nodes; n++) {
        const CtNode *node = &node_at(space, n)->node;
        space->input_fan_outs[n] = g_new(gint, node->n_inputs + 1);
        space->output_fan_outs[n] = g_new(gint, node->n_outputs + 1);
        for (guint i = 0; i < node->n_inputs; i++)
            space->input_fan_outs[n][i] = -1;
        for (guint o = 0; o < node->n_outputs; o++)
            space->output_fan_outs[n][o] = -1;
    }
    for (guint o = 0; o < space->fan_outs->len; o++) {
        const CtFanOut *fan_out = g_ptr_array_index(space->fan_outs, o);
        space->output_fan_outs[fan_out->node][fan_out->port] = (gint)o;
        for (guint r = 0; r < fan_out->readers->len; r++) {
            const CtPlanReader *reader = &g_array_index(fan_out->readers, CtPlanReader, r);
            space->input_fan_outs[reader->node][reader->port] = (gint)o;
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
        .fan_outs = ct_fan_outs_new(planner->graph),
        .n_nodes = n_nodes,
        .n_resources = ct_n_resources(&planner->machine),
        .ways = g_new0(GPtrArray *, n_nodes + 1),
        .input_fan_outs = g_new0(gint *, n_nodes + 1),
        .output_fan_outs = g_new0(gint *, n_nodes + 1),
        .passages = g_ptr_array_new_with_free_func(passage_free),
        .steps = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .tried =
            g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL),
    };
    ct_planner_keep_conversions(planner);
    find_fan_outs(space);
    for (guint n = 0; n < n_nodes; n++)
        space->ways[n] = g_ptr_array_new_with_free_func(way_free);
    space->candidates = ct_candidates_new(planner, error);
    if (!space->candidates)
        return FALSE;
    space->choice = ct_planner_choose(planner, space->candidates, space->fan_outs, error);
    if (!space->choice)
        return FALSE;
    for (guint i = 0; i < space->candidates->all->len; i++) {
        const CtCandidate *candidate = g_ptr_array_index(space->candidates->all, i);
        for (guint k = 0; k < candidate->implementations->len; k++)
            add_way(space, candidate,
                    &g_array_index(candidate->implementations, CtImplementation, k));
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
        g_free(space->input_fan_outs[n]);
        g_free(space->output_fan_outs[n]);
    }
    g_clear_pointer(&space->ways, g_free);
    g_clear_pointer(&space->input_fan_outs, g_free);
    g_clear_pointer(&space->output_fan_outs, g_free);
    g_clear_pointer(&space->passages, g_ptr_array_unref);
    g_clear_pointer(&space->steps, g_hash_table_unref);
    g_clear_pointer(&space->tried, g_hash_table_unref);
    g_clear_pointer(&space->choice, ct_choice_free);
    g_clear_pointer(&space->candidates, ct_candidates_free);
    g_clear_pointer(&space->fan_outs, g_ptr_array_unref);
}
