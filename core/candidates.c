/* SPDX-License-Identifier: BSD-3-Clause */
/* The arrangements that the planner chooses from: variants of each node, with all their layouts.
 *
 * Orders are never enumerated. A row that leaves an order open is bound to the orders that stand at
 * the node's links: the canonical one, those that rows of the neighbours fix or wishes name, and
 * what follows from these through the nodes. They spread over the graph until nothing new comes, or
 * a link has as many as are worth looking at. */
#include "planner.h"

/* Layouts of a link whose orders the nodes at its ends try; arrangements of a row; of a node. */
enum { MAX_ORDERS = 12, MAX_OF_ROW = 16, MAX_OF_NODE = 96, MAX_SWEEPS = 8 };

/* A variant over a row of nodes, with one of its rows of layouts. */
typedef struct {
    const CtVariant *variant;
    const CtRow *row;
    const CtRowPatterns *patterns;
    guint n_nodes;
    guint *nodes;
    guint n_ports;
    CtRowPort *ports; /* inputs of the first node, outputs of the last */
    CtRowPorts row_ports;
    guint n_tried; /* orders of the node's that it was bound to */
} Option;

typedef struct {
    CtPlanner *planner;
    CtCandidates *candidates;
    GPtrArray **options; /* [node] of Option, those that begin with the node */
    GArray **orders;     /* [node] of CtLayout: at any of its ports */
    GPtrArray *outlets;
} Search;

static void
option_free(gpointer data)
{
    Option *option = data;
    g_free(option->nodes);
    g_free(option->ports);
    g_free(option);
}

