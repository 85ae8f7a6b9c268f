/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of an arrangement for every node, so that all of them and what must stand between them
 * cost the least.
 *
 * Each node is a variable whose choices are its arrangements; an arrangement over several nodes is
 * a choice of each of them, and its pairs forbid that it be chosen for some only. A link with one
 * reader is a pair, at the cost of the bridge between the two spots: layouts and places. Readers of
 * one output share what is inserted: the outlet becomes a variable of its own, whose choices are
 * the sets of spots that are made. The writer pays for the set, and a reader may only have a spot
 * that is in it. */
#include "planner.h"
#include "solve.h"

#include <math.h>

/* Of an outlet: beyond so many sets of spots, larger ones are left out; beyond so many spots, its
 * readers are looked at one by one. */
enum { MAX_SETS = 512, MAX_SPOTS = 64 };

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

/* What node `node` writes, FALSE where the output stays inside the arrangement. */
static gboolean
written(const CtArrangement *arrangement, guint node, guint port, CtSpot *spot)
{
    if (arrangement->nodes[arrangement->n_nodes - 1] != node)
        return FALSE;
    *spot = (CtSpot){arrangement->outputs[port], arrangement->place};
    return TRUE;
}

static gboolean
wanted(const CtArrangement *arrangement, guint node, guint port, CtSpot *spot)
{
    if (arrangement->nodes[0] != node)
        return FALSE;
    *spot = (CtSpot){arrangement->inputs[port], arrangement->place};
    return TRUE;
}

static const CtSpot *
spot_at(const GArray *spots, guint i)
{
    return &g_array_index(spots, CtSpot, i);
}

/* Adds `spot` to the different ones and returns its index. */
static guint
spot_index(GArray *spots, const CtSpot *spot)
{
    for (guint i = 0; i < spots->len; i++) {
        const CtSpot *other = spot_at(spots, i);
        if (other->place == spot->place && ct_layout_equal(&other->layout, &spot->layout))
            return i;
    }
    g_array_append_val(spots, *spot);
    return spots->len - 1;
}

/* Indices in `spots` of what each arrangement of a node has at a port; −1: nothing there. */
static gint *
port_indices(const Choice *choice, guint node, guint port, gboolean writes, GArray *spots)
{
    gint *indices = g_new(gint, n_arrangements(choice, node) + 1);
    for (guint i = 0; i < n_arrangements(choice, node); i++) {
        const CtArrangement *arrangement = arrangement_at(choice, node, i);
        CtSpot spot;
        const gboolean there = writes ? written(arrangement, node, port, &spot)
                                      : wanted(arrangement, node, port, &spot);
        indices[i] = there ? (gint)spot_index(spots, &spot) : -1;
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
            ct_bridge_find(&bridges[w * to->len + r], choice->planner, stream, spot_at(from, w),
                           spot_at(to, r));
    }
    return bridges;
}

