/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of variants that can be bound to a graph's nodes, and the rows that trials and dry runs
 * fix (CtFixed). */
#include "unbound-rows.h"

#include "choose.h"
#include "conversion.h"
#include "graph/plugin-call.h"
#include "placement.h"
#include "planner-firings.h"
#include "planner-variants.h"

#include <cornerturn/kit/epilogue.h>
#include <math.h>

/* A row is dropped when it costs this many times as much as the cheapest one with transposes at all
 * its ports. */
static const gdouble hopeless = 4;

static void
unbound_free(gpointer data)
{
    CtUnboundRow *unbound = data;
    g_array_unref(unbound->implementations);
    g_free(unbound->nodes);
    g_free(unbound->covered);
    g_free(unbound->canonical);
    g_free(unbound->ports);
    g_free(unbound);
}

static gint
place_of(const CtUnboundRows *self, const CtVariant *variant, guint node)
{
    return ct_planner_place(self->planner, ct_graph_node(self->planner->graph, node), variant);
}

static gboolean
may_run(const CtUnboundRows *self, const CtVariant *variant, const guint *nodes, guint n_nodes,
        char **reason)
{
    for (guint k = 0; k < n_nodes; k++) {
        if (self->fixed_from[nodes[k]] >= 0) {
            *reason = g_strdup("another way is fixed");
            return FALSE;
        }
    }
    return ct_planner_fits(self->planner, variant, nodes, n_nodes, reason);
}

/* Sets the ports; an input that is only described has no stream. */
static void
set_ports(const CtUnboundRows *self, CtUnboundRow *unbound)
{
    const CtNode *first = &ct_graph_node(self->planner->graph, unbound->nodes[0])->node;
    const CtNode *last =
        &ct_graph_node(self->planner->graph, unbound->nodes[unbound->n_nodes - 1])->node;
    unbound->n_ports = first->n_inputs + last->n_outputs;
    unbound->ports = g_new0(CtRowPort, unbound->n_ports + 1);
    for (guint i = 0; i < first->n_inputs; i++)
        unbound->ports[i] = (CtRowPort){
            .name = ct_node_input_port(first, i)->name,
            .stream = ct_node_input_flows(first, i) ? &first->inputs[i] : NULL,
            .is_prepared = ct_node_input_is_prepared(first, i),
            .wish = &first->input_layouts[i],
        };
    for (guint i = 0; i < last->n_outputs; i++)
        unbound->ports[first->n_inputs + i] = (CtRowPort){
            .name = last->stage->outputs[i].name,
            .stream = &last->outputs[i],
            .wish = &last->output_layouts[i],
        };
    unbound->row_ports = (CtRowPorts){first->n_inputs, last->n_outputs, unbound->ports};
}

static CtUnboundRow *
unbound_new(const CtUnboundRows *self, const CtRowPatterns *patterns, gint place,
            const guint *nodes, guint n_nodes)
{
    CtUnboundRow *unbound = g_new0(CtUnboundRow, 1);
    unbound->patterns = patterns;
    unbound->place = place;
    unbound->n_nodes = n_nodes;
    unbound->nodes = g_memdup2(nodes, n_nodes * sizeof(*nodes));
    unbound->covered = g_new(CtNode, n_nodes);
    for (guint k = 0; k < n_nodes; k++)
        unbound->covered[k] = ct_graph_node(self->planner->graph, nodes[k])->node;
    unbound->implementations = g_array_new(FALSE, FALSE, sizeof(CtImplementation));
    set_ports(self, unbound);
    unbound->canonical = g_new0(CtLayout, unbound->n_ports + 1);
    return unbound;
}