static void
arrangement_free(gpointer data)
{
    CtArrangement *arrangement = data;
    g_free(arrangement->nodes);
    g_free(arrangement->inputs);
    g_free(arrangement->outputs);
    g_free(arrangement);
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

static const CtGraphNode *
node_at(const Search *search, guint i)
{
    return g_ptr_array_index(search->planner->graph->nodes, i);
}

/* ---- options ---- */

/* The one reader of the first output of `node`, when nobody reads another output: −1 otherwise. */
static gint
only_reader(const Search *search, guint node)
{
    gint reader = -1;
    for (guint i = 0; i < search->outlets->len; i++) {
        const CtOutlet *outlet = g_ptr_array_index(search->outlets, i);
        if (outlet->node != node)
            continue;
        const CtPlanReader *first = &g_array_index(outlet->readers, CtPlanReader, 0);
        if (outlet->port != 0 || outlet->readers->len != 1 || first->port != 0)
            return -1;
        reader = first->node;
    }
    return reader;
}

/* The nodes from `first` on that `variant` covers; NULL where they are not such a row. */
static guint *
covered_nodes(const Search *search, guint first, const CtVariant *variant, guint *n_nodes)
{
    guint n = 0;
    while (variant->covers[n])
        n++;
    g_autofree guint *nodes = g_new(guint, n + 1);
    for (guint k = 0; k < n; k++) {
        if (k == 0) {
            nodes[0] = first;
        } else {
            const gint reader = only_reader(search, nodes[k - 1]);
            if (reader < 0)
                return NULL;
            /* Only the first of the row has inputs of its own. */
            const CtNode *node = &node_at(search, reader)->node;
            for (guint i = 1; i < node->n_inputs; i++) {
                if (node->inputs[i].type != CT_TYPE_NONE)
                    return NULL;
            }
            if (node->inputs[0].type != node_at(search, nodes[k - 1])->node.outputs[0].type)
                return NULL;
            nodes[k] = reader;
        }
        if (!g_str_equal(node_at(search, nodes[k])->node.stage->name, variant->covers[k]))
            return NULL;
    }
    *n_nodes = n;
    return g_steal_pointer(&nodes);
}

static gboolean
may_run(const Search *search, const CtVariant *variant, const guint *nodes, guint n_nodes,
        char **reason)
{
    for (guint k = 0; k < n_nodes; k++) {
        if (!ct_planner_allows(search->planner, node_at(search, nodes[k]), variant, reason))
            return FALSE;
    }
    if (!variant->fits)
        return TRUE;
    g_autofree CtNode *covered = g_new(CtNode, n_nodes);
    for (guint k = 0; k < n_nodes; k++)
        covered[k] = node_at(search, nodes[k])->node;
    return variant->fits(covered, reason);
}

/* The ports at which layouts matter: an input for its description alone has none. */
static void
set_ports(const Search *search, Option *option)
{
    const CtNode *first = &node_at(search, option->nodes[0])->node;
    const CtNode *last = &node_at(search, option->nodes[option->n_nodes - 1])->node;
    option->n_ports = first->n_inputs + last->n_outputs;
    option->ports = g_new0(CtRowPort, option->n_ports + 1);
    for (guint i = 0; i < first->n_inputs; i++)
        option->ports[i] = (CtRowPort){
            .name = ct_node_input_port(first, i)->name,
            .stream = ct_node_input_flows(first, i) ? &first->inputs[i] : NULL,
            .wish = &first->input_layouts[i],
        };
    for (guint i = 0; i < last->n_outputs; i++)
        option->ports[first->n_inputs + i] = (CtRowPort){
            .name = last->stage->outputs[i].name,
            .stream = &last->outputs[i],
            .wish = &last->output_layouts[i],
        };
    option->row_ports = (CtRowPorts){first->n_inputs, last->n_outputs, option->ports};
}

/* All options that begin with node `n`. What does not fit is told in `reasons`. */
static gboolean
find_options(Search *search, guint n, GString *reasons, GError **error)
{
    const CtGraphNode *node = node_at(search, n);
    const GPtrArray *variants =
        ct_registry_variants(search->planner->registry, node->node.stage->name);
    for (guint v = 0; v < variants->len; v++) {
        const CtVariant *variant = g_ptr_array_index(variants, v);
        guint n_nodes;
        g_autofree guint *nodes = covered_nodes(search, n, variant, &n_nodes);
        g_autofree char *reason = NULL;
        if (!nodes)
            continue;
        if (!may_run(search, variant, nodes, n_nodes, &reason)) {
            g_string_append_printf(reasons, "%s%s: %s", reasons->len ? "; " : "", variant->name,
                                   reason ? reason : "it does not take these parameters");
            continue;
        }
        for (const CtRow *row = variant->rows; row && row->layouts; row++) {
            const CtRowPatterns *patterns = ct_planner_row(search->planner, variant, row, error);
            if (!patterns)
                return FALSE;
            Option *option = g_new0(Option, 1);
            option->variant = variant;
            option->row = row;
            option->patterns = patterns;
            option->n_nodes = n_nodes;
            option->nodes = g_memdup2(nodes, n_nodes * sizeof(*nodes));
            set_ports(search, option);
            g_ptr_array_add(search->options[n], option);
        }
    }
    return TRUE;
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
add_order(Search *search, guint node, const CtLayout *layout)
{
    GArray *orders = search->orders[node];
    if (layout->n_axes > 1 && orders->len < MAX_ORDERS && !has_order(orders, layout))
        g_array_append_val(orders, *layout);
}

/* Tells the nodes at the other ends how the ports of an arrangement lie. */
static void
spread_orders(Search *search, const CtArrangement *arrangement)
{
    const guint first = arrangement->nodes[0];
    const guint last = arrangement->nodes[arrangement->n_nodes - 1];
    const CtGraphNode *node = node_at(search, first);
    for (guint i = 0; i < node->node.n_inputs; i++) {
        if (node->from[i].node >= 0)
            add_order(search, node->from[i].node, &arrangement->inputs[i]);
    }
    for (guint i = 0; i < search->outlets->len; i++) {
        const CtOutlet *outlet = g_ptr_array_index(search->outlets, i);
        if (outlet->node != last)
            continue;
        for (guint r = 0; r < outlet->readers->len; r++)
            add_order(search, g_array_index(outlet->readers, CtPlanReader, r).node,
                      &arrangement->outputs[outlet->port]);
    }
}

/* ---- arrangements ---- */

static gboolean
same_layouts(const CtArrangement *a, const CtArrangement *b, guint n_inputs, guint n_outputs)
{
    if (a->n_nodes != b->n_nodes)
        return FALSE;
    for (guint i = 0; i < n_inputs; i++) {
        if (!ct_layout_equal(&a->inputs[i], &b->inputs[i]))
            return FALSE;
    }
    for (guint i = 0; i < n_outputs; i++) {
        if (!ct_layout_equal(&a->outputs[i], &b->outputs[i]))
            return FALSE;
    }
    return TRUE;
}

/* Keeps it, or lets it take the place of one of the same layouts that costs more. */
static void
keep_arrangement(Search *search, const Option *option, const CtLayout *layouts)
{
    const CtNode *first = &node_at(search, option->nodes[0])->node;
    const CtNode *last = &node_at(search, option->nodes[option->n_nodes - 1])->node;
    CtArrangement *arrangement = g_new0(CtArrangement, 1);
    arrangement->variant = option->variant;
    arrangement->row = option->row;
    arrangement->n_nodes = option->n_nodes;
    arrangement->nodes = g_memdup2(option->nodes, option->n_nodes * sizeof(guint));
    arrangement->inputs = g_new0(CtLayout, first->n_inputs + 1);
    arrangement->outputs = g_new0(CtLayout, last->n_outputs + 1);
    for (guint i = 0; i < first->n_inputs; i++)
        arrangement->inputs[i] = layouts[i];
    for (guint i = 0; i < last->n_outputs; i++)
        arrangement->outputs[i] = layouts[first->n_inputs + i];

    g_autofree CtNode *covered = g_new(CtNode, option->n_nodes);
    for (guint k = 0; k < option->n_nodes; k++)
        covered[k] = node_at(search, option->nodes[k])->node;
    ct_load_init(&arrangement->load, covered, option->n_nodes, arrangement->inputs,
                 arrangement->outputs);
    arrangement->seconds = ct_cost_seconds(&search->planner->machine, option->variant, option->row,
                                           &arrangement->load);

    GPtrArray *own = search->candidates->nodes[option->nodes[0]];
    for (guint i = 0; i < own->len; i++) {
        CtArrangement *other = g_ptr_array_index(own, i);
        if (other->nodes[0] != option->nodes[0] ||
            !same_layouts(arrangement, other, first->n_inputs, last->n_outputs))
            continue;
        if (arrangement->seconds < other->seconds) {
            other->variant = arrangement->variant;
            other->row = arrangement->row;
            other->seconds = arrangement->seconds;
        }
        arrangement_free(arrangement);
        return;
    }
    if (own->len >= MAX_OF_NODE) {
        arrangement_free(arrangement);
        return;
    }
    g_ptr_array_add(search->candidates->all, arrangement);
    for (guint k = 0; k < option->n_nodes; k++)
        g_ptr_array_add(search->candidates->nodes[option->nodes[k]], arrangement);
    spread_orders(search, arrangement);
}

/* Binds the options of node `n` to orders that they were not bound to yet. */
static gboolean
bind_options(Search *search, guint n)
{
    gboolean changed = FALSE;
    for (guint i = 0; i < search->options[n]->len; i++) {
        Option *option = g_ptr_array_index(search->options[n], i);
        CtLayout orders[2 * MAX_ORDERS];
        guint n_orders = 0;
        const guint last = option->nodes[option->n_nodes - 1];
        const GArray *own = search->orders[n], *others = search->orders[last];
        const guint known = own->len + (last != n ? others->len : 0);
        if (option->n_tried == known + 1)
            continue;
        for (guint k = 0; k < own->len; k++)
            orders[n_orders++] = g_array_index(own, CtLayout, k);
        for (guint k = 0; last != n && k < others->len; k++)
            orders[n_orders++] = g_array_index(others, CtLayout, k);
        option->n_tried = known + 1;
        g_autofree CtLayout *layouts = g_new(CtLayout, MAX_OF_ROW * option->n_ports + 1);
        const guint n_found = ct_row_candidates(option->patterns, &option->row_ports, orders,
                                                n_orders, layouts, MAX_OF_ROW);
        for (guint k = 0; k < n_found; k++)
            keep_arrangement(search, option, &layouts[k * option->n_ports]);
        changed = TRUE;
    }
    return changed;
}

static gboolean
report_none(const Search *search, guint n, const GString *reasons, GError **error)
{
    const CtGraphNode *node = node_at(search, n);
    const CtPlace *place = &node->config->place;
    const char *stage = node->node.stage->name;
    if (search->options[n]->len == 0 && reasons->len == 0)
        return ct_graph_error(node, place, CT_ERROR_PLUGIN, error, "stage '%s' has no variant",
                              stage);
    if (search->options[n]->len == 0)
        return ct_graph_error(node, place, CT_ERROR_LAYOUT, error,
                              "no variant of '%s' can run here (%s)", stage, reasons->str);
    g_autoptr(GString) text = g_string_new(reasons->str);
    for (guint i = 0; i < search->options[n]->len; i++) {
        const Option *option = g_ptr_array_index(search->options[n], i);
        g_autofree CtLayout *layouts = g_new(CtLayout, option->n_ports + 1);
        g_autoptr(GError) cause = NULL;
        ct_row_bind(option->patterns, &option->row_ports, 0, NULL, NULL, layouts, &cause);
        g_string_append_printf(text, "%s%s '%s': %s", text->len ? "; " : "", option->variant->name,
                               option->row->layouts, cause ? cause->message : "");
    }
    return ct_graph_error(node, place, CT_ERROR_LAYOUT, error, "no variant of '%s' fits (%s)",
                          stage, text->str);
}

static void
search_clear(Search *search, guint n)
{
    for (guint i = 0; i < n; i++) {
        g_ptr_array_unref(search->options[i]);
        g_array_unref(search->orders[i]);
    }
    g_free(search->options);
    g_free(search->orders);
    g_ptr_array_unref(search->outlets);
}

static gboolean
run_search(Search *search, guint n, GError **error)
{
    g_autoptr(GPtrArray) reasons = g_ptr_array_new();
    for (guint i = 0; i < n; i++) {
        GString *text = g_string_new(NULL);
        g_ptr_array_add(reasons, text);
    }
    gboolean fine = TRUE;
    for (guint i = 0; i < n && fine; i++)
        fine = find_options(search, i, g_ptr_array_index(reasons, i), error);
    gboolean changed = fine;
    for (guint sweep = 0; sweep < MAX_SWEEPS && changed; sweep++) {
        changed = FALSE;
        for (guint k = 0; k < n; k++)
            changed |= bind_options(search, sweep % 2 ? n - 1 - k : k);
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
    candidates->all = g_ptr_array_new_with_free_func(arrangement_free);
    candidates->nodes = g_new(GPtrArray *, n + 1);
    Search search = {
        .planner = planner,
        .candidates = candidates,
        .options = g_new(GPtrArray *, n + 1),
        .orders = g_new(GArray *, n + 1),
        .outlets = ct_outlets_new(planner->graph),
    };
    for (guint i = 0; i < n; i++) {
        candidates->nodes[i] = g_ptr_array_new();
        search.options[i] = g_ptr_array_new_with_free_func(option_free);
        search.orders[i] = g_array_new(FALSE, FALSE, sizeof(CtLayout));
    }
    const gboolean fine = run_search(&search, n, error);
    search_clear(&search, n);
    return fine ? g_steal_pointer(&candidates) : NULL;
}
