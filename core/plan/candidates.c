/* SPDX-License-Identifier: BSD-3-Clause */
/* The candidates from which the planner chooses: variants of each node, with all their layouts.
 *
 * Orders are never enumerated. A row that leaves an order open is bound to the orders known at the
 * node's links: the canonical one, those that rows of the neighbours fix or prefer, and those that
 * follow from these through other nodes. Orders spread over the graph until there are no new ones,
 * or a link has the most that are allowed. */
#include "choose.h"
#include "default-layouts.h"
#include "graph/plugin-call.h"
#include "unbound-rows.h"

/* Limits on the orders that reach a node from one side, the layouts of one side where the sides
 * have orders of their own, the candidates of the same nodes at one place, and the rounds over the
 * graph. */
enum { MAX_ORDERS = 12, MAX_OF_SIDE = 8, MAX_OF_NODE = 96, MAX_OF_NODES = 24, MAX_SWEEPS = 8 };

typedef struct {
    CtPlanner *planner;
    CtCandidates *candidates;
    CtUnboundRows *unbound_rows;
    GArray *(*orders)[CT_N_SIDES]; /* [node] of CtLayout: the orders at its links */
} Search;

static void
candidate_free(gpointer data)
{
    CtCandidate *candidate = data;
    g_array_unref(candidate->implementations);
    g_free(candidate->nodes);
    g_free(candidate->inputs);
    g_free(candidate->outputs);
    g_free(candidate);
}

void
ct_candidates_free(CtCandidates *candidates)
{
    if (!candidates)
        return;
    for (guint i = 0; i < candidates->n_nodes; i++)
        g_ptr_array_unref(candidates->nodes[i]);
    g_free(candidates->nodes);
    g_ptr_array_unref(candidates->all);
    g_free(candidates);
}

/* ---- orders ---- */

static gboolean
has_order(const GArray *orders, const CtLayout *layout)
{
    for (guint i = 0; i < orders->len; i++) {
        const CtLayout *other = &g_array_index(orders, CtLayout, i);
        gboolean same = other->n_axes == layout->n_axes;
        for (guint a = 0; same && a < layout->n_axes; a++)
            same = other->axes[a].name == layout->axes[a].name &&
                   other->axes[a].count == layout->axes[a].count;
        if (same)
            return TRUE;
    }
    return FALSE;
}

static void
add_order(Search *search, guint node, guint side, const CtLayout *layout)
{
    GArray *orders = search->orders[node][side];
    if (layout->n_axes > 1 && orders->len < MAX_ORDERS && !has_order(orders, layout))
        g_array_append_val(orders, *layout);
}

/* Adds the orders of a candidate's ports to those of the nodes at the other ends of the links. */
static void
spread_orders(Search *search, const CtCandidate *candidate)
{
    const guint first = candidate->nodes[0];
    const guint last = candidate->nodes[candidate->n_nodes - 1];
    const CtGraphNode *node = ct_graph_node(search->planner->graph, first);
    for (guint i = 0; i < node->node.n_inputs; i++) {
        if (node->from[i].node >= 0)
            add_order(search, node->from[i].node, CT_FROM_READERS, &candidate->inputs[i]);
    }
    for (guint i = 0; i < search->unbound_rows->fan_outs->len; i++) {
        const CtFanOut *fan_out = g_ptr_array_index(search->unbound_rows->fan_outs, i);
        if (fan_out->node != last)
            continue;
        for (guint r = 0; r < fan_out->readers->len; r++)
            add_order(search, g_array_index(fan_out->readers, CtPlanReader, r).node,
                      CT_FROM_WRITERS, &candidate->outputs[fan_out->port]);
    }
}

/* ---- candidates ---- */

static gboolean
has_layouts(const CtCandidate *candidate, const CtUnboundRow *unbound, const CtLayout *inputs,
            const CtLayout *outputs)
{
    if (candidate->nodes[0] != unbound->nodes[0] || candidate->n_nodes != unbound->n_nodes ||
        candidate->place != unbound->place)
        return FALSE;
    for (guint i = 0; i < unbound->row_ports.n_inputs; i++) {
        if (!ct_layout_equal(&candidate->inputs[i], &inputs[i]))
            return FALSE;
    }
    for (guint i = 0; i < unbound->row_ports.n_outputs; i++) {
        if (!ct_layout_equal(&candidate->outputs[i], &outputs[i]))
            return FALSE;
    }
    return TRUE;
}

