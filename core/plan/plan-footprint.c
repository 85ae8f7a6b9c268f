/* SPDX-License-Identifier: BSD-3-Clause */
/* Latency, history, start-up, and the effect of gaps, as known before a run. */
#include "plan-footprint.h"

#include "graph/footprint.h"
#include "model/quantity.h"
#include "model/table.h"
#include "plan-sizes.h"

#include <math.h>

static const CtPlanNode *
plan_node(const CtPlan *plan, guint i)
{
    return ct_plan_node(plan, i);
}

static const CtNode *
graph_node(const CtPlan *plan, guint i)
{
    return &((const CtGraphNode *)ct_graph_node(plan->graph, i))->node;
}

/* Whether the plan's node runs this one of the graph. */
static gboolean
runs(const CtPlanNode *planned, const CtNode *node)
{
    for (guint k = 0; k < planned->n_nodes && !planned->inserted; k++) {
        if (planned->nodes[k].params == node->params)
            return TRUE;
    }
    return FALSE;
}

/* The most ticks for which a sample waits for others of its block, from the source's firing to the
 * sink's. */
static gint64
ticks_in_blocks(const CtPlan *plan, const CtPathFootprint *path)
{
    const guint n_nodes = plan->nodes->len;
    g_autofree gint64 *waits = g_new(gint64, n_nodes + 1);
    for (guint n = 0; n < n_nodes; n++) {
        const CtPlanNode *node = plan_node(plan, n);
        waits[n] = -1;
        if (runs(node, graph_node(plan, path->source))) {
            for (guint o = 0; o < node->n_outputs; o++) {
                const CtBinding *binding = &node->output_bindings[o];
                waits[n] = MAX(waits[n], (binding->max_samples - 1) *
                                             MAX(binding->stream->ticks_per_sample, 1));
            }
            continue;
        }
        for (guint i = 0; i < node->n_inputs; i++) {
            if (!ct_plan_flows(plan, node, i))
                continue;
            const CtPlanLink *link = ct_plan_link(plan, node->inputs[i]);
            const gint64 batch = MAX(node->batch - 1, 0) * MAX(link->stream->ticks_per_sample, 1);
            if (waits[link->writer] >= 0)
                waits[n] = MAX(waits[n], waits[link->writer] + batch);
        }
        if (runs(node, graph_node(plan, path->sink)))
            return MAX(waits[n], 0);
    }
    return 0;
}

/* The same in samples of the source. */
static gint64
wait_in_blocks(const CtPlan *plan, const CtPathFootprint *path)
{
    const CtNode *source = graph_node(plan, path->source);
    gint64 ticks = 1;
    for (guint o = source->n_outputs; o-- > 0;)
        ticks = MAX(source->outputs[o].ticks_per_sample, 1);
    return ticks_in_blocks(plan, path) / ticks;
}

/* "13.1 ms", or where the source has no clock "4096 samples" */
static char *
describe_duration(const CtPathFootprint *path, gint64 samples)
{
    if (path->rate <= 0)
        return g_strdup_printf("%" G_GINT64_FORMAT " samples", samples);
    const gdouble seconds = (gdouble)samples / path->rate;
    const gdouble digits = seconds > 0 ? pow(10, 2 - floor(log10(seconds))) : 1;
    return ct_quantity_format(round(seconds * digits) / digits, "s");
}

/* "8", "7 or 8", "7 to 11" */
static char *
describe_count(CtCount count)
{
    if (count.least == count.most)
        return g_strdup_printf("%" G_GINT64_FORMAT, count.least);
    return g_strdup_printf("%" G_GINT64_FORMAT " %s %" G_GINT64_FORMAT, count.least,
                           count.most == count.least + 1 ? "or" : "to", count.most);
}

/* "8 or 9 samples", "1 or 2 sums, 8 or 9 of their terms", followed by the axes along which they are
 * lost */