/* A reader by itself: the bridge, or nothing inside an arrangement of both nodes. */
static void
add_link(Choice *choice, const CtOutlet *outlet, const CtPlanReader *reader)
{
    const CtStream *stream = &node_at(choice, outlet->node)->node.outputs[outlet->port];
    g_autoptr(GArray) from = g_array_new(FALSE, FALSE, sizeof(CtSpot));
    g_autoptr(GArray) to = g_array_new(FALSE, FALSE, sizeof(CtSpot));
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

/* The sets of spots, as bits, that an outlet may be had in: those that some reader cannot do
 * without, and with them any of the others, the fewest first, and all. *complete tells whether
 * there are no further sets. */
static GArray *
list_sets(guint n, guint64 needed, guint largest, gboolean *complete)
{
    guint others[MAX_SPOTS];
    guint n_others = 0;
    for (guint i = 0; i < n; i++) {
        if (!(needed >> i & 1))
            others[n_others++] = i;
    }
    GArray *sets = g_array_new(FALSE, FALSE, sizeof(guint64));
    *complete = TRUE;
    for (guint size = needed ? 0 : 1; size <= MIN(n_others, largest); size++) {
        gdouble count = 1;
        for (guint k = 0; k < size; k++)
            count = count * (n_others - k) / (k + 1);
        if (sets->len + count > MAX_SETS) {
            const guint64 all = n < 64 ? (G_GUINT64_CONSTANT(1) << n) - 1 : G_MAXUINT64;
            g_array_append_val(sets, all);
            *complete = FALSE;
            break;
        }
        guint chosen[MAX_SPOTS];
        for (guint k = 0; k < size; k++)
            chosen[k] = k;
        for (gboolean more = TRUE; more;) {
            guint64 set = needed;
            for (guint k = 0; k < size; k++)
                set |= G_GUINT64_CONSTANT(1) << others[chosen[k]];
            g_array_append_val(sets, set);
            guint k = size;
            while (k > 0 && chosen[k - 1] == n_others - size + k - 1)
                k--;
            more = k > 0;
            if (more) {
                chosen[k - 1]++;
                for (; k < size; k++)
                    chosen[k] = chosen[k - 1] + 1;
            }
        }
    }
    return sets;
}

/* The steps of the bridges from one spot, each known by what it makes: a step that several bridges
 * have is made once. */
typedef struct {
    guint n_made;
    guint *makes; /* [bridge][step] below n_made */
} Steps;

enum { MAX_STEPS = G_N_ELEMENTS(((CtBridge *)NULL)->steps) };

static void
find_steps(Steps *steps, const CtBridge *bridges, const CtStream *stream, guint n)
{
    g_autoptr(GArray) made = g_array_new(FALSE, FALSE, sizeof(CtSpot));
    steps->makes = g_new(guint, (gsize)MAX_STEPS * n + 1);
    for (guint r = 0; r < n; r++) {
        for (guint k = 0; k < bridges[r].n_steps; k++) {
            const CtSpot *to = &bridges[r].steps[k].to;
            guint i = 0;
            while (i < made->len && !ct_spot_same_memory(spot_at(made, i), to, stream))
                i++;
            if (i == made->len)
                g_array_append_val(made, *to);
            steps->makes[MAX_STEPS * r + k] = i;
        }
    }
    steps->n_made = made->len;
}

/* What it costs to make all spots of `set` from one. */
static gdouble
cost_of_set(const CtBridge *bridges, const Steps *steps, guint n, guint64 set)
{
    g_autofree gboolean *is_made = g_new0(gboolean, steps->n_made + 1);
    gdouble sum = 0;
    for (guint r = 0; r < n; r++) {
        if (!(set >> r & 1))
            continue;
        if (bridges[r].seconds == HUGE_VAL)
            return HUGE_VAL;
        for (guint k = 0; k < bridges[r].n_steps; k++) {
            const guint made = steps->makes[MAX_STEPS * r + k];
            sum += is_made[made] ? 0 : ct_cost_longest(&bridges[r].steps[k].cost);
            is_made[made] = TRUE;
        }
    }
    return sum;
}

/* An outlet with several readers. Returns whether all sets that could be the best are looked at. */
static gboolean
add_fan(Choice *choice, const CtOutlet *outlet)
{
    const CtStream *stream = &node_at(choice, outlet->node)->node.outputs[outlet->port];
    const guint n_readers = outlet->readers->len;
    g_autoptr(GArray) from = g_array_new(FALSE, FALSE, sizeof(CtSpot));
    g_autoptr(GArray) to = g_array_new(FALSE, FALSE, sizeof(CtSpot));
    g_autofree gint *writes = port_indices(choice, outlet->node, outlet->port, TRUE, from);
    g_autoptr(GPtrArray) reads = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < n_readers; i++) {
        const CtPlanReader *reader = &g_array_index(outlet->readers, CtPlanReader, i);
        g_ptr_array_add(reads, port_indices(choice, reader->node, reader->port, FALSE, to));
    }
    if (to->len > MAX_SPOTS) {
        for (guint i = 0; i < n_readers; i++)
            add_link(choice, outlet, &g_array_index(outlet->readers, CtPlanReader, i));
        return FALSE;
    }
    guint64 needed = 0;
    for (guint i = 0; i < n_readers; i++) {
        const CtPlanReader *reader = &g_array_index(outlet->readers, CtPlanReader, i);
        const gint *indices = g_ptr_array_index(reads, i);
        gboolean only = indices[0] >= 0;
        for (guint r = 1; r < n_arrangements(choice, reader->node); r++)
            only &= indices[r] == indices[0];
        needed |= only ? G_GUINT64_CONSTANT(1) << indices[0] : 0;
    }
    g_autofree CtBridge *bridges = find_bridges(choice, stream, from, to);
    gboolean complete;
    g_autoptr(GArray) sets = list_sets(to->len, needed, n_readers, &complete);

    g_autofree gdouble *free_of_charge = g_new0(gdouble, sets->len);
    const guint variable = ct_solver_add_variable(choice->solver, sets->len, free_of_charge);
    const guint n_writes = n_arrangements(choice, outlet->node);
    g_autofree gdouble *of_spot = g_new(gdouble, (gsize)from->len * sets->len + 1);
    for (guint w = 0; w < from->len; w++) {
        Steps steps;
        find_steps(&steps, &bridges[w * to->len], stream, to->len);
        for (guint s = 0; s < sets->len; s++)
            of_spot[w * sets->len + s] = cost_of_set(&bridges[w * to->len], &steps, to->len,
                                                     g_array_index(sets, guint64, s));
        g_free(steps.makes);
    }
    gdouble *costs = g_new(gdouble, (gsize)n_writes * sets->len);
    for (guint w = 0; w < n_writes; w++) {
        for (guint s = 0; s < sets->len; s++)
            costs[w * sets->len + s] =
                writes[w] >= 0 ? of_spot[writes[w] * sets->len + s] : HUGE_VAL;
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
                costs[r * sets->len + s] = indices[r] >= 0 && set >> indices[r] & 1 ? 0 : HUGE_VAL;
            }
        }
        ct_solver_add_pair(choice->solver, reader->node, variable, costs);
    }
    return complete;
}