/* The load of the row, which does not depend on the orders. */
static void
set_load(const CtUnboundRows *self, CtUnboundRow *unbound)
{
    const guint n_inputs = unbound->row_ports.n_inputs;
    ct_load_init(&unbound->load, unbound->covered, unbound->n_nodes, unbound->canonical,
                 &unbound->canonical[n_inputs]);
    for (guint p = 0; p < MAX(n_inputs, MIN(unbound->n_ports, 1)); p++) {
        const CtStream *stream = unbound->ports[p].stream;
        const gint64 block = stream ? ct_planner_block(self->planner, stream, unbound->place) : 0;
        unbound->load.block = MAX(unbound->load.block, block);
    }
    for (guint p = n_inputs; p < unbound->n_ports; p++)
        unbound->load.held =
            MAX(unbound->load.held,
                ct_planner_held(self->planner, unbound->ports[p].stream, unbound->place));
}

void
ct_unbound_row_estimate(const CtUnboundRow *unbound, CtPlanner *planner,
                        CtImplementation *implementation, const CtLayout *inputs,
                        const CtLayout *outputs)
{
    gint64 tuning[CT_MAX_TUNABLES];
    const gboolean is_asked =
        !unbound->fixed && ct_planner_tuning(planner, implementation->variant, unbound->nodes,
                                             unbound->n_nodes, tuning);
    const CtEstimated what = {.variant = implementation->variant,
                              .row = implementation->row,
                              .tuning = unbound->fixed ? unbound->fixed->tuning
                                        : is_asked     ? tuning
                                                       : NULL,
                              .nodes = unbound->covered,
                              .n_nodes = unbound->n_nodes,
                              .inputs = inputs,
                              .outputs = outputs,
                              .load = &unbound->load,
                              .from = unbound->place,
                              .to = unbound->place};
    ct_estimate_find(planner->estimates, &what, &implementation->estimate);
    ct_cost_init(&implementation->cost, &planner->machine, implementation->variant, unbound->place,
                 implementation->estimate.seconds);
}

/* Adds the variant's row to the unbound rows if it can be bound to the streams; preferred layouts
 * do not decide that. */
static void
add_unbound_row(CtUnboundRows *self, const CtVariant *variant, const CtRow *row,
                const CtRowPatterns *patterns, const guint *nodes, guint n_nodes, GString *reasons)
{
    GPtrArray *unbound_rows = self->nodes[nodes[0]];
    const gint place = place_of(self, variant, nodes[0]);
    CtUnboundRow *unbound = NULL;
    for (guint i = 0; i < unbound_rows->len && !unbound; i++) {
        CtUnboundRow *other = g_ptr_array_index(unbound_rows, i);
        if (other->patterns == patterns && other->place == place && other->n_nodes == n_nodes)
            unbound = other;
    }
    if (!unbound) {
        if (n_nodes == 1 && g_ptr_array_find(self->failed, patterns, NULL))
            return;
        unbound = unbound_new(self, patterns, place, nodes, n_nodes);
        g_autoptr(GError) cause = NULL;
        if (!ct_row_bind(patterns, &unbound->row_ports, 0, NULL, NULL, unbound->canonical,
                         &cause)) {
            g_string_append_printf(reasons, "%s%s '%s': %s", reasons->len ? "; " : "",
                                   variant->name, row->layouts, cause->message);
            if (n_nodes == 1)
                g_ptr_array_add(self->failed, (gpointer)patterns);
            unbound_free(unbound);
            return;
        }
        set_load(self, unbound);
        unbound->seconds = HUGE_VAL;
        g_ptr_array_add(unbound_rows, unbound);
    }
    CtImplementation implementation = {.variant = variant, .row = row};
    ct_unbound_row_estimate(unbound, self->planner, &implementation, unbound->canonical,
                            &unbound->canonical[unbound->row_ports.n_inputs]);
    unbound->seconds = MIN(unbound->seconds, implementation.estimate.seconds);
    g_array_append_val(unbound->implementations, implementation);
}

