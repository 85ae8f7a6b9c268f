/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of estimates: from a measurement of the same candidate or of a similar one, and their
 * effect on the planner. */
#include "cost/estimate-private.h"
#include "graph/tuning.h"
#include "plan/candidates.h"
#include "plan/planner.h"
#include "planning.h"

#include <glib/gstdio.h>
#include <string.h>

#define GRAPH                                                                                      \
    "  from: {stage: test.source, type: cf32}\n"                                                   \
    "  work: {stage: test.picky, from: from}\n"                                                    \
    "  to: {stage: test.sink, from: work}\n"

typedef struct {
    Fixture graph;
    char *folder;
    char *costs;
    CtPlanOptions options;
} Priced;

static void
set_up_estimated(Priced *estimated, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    set_up(&estimated->graph, data);
    estimated->folder = g_dir_make_tmp("price-XXXXXX", &error);
    g_assert_no_error(error);
    estimated->costs = g_build_filename(estimated->folder, "costs.db", NULL);
    estimated->options = usual;
    estimated->options.costs = estimated->costs;
}

static void
tear_down_estimated(Priced *estimated, gconstpointer data)
{
    tear_down(&estimated->graph, data);
    g_unlink(estimated->costs);
    g_rmdir(estimated->folder);
    g_free(estimated->costs);
    g_free(estimated->folder);
}

/* A candidate of node 1 of the graph, and the other arguments of an estimate. */
typedef struct {
    CtPlanner planner;
    CtCandidates *candidates;
    CtEstimated what;
} Asked;

static void
asked_clear(Asked *asked)
{
    ct_candidates_free(asked->candidates);
    ct_planner_clear(&asked->planner);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Asked, asked_clear)

/* Chooses the candidate whose inputs have this layout. */
static void
ask(Asked *asked, Priced *estimated, const char *graph, const char *layout)
{
    g_autoptr(GError) error = NULL;
    load(&estimated->graph, graph);
    ct_planner_init(&asked->planner, estimated->graph.graph, estimated->graph.registry,
                    &estimated->options);
    asked->candidates = ct_candidates_new(&asked->planner, &error);
    g_assert_no_error(error);
    const GPtrArray *all = asked->candidates->nodes[1];
    for (guint i = 0; i < all->len; i++) {
        const CtCandidate *candidate = g_ptr_array_index(all, i);
        g_autofree char *text = ct_layout_to_string(&candidate->inputs[0]);
        if (!g_str_equal(text, layout))
            continue;
        const CtGraphNode *node = g_ptr_array_index(estimated->graph.graph->nodes, 1);
        asked->what = (CtEstimated){.variant = candidate->variant,
                                    .row = candidate->row,
                                    .nodes = &node->node,
                                    .n_nodes = 1,
                                    .inputs = candidate->inputs,
                                    .outputs = candidate->outputs,
                                    .load = &candidate->load,
                                    .from = candidate->place,
                                    .to = candidate->place};
        return;
    }
    g_error("no candidate has %s", layout);
}

static const char canonical[] = "cf32[time channel station pol]";

/* Puts a trial of this candidate into the database; `change` may alter it first. */
static void
put(Asked *asked, const Priced *estimated, const gint64 *tuning, gdouble seconds,
    const char *failure, void (*change)(CtMeasurement *measurement))
{
    g_autoptr(GError) error = NULL;
    gint64 defaults[CT_MAX_TUNABLES];
    g_auto(CtMeasurement) measurement = {0};
    ct_tuning_defaults(asked->what.variant, defaults);
    ct_estimate_key(asked->planner.estimates, &asked->what, tuning ? tuning : defaults,
                    &measurement.key);
    measurement.operations = asked->what.load->operations;
    measurement.bytes = asked->what.load->bytes;
    measurement.seconds = seconds;
    measurement.spread = 0.01;
    measurement.failure = g_strdup(failure);
    if (change)
        change(&measurement);
    g_autoptr(CtDatabase) database = ct_database_open(estimated->costs, TRUE, &error);
    g_assert_no_error(error);
    ct_database_put(database, &measurement, &error);
    g_assert_no_error(error);
}

static CtEstimate
estimate_of(Asked *asked)
{
    CtEstimate estimate;
    ct_estimate_find(asked->planner.estimates, &asked->what, &estimate);
    return estimate;
}

