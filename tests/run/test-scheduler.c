/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings, firings and workers: random chains of windows and sums, with firings of any lengths, give
 * one answer. */
#include "chains.h"

static const CtPort scale_ports[] = {
    {.name = "in"}, {.name = "gain", .flags = CT_PORT_STATIC}, {0}};
static const CtStage scale_stage = {.name = "scale", .inputs = scale_ports};

/* Gives blocks without time, one every 50 ticks: gain k is k + 1 in every lane. */
static gboolean
gain_advance(gpointer data, CtAdvance *advance, GError **error G_GNUC_UNUSED)
{
    Node *node = data;
    CtDeparture *out = &advance->outputs[0];
    out->produced = MIN(out->room, 1);
    out->start = node->state.test->first_tick + 50 * node->state.made;
    node->state.made += out->produced;
    advance->ended = node->state.made == node->state.window;
    return TRUE;
}

static gboolean
gain_work(gpointer data G_GNUC_UNUSED, const CtWork *work, GError **error G_GNUC_UNUSED)
{
    for (gint64 l = 0; l < N_LANES; l++)
        ((gint64 *)(gpointer)work->outputs[0].data)[l] = work->outputs[0].index + 1;
    return TRUE;
}

static gboolean
scale_work(gpointer data, const CtWork *work, GError **error G_GNUC_UNUSED)
{
    Node *node = data;
    const gint64 *gain = (const gint64 *)(gconstpointer)work->inputs[1].data;
    for (gint64 t = work->begin; t < work->end; t++)
        for (gint64 l = 0; l < N_LANES; l++)
            *element(&work->outputs[0], &node->out, t, l) =
                gain[l] * *element(&work->inputs[0], &node->in, t, l);
    return TRUE;
}

static const CtVariant gain_variant = {
    .name = "test", .prepare = prepare, .advance = gain_advance, .work = gain_work};
static const CtVariant scale_variant = {
    .name = "test", .split = "time", .prepare = prepare, .work = scale_work};
/* Runs one random chain of up to four windows and sums, with a second reader of the first link. */
static void
random_chain(GRand *random)
{
    Test test, side;
    test_init(&test, g_rand_int_range(random, 0, 700));
    test_init(&side, test.n_samples);
    if (g_rand_boolean(random))
        side.loss = test.loss = g_rand_int_range(random, 5, 200);
    Chain chain;
    chain_init(&chain, (guint)g_rand_int_range(random, 1, 4));
    const guint source = add_node(
        &chain, "source", &source_stage,
        g_rand_boolean(random) ? &source_variant : &waiting_source_variant, -1, sample, &test);
    if (g_rand_boolean(random))
        ((Node *)chain.states->pdata[0])->state.random = g_rand_new_with_seed(g_rand_int(random));
    gint link = add_output(&chain, source, layouts[g_rand_int_range(random, 0, 2)],
                           g_rand_int_range(random, 1, 90), 2);
    const gint first = link;
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_autoptr(GArray) validity = g_array_new(FALSE, FALSE, 1);
    expect_source(&test, values, validity);
    const gint n_stages = g_rand_int_range(random, 0, 5);
    gint64 ticks = 2;
    for (gint i = 0; i < n_stages; i++) {
        CtFootprint rule = {.window = g_rand_int_range(random, 1, 20),
                            .hop = g_rand_int_range(random, 1, 12)};
        const gboolean is_sum = g_rand_boolean(random);
        if (is_sum)
            rule = (CtFootprint){.kind = CT_FOOTPRINT_SUM, .window = rule.hop, .hop = rule.hop};
        const guint node = add_node(&chain, "stage", is_sum ? &sum_stage : &window_stage,
                                    is_sum ? &sum_variant : &window_variant, link, rule, &test);
        ticks *= rule.hop;
        /* Only the last link may have blocked time, because a sum ends anywhere and only the sink
         * reads whole blocks. */
        const gboolean last = i == n_stages - 1;
        link = add_output(&chain, node, layouts[g_rand_int_range(random, 0, last ? 4 : 2)],
                          g_rand_int_range(random, 1, 30), ticks);
        expect(values, validity, values->len / N_LANES, &rule);
        if (g_rand_int_range(random, 0, 3) > 0)
            continue;
        const gint64 mark = g_rand_int_range(random, 2, 40);
        mark_node(&chain, node, mark);
        expect_marks(values, validity, mark);
    }
    add_node(&chain, "sink", &sink_stage, &sink_variant, link, sample, &test);
    add_node(&chain, "side", &sink_stage, &sink_variant, first, sample, &side);

    g_autoptr(GError) error = NULL;
    run(&chain, g_rand_boolean(random), &error);
    g_assert_no_error(error);
    g_assert_true(test.completed && side.completed);
    g_assert_false(test.interrupted || side.interrupted);
    g_assert_cmpmem(test.values->data, test.values->len * sizeof(gint64), values->data,
                    values->len * sizeof(gint64));
    g_assert_cmpmem(test.validity->data, test.validity->len, validity->data, validity->len);
    g_assert_cmpint(side.values->len, ==, side.n_samples * N_LANES);
    if (side.n_samples > 0)
        g_assert_cmpint(side.seen_tick, ==, test.first_tick);
    chain_clear(&chain);
    test_clear(&test);
    test_clear(&side);
}

