/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of prices: what the store has, of the very same or of something near, and what the planner
 * makes of it. */
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
set_up_priced(Priced *priced, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    set_up(&priced->graph, data);
    priced->folder = g_dir_make_tmp("price-XXXXXX", &error);
    g_assert_no_error(error);
    priced->costs = g_build_filename(priced->folder, "costs.db", NULL);
    priced->options = usual;
    priced->options.costs = priced->costs;
}

static void
tear_down_priced(Priced *priced, gconstpointer data)
{
    tear_down(&priced->graph, data);
    g_unlink(priced->costs);
    g_rmdir(priced->folder);
    g_free(priced->costs);
    g_free(priced->folder);
}

/* An arrangement of node 1 of the graph, and what else a price is asked by. */
typedef struct {
    CtPlanner planner;
    CtCandidates *candidates;
    CtPriced what;
} Asked;

static void
asked_clear(Asked *asked)
{
    ct_candidates_free(asked->candidates);
    ct_planner_clear(&asked->planner);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Asked, asked_clear)

/* With the inputs in this layout. */
static void
ask(Asked *asked, Priced *priced, const char *graph, const char *layout)
{
    g_autoptr(GError) error = NULL;
    load(&priced->graph, graph);
    ct_planner_init(&asked->planner, priced->graph.graph, priced->graph.registry, &priced->options);
    asked->candidates = ct_candidates_new(&asked->planner, &error);
    g_assert_no_error(error);
    const GPtrArray *all = asked->candidates->nodes[1];
    for (guint i = 0; i < all->len; i++) {
        const CtArrangement *arrangement = g_ptr_array_index(all, i);
        g_autofree char *text = ct_layout_to_string(&arrangement->inputs[0]);
        if (!g_str_equal(text, layout))
            continue;
        const CtGraphNode *node = g_ptr_array_index(priced->graph.graph->nodes, 1);
        asked->what = (CtPriced){.variant = arrangement->variant,
                                 .row = arrangement->row,
                                 .nodes = &node->node,
                                 .n_nodes = 1,
                                 .inputs = arrangement->inputs,
                                 .outputs = arrangement->outputs,
                                 .load = &arrangement->load,
                                 .from = arrangement->place,
                                 .to = arrangement->place};
        return;
    }
    g_error("no arrangement has %s", layout);
}

static const char canonical[] = "cf32[time channel station pol]";

/* Writes down a trial of what is asked for; `change` may alter it first. */
static void
put(Asked *asked, const Priced *priced, const gint64 *tuning, gdouble seconds, const char *failure,
    void (*change)(CtMeasurement *measurement))
{
    g_autoptr(GError) error = NULL;
    gint64 defaults[CT_MAX_TUNABLES];
    g_auto(CtMeasurement) measurement = {0};
    ct_tuning_defaults(asked->what.variant, defaults);
    ct_price_key(asked->planner.prices, &asked->what, tuning ? tuning : defaults, &measurement);
    measurement.seconds = seconds;
    measurement.spread = 0.01;
    measurement.failure = g_strdup(failure);
    if (change)
        change(&measurement);
    g_autoptr(CtStore) store = ct_store_open(priced->costs, TRUE, &error);
    g_assert_no_error(error);
    ct_store_put(store, &measurement, &error);
    g_assert_no_error(error);
}

static CtPrice
price_of(Asked *asked)
{
    CtPrice price;
    ct_price_find(asked->planner.prices, &asked->what, &price);
    return price;
}

static CtPrice
price_in(Priced *priced, const char *graph, const char *layout)
{
    g_auto(Asked) asked = {0};
    ask(&asked, priced, graph, layout);
    g_assert_null(ct_prices_warning(asked.planner.prices));
    return price_of(&asked);
}

static void
assert_near(gdouble a, gdouble b)
{
    g_assert_cmpfloat_with_epsilon(a, b, 1e-9 * fabs(b));
}