/* The seconds of transposes at all ports. */
static gdouble
surroundings(const CtUnboundRows *self, const CtUnboundRow *unbound)
{
    gdouble sum = 0;
    for (guint p = 0; p < unbound->n_ports; p++) {
        const CtLayout *layout = &unbound->canonical[p];
        const CtPlacement here = {*layout, unbound->place};
        CtPlacement turned = here;
        for (guint a = 0; a < layout->n_axes; a++)
            turned.layout.axes[a] = layout->axes[layout->n_axes - 1 - a];
        if (layout->n_axes == 0)
            continue;
        g_autoptr(GArray) conversions =
            ct_conversions_new(self->planner, unbound->ports[p].stream, &here, &turned);
        gdouble least = HUGE_VAL;
        for (guint i = 0; i < conversions->len; i++)
            least = MIN(least, ct_cost_longest(&g_array_index(conversions, CtConversion, i).cost));
        sum += least;
    }
    return sum;
}

/* Drops the rows that are too slow, at each place by itself: a row that is slow may still be
 * cheaper than copies to another place. */
static void
drop_hopeless(CtUnboundRows *self, guint n, gint place)
{
    GPtrArray *unbound_rows = self->nodes[n];
    const CtUnboundRow *best = NULL;
    guint n_here = 0;
    for (guint i = 0; i < unbound_rows->len; i++) {
        const CtUnboundRow *unbound = g_ptr_array_index(unbound_rows, i);
        if (unbound->place != place)
            continue;
        n_here++;
        if (unbound->n_nodes == 1 && (!best || unbound->seconds < best->seconds))
            best = unbound;
    }
    if (!best || n_here == 1)
        return;
    const gdouble limit = hopeless * (best->seconds + surroundings(self, best));
    for (guint i = unbound_rows->len; i-- > 0;) {
        const CtUnboundRow *unbound = g_ptr_array_index(unbound_rows, i);
        if (unbound->place == place && unbound->n_nodes == 1 && unbound->seconds > limit)
            g_ptr_array_remove_index(unbound_rows, i);
    }
}

static gboolean
is_left_to(const CtUnboundRows *self, const CtVariant *variant, const guint *nodes, guint n_nodes)
{
    for (guint k = 0; k < n_nodes; k++)
        if (!ct_planner_leaves(self->planner, ct_graph_node(self->planner->graph, nodes[k]),
                               variant, NULL))
            return FALSE;
    return TRUE;
}

/* ---- fixed nodes ---- */

static const CtFixed *
fixed_at(const CtUnboundRows *self, guint n)
{
    GHashTable *fixed = self->planner->options->fixed;
    return fixed ? g_hash_table_lookup(fixed, ct_graph_node(self->planner->graph, n)->config->name)
                 : NULL;
}

/* Finds the nodes that are fixed, and the first node of the chain that each is fixed with. */
static gboolean
claim_fixed(CtUnboundRows *self, GError **error)
{
    for (guint n = 0; n < self->n_nodes; n++)
        self->fixed_from[n] = -1;
    for (guint n = 0; n < self->n_nodes; n++) {
        const CtFixed *fixed = fixed_at(self, n);
        guint n_nodes = 0;
        if (!fixed)
            continue;
        g_autofree guint *nodes =
            ct_planner_covers(self->planner->graph, self->fan_outs, n, fixed->variant, &n_nodes);
        g_autofree char *reason = NULL;
        if (!nodes || self->fixed_from[n] >= 0)
            return ct_graph_error(ct_graph_node(self->planner->graph, n), NULL, CT_ERROR_LAYOUT,
                                  error, "is fixed to variant '%s', which does not cover it here",
                                  fixed->variant->name);
        if (!ct_planner_can_run(self->planner, fixed->variant, &reason))
            return ct_graph_error(ct_graph_node(self->planner->graph, n), NULL, CT_ERROR_LAYOUT,
                                  error, "is fixed to variant '%s': %s", fixed->variant->name,
                                  reason);
        for (guint k = 0; k < n_nodes; k++)
            self->fixed_from[nodes[k]] = (gint)n;
    }
    return TRUE;
}

