/* SPDX-License-Identifier: BSD-3-Clause */
/* The arrangements that the planner chooses from: variants of each node, with all their layouts.
 *
 * Orders are never enumerated. A row that leaves an order open is bound to the orders that stand at
 * the node's links: the canonical one, those that rows of the neighbours fix or wishes name, and
 * what follows from these through the nodes. They spread over the graph until nothing new comes, or
 * a link has as many as are worth looking at. */
#include "planner.h"

#include <math.h>

/* Orders that reach a node from one side; layouts of a side with an order of its own; arrangements
 * of a node at one place; rounds over the graph. */
enum { MAX_ORDERS = 12, MAX_OF_SIDE = 8, MAX_OF_NODE = 96, MAX_SWEEPS = 8 };

/* An option is hopeless when it costs so many times what the cheapest one does, with transposes at
 * all its ports. */
static const gdouble hopeless = 4;

enum { FROM_WRITERS, FROM_READERS, N_SIDES };

/* A row of layouts over a row of nodes, with the variants that have it. */
typedef struct {
    GArray *offers; /* of CtOffer, without prices */
    const CtRowPatterns *patterns;
    gint place;
    guint n_nodes;
    guint *nodes;
    CtNode *covered; /* [n_nodes] shallow copies */
    guint n_ports;
    CtRowPort *ports; /* inputs of the first node, outputs of the last */
    CtRowPorts row_ports;
    CtLayout *canonical; /* [n_ports] bound to no order of the neighbours' */
    CtLoad load;
    gdouble seconds;        /* of the cheapest, so bound */
    guint n_tried[N_SIDES]; /* orders that it was bound to */
    const CtFixed *fixed;   /* bound to no others than these; NULL: it is free */
} Option;

typedef struct {
    CtPlanner *planner;
    CtCandidates *candidates;
    GPtrArray **options;        /* [node] of Option, those that begin with the node */
    GArray *(*orders)[N_SIDES]; /* [node] of CtLayout: at its links */
    GPtrArray *outlets;
    GPtrArray *failed; /* patterns that do not fit the node at hand; borrowed */
    gint *
        fixed_from; /* [node] that begins the row of nodes which is fixed with it; −1: it is free */
} Search;

static void
option_free(gpointer data)
{
    Option *option = data;
    g_array_unref(option->offers);
    g_free(option->nodes);
    g_free(option->covered);
    g_free(option->canonical);
    g_free(option->ports);
    g_free(option);
}