static CtEstimate
estimate_in(Priced *estimated, const char *graph, const char *layout)
{
    g_auto(Asked) asked = {0};
    ask(&asked, estimated, graph, layout);
    g_assert_null(ct_estimates_warning(asked.planner.estimates));
    return estimate_of(&asked);
}

static void
assert_near(gdouble a, gdouble b)
{
    g_assert_cmpfloat_with_epsilon(a, b, 1e-9 * fabs(b));
}

static void
test_measured(Priced *estimated, G_GNUC_UNUSED gconstpointer data)
{
    g_auto(Asked) asked = {0};
    ask(&asked, estimated, GRAPH, canonical);
    g_assert_cmpint(estimate_of(&asked).origin, ==, CT_ORIGIN_MODEL);
    put(&asked, estimated, NULL, 3e-8, NULL, NULL);
    /* The database is read only once. */
    g_assert_cmpint(estimate_of(&asked).origin, ==, CT_ORIGIN_MODEL);

    const CtEstimate estimate = estimate_in(estimated, GRAPH, canonical);
    g_assert_cmpint(estimate.origin, ==, CT_ORIGIN_MEASURED);
    /* This is for a million samples a second, on one worker of two, because the variant does not
     * split its work. */
    assert_near(estimate.seconds, 0.03);
    assert_near(estimate.spread, 0.01);
    g_assert_cmpint(estimate.tuning[0], ==, 4);
    g_assert_null(estimate.failure);
}

/* An estimate is for the best tuning, or for the one that is asked for. */
static void
test_tunings(Priced *estimated, G_GNUC_UNUSED gconstpointer data)
{
    const gint64 best[CT_MAX_TUNABLES] = {8, 64}, other[CT_MAX_TUNABLES] = {2, 64};
    const gint64 unknown[CT_MAX_TUNABLES] = {2, 128};
    g_auto(Asked) asked = {0};
    ask(&asked, estimated, GRAPH, canonical);
    put(&asked, estimated, NULL, 3e-8, NULL, NULL);
    put(&asked, estimated, best, 2e-8, NULL, NULL);
    put(&asked, estimated, other, 4e-8, NULL, NULL);
    put(&asked, estimated, unknown, 0, "too many registers", NULL);
    const CtEstimate estimate = estimate_in(estimated, GRAPH, canonical);
    assert_near(estimate.seconds, 0.02);
    g_assert_cmpint(estimate.tuning[0], ==, 8);
    g_assert_cmpint(estimate.tuning[1], ==, 64);
    g_assert_null(estimate.failure);

    g_auto(Asked) again = {0};
    ask(&again, estimated, GRAPH, canonical);
    again.what.tuning = other;
    assert_near(estimate_of(&again).seconds, 0.04);
    g_assert_cmpint(estimate_of(&again).origin, ==, CT_ORIGIN_MEASURED);
    again.what.tuning = unknown;
    g_assert_cmpint(estimate_of(&again).origin, ==, CT_ORIGIN_NEAREST);
    g_assert_cmpint(estimate_of(&again).tuning[1], ==, 128);
}

/* For other lengths, the measured share of the ceiling holds. */
static void
test_nearest(Priced *estimated, G_GNUC_UNUSED gconstpointer data)
{
    static const char larger[] = "  from: {stage: test.source, type: cf32, channels: 16}\n"
                                 "  work: {stage: test.picky, from: from}\n"
                                 "  to: {stage: test.sink, from: work}\n";
    static const char huge[] = "  from: {stage: test.source, type: cf32, channels: 8000}\n"
                               "  work: {stage: test.picky, from: from}\n"
                               "  to: {stage: test.sink, from: work}\n";
    g_auto(Asked) asked = {0};
    ask(&asked, estimated, GRAPH, canonical);
    put(&asked, estimated, NULL, 3e-8, NULL, NULL);
    const CtEstimate estimate = estimate_in(estimated, larger, canonical);
    g_assert_cmpint(estimate.origin, ==, CT_ORIGIN_NEAREST);
    assert_near(estimate.seconds, 0.06);
    g_assert_cmpint(estimate_in(estimated, huge, canonical).origin, ==, CT_ORIGIN_MODEL);

    /* The nearer of two measurements counts. */
    g_auto(Asked) again = {0};
    ask(&again, estimated, larger, canonical);
    put(&again, estimated, NULL, 9e-8, NULL, NULL);
    assert_near(estimate_in(estimated, larger, canonical).seconds, 0.09);
    assert_near(estimate_in(estimated, GRAPH, canonical).seconds, 0.03);
}

