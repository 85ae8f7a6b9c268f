/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions for tests of plans: a graph of stages that are only planned, and its plan. */
#pragma once

#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/plan.h"

#include <math.h>

/* A source with a fixed layout. */
#define ORDERED "{stage: test.source, layout: '[time channel station pol]'}"

typedef struct {
    CtRegistry *registry;
    CtConfig *config;
    CtGraph *graph;
    CtPlan *plan;
} Fixture;

/* The devices of a machine with one or two. */
G_GNUC_UNUSED static const CtDeviceInfo devices[] = {
    {.name = "first", .architecture = 90, .memory_bytes = 1 << 30, .bandwidth = 1e12, .peak = 1e13},
    {.index = 1,
     .name = "second",
     .architecture = 90,
     .memory_bytes = 1 << 30,
     .bandwidth = 1e12,
     .peak = 1e13},
};

/* The options for a machine without devices. */
G_GNUC_UNUSED static const CtPlanOptions usual = {
    .n_workers = 2,
    .backend = CT_N_BACKENDS,
    .cache_bytes = 1 << 20,
    .bandwidth = 12e9,
    .devices = devices,
};

G_GNUC_UNUSED static CtRegistry *
open_registry(const char *sub_folder)
{
    g_autofree char *folder =
        g_build_filename(g_getenv("CORNERTURN_TEST_PLUGINS"), "planner", sub_folder, NULL);
    const char *const folders[] = {folder, NULL};
    g_autoptr(GError) error = NULL;
    CtRegistry *registry = ct_registry_new_from(folders, &error);
    g_assert_no_error(error);
    return registry;
}

G_GNUC_UNUSED static void
set_up(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    fixture->registry = open_registry(NULL);
}

G_GNUC_UNUSED static void
clear(Fixture *fixture)
{
    g_clear_pointer(&fixture->plan, ct_plan_free);
    g_clear_pointer(&fixture->graph, ct_graph_free);
    g_clear_pointer(&fixture->config, ct_config_free);
}

G_GNUC_UNUSED static void
tear_down(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    clear(fixture);
    ct_registry_free(fixture->registry);
}

G_GNUC_UNUSED static void
load(Fixture *fixture, const char *stages)
{
    g_autoptr(GError) error = NULL;
    clear(fixture);
    g_autofree char *text = g_strdup_printf("stages:\n%s", stages);
    fixture->config = ct_config_parse(text, -1, "g.yaml", NULL, &error);
    g_assert_no_error(error);
    fixture->graph = ct_graph_new(fixture->config, fixture->registry, FALSE, &error);
    g_assert_no_error(error);
}

G_GNUC_UNUSED static void
plan(Fixture *fixture, const char *stages, const CtPlanOptions *options)
{
    g_autoptr(GError) error = NULL;
    load(fixture, stages);
    fixture->plan = ct_plan_new(fixture->graph, fixture->registry, options, &error);
    g_assert_no_error(error);
}

G_GNUC_UNUSED static const CtPlanNode *
node_named(const Fixture *fixture, const char *name)
{
    for (guint i = 0; i < fixture->plan->nodes->len; i++) {
        const CtPlanNode *node = g_ptr_array_index(fixture->plan->nodes, i);
        if (g_str_equal(node->name, name))
            return node;
    }
    g_error("no node '%s'", name);
}

G_GNUC_UNUSED static const CtPlanLink *
link_of(const Fixture *fixture, const char *name, guint port)
{
    return g_ptr_array_index(fixture->plan->links, node_named(fixture, name)->outputs[port]);
}

/* Whether it is proven that no plan costs less. */
G_GNUC_UNUSED static gboolean
is_exact(const CtPlan *plan)
{
    return plan->least >= plan->seconds;
}

/* The names of all nodes, of inserted ones with the layout that they make; also checks that the
 * plan is complete. */
G_GNUC_UNUSED static char *
summarise(const CtPlan *plan)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree gdouble *busy = g_new0(gdouble, plan->n_resources);
    gdouble seconds = 0;
    for (guint n = 0; n < plan->nodes->len; n++) {
        const CtPlanNode *node = g_ptr_array_index(plan->nodes, n);
        g_string_append_printf(text, "%s%s", n ? " " : "", node->name);
        if (node->inserted) {
            g_autofree char *layout = ct_layout_to_string(&node->output_bindings[0].layout);
            g_string_append(text, layout);
        }
        for (guint p = 0; p < node->cost.n_parts; p++)
            busy[node->cost.parts[p].resource] += node->cost.parts[p].seconds;
        seconds = MAX(seconds, node->cost.alone);
        for (guint i = 0; i < node->n_outputs; i++) {
            if (node->outputs[i] < 0)
                continue;
            const CtPlanLink *link = g_ptr_array_index(plan->links, node->outputs[i]);
            g_assert_cmpuint(link->writer, ==, n);
            g_assert_cmpuint(link->port, ==, i);
        }
        for (guint i = 0; i < node->n_inputs; i++) {
            if (node->inputs[i] < 0)
                continue;
            const CtPlanLink *link = g_ptr_array_index(plan->links, node->inputs[i]);
            g_assert_cmpuint(link->writer, <, n);
            g_assert_true(ct_layout_same_memory(&link->layout, &node->input_bindings[i].layout,
                                                link->stream));
            g_assert_cmpint(link->stream->type, ==, node->input_bindings[i].stream->type);
            gboolean known = FALSE;
            for (guint r = 0; r < link->readers->len; r++) {
                const CtPlanReader *reader = &g_array_index(link->readers, CtPlanReader, r);
                known |= reader->node == n && reader->port == i;
            }
            g_assert_true(known);
        }
    }
    for (guint r = 0; r < plan->n_resources; r++)
        seconds = MAX(seconds, busy[r]);
    g_assert_cmpfloat(fabs(seconds - plan->seconds), <=, 1e-9 * plan->seconds);
    return g_string_free(g_steal_pointer(&text), FALSE);
}
