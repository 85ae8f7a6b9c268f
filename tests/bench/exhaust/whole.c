/* SPDX-License-Identifier: BSD-3-Clause */
/* A combination, run as a whole graph, and the results for its parts. */
#include "whole.h"

#include "measure/tune-private.h"
#include "plan/plan-sizes.h"

#include <stdlib.h>
#include <string.h>

static const CtGraphNode *
node_at(const CtSpace *space, guint n)
{
    return ct_graph_node(space->planner->graph, n);
}

CtWhole *
ct_whole_new(const guint16 *chosen, guint n_nodes, gdouble bound)
{
    CtWhole *whole = g_new0(CtWhole, 1);
    whole->chosen = g_memdup2(chosen, n_nodes * sizeof(*chosen));
    whole->bound = bound;
    whole->seconds = g_array_new(FALSE, FALSE, sizeof(gdouble));
    whole->behind = g_array_new(FALSE, FALSE, sizeof(gdouble));
    return whole;
}

void
ct_whole_rest(CtWhole *whole)
{
    g_clear_pointer(&whole->dry_run, ct_dry_run_free);
    g_clear_pointer(&whole->plan, ct_plan_free);
    g_clear_pointer(&whole->fixed, g_hash_table_unref);
}

void
ct_whole_free(CtWhole *whole)
{
    if (!whole)
        return;
    ct_whole_rest(whole);
    g_array_unref(whole->seconds);
    g_array_unref(whole->behind);
    g_free(whole->chosen);
    g_free(whole);
}

gdouble
ct_whole_median(const CtWhole *whole)
{
    return ct_tune_median(whole->seconds);
}

static gboolean
prepare(CtWhole *whole, const CtSpace *space, GError **error)
{
    const CtPlanner *planner = space->planner;
    whole->fixed =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)ct_fixed_free);
    for (guint n = 0; n < space->n_nodes; n++) {
        if (whole->chosen[n] == CT_COVERED)
            continue;
        const CtWay *way = ct_space_way(space, n, whole->chosen[n]);
        const CtCandidate *to = way->candidate;
        g_hash_table_insert(whole->fixed, node_at(space, n)->config->name,
                            ct_fixed_new(way->implementation->variant, way->implementation->row,
                                         way->implementation->estimate.tuning, to->place,
                                         node_at(space, n)->node.n_inputs, to->inputs,
                                         node_at(space, to->nodes[to->n_nodes - 1])->node.n_outputs,
                                         to->outputs));
    }
    whole->options = *planner->options;
    whole->options.fixed = whole->fixed;
    whole->options.default_layouts = FALSE;
    whole->plan = ct_plan_new(planner->graph, planner->registry, &whole->options, error);
    if (!whole->plan)
        return FALSE;
    whole->dry_run = ct_dry_run_new(whole->plan, planner->registry, &whole->options, error);
    return whole->dry_run != NULL;
}

/* ---- results of a run ---- */

/* The graph's node of this name, or of a replacement's name, "name.2", from which *port is set. */
static gint
find_node(const CtSpace *space, const char *name, guint *port)
{
    for (guint n = 0; n < space->n_nodes; n++) {
        const char *own = node_at(space, n)->node.name;
        const gsize length = strlen(own);
        if (strncmp(own, name, length) != 0 || (name[length] && name[length] != '.'))
            continue;
        if (name[length])
            *port = (guint)atoi(&name[length + 1]);
        return (gint)n;
    }
    return -1;
}

static CtPlacement
placement_of(const CtPlan *plan, gint link)
{
    const CtPlanLink *own = ct_plan_link(plan, (guint)link);
    return (CtPlacement){own->layout, own->place};
}

/* The fan-out of the graph behind which an inserted node was inserted. */
static gint
find_fan_out(const CtSpace *space, const CtPlan *plan, const CtPlanNode *node)
{
    const CtPlanLink *link = ct_plan_link(plan, (guint)node->inputs[0]);
    const CtPlanNode *writer = ct_plan_node(plan, link->writer);
    if (writer->inserted)
        return find_fan_out(space, plan, writer);
    guint port = link->port;
    const gint n = find_node(space, writer->nodes[writer->n_nodes - 1].name, &port);
    return n < 0 ? -1 : space->output_fan_outs[n][port];
}

static CtPart *
find_part(const CtWhole *whole, CtSpace *space, const CtPlanNode *node)
{
    const CtPlan *plan = ct_dry_run_plan(whole->dry_run);
    if (node->inserted) {
        const gint fan_out = find_fan_out(space, plan, node);
        const CtPlacement from = placement_of(plan, node->inputs[0]),
                          to = placement_of(plan, node->outputs[0]);
        return fan_out < 0 ? NULL : ct_space_step(space, (guint)fan_out, node->variant, &from, &to);
    }
    guint port;
    const gint n = find_node(space, node->nodes[0].name, &port);
    return n < 0 ? NULL : &ct_space_way(space, (guint)n, whole->chosen[n])->part;
}

static void
note(CtPart *part, guint neighbours, guint resource, gdouble seconds, gdouble alone)
{
    if (part->n == 0 || seconds < part->least) {
        part->least = seconds;
        part->resource = resource;
        part->alone = alone;
    }
    part->n++;
    for (guint i = 0; i < part->n_neighbours; i++)
        if (part->neighbours[i] == neighbours)
            return;
    if (part->n_neighbours < CT_ENOUGH_NEIGHBOURS)
        part->neighbours[part->n_neighbours++] = neighbours;
}

static void
append_neighbour(GString *text, const CtPlanNode *node, const CtBinding *binding)
{
    g_autofree char *layout = binding ? ct_layout_to_string(&binding->layout) : NULL;
    g_string_append_printf(text, "%s %s, ", node->name, layout ? layout : "");
}