/* The cost of other orders comes from orders with the same innermost axis. */
static void
test_other_orders(Priced *estimated, G_GNUC_UNUSED gconstpointer data)
{
    static const char graph[] = "  from: {stage: test.source, type: cf32}\n"
                                "  work: {stage: test.picky, from: from}\n"
                                "  to: {stage: test.sink, from: work, layout: '[pol ...]'}\n"
                                "  t: {stage: test.sink, from: work, layout: '[station ...]'}\n";
    g_auto(Asked) asked = {0}, other = {0};
    ask(&asked, estimated, graph, canonical);
    put(&asked, estimated, NULL, 3e-8, NULL, NULL);
    ask(&other, estimated, graph, "cf32[pol time channel station]");
    put(&other, estimated, NULL, 5e-8, NULL, NULL);
    const CtEstimate estimate = estimate_in(estimated, graph, "cf32[station time channel pol]");
    g_assert_cmpint(estimate.origin, ==, CT_ORIGIN_NEAREST);
    assert_near(estimate.seconds, 0.03);
}

static void
test_failure(Priced *estimated, G_GNUC_UNUSED gconstpointer data)
{
    g_auto(Asked) asked = {0};
    ask(&asked, estimated, GRAPH, canonical);
    const gdouble modelled = estimate_of(&asked).seconds;
    put(&asked, estimated, NULL, 0, "out of registers", NULL);
    g_auto(Asked) again = {0};
    ask(&again, estimated, GRAPH, canonical);
    const CtEstimate estimate = estimate_of(&again);
    g_assert_cmpstr(estimate.failure, ==, "out of registers");
    g_assert_cmpfloat(estimate.seconds, >, 1000 * modelled);
    g_assert_cmpfloat(estimate.seconds, <, HUGE_VAL);

    /* Another layout has no such cost, and is chosen; if there is no other, this one is chosen
     * after all. */
    static const char turned[] = "  from: {stage: test.source, type: cf32}\n"
                                 "  work: {stage: test.picky, from: from}\n"
                                 "  to: {stage: test.sink, from: work, layout: '[pol ...]'}\n";
    plan(&estimated->graph, turned, &estimated->options);
    g_autofree char *text =
        ct_layout_to_string(&node_named(&estimated->graph, "work")->input_bindings[0].layout);
    g_assert_cmpstr(text, ==, "cf32[pol time channel station]");
    plan(&estimated->graph, GRAPH, &estimated->options);
    g_assert_cmpstr(node_named(&estimated->graph, "work")->estimate.failure, ==,
                    "out of registers");
}

static void
of_other_code(CtMeasurement *measurement)
{
    measurement->key.code = g_intern_string("0123456789abcdef");
}

static void
of_other_machine(CtMeasurement *measurement)
{
    measurement->key.machine = g_intern_string("a better one");
}

static void
of_other_row(CtMeasurement *measurement)
{
    measurement->key.row = g_intern_string("[time ...] -> [time ...]");
}

static void
of_other_way(CtMeasurement *measurement)
{
    measurement->key.way = g_intern_string("nonsense");
}

static void
of_no_tunable(CtMeasurement *measurement)
{
    g_assert_true(ct_cost_key_parse(&measurement->key, CT_KEY_TUNING, "tile=5"));
}

static void
of_other_aim(CtMeasurement *measurement)
{
    measurement->key.aim *= 2;
}

/* A measurement of something slightly different is near, or is not used. */
static void
test_others(Priced *estimated, G_GNUC_UNUSED gconstpointer data)
{
    static const struct {
        void (*change)(CtMeasurement *measurement);
        CtOrigin origin;
    } cases[] = {
        {of_other_code, CT_ORIGIN_NEAREST},  {of_other_aim, CT_ORIGIN_NEAREST},
        {of_other_machine, CT_ORIGIN_MODEL}, {of_other_row, CT_ORIGIN_MODEL},
        {of_other_way, CT_ORIGIN_MODEL},     {of_no_tunable, CT_ORIGIN_MODEL},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(Asked) asked = {0};
        g_unlink(estimated->costs);
        ask(&asked, estimated, GRAPH, canonical);
        put(&asked, estimated, NULL, 3e-8, NULL, cases[i].change);
        const CtEstimate estimate = estimate_in(estimated, GRAPH, canonical);
        g_assert_cmpint(estimate.origin, ==, cases[i].origin);
        if (estimate.origin == CT_ORIGIN_NEAREST)
            assert_near(estimate.seconds, 0.03);
    }
    /* A failure of other code has no effect. */
    g_auto(Asked) asked = {0};
    g_unlink(estimated->costs);
    ask(&asked, estimated, GRAPH, canonical);
    put(&asked, estimated, NULL, 0, "crash", of_other_code);
    g_assert_cmpint(estimate_in(estimated, GRAPH, canonical).origin, ==, CT_ORIGIN_MODEL);
}