static void
test_random(void)
{
    const guint32 seed = (guint32)g_test_rand_int();
    g_test_message("seed %u", seed);
    GRand *random = g_rand_new_with_seed(seed);
    for (guint i = 0; i < (g_test_quick() ? 300 : 3000); i++)
        random_chain(random);
    g_rand_free(random);
}

static void
test_failure(void)
{
    Test test;
    test_init(&test, 1000);
    test.fail_at = 300;
    Chain chain;
    chain_init(&chain, 2);
    const guint source =
        add_node(&chain, "source", &source_stage, &source_variant, -1, sample, &test);
    const gint link = add_output(&chain, source, layouts[0], 10, 2);
    add_node(&chain, "sink", &sink_stage, &sink_variant, link, sample, &test);
    g_autoptr(GError) error = NULL;
    run(&chain, FALSE, &error);
    g_assert_error(error, CT_ERROR, CT_ERROR_IO);
    g_assert_cmpstr(error->message, ==, "node 'source': the disk is on fire");
    g_assert_false(test.completed);
    chain_clear(&chain);
    test_clear(&test);
}

/* An interrupt ends the source; its samples arrive, and the sink is completed and told of the
 * interrupt. The sink of another source that had ended before is not told. */
static void
test_interrupt(void)
{
    Test test, other;
    test_init(&test, G_MAXINT32);
    test_init(&other, 20);
    Chain chain;
    chain_init(&chain, 2);
    const guint source =
        add_node(&chain, "source", &source_stage, &source_variant, -1, sample, &test);
    gint link = add_output(&chain, source, layouts[0], 100, 2);
    const guint window =
        add_node(&chain, "window", &window_stage, &window_variant, link, sample, &test);
    link = add_output(&chain, window, layouts[0], 100, 2);
    add_node(&chain, "sink", &sink_stage, &sink_variant, link, sample, &test);
    const guint short_source =
        add_node(&chain, "short", &source_stage, &source_variant, -1, sample, &other);
    link = add_output(&chain, short_source, layouts[0], 100, 2);
    add_node(&chain, "other", &sink_stage, &sink_variant, link, sample, &other);
    size_rings(&chain);
    g_autoptr(GError) error = NULL;
    const CtRunOptions options = {.pin = TRUE};
    g_autoptr(CtScheduler) scheduler = ct_scheduler_new(&chain.plan, &options, &error);
    g_assert_no_error(error);
    g_assert_true(ct_scheduler_start(scheduler, NULL));
    CtNodeStats stats;
    /* Its sink is completed together with the other one. */
    do {
        g_assert_false(ct_scheduler_wait(scheduler, 0.05));
        ct_scheduler_stats(scheduler, short_source, &stats);
    } while (!stats.ended);
    ct_scheduler_interrupt(scheduler);
    g_assert_true(ct_scheduler_wait(scheduler, 60));
    g_assert_true(ct_scheduler_result(scheduler, &error));
    ct_scheduler_stats(scheduler, 0, &stats);
    g_assert_cmpint(stats.samples, >, 0);
    g_assert_cmpint(test.values->len, ==, stats.samples * N_LANES);
    g_assert_true(test.completed && test.interrupted);
    g_assert_true(other.completed);
    g_assert_false(other.interrupted);
    g_clear_pointer(&scheduler, ct_scheduler_free);
    chain_clear(&chain);
    test_clear(&test);
    test_clear(&other);
}