static void
add_nodes(Choice *choice)
{
    for (guint n = 0; n < choice->candidates->n_nodes; n++) {
        g_autofree gdouble *costs = g_new(gdouble, n_arrangements(choice, n) + 1);
        for (guint i = 0; i < n_arrangements(choice, n); i++) {
            const CtArrangement *arrangement = arrangement_at(choice, n, i);
            costs[i] = arrangement->nodes[0] == n ? ct_cost_longest(&arrangement->cost) : 0;
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
            g_autoptr(GArray) from = g_array_new(FALSE, FALSE, sizeof(CtSpot));
            g_autoptr(GArray) to = g_array_new(FALSE, FALSE, sizeof(CtSpot));
            g_free(port_indices(choice, outlet->node, outlet->port, TRUE, from));
            g_free(port_indices(choice, reader->node, reader->port, FALSE, to));
            g_autofree CtBridge *bridges =
                find_bridges(choice, &writer->node.outputs[outlet->port], from, to);
            gboolean meets = FALSE;
            for (guint b = 0; b < from->len * to->len; b++)
                meets |= bridges[b].seconds < HUGE_VAL;
            if (meets || from->len == 0 || to->len == 0)
                continue;
            g_autofree char *given = ct_layout_to_string(&spot_at(from, 0)->layout);
            g_autofree char *wants = ct_layout_to_string(&spot_at(to, 0)->layout);
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
    gboolean complete = TRUE;
    for (guint o = 0; o < outlets->len; o++) {
        const CtOutlet *outlet = g_ptr_array_index(outlets, o);
        if (outlet->readers->len == 1) {
            add_link(&choice, outlet, &g_array_index(outlet->readers, CtPlanReader, 0));
        } else {
            complete &= add_fan(&choice, outlet);
        }
    }
    g_autofree guint *choices = g_new0(guint, candidates->n_nodes + outlets->len + 1);
    const gdouble sum = ct_solver_run(solver, CT_SOLVER_ENTRIES, choices, exact);
    if (sum == HUGE_VAL)
        return report_stuck(&choice, outlets, error);
    *exact &= complete;
    *seconds = sum;
    for (guint n = 0; n < candidates->n_nodes; n++)
        chosen[n] = arrangement_at(&choice, n, choices[n]);
    return TRUE;
}