/* A hash of the neighbours: of the writers of its inputs with their inputs, and of the readers
 * of its outputs with their outputs. The content of caches, and the waiting of nodes, depend on
 * these. */
static guint
hash_neighbours(const CtPlan *plan, const CtPlanNode *node)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] < 0)
            continue;
        const CtPlanLink *link = ct_plan_link(plan, (guint)node->inputs[i]);
        const CtPlanNode *writer = ct_plan_node(plan, link->writer);
        append_neighbour(text, writer, writer->n_inputs > 0 ? writer->input_bindings : NULL);
    }
    for (guint o = 0; o < node->n_outputs; o++) {
        if (node->outputs[o] < 0)
            continue;
        const CtPlanLink *link = ct_plan_link(plan, (guint)node->outputs[o]);
        for (guint r = 0; r < link->readers->len; r++) {
            const CtPlanReader *to = &g_array_index(link->readers, CtPlanReader, r);
            const CtPlanNode *reader = ct_plan_node(plan, to->node);
            append_neighbour(text, reader, reader->n_outputs > 0 ? reader->output_bindings : NULL);
        }
    }
    return g_str_hash(text->str);
}

/* Notes that the ways of replaced nodes ran; they take no time. */
static void
note_ends(const CtWhole *whole, CtSpace *space)
{
    for (guint n = 0; n < space->n_nodes; n++)
        if (whole->chosen[n] != CT_COVERED) {
            CtWay *way = ct_space_way(space, n, whole->chosen[n]);
            if (ct_dry_run_replaces(way->implementation->variant))
                note(&way->part, way->part.n, 0, 0, 0);
        }
}

/* Whether the node follows a sum, and so may have had no input yet. */
static gboolean
is_behind_sum(const CtPlan *plan, const CtPlanNode *node)
{
    for (guint i = 0; i < node->n_inputs; i++) {
        if (!ct_plan_flows(plan, node, i))
            continue;
        const CtPlanLink *link = ct_plan_link(plan, (guint)node->inputs[i]);
        const CtPlanNode *writer = ct_plan_node(plan, link->writer);
        if (writer->footprint.kind == CT_FOOTPRINT_SUM || is_behind_sum(plan, writer))
            return TRUE;
    }
    return FALSE;
}

/* Fails where a node did not fire at all, which would look fast. */
static gboolean
check_all_ran(const CtDryRun *dry_run, const gdouble *seconds, GError **error)
{
    const CtPlan *plan = ct_dry_run_plan(dry_run);
    for (guint i = 0; i < plan->nodes->len; i++) {
        const CtPlanNode *node = ct_plan_node(plan, i);
        if (seconds[i] > 0 || ct_dry_run_is_end(dry_run, i) || ct_plan_is_source(plan, node) ||
            is_behind_sum(plan, node))
            continue;
        g_set_error(error, CT_ERROR, CT_ERROR_CANCELLED, "'%s' takes too long to tell", node->name);
        return FALSE;
    }
    return TRUE;
}

static gdouble
largest(const gdouble *vector, guint n)
{
    gdouble most = 0;
    for (guint r = 0; r < n; r++)
        most = MAX(most, vector[r]);
    return most;
}

static void
note_run(CtWhole *whole, CtSpace *space, const gdouble *seconds)
{
    const CtPlan *plan = ct_dry_run_plan(whole->dry_run);
    const guint n = space->n_resources + 1;
    g_autofree gdouble *all = g_new0(gdouble, n), *behind = g_new0(gdouble, n);
    for (guint i = 0; i < plan->nodes->len; i++) {
        const CtPlanNode *node = ct_plan_node(plan, i);
        if (ct_dry_run_is_end(whole->dry_run, i))
            continue;
        guint resource = ct_resource(CT_HOST, CT_QUEUE_COMPUTE);
        gdouble busy = seconds[i] / plan->n_workers, alone = 0;
        if (node->queue >= 0) {
            const CtPlanQueue *queue = &g_array_index(plan->queues, CtPlanQueue, node->queue);
            resource = ct_resource(queue->device, queue->kind);
            busy = seconds[i];
        } else if (!node->variant->split) {
            alone = seconds[i];
        }
        CtPart *part = find_part(whole, space, node);
        if (part && (busy > 0 || ct_plan_is_source(plan, node)))
            note(part, hash_neighbours(plan, node), resource, busy, alone);
        all[resource] += busy;
        all[n - 1] = MAX(all[n - 1], alone);
        if (!ct_plan_is_source(plan, node)) {
            behind[resource] += busy;
            behind[n - 1] = MAX(behind[n - 1], alone);
        }
    }
    note_ends(whole, space);
    const gdouble took = largest(all, n), took_behind = largest(behind, n);
    g_array_append_val(whole->seconds, took);
    g_array_append_val(whole->behind, took_behind);
}

gboolean
ct_whole_run(CtWhole *whole, CtSpace *space, gdouble stream_seconds, gdouble seconds,
             GError **error)
{
    if (!whole->dry_run && !prepare(whole, space, error))
        return FALSE;
    g_autofree gdouble *of_nodes = g_new0(gdouble, ct_dry_run_plan(whole->dry_run)->nodes->len + 1);
    CtDryRunResult result = {.seconds = of_nodes};
    if (!ct_dry_run_run(whole->dry_run, stream_seconds, seconds, &result, error) ||
        !check_all_ran(whole->dry_run, of_nodes, error))
        return FALSE;
    note_run(whole, space, of_nodes);
    return TRUE;
}
