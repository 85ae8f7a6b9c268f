/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of variants that can be bound to a graph's nodes, and those that are fixed. */
#include "candidates-options.h"

#include "choose.h"
#include "conversion.h"
#include "graph/plugin-call.h"
#include "placement.h"
#include "planner-firings.h"
#include "planner-variants.h"

#include <math.h>

/* An option is hopeless when it costs so many times what the cheapest one does, with transposes at
 * all its ports. */
static const gdouble hopeless = 4;

static void
option_free(gpointer data)
{
    CtOption *option = data;
    g_array_unref(option->implementations);
    g_free(option->nodes);
    g_free(option->covered);
    g_free(option->canonical);
    g_free(option->ports);
    g_free(option);
}

static const CtGraphNode *
node_at(const CtOptions *self, guint i)
{
    return g_ptr_array_index(self->planner->graph->nodes, i);
}

static gint
place_of(const CtOptions *self, const CtVariant *variant, guint node)
{
    return ct_planner_place(self->planner, node_at(self, node), variant);
}

static gboolean
may_run(const CtOptions *self, const CtVariant *variant, const guint *nodes, guint n_nodes,
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

/* The ports at which layouts matter: an input for its description alone has none. */
static void
set_ports(const CtOptions *self, CtOption *option)
{
    const CtNode *first = &node_at(self, option->nodes[0])->node;
    const CtNode *last = &node_at(self, option->nodes[option->n_nodes - 1])->node;
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

static CtOption *
option_new(const CtOptions *self, const CtRowPatterns *patterns, gint place, const guint *nodes,
           guint n_nodes)
{
    CtOption *option = g_new0(CtOption, 1);
    option->patterns = patterns;
    option->place = place;
    option->n_nodes = n_nodes;
    option->nodes = g_memdup2(nodes, n_nodes * sizeof(*nodes));
    option->covered = g_new(CtNode, n_nodes);
    for (guint k = 0; k < n_nodes; k++)
        option->covered[k] = node_at(self, nodes[k])->node;
    option->implementations = g_array_new(FALSE, FALSE, sizeof(CtImplementation));
    set_ports(self, option);
    option->canonical = g_new0(CtLayout, option->n_ports + 1);
    return option;
}

/* What the option asks of the machine, whatever the orders. */
static void
set_load(const CtOptions *self, CtOption *option)
{
    const guint n_inputs = option->row_ports.n_inputs;
    ct_load_init(&option->load, option->covered, option->n_nodes, option->canonical,
                 &option->canonical[n_inputs]);
    for (guint p = 0; p < MAX(n_inputs, MIN(option->n_ports, 1)); p++) {
        const CtStream *stream = option->ports[p].stream;
        const gint64 block = stream ? ct_planner_block(self->planner, stream, option->place) : 0;
        option->load.block = MAX(option->load.block, block);
    }
    for (guint p = n_inputs; p < option->n_ports; p++)
        option->load.held =
            MAX(option->load.held,
                ct_planner_held(self->planner, option->ports[p].stream, option->place));
}

void
ct_option_estimate(const CtOption *option, CtPlanner *planner, CtImplementation *implementation,
                   const CtLayout *inputs, const CtLayout *outputs)
{
    gint64 tuning[CT_MAX_TUNABLES];
    const gboolean is_asked =
        !option->fixed &&
        ct_planner_tuning(planner, implementation->variant, option->nodes, option->n_nodes, tuning);
    const CtEstimated what = {.variant = implementation->variant,
                              .row = implementation->row,
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
    ct_estimate_find(planner->estimates, &what, &implementation->estimate);
    ct_cost_init(&implementation->cost, &planner->machine, implementation->variant, option->place,
                 implementation->estimate.seconds);
}

/* Adds the variant's row to the options, where it can be bound to the streams. Preferences never
 * decide whether it can. */
static void
add_option(CtOptions *self, const CtVariant *variant, const CtRow *row,
           const CtRowPatterns *patterns, const guint *nodes, guint n_nodes, GString *reasons)
{
    GPtrArray *options = self->nodes[nodes[0]];
    const gint place = place_of(self, variant, nodes[0]);
    CtOption *option = NULL;
    for (guint i = 0; i < options->len && !option; i++) {
        CtOption *other = g_ptr_array_index(options, i);
        if (other->patterns == patterns && other->place == place && other->n_nodes == n_nodes)
            option = other;
    }
    if (!option) {
        if (n_nodes == 1 && g_ptr_array_find(self->failed, patterns, NULL))
            return;
        option = option_new(self, patterns, place, nodes, n_nodes);
        g_autoptr(GError) cause = NULL;
        if (!ct_row_bind(patterns, &option->row_ports, 0, NULL, NULL, option->canonical, &cause)) {
            g_string_append_printf(reasons, "%s%s '%s': %s", reasons->len ? "; " : "",
                                   variant->name, row->layouts, cause->message);
            if (n_nodes == 1)
                g_ptr_array_add(self->failed, (gpointer)patterns);
            option_free(option);
            return;
        }
        set_load(self, option);
        option->seconds = HUGE_VAL;
        g_ptr_array_add(options, option);
    }
    CtImplementation implementation = {.variant = variant, .row = row};
    ct_option_estimate(option, self->planner, &implementation, option->canonical,
                       &option->canonical[option->row_ports.n_inputs]);
    option->seconds = MIN(option->seconds, implementation.estimate.seconds);
    g_array_append_val(option->implementations, implementation);
}

/* Seconds of transposes at all ports. */
static gdouble
surroundings(const CtOptions *self, const CtOption *option)
{
    gdouble sum = 0;
    for (guint p = 0; p < option->n_ports; p++) {
        const CtLayout *layout = &option->canonical[p];
        const CtPlacement here = {*layout, option->place};
        CtPlacement turned = here;
        for (guint a = 0; a < layout->n_axes; a++)
            turned.layout.axes[a] = layout->axes[layout->n_axes - 1 - a];
        if (layout->n_axes == 0)
            continue;
        g_autoptr(GArray) conversions =
            ct_conversions_new(self->planner, option->ports[p].stream, &here, &turned);
        gdouble least = HUGE_VAL;
        for (guint i = 0; i < conversions->len; i++)
            least = MIN(least, ct_cost_longest(&g_array_index(conversions, CtConversion, i).cost));
        sum += least;
    }
    return sum;
}

/* At each place by itself: what is slow there may still be cheaper than copies to another. */
static void
drop_hopeless(CtOptions *self, guint n, gint place)
{
    GPtrArray *options = self->nodes[n];
    const CtOption *best = NULL;
    guint n_here = 0;
    for (guint i = 0; i < options->len; i++) {
        const CtOption *option = g_ptr_array_index(options, i);
        if (option->place != place)
            continue;
        n_here++;
        if (option->n_nodes == 1 && (!best || option->seconds < best->seconds))
            best = option;
    }
    if (!best || n_here == 1)
        return;
    const gdouble limit = hopeless * (best->seconds + surroundings(self, best));
    for (guint i = options->len; i-- > 0;) {
        const CtOption *option = g_ptr_array_index(options, i);
        if (option->place == place && option->n_nodes == 1 && option->seconds > limit)
            g_ptr_array_remove_index(options, i);
    }
}

static gboolean
is_left_to(const CtOptions *self, const CtVariant *variant, const guint *nodes, guint n_nodes)
{
    for (guint k = 0; k < n_nodes; k++)
        if (!ct_planner_leaves(self->planner, node_at(self, nodes[k]), variant, NULL))
            return FALSE;
    return TRUE;
}

/* ---- what is fixed ---- */

static const CtFixed *
fixed_at(const CtOptions *self, guint n)
{
    GHashTable *fixed = self->planner->options->fixed;
    return fixed ? g_hash_table_lookup(fixed, node_at(self, n)->config->name) : NULL;
}

/* Finds the nodes that are fixed with others. */
static gboolean
claim_fixed(CtOptions *self, GError **error)
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
            return ct_graph_error(node_at(self, n), NULL, CT_ERROR_LAYOUT, error,
                                  "is fixed to variant '%s', which does not cover it here",
                                  fixed->variant->name);
        if (!ct_planner_can_run(self->planner, fixed->variant, &reason))
            return ct_graph_error(node_at(self, n), NULL, CT_ERROR_LAYOUT, error,
                                  "is fixed to variant '%s': %s", fixed->variant->name, reason);
        for (guint k = 0; k < n_nodes; k++)
            self->fixed_from[nodes[k]] = (gint)n;
    }
    return TRUE;
}

static void
add_fixed(CtOptions *self, guint n, const CtFixed *fixed)
{
    const CtRowPatterns *patterns = ct_planner_row(self->planner, fixed->row);
    guint n_nodes;
    g_autofree guint *nodes =
        ct_planner_covers(self->planner->graph, self->fan_outs, n, fixed->variant, &n_nodes);
    CtOption *option = option_new(self, patterns, fixed->place, nodes, n_nodes);
    g_assert(option->row_ports.n_inputs == fixed->n_inputs &&
             option->row_ports.n_outputs == fixed->n_outputs);
    const CtImplementation implementation = {.variant = fixed->variant, .row = fixed->row};
    option->fixed = fixed;
    for (guint i = 0; i < fixed->n_inputs; i++)
        option->canonical[i] = fixed->inputs[i];
    for (guint o = 0; o < fixed->n_outputs; o++)
        option->canonical[fixed->n_inputs + o] = fixed->outputs[o];
    set_load(self, option);
    g_array_append_val(option->implementations, implementation);
    g_ptr_array_add(self->nodes[n], option);
}

static gboolean
check_nodes(const CtOptions *self, const CtVariant *variant, const guint *nodes, guint n_nodes,
            GError **error)
{
    g_autofree CtNode *covered = g_new(CtNode, n_nodes);
    for (guint k = 0; k < n_nodes; k++)
        covered[k] = node_at(self, nodes[k])->node;
    g_autoptr(GError) cause = NULL;
    return ct_variant_check_nodes(variant, covered, &cause) ||
           ct_graph_error(node_at(self, nodes[0]), NULL, cause->code, error, "%s", cause->message);
}

/* All options that begin with node `n`. What does not fit is told in `reasons`; of variants that
 * nobody wants, only where that is all there is to tell. */
static gboolean
find_options(CtOptions *self, guint n, GString *reasons, GError **error)
{
    g_autoptr(GString) unwanted = g_string_new(NULL);
    const CtGraphNode *node = node_at(self, n);
    const GPtrArray *variants =
        ct_registry_variants(self->planner->registry, node->node.stage->name);
    if (self->fixed_from[n] == (gint)n)
        add_fixed(self, n, fixed_at(self, n));
    if (self->fixed_from[n] >= 0)
        return TRUE;
    g_ptr_array_set_size(self->failed, 0);
    for (guint v = 0; v < variants->len; v++) {
        const CtVariant *variant = g_ptr_array_index(variants, v);
        guint n_nodes;
        g_autofree guint *nodes =
            ct_planner_covers(self->planner->graph, self->fan_outs, n, variant, &n_nodes);
        g_autofree char *reason = NULL;
        if (!nodes)
            continue;
        if (!may_run(self, variant, nodes, n_nodes, &reason)) {
            GString *told = is_left_to(self, variant, nodes, n_nodes) ? reasons : unwanted;
            g_string_append_printf(told, "%s%s: %s", told->len ? "; " : "", variant->name,
                                   reason ? reason : "it does not take these parameters");
            continue;
        }
        if (!check_nodes(self, variant, nodes, n_nodes, error))
            return FALSE;
        for (const CtRow *row = variant->rows; row && row->layouts; row++) {
            const CtRowPatterns *patterns = ct_planner_row(self->planner, row);
            add_option(self, variant, row, patterns, nodes, n_nodes, reasons);
        }
    }
    if (reasons->len == 0)
        g_string_append(reasons, unwanted->str);
    for (gint place = CT_HOST; place < (gint)self->planner->machine.n_devices; place++)
        drop_hopeless(self, n, place);
    return TRUE;
}

/* ---- the whole ---- */

CtOptions *
ct_options_new(CtPlanner *planner, GPtrArray *reasons, GError **error)
{
    g_autoptr(CtOptions) self = g_new0(CtOptions, 1);
    const guint n = planner->graph->nodes->len;
    self->planner = planner;
    self->n_nodes = n;
    self->nodes = g_new(GPtrArray *, n + 1);
    for (guint i = 0; i < n; i++)
        self->nodes[i] = g_ptr_array_new_with_free_func(option_free);
    self->fan_outs = ct_fan_outs_new(planner->graph);
    self->failed = g_ptr_array_new();
    self->fixed_from = g_new(gint, n + 1);
    gboolean fine = claim_fixed(self, error);
    for (guint i = 0; i < n && fine; i++)
        fine = find_options(self, i, g_ptr_array_index(reasons, i), error);
    return fine ? g_steal_pointer(&self) : NULL;
}

void
ct_options_free(CtOptions *options)
{
    if (!options)
        return;
    for (guint i = 0; i < options->n_nodes; i++)
        g_ptr_array_unref(options->nodes[i]);
    g_free(options->nodes);
    g_ptr_array_unref(options->fan_outs);
    g_ptr_array_unref(options->failed);
    g_free(options->fixed_from);
    g_free(options);
}