static void
add_fixed(CtUnboundRows *self, guint n, const CtFixed *fixed)
{
    const CtRowPatterns *patterns = ct_planner_row(self->planner, fixed->row);
    guint n_nodes;
    g_autofree guint *nodes =
        ct_planner_covers(self->planner->graph, self->fan_outs, n, fixed->variant, &n_nodes);
    CtUnboundRow *unbound = unbound_new(self, patterns, fixed->place, nodes, n_nodes);
    g_assert(unbound->row_ports.n_inputs == fixed->n_inputs &&
             unbound->row_ports.n_outputs == fixed->n_outputs);
    const CtImplementation implementation = {.variant = fixed->variant, .row = fixed->row};
    unbound->fixed = fixed;
    for (guint i = 0; i < fixed->n_inputs; i++)
        unbound->canonical[i] = fixed->inputs[i];
    for (guint o = 0; o < fixed->n_outputs; o++)
        unbound->canonical[fixed->n_inputs + o] = fixed->outputs[o];
    set_load(self, unbound);
    g_array_append_val(unbound->implementations, implementation);
    g_ptr_array_add(self->nodes[n], unbound);
}

static gboolean
check_nodes(const CtUnboundRows *self, const CtVariant *variant, const guint *nodes, guint n_nodes,
            GError **error)
{
    g_autofree CtNode *covered = g_new(CtNode, n_nodes);
    for (guint k = 0; k < n_nodes; k++)
        covered[k] = ct_graph_node(self->planner->graph, nodes[k])->node;
    g_autoptr(GError) cause = NULL;
    return ct_variant_check_nodes(variant, covered, &cause) ||
           ct_graph_error(ct_graph_node(self->planner->graph, nodes[0]), NULL, cause->code, error,
                          "%s", cause->message);
}

/* Why variants are not among the rows of a node: those that graph or options exclude are told
 * apart. */
typedef struct {
    GString *reasons, *unwanted;
} Told;

static gboolean add_attached(CtUnboundRows *self, const CtVariant *variant, const guint *nodes,
                             guint n_nodes, GError **error);

/* Says which nodes a variant wants that does not find them. */
static void
append_covers(GString *text, const CtVariant *variant)
{
    g_string_append_printf(
        text, "%s%s: it runs a row of nodes, each of which alone reads the one before it:",
        text->len ? "; " : "", variant->name);
    for (guint k = 0; variant->covers[k]; k++)
        g_string_append_printf(text, "%s %s", k ? "," : "", variant->covers[k]);
}

/* Adds the rows of a variant for the nodes that begin with `n`, and those of the variant with
 * stages attached. */
static gboolean
add_variant(CtUnboundRows *self, guint n, const CtVariant *variant, Told *told, GError **error)
{
    guint n_nodes;
    g_autofree guint *nodes =
        ct_planner_covers(self->planner->graph, self->fan_outs, n, variant, &n_nodes);
    g_autofree char *reason = NULL;
    if (!nodes) {
        if (ct_planner_names(self->planner, ct_graph_node(self->planner->graph, n), variant))
            append_covers(told->reasons, variant);
        return TRUE;
    }
    if (!may_run(self, variant, nodes, n_nodes, &reason)) {
        GString *text = is_left_to(self, variant, nodes, n_nodes) ? told->reasons : told->unwanted;
        g_string_append_printf(text, "%s%s: %s", text->len ? "; " : "", variant->name,
                               reason ? reason : "it does not take these parameters");
        return TRUE;
    }
    if (!check_nodes(self, variant, nodes, n_nodes, error))
        return FALSE;
    for (const CtRow *row = variant->rows; row && row->layouts; row++) {
        const CtRowPatterns *patterns = ct_planner_row(self->planner, row);
        add_unbound_row(self, variant, row, patterns, nodes, n_nodes, told->reasons);
    }
    return add_attached(self, variant, nodes, n_nodes, error);
}

/* Adds the rows of the variant with the next stage attached, if it can be. That it can't is no
 * reason for anything. */