static gdouble
half(const CtNode *nodes, const CtLayout *inputs, const CtLayout *outputs)
{
    g_assert_cmpstr(nodes[0].stage->name, ==, "test.picky");
    g_assert_cmpuint(inputs[0].n_axes, ==, 4);
    g_assert_cmpuint(outputs[0].n_axes, ==, 4);
    return 0.5;
}

/* In the model, a variant that states a share of its efficiency takes longer by that factor. */
static void
test_share(Priced *estimated, G_GNUC_UNUSED gconstpointer data)
{
    g_auto(Asked) asked = {0};
    ask(&asked, estimated, GRAPH, canonical);
    const gdouble whole = ct_estimated_model(&asked.what, &asked.planner.machine);
    g_assert_cmpfloat(whole, >, 0);
    assert_near(estimate_of(&asked).seconds, whole);
    CtVariant variant = *asked.what.variant;
    variant.share = half;
    asked.what.variant = &variant;
    assert_near(ct_estimated_model(&asked.what, &asked.planner.machine), 2 * whole);
}

/* Writing costs more if a reader waits for more than the caches hold; a measurement beside one
 * reader is near beside another. */
static void
test_held(Priced *estimated, G_GNUC_UNUSED gconstpointer data)
{
    /* Samples are 2 MiB; four are read at once for a sum of the same size. */
    static const char *const graphs[] = {
        "  from: {stage: test.source, channels: 32768}\n"
        "  work: {stage: test.picky, from: from}\n"
        "  to: {stage: test.sink, from: work}\n",
        "  from: {stage: test.source, channels: 32768}\n"
        "  work: {stage: test.picky, from: from}\n"
        "  sum: {stage: test.window, from: work, hop: 100, sum: true}\n"
        "  to: {stage: test.sink, from: sum}\n"};
    for (guint g = 0; g < G_N_ELEMENTS(graphs); g++) {
        g_auto(Asked) asked = {0};
        ask(&asked, estimated, graphs[g], canonical);
        g_assert_cmpint(asked.what.load->held, ==, 4 * g);
        put(&asked, estimated, NULL, g == 0 ? 1e-8 : 2e-8, NULL, NULL);
        const CtEstimate own = estimate_in(estimated, graphs[g], canonical);
        g_assert_cmpint(own.origin, ==, CT_ORIGIN_MEASURED);
        assert_near(own.seconds, g == 0 ? 0.01 : 0.02);
        if (g > 0)
            break;
        const CtEstimate other = estimate_in(estimated, graphs[1], canonical);
        g_assert_cmpint(other.origin, ==, CT_ORIGIN_NEAREST);
        assert_near(other.seconds, 0.01);
    }
    const CtEstimate first = estimate_in(estimated, graphs[0], canonical);
    g_assert_cmpint(first.origin, ==, CT_ORIGIN_MEASURED);
    assert_near(first.seconds, 0.01);
}

/* The key contains everything that the cost depends on; a new trial with the same key replaces the
 * old one. */
