/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of plans: what is inserted, what is chosen, how long rings are. */
#include "planner.h"

typedef struct {
    CtRegistry *registry;
    CtConfig *config;
    CtGraph *graph;
    CtPlan *plan;
} Fixture;

static void
set_up(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autofree char *folder =
        g_build_filename(g_getenv("CORNERTURN_TEST_PLUGINS"), "planner", NULL);
    const char *const folders[] = {folder, NULL};
    g_autoptr(GError) error = NULL;
    fixture->registry = ct_registry_new_from(folders, &error);
    g_assert_no_error(error);
}

static void
clear(Fixture *fixture)
{
    g_clear_pointer(&fixture->plan, ct_plan_free);
    g_clear_pointer(&fixture->graph, ct_graph_free);
    g_clear_pointer(&fixture->config, ct_config_free);
}

static void
tear_down(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    clear(fixture);
    ct_registry_free(fixture->registry);
}

static void
load(Fixture *fixture, const char *stages)
{
    g_autoptr(GError) error = NULL;
    clear(fixture);
    g_autofree char *text = g_strdup_printf("stages:\n%s", stages);
    fixture->config = ct_config_parse(text, -1, "g.yaml", NULL, &error);
    g_assert_no_error(error);
    fixture->graph = ct_graph_new(fixture->config, fixture->registry, &error);
    g_assert_no_error(error);
}

static const CtPlanOptions usual = {
    .n_workers = 2,
    .backend = CT_N_BACKENDS,
    .cache_bytes = 1 << 20,
};

static void
plan(Fixture *fixture, const char *stages)
{
    g_autoptr(GError) error = NULL;
    load(fixture, stages);
    fixture->plan = ct_plan_new(fixture->graph, fixture->registry, &usual, &error);
    g_assert_no_error(error);
}

/* "a b>transpose[time channel] …": all nodes with variants, inserted ones with the layout that they
 * make. */
static char *
summary(const CtPlan *plan)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint n = 0; n < plan->nodes->len; n++) {
        const CtPlanNode *node = g_ptr_array_index(plan->nodes, n);
        g_string_append_printf(text, "%s%s", n ? " " : "", node->name);
        if (node->inserted) {
            g_autofree char *layout = ct_layout_to_string(&node->output_bindings[0].layout);
            g_string_append(text, layout);
        }
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void
test_summaries(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture, "  s: {stage: test.source}\n"
                  "  a: {stage: test.pass, from: s}\n"
                  "  o: {stage: test.sink, from: a}\n");
    g_autofree char *text = summary(fixture->plan);
    g_assert_cmpstr(text, ==, "s a o");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/planner/summaries", Fixture, NULL, set_up, test_summaries, tear_down);
    return g_test_run();
}
