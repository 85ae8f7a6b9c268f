/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of an arrangement for every node, so that all of them and what must stand between them
 * cost the least.
 *
 * Each node is a variable whose choices are its arrangements; an arrangement over several nodes is
 * a choice of each of them, and its pairs forbid that it be chosen for some only. A link with one
 * reader is a pair, at the cost of the bridge between the two layouts. Readers of one output share
 * what is inserted: the outlet becomes a variable of its own, whose choices are the sets of layouts
 * that are made. The writer pays for the set, and a reader may only have a layout that is in it. */
#include "planner.h"
#include "solve.h"

#include <math.h>

/* Sets of layouts of an outlet: beyond, larger sets are left out. */
enum { MAX_SETS = 512 };

static void
outlet_free(gpointer data)
{
    CtOutlet *outlet = data;
    g_array_unref(outlet->readers);
    g_free(outlet);
}

GPtrArray *
ct_outlets_new(const CtGraph *graph)
{
    GPtrArray *outlets = g_ptr_array_new_with_free_func(outlet_free);
    g_autofree GPtrArray **of_node = g_new(GPtrArray *, graph->nodes->len + 1);
    for (guint n = 0; n < graph->nodes->len; n++) {
        const CtGraphNode *node = g_ptr_array_index(graph->nodes, n);
        of_node[n] = g_ptr_array_new();
        for (guint p = 0; p < node->node.n_outputs; p++) {
            CtOutlet *outlet = g_new0(CtOutlet, 1);
            outlet->node = n;
            outlet->port = p;
            outlet->readers = g_array_new(FALSE, FALSE, sizeof(CtPlanReader));
            g_ptr_array_add(of_node[n], outlet);
        }
        for (guint i = 0; i < node->node.n_inputs; i++) {
            if (node->from[i].node < 0 || !ct_node_input_flows(&node->node, i))
                continue;
            const CtPlanReader reader = {n, i};
            CtOutlet *outlet = g_ptr_array_index(of_node[node->from[i].node], node->from[i].port);
            g_array_append_val(outlet->readers, reader);
        }
    }
    for (guint n = 0; n < graph->nodes->len; n++) {
        for (guint p = 0; p < of_node[n]->len; p++) {
            CtOutlet *outlet = g_ptr_array_index(of_node[n], p);
            if (outlet->readers->len > 0)
                g_ptr_array_add(outlets, outlet);
            else
                outlet_free(outlet);
        }
        g_ptr_array_unref(of_node[n]);
    }
    return outlets;
}

typedef struct {
    CtPlanner *planner;
    const CtCandidates *candidates;
    CtSolver *solver; /* its first variables are the graph's nodes */
} Choice;

static const CtGraphNode *
node_at(const Choice *choice, guint i)
{
    return g_ptr_array_index(choice->planner->graph->nodes, i);
}

static guint
n_arrangements(const Choice *choice, guint node)
{
    return choice->candidates->nodes[node]->len;
}

static const CtArrangement *
arrangement_at(const Choice *choice, guint node, guint i)
{
    return g_ptr_array_index(choice->candidates->nodes[node], i);
}

/* The layout that node `node` writes, NULL where the output stays inside the arrangement. */
static const CtLayout *
written(const CtArrangement *arrangement, guint node, guint port)
{
    return arrangement->nodes[arrangement->n_nodes - 1] == node ? &arrangement->outputs[port]
                                                                : NULL;
}

static const CtLayout *
wanted(const CtArrangement *arrangement, guint node, guint port)
{
    return arrangement->nodes[0] == node ? &arrangement->inputs[port] : NULL;
}

/* Adds `layout` to the different ones and returns its index. */
static guint
layout_index(GArray *layouts, const CtLayout *layout)
{
    for (guint i = 0; i < layouts->len; i++) {
        if (ct_layout_equal(&g_array_index(layouts, CtLayout, i), layout))
            return i;
    }
    g_array_append_val(layouts, *layout);
    return layouts->len - 1;
}

/* Indices in `layouts` of what each arrangement of a node has at a port; −1: nothing there. */
static gint *
port_indices(const Choice *choice, guint node, guint port, gboolean writes, GArray *layouts)
{
    gint *indices = g_new(gint, n_arrangements(choice, node) + 1);
    for (guint i = 0; i < n_arrangements(choice, node); i++) {
        const CtArrangement *arrangement = arrangement_at(choice, node, i);
        const CtLayout *layout =
            writes ? written(arrangement, node, port) : wanted(arrangement, node, port);
        indices[i] = layout ? (gint)layout_index(layouts, layout) : -1;
    }
    return indices;
}

/* Bridges [written][wanted]. */
static CtBridge *
find_bridges(const Choice *choice, const CtStream *stream, const GArray *from, const GArray *to)
{
    CtBridge *bridges = g_new(CtBridge, (gsize)from->len * to->len + 1);
    for (guint w = 0; w < from->len; w++) {
        for (guint r = 0; r < to->len; r++)
            ct_bridge_find(&bridges[w * to->len + r], choice->planner, stream,
                           &g_array_index(from, CtLayout, w), &g_array_index(to, CtLayout, r));
    }
    return bridges;
}