static gint
compare_implementations(gconstpointer a, gconstpointer b)
{
    const gdouble x = ((const CtImplementation *)a)->estimate.seconds,
                  y = ((const CtImplementation *)b)->estimate.seconds;
    return x < y ? -1 : x > y;
}

static gboolean
has_implementation(const CtCandidate *candidate, const CtImplementation *implementation)
{
    for (guint i = 0; i < candidate->implementations->len; i++) {
        const CtImplementation *other =
            &g_array_index(candidate->implementations, CtImplementation, i);
        if (other->variant == implementation->variant && other->row == implementation->row)
            return TRUE;
    }
    return FALSE;
}

/* Adds the unbound row's variants to the candidate. A variant does not know which of its rows is
 * used, so the first of several rows with the same layouts counts. The candidate takes over the
 * cheapest implementation, the first of equally cheap ones. */
static void
take_implementations(const Search *search, const CtUnboundRow *unbound, CtCandidate *candidate)
{
    if (has_implementation(candidate,
                           &g_array_index(unbound->implementations, CtImplementation, 0)))
        return;
    for (guint i = 0; i < unbound->implementations->len; i++) {
        CtImplementation implementation =
            g_array_index(unbound->implementations, CtImplementation, i);
        guint k = 0;
        while (k < candidate->implementations->len &&
               g_array_index(candidate->implementations, CtImplementation, k).variant !=
                   implementation.variant)
            k++;
        if (k < candidate->implementations->len) {
            if (implementation.row >
                g_array_index(candidate->implementations, CtImplementation, k).row)
                continue;
            g_array_remove_index(candidate->implementations, k);
        }
        ct_unbound_row_estimate(unbound, search->planner, &implementation, candidate->inputs,
                                candidate->outputs);
        g_array_append_val(candidate->implementations, implementation);
    }
    g_array_sort(candidate->implementations, compare_implementations);
    const CtImplementation *best = &g_array_index(candidate->implementations, CtImplementation, 0);
    candidate->variant = best->variant;
    candidate->row = best->row;
    candidate->estimate = best->estimate;
    candidate->cost = best->cost;
}

/* Makes a candidate of these layouts, or adds the row's variants to the candidate that has them. */
static void
keep_candidate(Search *search, const CtUnboundRow *unbound, const CtLayout *inputs,
               const CtLayout *outputs)
{
    const guint n_inputs = unbound->row_ports.n_inputs, n_outputs = unbound->row_ports.n_outputs;
    GPtrArray *own = search->candidates->nodes[unbound->nodes[0]];
    guint n_here = 0;
    for (guint i = 0; i < own->len; i++) {
        CtCandidate *other = g_ptr_array_index(own, i);
        n_here += other->place == unbound->place && other->nodes[0] == unbound->nodes[0] &&
                  other->n_nodes == unbound->n_nodes;
        if (has_layouts(other, unbound, inputs, outputs)) {
            take_implementations(search, unbound, other);
            return;
        }
    }
    if (n_here >= (unbound->n_nodes > 1 ? MAX_OF_NODES : MAX_OF_NODE))
        return;
    CtCandidate *candidate = g_new0(CtCandidate, 1);
    candidate->implementations = g_array_new(FALSE, FALSE, sizeof(CtImplementation));
    candidate->place = unbound->place;
    while (candidate->n_flowing < n_inputs && !unbound->ports[candidate->n_flowing].is_prepared)
        candidate->n_flowing++;
    candidate->n_nodes = unbound->n_nodes;
    candidate->nodes = g_memdup2(unbound->nodes, unbound->n_nodes * sizeof(guint));
    candidate->inputs = g_memdup2(inputs, (n_inputs + 1) * sizeof(*inputs));
    candidate->outputs = g_memdup2(outputs, (n_outputs + 1) * sizeof(*outputs));
    candidate->load = unbound->load;
    take_implementations(search, unbound, candidate);
    g_ptr_array_add(search->candidates->all, candidate);
    for (guint k = 0; k < unbound->n_nodes; k++)
        g_ptr_array_add(search->candidates->nodes[unbound->nodes[k]], candidate);
    spread_orders(search, candidate);
}

static void
bind_to(Search *search, const CtUnboundRow *unbound, const CtLayout *order)
{
    g_autofree CtLayout *layouts = g_new0(CtLayout, unbound->n_ports + 1);
    if (ct_row_bind(unbound->patterns, &unbound->row_ports, 0, NULL, order, layouts, NULL))
        keep_candidate(search, unbound, layouts, &layouts[unbound->row_ports.n_inputs]);
}