/* Updates of a static input take effect at their tick, wherever the stream is cut. */
static void
test_static(void)
{
    for (guint turn = 0; turn < 40; turn++) {
        Test test;
        test_init(&test, 200);
        Chain chain;
        chain_init(&chain, 1 + turn % 3);
        const guint gains =
            add_node(&chain, "gains", &source_stage, &gain_variant, -1, sample, &test);
        ((Node *)chain.states->pdata[gains])->state.window = 1 + turn % 11;
        const gint gain = add_output(&chain, gains, "i64[time lane]", 1, 50);
        CtPlanLink *link = chain.plan.links->pdata[gain];
        ct_stream_remove_axis((CtStream *)link->stream, "time");
        link->layout = layout("i64[lane]");
        const guint source =
            add_node(&chain, "source", &source_stage, &source_variant, -1, sample, &test);
        const gint in = add_output(&chain, source, layouts[turn % 2], 1 + turn, 2);
        const guint scale =
            add_node(&chain, "scale", &scale_stage, &scale_variant, in, sample, &test);
        const gint out = add_output(&chain, scale, layouts[0], 1 + (turn * 7) % 30, 2);
        add_node(&chain, "sink", &sink_stage, &sink_variant, out, sample, &test);
        size_rings(&chain);
        /* It becomes the second input. */
        CtPlanNode *node = chain.plan.nodes->pdata[scale];
        node->n_inputs = 2;
        node->inputs = g_renew(gint, node->inputs, 2);
        node->inputs[1] = gain;
        node->input_bindings = g_renew(CtBinding, node->input_bindings, 2);
        node->input_bindings[1] =
            (CtBinding){.stream = link->stream, .layout = link->layout, .max_samples = 1};
        const CtPlanReader reader = {scale, 1};
        g_array_append_val(link->readers, reader);
        link->capacity = 2;

        g_autoptr(GError) error = NULL;
        const CtRunOptions options = {.poison = turn % 2 == 0};
        g_autoptr(CtScheduler) scheduler = ct_scheduler_new(&chain.plan, &options, &error);
        g_assert_no_error(error);
        g_assert_true(ct_scheduler_start(scheduler, NULL));
        g_assert_true(ct_scheduler_wait(scheduler, 60));
        ct_scheduler_result(scheduler, &error);
        g_assert_no_error(error);
        g_assert_cmpint(test.values->len, ==, test.n_samples * N_LANES);
        for (gint64 t = 0; t < test.n_samples; t++)
            for (gint64 l = 0; l < N_LANES; l++) {
                const gint64 k = MIN(2 * t / 50, 1 + turn % 11 - 1);
                g_assert_cmpint(g_array_index(test.values, gint64, t * N_LANES + l), ==,
                                (k + 1) * value(t, l));
            }
        g_clear_pointer(&scheduler, ct_scheduler_free);
        chain_clear(&chain);
        test_clear(&test);
    }
}

static gboolean
slow_work(gpointer data, const CtWork *work, GError **error)
{
    g_usleep(20000);
    return sink_work(data, work, error);
}

/* The last node at work is a sink on a thread of its own, which ends while another node waits for
 * more samples than its writer has room for: that node then takes the samples that there are. */
static void
test_last_at_work(void)
{
    static const CtVariant slow_sink_variant = {.name = "test",
                                                .waits = TRUE,
                                                .prepare = prepare,
                                                .work = slow_work,
                                                .complete = sink_complete};
    Test test, other;
    test_init(&test, 4);
    test_init(&other, 4);
    Chain chain;
    chain_init(&chain, 1);
    const guint source =
        add_node(&chain, "source", &source_stage, &source_variant, -1, sample, &test);
    const gint link = add_output(&chain, source, layouts[0], 1, 2);
    const guint writer =
        add_node(&chain, "writer", &window_stage, &window_variant, link, sample, &test);
    const gint narrow = add_output(&chain, writer, layouts[0], 2, 2);
    const guint reader =
        add_node(&chain, "reader", &window_stage, &window_variant, narrow, sample, &test);
    const gint last = add_output(&chain, reader, layouts[0], 2, 2);
    add_node(&chain, "slow", &sink_stage, &slow_sink_variant, link, sample, &other);
    add_node(&chain, "sink", &sink_stage, &sink_variant, last, sample, &test);
    size_rings(&chain);
    ((CtPlanLink *)chain.plan.links->pdata[narrow])->capacity = 2;
    ((CtPlanNode *)chain.plan.nodes->pdata[reader])->batch = 2;

    g_autoptr(GError) error = NULL;
    const CtRunOptions options = {0};
    CtScheduler *scheduler = ct_scheduler_new(&chain.plan, &options, &error);
    g_assert_no_error(error);
    g_assert_true(ct_scheduler_start(scheduler, NULL));
    g_assert_true(ct_scheduler_wait(scheduler, 60));
    ct_scheduler_result(scheduler, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(test.values->len, ==, 4 * N_LANES);
    ct_scheduler_free(scheduler);
    chain_clear(&chain);
    test_clear(&test);
    test_clear(&other);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/scheduler/random", test_random);
    g_test_add_func("/scheduler/static", test_static);
    g_test_add_func("/scheduler/last-at-work", test_last_at_work);
    g_test_add_func("/scheduler/failure", test_failure);
    g_test_add_func("/scheduler/interrupt", test_interrupt);
    return g_test_run();
}