/* A link that joins no more than two nodes: the bridge, or nothing inside an arrangement of both.
 */
static void
add_link(Choice *choice, const CtOutlet *outlet)
{
    const CtPlanReader *reader = &g_array_index(outlet->readers, CtPlanReader, 0);
    const CtStream *stream = &node_at(choice, outlet->node)->node.outputs[outlet->port];
    g_autoptr(GArray) from = g_array_new(FALSE, FALSE, sizeof(CtLayout));
    g_autoptr(GArray) to = g_array_new(FALSE, FALSE, sizeof(CtLayout));
    g_autofree gint *writes = port_indices(choice, outlet->node, outlet->port, TRUE, from);
    g_autofree gint *reads = port_indices(choice, reader->node, reader->port, FALSE, to);
    g_autofree CtBridge *bridges = find_bridges(choice, stream, from, to);

    const guint n_writes = n_arrangements(choice, outlet->node);
    const guint n_reads = n_arrangements(choice, reader->node);
    gdouble *costs = g_new(gdouble, (gsize)n_writes * n_reads);
    for (guint w = 0; w < n_writes; w++) {
        for (guint r = 0; r < n_reads; r++) {
            gdouble *cost = &costs[w * n_reads + r];
            if (writes[w] >= 0 && reads[r] >= 0)
                *cost = bridges[writes[w] * to->len + reads[r]].seconds;
            else
                *cost = arrangement_at(choice, outlet->node, w) ==
                                arrangement_at(choice, reader->node, r)
                            ? 0
                            : HUGE_VAL;
        }
    }
    ct_solver_add_pair(choice->solver, outlet->node, reader->node, costs);
}

/* The subsets of n layouts, as bits, the smallest first: all of one size or none. */
static GArray *
list_sets(guint n, guint largest, gboolean *all)
{
    GArray *sets = g_array_new(FALSE, FALSE, sizeof(guint64));
    *all = TRUE;
    for (guint size = 1; size <= MIN(n, largest); size++) {
        gdouble count = 1;
        for (guint k = 0; k < size; k++)
            count = count * (n - k) / (k + 1);
        if (sets->len + count > MAX_SETS && sets->len > 0) {
            *all = FALSE;
            break;
        }
        guint64 set = (G_GUINT64_CONSTANT(1) << size) - 1;
        while (set >> n == 0) {
            g_array_append_val(sets, set);
            const guint64 low = set & -set, ripple = set + low;
            set = ripple | ((set ^ ripple) >> 2) / low;
        }
    }
    return sets;
}

/* What it costs to make all layouts of `set` from one: a step that two bridges begin with is made
 * once. */
static gdouble
cost_of_set(const CtBridge *bridges, const CtStream *stream, guint n, guint64 set)
{
    gdouble sum = 0;
    for (guint r = 0; r < n; r++) {
        if (!(set >> r & 1))
            continue;
        const CtBridge *bridge = &bridges[r];
        if (bridge->seconds == HUGE_VAL)
            return HUGE_VAL;
        gboolean shared = FALSE;
        for (guint q = 0; q < r && bridge->n_steps > 0 && !shared; q++)
            shared = set >> q & 1 && bridges[q].n_steps > 0 &&
                     ct_layout_same_memory(&bridges[q].steps[0].to, &bridge->steps[0].to, stream);
        for (guint k = shared; k < bridge->n_steps; k++)
            sum += bridge->steps[k].seconds;
    }
    return sum;
}

/* An outlet with several readers. Returns whether all sets that could be the best are looked at. */
static gboolean
add_fan(Choice *choice, const CtOutlet *outlet)
{
    const CtStream *stream = &node_at(choice, outlet->node)->node.outputs[outlet->port];
    const guint n_readers = outlet->readers->len;
    g_autoptr(GArray) from = g_array_new(FALSE, FALSE, sizeof(CtLayout));
    g_autoptr(GArray) to = g_array_new(FALSE, FALSE, sizeof(CtLayout));
    g_autofree gint *writes = port_indices(choice, outlet->node, outlet->port, TRUE, from);
    g_autoptr(GPtrArray) reads = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < n_readers; i++) {
        const CtPlanReader *reader = &g_array_index(outlet->readers, CtPlanReader, i);
        g_ptr_array_add(reads, port_indices(choice, reader->node, reader->port, FALSE, to));
    }
    g_autofree CtBridge *bridges = find_bridges(choice, stream, from, to);
    gboolean all;
    g_autoptr(GArray) sets = list_sets(MIN(to->len, 60), n_readers, &all);
    all &= to->len <= 60;

    g_autofree gdouble *free_of_charge = g_new0(gdouble, sets->len);
    const guint variable = ct_solver_add_variable(choice->solver, sets->len, free_of_charge);
    const guint n_writes = n_arrangements(choice, outlet->node);
    g_autofree gdouble *of_layout = g_new(gdouble, (gsize)from->len * sets->len + 1);
    for (guint w = 0; w < from->len; w++) {
        for (guint s = 0; s < sets->len; s++)
            of_layout[w * sets->len + s] = cost_of_set(
                &bridges[w * to->len], stream, MIN(to->len, 60), g_array_index(sets, guint64, s));
    }
    gdouble *costs = g_new(gdouble, (gsize)n_writes * sets->len);
    for (guint w = 0; w < n_writes; w++) {
        for (guint s = 0; s < sets->len; s++)
            costs[w * sets->len + s] =
                writes[w] >= 0 ? of_layout[writes[w] * sets->len + s] : HUGE_VAL;
    }
    ct_solver_add_pair(choice->solver, outlet->node, variable, costs);

    for (guint i = 0; i < n_readers; i++) {
        const CtPlanReader *reader = &g_array_index(outlet->readers, CtPlanReader, i);
        const gint *indices = g_ptr_array_index(reads, i);
        const guint n_reads = n_arrangements(choice, reader->node);
        costs = g_new(gdouble, (gsize)n_reads * sets->len);
        for (guint r = 0; r < n_reads; r++) {
            for (guint s = 0; s < sets->len; s++) {
                const guint64 set = g_array_index(sets, guint64, s);
                costs[r * sets->len + s] =
                    indices[r] >= 0 && indices[r] < 60 && set >> indices[r] & 1 ? 0 : HUGE_VAL;
            }
        }
        ct_solver_add_pair(choice->solver, reader->node, variable, costs);
    }
    return all;
}