static void
test_key(Priced *estimated, G_GNUC_UNUSED gconstpointer data)
{
    static const char graph[] = "  from: {stage: test.source}\n"
                                "  work: {stage: test.window, from: from, window: 5, hop: 2}\n"
                                "  to: {stage: test.sink, from: work}\n";
    const gint64 tuning[CT_MAX_TUNABLES] = {0};
    g_auto(Asked) asked = {0};
    g_auto(CtCostKey) key = {0};
    ask(&asked, estimated, graph, canonical);
    ct_estimate_key(asked.planner.estimates, &asked.what, tuning, &key);
    g_assert_cmpstr(key.stages, ==, "test.window");
    g_assert_cmpstr(key.variant, ==, "cpu");
    g_assert_cmpstr(key.row, ==, "[...] -> [...]");
    g_assert_cmpstr(key.way, ==, "");
    g_autofree char *layouts = ct_cost_key_print(&key, CT_KEY_LAYOUTS);
    g_assert_cmpstr(layouts, ==,
                    "cf32[time channel station pol] -> cf32[time channel station pol]");
    g_autofree char *lengths = ct_cost_key_print(&key, CT_KEY_LENGTHS);
    g_assert_cmpstr(lengths, ==, "0 8 4 2 -> 0 8 4 2");
    g_autofree char *parameters = ct_cost_key_print(&key, CT_KEY_PARAMETERS);
    g_assert_cmpstr(parameters, ==, "window=5 hop=2 window=5 hop=2 sum=0 offset=0");
    g_autofree char *key_tuning = ct_cost_key_print(&key, CT_KEY_TUNING);
    g_assert_cmpstr(key_tuning, ==, "");
    g_assert_cmpint(key.n_workers, ==, 2);
    g_assert_cmpint(key.aim, ==, 1 << 20);
    g_assert_cmpuint(strlen(key.code), ==, 16);

    /* The key contains the block, if firings depend on it. */
    static const char blocks[] = "  from: {stage: test.source, block: {time: 100}}\n"
                                 "  work: {stage: test.window, from: from, window: 5, hop: 2}\n"
                                 "  to: {stage: test.sink, from: work}\n";
    g_auto(Asked) of_block = {0};
    g_auto(CtCostKey) other = {0};
    ask(&of_block, estimated, blocks, canonical);
    ct_estimate_key(of_block.planner.estimates, &of_block.what, tuning, &other);
    g_autofree char *with_block = ct_cost_key_print(&other, CT_KEY_PARAMETERS);
    g_assert_cmpstr(with_block, ==, "window=5 hop=2 window=5 hop=2 sum=0 offset=0 block=100");
    g_assert_cmpfloat(ct_parameters_distance(key.parameters, other.parameters), ==, 0.2);
    g_assert_nonnull(strstr(key.machine, "L2"));
}

/* The key of a copy to a device contains its direction and the machine. */
static void
test_copy(Priced *estimated, G_GNUC_UNUSED gconstpointer data)
{
    static const char graph[] = "  from: {stage: test.source, backend: cpu}\n"
                                "  work: {stage: test.pass, from: from, backend: cuda}\n"
                                "  to: {stage: test.sink, from: work}\n";
    estimated->options.n_devices = 1;
    estimated->options.device_bytes = 1 << 20;
    for (guint round = 0; round < 2; round++) {
        plan(&estimated->graph, graph, &estimated->options);
        const CtPlanNode *copy = node_named(&estimated->graph, "from>copy");
        const CtOrigin origin = round == 0 ? CT_ORIGIN_MODEL : CT_ORIGIN_MEASURED;
        g_assert_cmpint(copy->estimate.origin, ==, origin);
        if (round > 0) {
            assert_near(copy->estimate.seconds, 0.25);
            break;
        }
        g_autoptr(GError) error = NULL;
        const gint64 tuning[CT_MAX_TUNABLES] = {0};
        g_auto(CtPlanner) planner = {0};
        g_auto(CtMeasurement) measurement = {0};
        ct_planner_init(&planner, estimated->graph.graph, estimated->graph.registry,
                        &estimated->options);
        CtLoad load;
        ct_load_init(&load, copy->nodes, 1, &copy->input_bindings[0].layout,
                     &copy->output_bindings[0].layout);
        const CtEstimated what = {.variant = copy->variant,
                                  .row = copy->row,
                                  .nodes = copy->nodes,
                                  .n_nodes = 1,
                                  .inputs = &copy->input_bindings[0].layout,
                                  .outputs = &copy->output_bindings[0].layout,
                                  .load = &load,
                                  .from = CT_HOST,
                                  .to = 0};
        ct_estimate_key(planner.estimates, &what, tuning, &measurement.key);
        measurement.operations = load.operations;
        measurement.bytes = load.bytes;
        g_assert_cmpstr(measurement.key.way, ==, "to device");
        g_assert_cmpstr(measurement.key.machine, ==, "first");
        g_assert_cmpint(measurement.key.n_workers, ==, 0);
        g_assert_cmpint(measurement.key.aim, ==, 1 << 20);
        measurement.seconds = 2.5e-7;
        g_autoptr(CtDatabase) database = ct_database_open(estimated->costs, TRUE, &error);
        g_assert_true(ct_database_put(database, &measurement, &error));
    }
}