static void
test_measured(Priced *priced, G_GNUC_UNUSED gconstpointer data)
{
    g_auto(Asked) asked = {0};
    ask(&asked, priced, GRAPH, canonical);
    g_assert_cmpint(price_of(&asked).origin, ==, CT_ORIGIN_MODEL);
    put(&asked, priced, NULL, 3e-8, NULL, NULL);
    /* The store is read once. */
    g_assert_cmpint(price_of(&asked).origin, ==, CT_ORIGIN_MODEL);

    const CtPrice price = price_in(priced, GRAPH, canonical);
    g_assert_cmpint(price.origin, ==, CT_ORIGIN_MEASURED);
    /* A million samples a second, by one worker of two: the variant does not split its work. */
    assert_near(price.seconds, 0.03);
    assert_near(price.spread, 0.01);
    g_assert_cmpint(price.tuning[0], ==, 4);
    g_assert_null(price.failure);
}

/* The best tuning, or the one that is asked for. */
static void
test_tunings(Priced *priced, G_GNUC_UNUSED gconstpointer data)
{
    const gint64 best[CT_MAX_TUNABLES] = {8, 64}, other[CT_MAX_TUNABLES] = {2, 64};
    const gint64 unknown[CT_MAX_TUNABLES] = {2, 128};
    g_auto(Asked) asked = {0};
    ask(&asked, priced, GRAPH, canonical);
    put(&asked, priced, NULL, 3e-8, NULL, NULL);
    put(&asked, priced, best, 2e-8, NULL, NULL);
    put(&asked, priced, other, 4e-8, NULL, NULL);
    put(&asked, priced, unknown, 0, "too many registers", NULL);
    const CtPrice price = price_in(priced, GRAPH, canonical);
    assert_near(price.seconds, 0.02);
    g_assert_cmpint(price.tuning[0], ==, 8);
    g_assert_cmpint(price.tuning[1], ==, 64);
    g_assert_null(price.failure);

    g_auto(Asked) again = {0};
    ask(&again, priced, GRAPH, canonical);
    again.what.tuning = other;
    assert_near(price_of(&again).seconds, 0.04);
    g_assert_cmpint(price_of(&again).origin, ==, CT_ORIGIN_MEASURED);
    again.what.tuning = unknown;
    g_assert_cmpint(price_of(&again).origin, ==, CT_ORIGIN_NEAREST);
    g_assert_cmpint(price_of(&again).tuning[1], ==, 128);
}

/* Other lengths: the share of the roof. */
static void
test_nearest(Priced *priced, G_GNUC_UNUSED gconstpointer data)
{
    static const char larger[] = "  from: {stage: test.source, type: cf32, channels: 16}\n"
                                 "  work: {stage: test.picky, from: from}\n"
                                 "  to: {stage: test.sink, from: work}\n";
    static const char huge[] = "  from: {stage: test.source, type: cf32, channels: 8000}\n"
                               "  work: {stage: test.picky, from: from}\n"
                               "  to: {stage: test.sink, from: work}\n";
    g_auto(Asked) asked = {0};
    ask(&asked, priced, GRAPH, canonical);
    put(&asked, priced, NULL, 3e-8, NULL, NULL);
    const CtPrice price = price_in(priced, larger, canonical);
    g_assert_cmpint(price.origin, ==, CT_ORIGIN_NEAREST);
    assert_near(price.seconds, 0.06);
    g_assert_cmpint(price_in(priced, huge, canonical).origin, ==, CT_ORIGIN_MODEL);

    /* The nearer of two. */
    g_auto(Asked) again = {0};
    ask(&again, priced, larger, canonical);
    put(&again, priced, NULL, 9e-8, NULL, NULL);
    assert_near(price_in(priced, larger, canonical).seconds, 0.09);
    assert_near(price_in(priced, GRAPH, canonical).seconds, 0.03);
}

/* What other orders cost, of which none is known, is taken from the slowest. */
static void
test_other_orders(Priced *priced, G_GNUC_UNUSED gconstpointer data)
{
    static const char graph[] = "  from: {stage: test.source, type: cf32}\n"
                                "  work: {stage: test.picky, from: from}\n"
                                "  to: {stage: test.sink, from: work, layout: '[pol ...]'}\n"
                                "  t: {stage: test.sink, from: work, layout: '[station ...]'}\n";
    g_auto(Asked) asked = {0}, other = {0};
    ask(&asked, priced, graph, canonical);
    put(&asked, priced, NULL, 3e-8, NULL, NULL);
    ask(&other, priced, graph, "cf32[pol time channel station]");
    put(&other, priced, NULL, 5e-8, NULL, NULL);
    const CtPrice price = price_in(priced, graph, "cf32[station time channel pol]");
    g_assert_cmpint(price.origin, ==, CT_ORIGIN_NEAREST);
    assert_near(price.seconds, 0.05);
}