static char *
describe_touched(const CtPathFootprint *path)
{
    g_autofree char *touched = describe_count(path->touched);
    g_autofree char *terms = describe_count(path->terms);
    GString *text = g_string_new(path->exact ? NULL : "within ");
    g_string_append_printf(text, "%s %s", touched,
                           path->sums                ? "sums"
                           : path->touched.most == 1 ? "sample"
                                                     : "samples");
    if (path->sums)
        g_string_append_printf(text, ", %s of their terms", terms);
    for (guint a = 0; a < path->n_apart; a++)
        g_string_append_printf(text, "%s %s", a ? " and" : ", of one", path->apart[a]);
    return g_string_free(text, FALSE);
}

void
ct_plan_print_footprints(GString *text, const CtPlan *plan)
{
    g_autoptr(GArray) paths = ct_footprints_new(plan->graph, plan->n_missing);
    if (paths->len == 0)
        return;
    g_autofree char *missing =
        plan->n_missing == 1
            ? g_strdup("a missing sample touches")
            : g_strdup_printf("%" G_GINT64_FORMAT " missing samples touch", plan->n_missing);
    const CtColumn columns[] = {
        {"from", FALSE},   {"to", FALSE},      {"latency", TRUE}, {"in blocks", TRUE},
        {"history", TRUE}, {"start-up", TRUE}, {missing, FALSE},
    };
    g_autoptr(GPtrArray) rows = ct_table_rows_new();
    for (guint p = 0; p < paths->len; p++) {
        const CtPathFootprint *path = &g_array_index(paths, CtPathFootprint, p);
        char *const cells[] = {
            g_strdup(graph_node(plan, path->source)->name),
            g_strdup(graph_node(plan, path->sink)->name),
            describe_duration(path, path->wait),
            describe_duration(path, wait_in_blocks(plan, path)),
            g_strdup_printf("%" G_GINT64_FORMAT, path->history),
            g_strdup_printf("%" G_GINT64_FORMAT, path->start_up),
            describe_touched(path),
            NULL,
        };
        g_ptr_array_add(rows, g_memdup2(cells, sizeof(cells)));
    }
    ct_table_print(text, columns, G_N_ELEMENTS(columns), rows);
    g_string_append_c(text, '\n');
}

/* ---- JSON ---- */

static void
add_count(CtJson *json, const char *key, CtCount count)
{
    const gint64 bounds[] = {count.least, count.most};
    ct_json_add_integers(json, key, bounds, G_N_ELEMENTS(bounds));
}

static void
add_path(CtJson *json, const CtPlan *plan, const CtPathFootprint *path)
{
    const gint64 blocks = wait_in_blocks(plan, path);
    ct_json_begin_object(json, NULL);
    ct_json_add_text(json, "source", graph_node(plan, path->source)->name);
    ct_json_add_text(json, "sink", graph_node(plan, path->sink)->name);
    ct_json_add_integer(json, "step", path->step);
    ct_json_add_integer(json, "reach", path->reach);
    ct_json_add_integer(json, "wait", path->wait);
    ct_json_add_integer(json, "blocks", blocks);
    ct_json_add_integer(json, "history", path->history);
    ct_json_add_integer(json, "start_up", path->start_up);
    ct_json_add_integer(json, "missing", path->n_missing);
    ct_json_add_real(json, "latency",
                     path->rate > 0 ? (gdouble)(path->wait + blocks) / path->rate : NAN);
    add_count(json, "touched", path->touched);
    add_count(json, "lost", path->lost);
    if (path->sums)
        add_count(json, "terms", path->terms);
    ct_json_add_boolean(json, "exact", path->exact);
    ct_json_begin_array(json, "apart");
    for (guint a = 0; a < path->n_apart; a++)
        ct_json_add_text(json, NULL, path->apart[a]);
    ct_json_end_array(json);
    ct_json_end_object(json);
}

void
ct_plan_add_footprints(CtJson *json, const CtPlan *plan)
{
    g_autoptr(GArray) paths = ct_footprints_new(plan->graph, plan->n_missing);
    ct_json_begin_array(json, "footprints");
    for (guint p = 0; p < paths->len; p++)
        add_path(json, plan, &g_array_index(paths, CtPathFootprint, p));
    ct_json_end_array(json);
}