/* Finds the different layouts of the inputs or outputs for the orders of that side. */
static guint
bind_side(const Search *search, const CtUnboundRow *unbound, guint side,
          CtLayout *sides[MAX_OF_SIDE])
{
    const guint n_inputs = unbound->row_ports.n_inputs;
    const guint begin = side == CT_FROM_WRITERS ? 0 : n_inputs;
    const guint n = side == CT_FROM_WRITERS ? n_inputs : unbound->row_ports.n_outputs;
    const guint node = unbound->nodes[side == CT_FROM_WRITERS ? 0 : unbound->n_nodes - 1];
    const GArray *orders = search->orders[node][side];
    guint n_sides = 0;
    for (guint i = 0; i <= orders->len && n_sides < MAX_OF_SIDE; i++) {
        g_autofree CtLayout *layouts = g_new0(CtLayout, unbound->n_ports + 1);
        const CtLayout *order = i == 0 ? NULL : &g_array_index(orders, CtLayout, i - 1);
        if (!ct_row_bind(unbound->patterns, &unbound->row_ports, 0, NULL, order, layouts, NULL))
            continue;
        gboolean is_new = TRUE;
        for (guint k = 0; k < n_sides && is_new; k++) {
            is_new = FALSE;
            for (guint p = 0; p < n; p++)
                is_new |= !ct_layout_equal(&sides[k][p], &layouts[begin + p]);
        }
        if (is_new)
            sides[n_sides++] = g_memdup2(&layouts[begin], (n + 1) * sizeof(*layouts));
    }
    return n_sides;
}

/* Binds a row whose inputs and outputs have independent orders: each input layout with each output
 * layout. */
static void
bind_freely(Search *search, const CtUnboundRow *unbound)
{
    CtLayout *inputs[MAX_OF_SIDE], *outputs[MAX_OF_SIDE];
    const guint n_inputs = bind_side(search, unbound, CT_FROM_WRITERS, inputs);
    const guint n_outputs = bind_side(search, unbound, CT_FROM_READERS, outputs);
    for (guint i = 0; i < n_inputs; i++) {
        for (guint o = 0; o < n_outputs; o++)
            keep_candidate(search, unbound, inputs[i], outputs[o]);
    }
    for (guint i = 0; i < n_inputs; i++)
        g_free(inputs[i]);
    for (guint o = 0; o < n_outputs; o++)
        g_free(outputs[o]);
}

/* Binds the unbound rows of node `n` to the orders that were added since the last call. */
static gboolean
bind_unbound_rows(Search *search, guint n, gboolean first)
{
    gboolean changed = FALSE;
    for (guint i = 0; i < search->unbound_rows->nodes[n]->len; i++) {
        CtUnboundRow *unbound = g_ptr_array_index(search->unbound_rows->nodes[n], i);
        const guint ends[CT_N_SIDES] = {n, unbound->nodes[unbound->n_nodes - 1]};
        guint tried[CT_N_SIDES];
        gboolean has_new = first;
        for (guint side = 0; side < CT_N_SIDES; side++) {
            tried[side] = unbound->n_tried[side];
            unbound->n_tried[side] = search->orders[ends[side]][side]->len;
            has_new |= unbound->n_tried[side] > tried[side];
        }
        if (!has_new)
            continue;
        changed = TRUE;
        if (first)
            keep_candidate(search, unbound, unbound->canonical,
                           &unbound->canonical[unbound->row_ports.n_inputs]);
        if (unbound->fixed)
            continue;
        if (unbound->patterns->any) {
            bind_freely(search, unbound);
            continue;
        }
        for (guint side = 0; side < CT_N_SIDES; side++) {
            for (guint k = tried[side]; k < unbound->n_tried[side]; k++) {
                const CtLayout order = g_array_index(search->orders[ends[side]][side], CtLayout, k);
                bind_to(search, unbound, &order);
            }
        }
    }
    return changed;
}

static gboolean
report_none(const Search *search, guint n, const GString *reasons, GError **error)
{
    const CtGraphNode *node = ct_graph_node(search->planner->graph, n);
    const char *stage = node->node.stage->name;
    g_autofree char *left_out = ct_registry_left_out(search->planner->registry, stage);
    if (reasons->len == 0)
        return ct_graph_error(node, NULL, CT_ERROR_PLUGIN, error, "stage '%s' has no variant%s",
                              stage, left_out);
    return ct_graph_error(node, NULL, CT_ERROR_LAYOUT, error,
                          "no variant of '%s' can run here (%s)%s", stage, reasons->str, left_out);
}