static gboolean
add_attached(CtUnboundRows *self, const CtVariant *variant, const guint *nodes, guint n_nodes,
             GError **error)
{
    const CtGraph *graph = self->planner->graph;
    const CtPlanOptions *options = self->planner->options;
    const gint next = ct_planner_only_reader(self->fan_outs, nodes[n_nodes - 1]);
    if (options->no_fusion || options->default_layouts || next < 0 ||
        ct_planner_reads_others(self->fan_outs, (guint)next))
        return TRUE;
    const CtVariant *attached = ct_registry_attach(self->planner->registry, variant,
                                                   ct_graph_node(graph, (guint)next)->node.stage);
    g_autofree CtNode *covered = g_new(CtNode, n_nodes + 1);
    for (guint k = 0; k < n_nodes; k++)
        covered[k] = ct_graph_node(graph, nodes[k])->node;
    covered[n_nodes] = ct_graph_node(graph, (guint)next)->node;
    if (!attached || !ct_epilogue_variant_fits(attached, covered))
        return TRUE;
    g_autoptr(GString) dropped = g_string_new(NULL);
    Told silent = {dropped, dropped};
    return add_variant(self, nodes[0], attached, &silent, error);
}

/* Finds all unbound rows that begin with node `n`. `reasons` gets the reasons why others do not
 * fit; variants that graph or options exclude are named only where there is no other reason. */
static gboolean
find_unbound_rows(CtUnboundRows *self, guint n, GString *reasons, GError **error)
{
    g_autoptr(GString) unwanted = g_string_new(NULL);
    Told told = {reasons, unwanted};
    const CtGraphNode *node = ct_graph_node(self->planner->graph, n);
    const GPtrArray *variants =
        ct_registry_variants(self->planner->registry, node->node.stage->name);
    if (self->fixed_from[n] == (gint)n)
        add_fixed(self, n, fixed_at(self, n));
    if (self->fixed_from[n] >= 0)
        return TRUE;
    g_ptr_array_set_size(self->failed, 0);
    for (guint v = 0; v < variants->len; v++)
        if (!add_variant(self, n, g_ptr_array_index(variants, v), &told, error))
            return FALSE;
    if (reasons->len == 0)
        g_string_append(reasons, unwanted->str);
    for (gint place = CT_HOST; place < (gint)self->planner->machine.n_devices; place++)
        drop_hopeless(self, n, place);
    return TRUE;
}

/* ---- all nodes ---- */

CtUnboundRows *
ct_unbound_rows_new(CtPlanner *planner, GPtrArray *reasons, GError **error)
{
    g_autoptr(CtUnboundRows) self = g_new0(CtUnboundRows, 1);
    const guint n = planner->graph->nodes->len;
    self->planner = planner;
    self->n_nodes = n;
    self->nodes = g_new(GPtrArray *, n + 1);
    for (guint i = 0; i < n; i++)
        self->nodes[i] = g_ptr_array_new_with_free_func(unbound_free);
    self->fan_outs = ct_fan_outs_new(planner->graph);
    self->failed = g_ptr_array_new();
    self->fixed_from = g_new(gint, n + 1);
    gboolean fine = claim_fixed(self, error);
    for (guint i = 0; i < n && fine; i++)
        fine = find_unbound_rows(self, i, g_ptr_array_index(reasons, i), error);
    return fine ? g_steal_pointer(&self) : NULL;
}

void
ct_unbound_rows_free(CtUnboundRows *unbound_rows)
{
    if (!unbound_rows)
        return;
    for (guint i = 0; i < unbound_rows->n_nodes; i++)
        g_ptr_array_unref(unbound_rows->nodes[i]);
    g_free(unbound_rows->nodes);
    g_ptr_array_unref(unbound_rows->fan_outs);
    g_ptr_array_unref(unbound_rows->failed);
    g_free(unbound_rows->fixed_from);
    g_free(unbound_rows);
}