static void
test_failure(Priced *priced, G_GNUC_UNUSED gconstpointer data)
{
    g_auto(Asked) asked = {0};
    ask(&asked, priced, GRAPH, canonical);
    const gdouble modelled = price_of(&asked).seconds;
    put(&asked, priced, NULL, 0, "out of registers", NULL);
    g_auto(Asked) again = {0};
    ask(&again, priced, GRAPH, canonical);
    const CtPrice price = price_of(&again);
    g_assert_cmpstr(price.failure, ==, "out of registers");
    g_assert_cmpfloat(price.seconds, >, 1000 * modelled);
    g_assert_cmpfloat(price.seconds, <, HUGE_VAL);

    /* Another layout is free of it, and is taken; nothing else there is, it is taken all the same.
     */
    static const char turned[] = "  from: {stage: test.source, type: cf32}\n"
                                 "  work: {stage: test.picky, from: from}\n"
                                 "  to: {stage: test.sink, from: work, layout: '[pol ...]'}\n";
    plan(&priced->graph, turned, &priced->options);
    g_autofree char *text =
        ct_layout_to_string(&node_named(&priced->graph, "work")->input_bindings[0].layout);
    g_assert_cmpstr(text, ==, "cf32[pol time channel station]");
    plan(&priced->graph, GRAPH, &priced->options);
    g_assert_cmpstr(node_named(&priced->graph, "work")->price.failure, ==, "out of registers");
}

static void
set(char **field, const char *text)
{
    g_free(*field);
    *field = g_strdup(text);
}

static void
of_other_code(CtMeasurement *measurement)
{
    set(&measurement->code, "0123456789abcdef");
}

static void
of_other_machine(CtMeasurement *measurement)
{
    set(&measurement->machine, "a better one");
}

static void
of_other_row(CtMeasurement *measurement)
{
    set(&measurement->row, "[time ...] -> [time ...]");
}

static void
of_other_layouts(CtMeasurement *measurement)
{
    set(&measurement->layouts, "nonsense");
}

static void
of_no_tunable(CtMeasurement *measurement)
{
    set(&measurement->tuning, "tile=5");
}

static void
of_other_aim(CtMeasurement *measurement)
{
    measurement->aim *= 2;
}

/* What is not quite the same is near, or nothing. */
static void
test_others(Priced *priced, G_GNUC_UNUSED gconstpointer data)
{
    static const struct {
        void (*change)(CtMeasurement *measurement);
        CtOrigin origin;
    } cases[] = {
        {of_other_code, CT_ORIGIN_NEAREST},  {of_other_aim, CT_ORIGIN_NEAREST},
        {of_other_machine, CT_ORIGIN_MODEL}, {of_other_row, CT_ORIGIN_MODEL},
        {of_other_layouts, CT_ORIGIN_MODEL}, {of_no_tunable, CT_ORIGIN_MODEL},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(Asked) asked = {0};
        g_unlink(priced->costs);
        ask(&asked, priced, GRAPH, canonical);
        put(&asked, priced, NULL, 3e-8, NULL, cases[i].change);
        const CtPrice price = price_in(priced, GRAPH, canonical);
        g_assert_cmpint(price.origin, ==, cases[i].origin);
        if (price.origin == CT_ORIGIN_NEAREST)
            assert_near(price.seconds, 0.03);
    }
    /* A failure of another code says nothing. */
    g_auto(Asked) asked = {0};
    g_unlink(priced->costs);
    ask(&asked, priced, GRAPH, canonical);
    put(&asked, priced, NULL, 0, "crash", of_other_code);
    g_assert_cmpint(price_in(priced, GRAPH, canonical).origin, ==, CT_ORIGIN_MODEL);
}