static void
add_nodes(Choice *choice)
{
    for (guint n = 0; n < choice->candidates->n_nodes; n++) {
        g_autofree gdouble *costs = g_new(gdouble, n_arrangements(choice, n) + 1);
        for (guint i = 0; i < n_arrangements(choice, n); i++) {
            const CtArrangement *arrangement = arrangement_at(choice, n, i);
            costs[i] = arrangement->nodes[0] == n ? arrangement->seconds : 0;
        }
        ct_solver_add_variable(choice->solver, n_arrangements(choice, n), costs);
    }
}

/* Names a link over which no two arrangements meet. */
static gboolean
report_stuck(Choice *choice, const GPtrArray *outlets, GError **error)
{
    for (guint o = 0; o < outlets->len; o++) {
        const CtOutlet *outlet = g_ptr_array_index(outlets, o);
        const CtGraphNode *writer = node_at(choice, outlet->node);
        for (guint i = 0; i < outlet->readers->len; i++) {
            const CtPlanReader *reader = &g_array_index(outlet->readers, CtPlanReader, i);
            const CtGraphNode *node = node_at(choice, reader->node);
            g_autoptr(GArray) from = g_array_new(FALSE, FALSE, sizeof(CtLayout));
            g_autoptr(GArray) to = g_array_new(FALSE, FALSE, sizeof(CtLayout));
            g_free(port_indices(choice, outlet->node, outlet->port, TRUE, from));
            g_free(port_indices(choice, reader->node, reader->port, FALSE, to));
            g_autofree CtBridge *bridges =
                find_bridges(choice, &writer->node.outputs[outlet->port], from, to);
            gboolean meets = FALSE;
            for (guint b = 0; b < from->len * to->len; b++)
                meets |= bridges[b].seconds < HUGE_VAL;
            if (meets || from->len == 0 || to->len == 0)
                continue;
            g_autofree char *given = ct_layout_to_string(&g_array_index(from, CtLayout, 0));
            g_autofree char *wants = ct_layout_to_string(&g_array_index(to, CtLayout, 0));
            return ct_graph_error(node, &node->from[reader->port].place, CT_ERROR_LAYOUT, error,
                                  "port '%s' wants %s, but is given %s by '%s', and no transpose "
                                  "or conversion that is installed leads there",
                                  ct_node_input_port(&node->node, reader->port)->name, wants, given,
                                  writer->config->name);
        }
    }
    g_set_error(error, CT_ERROR, CT_ERROR_LAYOUT,
                "no choice of variants and layouts suits all nodes of the graph at once");
    return FALSE;
}

gboolean
ct_planner_choose(CtPlanner *planner, const CtCandidates *candidates, const GPtrArray *outlets,
                  const CtArrangement **chosen, gboolean *exact, gdouble *seconds, GError **error)
{
    g_autoptr(CtSolver) solver = ct_solver_new();
    Choice choice = {planner, candidates, solver};
    add_nodes(&choice);
    gboolean all = TRUE;
    guint n_variables = candidates->n_nodes;
    for (guint o = 0; o < outlets->len; o++) {
        const CtOutlet *outlet = g_ptr_array_index(outlets, o);
        if (outlet->readers->len == 1) {
            add_link(&choice, outlet);
        } else {
            all &= add_fan(&choice, outlet);
            n_variables++;
        }
    }
    g_autofree guint *choices = g_new0(guint, n_variables + 1);
    const gdouble sum = ct_solver_run(solver, CT_SOLVER_ENTRIES, choices, exact);
    if (sum == HUGE_VAL)
        return report_stuck(&choice, outlets, error);
    *exact &= all;
    *seconds = sum;
    for (guint n = 0; n < candidates->n_nodes; n++)
        chosen[n] = arrangement_at(&choice, n, choices[n]);
    return TRUE;
}