static void
arrangement_free(gpointer data)
{
    CtArrangement *arrangement = data;
    g_array_unref(arrangement->offers);
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

static gint
place_of(const Search *search, const CtVariant *variant, guint node)
{
    return ct_planner_place(search->planner, node_at(search, node), variant);
}

static gboolean
may_run(const Search *search, const CtVariant *variant, const guint *nodes, guint n_nodes,
        char **reason)
{
    for (guint k = 0; k < n_nodes; k++) {
        if (search->fixed_from[nodes[k]] >= 0) {
            *reason = g_strdup("another way is fixed");
            return FALSE;
        }
    }
    return ct_planner_fits(search->planner, variant, nodes, n_nodes, reason);
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

static Option *
option_new(const Search *search, const CtRowPatterns *patterns, gint place, const guint *nodes,
           guint n_nodes)
{
    Option *option = g_new0(Option, 1);
    option->patterns = patterns;
    option->place = place;
    option->n_nodes = n_nodes;
    option->nodes = g_memdup2(nodes, n_nodes * sizeof(*nodes));
    option->covered = g_new(CtNode, n_nodes);
    for (guint k = 0; k < n_nodes; k++)
        option->covered[k] = node_at(search, nodes[k])->node;
    option->offers = g_array_new(FALSE, FALSE, sizeof(CtOffer));
    set_ports(search, option);
    option->canonical = g_new0(CtLayout, option->n_ports + 1);
    return option;
}

/* What the option asks of the machine, whatever the orders. */
static void
set_load(const Search *search, Option *option)
{
    const guint n_inputs = option->row_ports.n_inputs;
    ct_load_init(&option->load, option->covered, option->n_nodes, option->canonical,
                 &option->canonical[n_inputs]);
    for (guint p = 0; p < MAX(n_inputs, MIN(option->n_ports, 1)); p++) {
        const CtStream *stream = option->ports[p].stream;
        const gint64 block = stream ? ct_planner_block(search->planner, stream, option->place) : 0;
        option->load.block = MAX(option->load.block, block);
    }
    for (guint p = n_inputs; p < option->n_ports; p++)
        option->load.held =
            MAX(option->load.held,
                ct_planner_held(search->planner, option->ports[p].stream, option->place));
}

/* What a variant costs in these layouts of all ports. */
static void
find_price(const Search *search, const Option *option, CtOffer *offer, const CtLayout *inputs,
           const CtLayout *outputs)
{
    gint64 tuning[CT_MAX_TUNABLES];
    const gboolean is_asked =
        !option->fixed &&
        ct_planner_tuning(search->planner, offer->variant, option->nodes, option->n_nodes, tuning);
    const CtPriced what = {.variant = offer->variant,
                           .row = offer->row,
                           .tuning = option->fixed ? option->fixed->tuning
                                     : is_asked    ? tuning
                                                   : NULL,
                           .nodes = option->covered,
                           .n_nodes = option->n_nodes,
                           .inputs = inputs,
                           .outputs = outputs,
                           .load = &option->load,
                           .from = option->place,
                           .to = option->place};
    ct_price_find(search->planner->prices, &what, &offer->price);
    ct_cost_init(&offer->cost, &search->planner->machine, offer->variant, option->place,
                 offer->price.seconds);
}

/* Adds the variant's row to the options, where it can be bound to the streams. Preferences never
 * decide whether it can. */
static void
add_option(Search *search, const CtVariant *variant, const CtRow *row,
           const CtRowPatterns *patterns, const guint *nodes, guint n_nodes, GString *reasons)
{
    GPtrArray *options = search->options[nodes[0]];
    const gint place = place_of(search, variant, nodes[0]);
    Option *option = NULL;
    for (guint i = 0; i < options->len && !option; i++) {
        Option *other = g_ptr_array_index(options, i);
        if (other->patterns == patterns && other->place == place && other->n_nodes == n_nodes)
            option = other;
    }
    if (!option) {
        if (n_nodes == 1 && g_ptr_array_find(search->failed, patterns, NULL))
            return;
        option = option_new(search, patterns, place, nodes, n_nodes);
        g_autoptr(GError) cause = NULL;
        if (!ct_row_bind(patterns, &option->row_ports, 0, NULL, NULL, option->canonical, &cause)) {
            g_autoptr(GError) fault = NULL;
            const CtGraphNode *last = node_at(search, nodes[n_nodes - 1]);
            ct_row_check(patterns, node_at(search, nodes[0])->node.stage->inputs,
                         last->node.stage->outputs, &fault);
            g_string_append_printf(
                reasons, "%s%s '%s': %s%s", reasons->len ? "; " : "", variant->name, row->layouts,
                fault ? "the plugin is at fault: " : "", fault ? fault->message : cause->message);
            if (n_nodes == 1)
                g_ptr_array_add(search->failed, (gpointer)patterns);
            option_free(option);
            return;
        }
        set_load(search, option);
        option->seconds = HUGE_VAL;
        g_ptr_array_add(options, option);
    }
    CtOffer offer = {.variant = variant, .row = row};
    find_price(search, option, &offer, option->canonical,
               &option->canonical[option->row_ports.n_inputs]);
    option->seconds = MIN(option->seconds, offer.price.seconds);
    g_array_append_val(option->offers, offer);
}

/* Seconds of transposes at all ports. */
static gdouble
surroundings(const Search *search, const Option *option)
{
    gdouble sum = 0;
    for (guint p = 0; p < option->n_ports; p++) {
        const CtLayout *layout = &option->canonical[p];
        const CtSpot here = {*layout, option->place};
        CtSpot turned = here;
        for (guint a = 0; a < layout->n_axes; a++)
            turned.layout.axes[a] = layout->axes[layout->n_axes - 1 - a];
        if (layout->n_axes == 0)
            continue;
        g_autoptr(GArray) bridges =
            ct_bridges_new(search->planner, option->ports[p].stream, &here, &turned);
        gdouble least = HUGE_VAL;
        for (guint i = 0; i < bridges->len; i++)
            least = MIN(least, ct_cost_longest(&g_array_index(bridges, CtBridge, i).cost));
        sum += least;
    }
    return sum;
}

/* At each place by itself: what is slow there may still be cheaper than copies to another. */
static void
drop_hopeless(Search *search, guint n, gint place)
{
    GPtrArray *options = search->options[n];
    const Option *best = NULL;
    guint n_here = 0;
    for (guint i = 0; i < options->len; i++) {
        const Option *option = g_ptr_array_index(options, i);
        if (option->place != place)
            continue;
        n_here++;
        if (option->n_nodes == 1 && (!best || option->seconds < best->seconds))
            best = option;
    }
    if (!best || n_here == 1)
        return;
    const gdouble limit = hopeless * (best->seconds + surroundings(search, best));
    for (guint i = options->len; i-- > 0;) {
        const Option *option = g_ptr_array_index(options, i);
        if (option->place == place && option->n_nodes == 1 && option->seconds > limit)
            g_ptr_array_remove_index(options, i);
    }
}

static gboolean
is_left_to(const Search *search, const CtVariant *variant, const guint *nodes, guint n_nodes)
{
    for (guint k = 0; k < n_nodes; k++)
        if (!ct_planner_leaves(search->planner, node_at(search, nodes[k]), variant, NULL))
            return FALSE;
    return TRUE;
}

/* ---- what is fixed ---- */

static const CtFixed *
fixed_at(const Search *search, guint n)
{
    GHashTable *fixed = search->planner->options->fixed;
    return fixed ? g_hash_table_lookup(fixed, node_at(search, n)->config->name) : NULL;
}

/* Finds the nodes that are fixed with others. */
static gboolean
claim_fixed(Search *search, GError **error)
{
    for (guint n = 0; n < search->candidates->n_nodes; n++)
        search->fixed_from[n] = -1;
    for (guint n = 0; n < search->candidates->n_nodes; n++) {
        const CtFixed *fixed = fixed_at(search, n);
        guint n_nodes = 0;
        if (!fixed)
            continue;
        g_autofree guint *nodes =
            ct_planner_covers(search->planner->graph, search->outlets, n, fixed->variant, &n_nodes);
        g_autofree char *reason = NULL;
        if (!nodes || search->fixed_from[n] >= 0)
            return ct_graph_error(node_at(search, n), NULL, CT_ERROR_LAYOUT, error,
                                  "is fixed to variant '%s', which does not cover it here",
                                  fixed->variant->name);
        if (!ct_planner_can_run(search->planner, fixed->variant, &reason))
            return ct_graph_error(node_at(search, n), NULL, CT_ERROR_LAYOUT, error,
                                  "is fixed to variant '%s': %s", fixed->variant->name, reason);
        for (guint k = 0; k < n_nodes; k++)
            search->fixed_from[nodes[k]] = (gint)n;
    }
    return TRUE;
}

static gboolean
add_fixed(Search *search, guint n, const CtFixed *fixed, GError **error)
{
    const CtRowPatterns *patterns =
        ct_planner_row(search->planner, fixed->variant, fixed->row, error);
    guint n_nodes;
    g_autofree guint *nodes =
        ct_planner_covers(search->planner->graph, search->outlets, n, fixed->variant, &n_nodes);
    if (!patterns)
        return FALSE;
    Option *option = option_new(search, patterns, fixed->place, nodes, n_nodes);
    g_assert(option->row_ports.n_inputs == fixed->n_inputs &&
             option->row_ports.n_outputs == fixed->n_outputs);
    const CtOffer offer = {.variant = fixed->variant, .row = fixed->row};
    option->fixed = fixed;
    for (guint i = 0; i < fixed->n_inputs; i++)
        option->canonical[i] = fixed->inputs[i];
    for (guint o = 0; o < fixed->n_outputs; o++)
        option->canonical[fixed->n_inputs + o] = fixed->outputs[o];
    set_load(search, option);
    g_array_append_val(option->offers, offer);
    g_ptr_array_add(search->options[n], option);
    return TRUE;
}

/* All options that begin with node `n`. What does not fit is told in `reasons`; of variants that
 * nobody wants, only where that is all there is to tell. */
static gboolean
find_options(Search *search, guint n, GString *reasons, GError **error)
{
    g_autoptr(GString) unwanted = g_string_new(NULL);
    const CtGraphNode *node = node_at(search, n);
    const GPtrArray *variants =
        ct_registry_variants(search->planner->registry, node->node.stage->name);
    if (search->fixed_from[n] >= 0)
        return search->fixed_from[n] != (gint)n || add_fixed(search, n, fixed_at(search, n), error);
    g_ptr_array_set_size(search->failed, 0);
    for (guint v = 0; v < variants->len; v++) {
        const CtVariant *variant = g_ptr_array_index(variants, v);
        guint n_nodes;
        g_autofree guint *nodes =
            ct_planner_covers(search->planner->graph, search->outlets, n, variant, &n_nodes);
        g_autofree char *reason = NULL;
        if (!nodes)
            continue;
        if (!may_run(search, variant, nodes, n_nodes, &reason)) {
            GString *told = is_left_to(search, variant, nodes, n_nodes) ? reasons : unwanted;
            g_string_append_printf(told, "%s%s: %s", told->len ? "; " : "", variant->name,
                                   reason ? reason : "it does not take these parameters");
            continue;
        }
        for (const CtRow *row = variant->rows; row && row->layouts; row++) {
            const CtRowPatterns *patterns = ct_planner_row(search->planner, variant, row, error);
            if (!patterns)
                return FALSE;
            add_option(search, variant, row, patterns, nodes, n_nodes, reasons);
        }
    }
    if (reasons->len == 0)
        g_string_append(reasons, unwanted->str);
    for (gint place = CT_HOST; place < (gint)search->planner->machine.n_devices; place++)
        drop_hopeless(search, n, place);
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
add_order(Search *search, guint node, guint side, const CtLayout *layout)
{
    GArray *orders = search->orders[node][side];
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
            add_order(search, node->from[i].node, FROM_READERS, &arrangement->inputs[i]);
    }
    for (guint i = 0; i < search->outlets->len; i++) {
        const CtOutlet *outlet = g_ptr_array_index(search->outlets, i);
        if (outlet->node != last)
            continue;
        for (guint r = 0; r < outlet->readers->len; r++)
            add_order(search, g_array_index(outlet->readers, CtPlanReader, r).node, FROM_WRITERS,
                      &arrangement->outputs[outlet->port]);
    }
}

/* ---- arrangements ---- */

static gboolean
has_layouts(const CtArrangement *arrangement, const Option *option, const CtLayout *inputs,
            const CtLayout *outputs)
{
    if (arrangement->nodes[0] != option->nodes[0] || arrangement->n_nodes != option->n_nodes ||
        arrangement->place != option->place)
        return FALSE;
    for (guint i = 0; i < option->row_ports.n_inputs; i++) {
        if (!ct_layout_equal(&arrangement->inputs[i], &inputs[i]))
            return FALSE;
    }
    for (guint i = 0; i < option->row_ports.n_outputs; i++) {
        if (!ct_layout_equal(&arrangement->outputs[i], &outputs[i]))
            return FALSE;
    }
    return TRUE;
}

static gint
compare_offers(gconstpointer a, gconstpointer b)
{
    const gdouble x = ((const CtOffer *)a)->price.seconds, y = ((const CtOffer *)b)->price.seconds;
    return x < y ? -1 : x > y;
}

static gboolean
has_offer(const CtArrangement *arrangement, const CtOffer *offer)
{
    for (guint i = 0; i < arrangement->offers->len; i++) {
        const CtOffer *other = &g_array_index(arrangement->offers, CtOffer, i);
        if (other->variant == offer->variant && other->row == offer->row)
            return TRUE;
    }
    return FALSE;
}

/* Adds the option's variants. A variant is never told its row: of several that come to the same
 * layouts it keeps the first of its table. The cheapest of all is taken, of equal ones that which
 * came first. */
static void
take_offers(const Search *search, const Option *option, CtArrangement *arrangement)
{
    if (has_offer(arrangement, &g_array_index(option->offers, CtOffer, 0)))
        return;
    for (guint i = 0; i < option->offers->len; i++) {
        CtOffer offer = g_array_index(option->offers, CtOffer, i);
        guint k = 0;
        while (k < arrangement->offers->len &&
               g_array_index(arrangement->offers, CtOffer, k).variant != offer.variant)
            k++;
        if (k < arrangement->offers->len) {
            if (offer.row > g_array_index(arrangement->offers, CtOffer, k).row)
                continue;
            g_array_remove_index(arrangement->offers, k);
        }
        find_price(search, option, &offer, arrangement->inputs, arrangement->outputs);
        g_array_append_val(arrangement->offers, offer);
    }
    g_array_sort(arrangement->offers, compare_offers);
    const CtOffer *best = &g_array_index(arrangement->offers, CtOffer, 0);
    arrangement->variant = best->variant;
    arrangement->row = best->row;
    arrangement->price = best->price;
    arrangement->cost = best->cost;
}

/* Keeps it, or adds its variants to what has the same layouts. */
static void
keep_arrangement(Search *search, const Option *option, const CtLayout *inputs,
                 const CtLayout *outputs)
{
    const guint n_inputs = option->row_ports.n_inputs, n_outputs = option->row_ports.n_outputs;
    GPtrArray *own = search->candidates->nodes[option->nodes[0]];
    guint n_here = 0;
    for (guint i = 0; i < own->len; i++) {
        CtArrangement *other = g_ptr_array_index(own, i);
        n_here += other->place == option->place;
        if (has_layouts(other, option, inputs, outputs)) {
            take_offers(search, option, other);
            return;
        }
    }
    if (n_here >= MAX_OF_NODE)
        return;
    CtArrangement *arrangement = g_new0(CtArrangement, 1);
    arrangement->offers = g_array_new(FALSE, FALSE, sizeof(CtOffer));
    arrangement->place = option->place;
    arrangement->n_nodes = option->n_nodes;
    arrangement->nodes = g_memdup2(option->nodes, option->n_nodes * sizeof(guint));
    arrangement->inputs = g_memdup2(inputs, (n_inputs + 1) * sizeof(*inputs));
    arrangement->outputs = g_memdup2(outputs, (n_outputs + 1) * sizeof(*outputs));
    arrangement->load = option->load;
    take_offers(search, option, arrangement);
    g_ptr_array_add(search->candidates->all, arrangement);
    for (guint k = 0; k < option->n_nodes; k++)
        g_ptr_array_add(search->candidates->nodes[option->nodes[k]], arrangement);
    spread_orders(search, arrangement);
}

static void
bind_to(Search *search, const Option *option, const CtLayout *order)
{
    g_autofree CtLayout *layouts = g_new0(CtLayout, option->n_ports + 1);
    if (ct_row_bind(option->patterns, &option->row_ports, 0, NULL, order, layouts, NULL))
        keep_arrangement(search, option, layouts, &layouts[option->row_ports.n_inputs]);
}

/* The different layouts of inputs or outputs that follow an order of that side. */
static guint
bind_side(const Search *search, const Option *option, guint side, CtLayout *sides[MAX_OF_SIDE])
{
    const guint n_inputs = option->row_ports.n_inputs;
    const guint begin = side == FROM_WRITERS ? 0 : n_inputs;
    const guint n = side == FROM_WRITERS ? n_inputs : option->row_ports.n_outputs;
    const guint node = option->nodes[side == FROM_WRITERS ? 0 : option->n_nodes - 1];
    const GArray *orders = search->orders[node][side];
    guint n_sides = 0;
    for (guint i = 0; i <= orders->len && n_sides < MAX_OF_SIDE; i++) {
        g_autofree CtLayout *layouts = g_new0(CtLayout, option->n_ports + 1);
        const CtLayout *order = i == 0 ? NULL : &g_array_index(orders, CtLayout, i - 1);
        if (!ct_row_bind(option->patterns, &option->row_ports, 0, NULL, order, layouts, NULL))
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

/* Where the orders of inputs and outputs are free of each other: each with each. */
static void
bind_freely(Search *search, const Option *option)
{
    CtLayout *inputs[MAX_OF_SIDE], *outputs[MAX_OF_SIDE];
    const guint n_inputs = bind_side(search, option, FROM_WRITERS, inputs);
    const guint n_outputs = bind_side(search, option, FROM_READERS, outputs);
    for (guint i = 0; i < n_inputs; i++) {
        for (guint o = 0; o < n_outputs; o++)
            keep_arrangement(search, option, inputs[i], outputs[o]);
    }
    for (guint i = 0; i < n_inputs; i++)
        g_free(inputs[i]);
    for (guint o = 0; o < n_outputs; o++)
        g_free(outputs[o]);
}

/* Binds the options of node `n` to the orders that came since it was last looked at. */
static gboolean
bind_options(Search *search, guint n, gboolean first)
{
    gboolean changed = FALSE;
    for (guint i = 0; i < search->options[n]->len; i++) {
        Option *option = g_ptr_array_index(search->options[n], i);
        const guint ends[N_SIDES] = {n, option->nodes[option->n_nodes - 1]};
        guint tried[N_SIDES];
        gboolean has_new = first;
        for (guint side = 0; side < N_SIDES; side++) {
            tried[side] = option->n_tried[side];
            option->n_tried[side] = search->orders[ends[side]][side]->len;
            has_new |= option->n_tried[side] > tried[side];
        }
        if (!has_new)
            continue;
        changed = TRUE;
        if (first)
            keep_arrangement(search, option, option->canonical,
                             &option->canonical[option->row_ports.n_inputs]);
        if (option->fixed)
            continue;
        if (option->patterns->any) {
            bind_freely(search, option);
            continue;
        }
        for (guint side = 0; side < N_SIDES; side++) {
            for (guint k = tried[side]; k < option->n_tried[side]; k++) {
                const CtLayout order = g_array_index(search->orders[ends[side]][side], CtLayout, k);
                bind_to(search, option, &order);
            }
        }
    }
    return changed;
}

static gboolean
report_none(const Search *search, guint n, const GString *reasons, GError **error)
{
    const CtGraphNode *node = node_at(search, n);
    const char *stage = node->node.stage->name;
    if (reasons->len == 0)
        return ct_graph_error(node, NULL, CT_ERROR_PLUGIN, error, "stage '%s' has no variant",
                              stage);
    return ct_graph_error(node, NULL, CT_ERROR_LAYOUT, error,
                          "no variant of '%s' can run here (%s)", stage, reasons->str);
}

static void
search_clear(Search *search, guint n)
{
    for (guint i = 0; i < n; i++) {
        g_ptr_array_unref(search->options[i]);
        for (guint side = 0; side < N_SIDES; side++)
            g_array_unref(search->orders[i][side]);
    }
    g_free(search->options);
    g_free(search->orders);
    g_ptr_array_unref(search->outlets);
    g_ptr_array_unref(search->failed);
    g_free(search->fixed_from);
}

static gboolean
run_search(Search *search, guint n, GError **error)
{
    g_autoptr(GPtrArray) reasons = g_ptr_array_new();
    for (guint i = 0; i < n; i++) {
        GString *text = g_string_new(NULL);
        g_ptr_array_add(reasons, text);
    }
    gboolean fine = claim_fixed(search, error);
    for (guint i = 0; i < n && fine; i++)
        fine = find_options(search, i, g_ptr_array_index(reasons, i), error);
    for (guint i = 0; i < n && fine && search->planner->options->default_layouts; i++)
        fine = ct_default_orders(&node_at(search, i)->node, search->orders[i][FROM_WRITERS],
                                 search->orders[i][FROM_READERS], error);
    gboolean changed = fine;
    for (guint sweep = 0; sweep < MAX_SWEEPS && changed; sweep++) {
        changed = FALSE;
        for (guint k = 0; k < n; k++)
            changed |= bind_options(search, sweep % 2 ? n - 1 - k : k, sweep == 0);
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
        .orders = g_malloc_n(n + 1, sizeof(GArray *[N_SIDES])),
        .outlets = ct_outlets_new(planner->graph),
        .failed = g_ptr_array_new(),
        .fixed_from = g_new(gint, n + 1),
    };
    for (guint i = 0; i < n; i++) {
        candidates->nodes[i] = g_ptr_array_new();
        search.options[i] = g_ptr_array_new_with_free_func(option_free);
        for (guint side = 0; side < N_SIDES; side++)
            search.orders[i][side] = g_array_new(FALSE, FALSE, sizeof(CtLayout));
    }
    const gboolean fine =
        run_search(&search, n, error) &&
        (!planner->options->default_layouts || ct_default_keep(candidates, planner->graph, error));
    search_clear(&search, n);
    return fine ? g_steal_pointer(&candidates) : NULL;
}

/* Arrangements over several nodes lie in rows of nodes, and each node of a row goes on from one. */
gdouble
ct_candidates_count(const CtCandidates *candidates, const gdouble *n_ways)
{
    const guint n_nodes = candidates->n_nodes;
    g_autofree gint *before = g_new(gint, n_nodes + 1);
    g_autofree gboolean *goes_on = g_new0(gboolean, n_nodes + 1);
    for (guint n = 0; n < n_nodes; n++)
        before[n] = -1;
    for (guint i = 0; i < candidates->all->len; i++) {
        const CtArrangement *arrangement = g_ptr_array_index(candidates->all, i);
        for (guint k = 1; k < arrangement->n_nodes; k++) {
            before[arrangement->nodes[k]] = (gint)arrangement->nodes[k - 1];
            goes_on[arrangement->nodes[k - 1]] = TRUE;
        }
    }
    /* Of the row of nodes up to this one. */
    g_autofree gdouble *ways = g_new0(gdouble, n_nodes + 1);
    gdouble all = 1;
    for (guint n = 0; n < n_nodes; n++) {
        for (guint i = 0; i < candidates->all->len; i++) {
            const CtArrangement *arrangement = g_ptr_array_index(candidates->all, i);
            const gint from = before[arrangement->nodes[0]];
            if (arrangement->nodes[arrangement->n_nodes - 1] == n)
                ways[n] += n_ways[i] * (from >= 0 ? ways[from] : 1);
        }
        all *= goes_on[n] ? 1 : ways[n];
    }
    return all;
}