/* The key says all that decides; a trial of it again takes its place. */
static void
test_key(Priced *priced, G_GNUC_UNUSED gconstpointer data)
{
    static const char graph[] = "  from: {stage: test.source}\n"
                                "  work: {stage: test.window, from: from, window: 5, hop: 2}\n"
                                "  to: {stage: test.sink, from: work}\n";
    const gint64 tuning[CT_MAX_TUNABLES] = {0};
    g_auto(Asked) asked = {0};
    g_auto(CtMeasurement) key = {0};
    ask(&asked, priced, graph, canonical);
    ct_price_key(asked.planner.prices, &asked.what, tuning, &key);
    g_assert_cmpstr(key.stages, ==, "test.window");
    g_assert_cmpstr(key.variant, ==, "cpu");
    g_assert_cmpstr(key.row, ==, "[...] -> [...]");
    g_assert_cmpstr(key.way, ==, "");
    g_assert_cmpstr(key.layouts, ==,
                    "cf32[time channel station pol] -> cf32[time channel station pol]");
    g_assert_cmpstr(key.lengths, ==, "0 8 4 2 -> 0 8 4 2");
    g_assert_cmpstr(key.parameters, ==, "window=5 hop=2 window=5 hop=2 sum=0 offset=0");
    g_assert_cmpstr(key.tuning, ==, "");
    g_assert_cmpint(key.n_workers, ==, 2);
    g_assert_cmpint(key.aim, ==, 1 << 20);
    g_assert_cmpuint(strlen(key.code), ==, 16);
    g_assert_nonnull(strstr(key.machine, "L2"));
}

/* What was shipped is of another build; what was measured here goes before it. */
static void
test_shipped(Priced *priced, G_GNUC_UNUSED gconstpointer data)
{
    gint64 tuning[CT_MAX_TUNABLES];
    g_auto(Asked) asked = {0};
    g_auto(CtMeasurement) measurement = {0};
    priced->options.shipped = priced->folder;
    ask(&asked, priced, GRAPH, canonical);
    ct_tuning_defaults(asked.what.variant, tuning);
    ct_price_key(asked.planner.prices, &asked.what, tuning, &measurement);
    measurement.seconds = 2e-8;
    of_other_code(&measurement);
    g_autofree char *line = ct_measurement_to_json(&measurement);
    g_autofree char *file = g_build_filename(priced->folder, "any.json", NULL);
    g_assert_true(g_file_set_contents(file, line, -1, NULL));
    const CtPrice shipped = price_in(priced, GRAPH, canonical);
    g_assert_cmpint(shipped.origin, ==, CT_ORIGIN_SHIPPED);
    assert_near(shipped.seconds, 0.02);

    g_auto(Asked) again = {0};
    ask(&again, priced, GRAPH, canonical);
    put(&again, priced, NULL, 3e-8, NULL, NULL);
    const CtPrice measured = price_in(priced, GRAPH, canonical);
    g_assert_cmpint(measured.origin, ==, CT_ORIGIN_MEASURED);
    assert_near(measured.seconds, 0.03);

    g_assert_true(g_file_set_contents(file, "{}", -1, NULL));
    plan(&priced->graph, GRAPH, &priced->options);
    g_assert_nonnull(strstr(priced->graph.plan->warning, "any.json:1: 'stages' wants a text"));
    g_assert_cmpint(g_unlink(file), ==, 0);
}

static void
test_damaged(Priced *priced, G_GNUC_UNUSED gconstpointer data)
{
    plan(&priced->graph, GRAPH, &priced->options);
    g_assert_null(priced->graph.plan->warning);
    g_autofree char *before = summarise(priced->graph.plan);
    g_assert_true(g_file_set_contents(priced->costs, "this is no database at all", -1, NULL));
    plan(&priced->graph, GRAPH, &priced->options);
    g_autofree char *after = summarise(priced->graph.plan);
    g_assert_cmpstr(before, ==, after);
    g_assert_nonnull(strstr(priced->graph.plan->warning, "file is not a database"));
    g_assert_true(g_str_has_suffix(priced->graph.plan->warning, "; costs are modelled"));
}

#define ADD(name, test) g_test_add(name, Priced, NULL, set_up_priced, test, tear_down_priced)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("/price/key", test_key);
    ADD("/price/measured", test_measured);
    ADD("/price/tunings", test_tunings);
    ADD("/price/nearest", test_nearest);
    ADD("/price/other-orders", test_other_orders);
    ADD("/price/failure", test_failure);
    ADD("/price/others", test_others);
    ADD("/price/shipped", test_shipped);
    ADD("/price/damaged", test_damaged);
    return g_test_run();
}