/* The plan's first warning, or "". */
static const char *
first_warning(const CtPlan *plan)
{
    const GPtrArray *warnings = plan->warnings;
    return warnings->len > 0 ? ((const CtWarning *)warnings->pdata[0])->message : "";
}

static void
test_shipped(Priced *estimated, G_GNUC_UNUSED gconstpointer data)
{
    gint64 tuning[CT_MAX_TUNABLES];
    g_auto(Asked) asked = {0};
    g_auto(CtMeasurement) measurement = {0};
    estimated->options.shipped = estimated->folder;
    ask(&asked, estimated, GRAPH, canonical);
    ct_tuning_defaults(asked.what.variant, tuning);
    ct_estimate_key(asked.planner.estimates, &asked.what, tuning, &measurement.key);
    measurement.operations = asked.what.load->operations;
    measurement.bytes = asked.what.load->bytes;
    measurement.seconds = 2e-8;
    of_other_code(&measurement);
    g_autofree char *line = ct_measurement_to_json(&measurement);
    g_autofree char *file = g_build_filename(estimated->folder, "any.json", NULL);
    g_assert_true(g_file_set_contents(file, line, -1, NULL));
    const CtEstimate shipped = estimate_in(estimated, GRAPH, canonical);
    g_assert_cmpint(shipped.origin, ==, CT_ORIGIN_SHIPPED);
    assert_near(shipped.seconds, 0.02);

    g_auto(Asked) again = {0};
    ask(&again, estimated, GRAPH, canonical);
    put(&again, estimated, NULL, 3e-8, NULL, NULL);
    const CtEstimate measured = estimate_in(estimated, GRAPH, canonical);
    g_assert_cmpint(measured.origin, ==, CT_ORIGIN_MEASURED);
    assert_near(measured.seconds, 0.03);

    g_assert_true(g_file_set_contents(file, "{}", -1, NULL));
    plan(&estimated->graph, GRAPH, &estimated->options);
    g_assert_nonnull(
        strstr(first_warning(estimated->graph.plan), "any.json:1: 'stages' wants a text"));
    /* This path exists, but is not a folder. */
    estimated->options.shipped = file;
    plan(&estimated->graph, GRAPH, &estimated->options);
    g_assert_nonnull(strstr(first_warning(estimated->graph.plan), "any.json"));
    g_assert_cmpint(g_unlink(file), ==, 0);
    plan(&estimated->graph, GRAPH, &estimated->options);
    g_assert_cmpstr(first_warning(estimated->graph.plan), ==, "");
}

static void
test_damaged(Priced *estimated, G_GNUC_UNUSED gconstpointer data)
{
    plan(&estimated->graph, GRAPH, &estimated->options);
    g_assert_cmpuint(estimated->graph.plan->warnings->len, ==, 0);
    g_autofree char *before = summarise(estimated->graph.plan);
    g_assert_true(g_file_set_contents(estimated->costs, "this is no database at all", -1, NULL));
    plan(&estimated->graph, GRAPH, &estimated->options);
    g_autofree char *after = summarise(estimated->graph.plan);
    g_assert_cmpstr(before, ==, after);
    g_assert_nonnull(strstr(first_warning(estimated->graph.plan), "file is not a database"));
    g_assert_true(g_str_has_suffix(first_warning(estimated->graph.plan), "; costs are modelled"));
}

#define ADD(name, test) g_test_add(name, Priced, NULL, set_up_estimated, test, tear_down_estimated)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("/estimate/key", test_key);
    ADD("/estimate/held", test_held);
    ADD("/estimate/share", test_share);
    ADD("/estimate/measured", test_measured);
    ADD("/estimate/tunings", test_tunings);
    ADD("/estimate/nearest", test_nearest);
    ADD("/estimate/other-orders", test_other_orders);
    ADD("/estimate/failure", test_failure);
    ADD("/estimate/others", test_others);
    ADD("/estimate/copy", test_copy);
    ADD("/estimate/shipped", test_shipped);
    ADD("/estimate/damaged", test_damaged);
    return g_test_run();
}