static gboolean
run_search(Search *search, guint n, GError **error)
{
    g_autoptr(GPtrArray) reasons = g_ptr_array_new();
    for (guint i = 0; i < n; i++) {
        GString *text = g_string_new(NULL);
        g_ptr_array_add(reasons, text);
    }
    search->unbound_rows = ct_unbound_rows_new(search->planner, reasons, error);
    gboolean fine =
        search->unbound_rows != NULL && ct_graph_check_kept(search->planner->graph, error);
    for (guint i = 0; i < n && fine && search->planner->options->default_layouts; i++)
        fine = ct_default_orders(&ct_graph_node(search->planner->graph, i)->node,
                                 search->orders[i][CT_FROM_WRITERS],
                                 search->orders[i][CT_FROM_READERS], error);
    gboolean changed = fine;
    for (guint sweep = 0; sweep < MAX_SWEEPS && changed; sweep++) {
        changed = FALSE;
        for (guint k = 0; k < n; k++)
            changed |= bind_unbound_rows(search, sweep % 2 ? n - 1 - k : k, sweep == 0);
    }
    for (guint i = 0; i < n && fine; i++) {
        if (search->candidates->nodes[i]->len == 0)
            fine = report_none(search, i, g_ptr_array_index(reasons, i), error);
    }
    for (guint i = 0; i < n; i++)
        g_string_free(g_ptr_array_index(reasons, i), TRUE);
    return fine;
}

CtCandidates *
ct_candidates_new(CtPlanner *planner, GError **error)
{
    const guint n = planner->graph->nodes->len;
    g_autoptr(CtCandidates) candidates = g_new0(CtCandidates, 1);
    candidates->n_nodes = n;
    candidates->all = g_ptr_array_new_with_free_func(candidate_free);
    candidates->nodes = g_new(GPtrArray *, n + 1);
    Search search = {
        .planner = planner,
        .candidates = candidates,
        .orders = g_malloc_n(n + 1, sizeof(GArray *[CT_N_SIDES])),
    };
    for (guint i = 0; i < n; i++) {
        candidates->nodes[i] = g_ptr_array_new();
        for (guint side = 0; side < CT_N_SIDES; side++)
            search.orders[i][side] = g_array_new(FALSE, FALSE, sizeof(CtLayout));
    }
    const gboolean fine =
        run_search(&search, n, error) &&
        (!planner->options->default_layouts || ct_default_keep(candidates, planner->graph, error));
    ct_unbound_rows_free(search.unbound_rows);
    for (guint i = 0; i < n; i++)
        for (guint side = 0; side < CT_N_SIDES; side++)
            g_array_unref(search.orders[i][side]);
    g_free(search.orders);
    return fine ? g_steal_pointer(&candidates) : NULL;
}

/* Candidates that cover several nodes connect them to chains; each node of a chain follows one
 * other node. */
gdouble
ct_candidates_count(const CtCandidates *candidates, const gdouble *n_ways)
{
    const guint n_nodes = candidates->n_nodes;
    g_autofree gint *before = g_new(gint, n_nodes + 1);
    g_autofree gboolean *goes_on = g_new0(gboolean, n_nodes + 1);
    for (guint n = 0; n < n_nodes; n++)
        before[n] = -1;
    for (guint i = 0; i < candidates->all->len; i++) {
        const CtCandidate *candidate = g_ptr_array_index(candidates->all, i);
        for (guint k = 1; k < candidate->n_nodes; k++) {
            before[candidate->nodes[k]] = (gint)candidate->nodes[k - 1];
            goes_on[candidate->nodes[k - 1]] = TRUE;
        }
    }
    /* The number of ways to run the chain up to each node. */
    g_autofree gdouble *ways = g_new0(gdouble, n_nodes + 1);
    gdouble all = 1;
    for (guint n = 0; n < n_nodes; n++) {
        for (guint i = 0; i < candidates->all->len; i++) {
            const CtCandidate *candidate = g_ptr_array_index(candidates->all, i);
            const gint from = before[candidate->nodes[0]];
            if (candidate->nodes[candidate->n_nodes - 1] == n)
                ways[n] += n_ways[i] * (from >= 0 ? ways[from] : 1);
        }
        all *= goes_on[n] ? 1 : ways[n];
    }
    return all;
}
