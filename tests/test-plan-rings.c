/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of rings as they are planned: firings, histories, capacities. */
#include "planning.h"

static void
check_link(const CtPlanLink *link, gint64 max_samples, gint64 history, gint64 capacity)
{
    g_assert_cmpint(link->max_samples, ==, max_samples);
    g_assert_cmpint(link->history, ==, history);
    g_assert_cmpint(link->capacity, ==, capacity);
    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
    if (ct_stream_axis(link->stream, "time") < 0)
        return;
    g_assert_cmpuint(
        link->bytes, ==,
        ct_layout_strides(&link->layout, link->stream, history + capacity, length, stride));
}

/* A sample of 8 channels, 4 stations, 2 pols, cf32, is 512 bytes: 2048 in the aimed-for MiB. */
static void
test_rings(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture,
         "  s: {stage: test.source, samples: -1}\n"
         "  w: {stage: test.window, from: s, window: 16, hop: 4}\n"
         "  v: {stage: test.window, from: w, hop: 100, sum: true}\n"
         "  o: {stage: test.sink, from: v}\n",
         &usual);
    /* (2048 − 12) / 4 windows, which see 508 · 4 + 16 samples. */
    g_assert_cmpint(node_named(fixture, "w")->input_bindings[0].max_samples, ==, 2048);
    check_link(link_of(fixture, "s", 0), 2048, 15, 3 * 2048);
    g_assert_cmpint(node_named(fixture, "w")->output_bindings[0].max_samples, ==, 509);
    check_link(link_of(fixture, "w", 0), 509, 0, 2 * 509 + 2000);
    check_link(link_of(fixture, "v", 0), 20, 0, 3 * 20);
    g_assert_cmpint(node_named(fixture, "o")->input_bindings[0].max_samples, ==, 20);
    gsize sum = 0;
    for (guint i = 0; i < fixture->plan->links->len; i++)
        sum += ((const CtPlanLink *)g_ptr_array_index(fixture->plan->links, i))->bytes;
    g_assert_cmpuint(fixture->plan->bytes, ==, sum);
}

static void
test_large_samples(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture,
         "  s: {stage: test.source, channels: 65536}\n"
         "  w: {stage: test.window, from: s, window: 3, hop: 2}\n"
         "  o: {stage: test.sink, from: w}\n",
         &usual);
    check_link(link_of(fixture, "s", 0), 1, 2, 2 + 3);
    check_link(link_of(fixture, "w", 0), 1, 0, 3);
}

static void
test_source_blocks(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture,
         "  s: {stage: test.source, block: {time: 100}, samples: -1}\n"
         "  a: {stage: test.blocked, from: s}\n"
         "  o: {stage: test.sink, from: a}\n"
         "  p: {stage: test.sink, from: s}\n",
         &usual);
    /* A transpose to blocks makes 16 at a time. */
    check_link(link_of(fixture, "s", 0), 100, 15, 200 + 2048);
    const CtPlanLink *blocked = link_of(fixture, "s>transpose", 0);
    g_assert_cmpint(blocked->granule, ==, 16);
    check_link(blocked, 2048, 0, 3 * 2048);
    /* Two readers of the transposed: the longest window counts. */
    plan(fixture,
         "  s: {stage: test.source, samples: -1, layout: '[channel time station pol time:16]', "
         "block: {time: 100}}\n"
         "  a: {stage: test.blocked, from: s}\n",
         &usual);
    check_link(link_of(fixture, "s", 0), 112, 0, 336);
}

/* A short stream wants no more than itself; static and empty ones want a sample. */
static void
test_short_streams(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture,
         "  s: {stage: test.source, samples: 10}\n"
         "  e: {stage: test.source, samples: 0}\n"
         "  x: {stage: test.sink, from: e}\n"
         "  w: {stage: test.weights, from: s}\n"
         "  t: {stage: test.two, from: [s, w]}\n"
         "  o: {stage: test.sink, from: t}\n",
         &usual);
    check_link(link_of(fixture, "s", 0), 10, 0, 30);
    check_link(link_of(fixture, "e", 0), 1, 0, 3);
    check_link(link_of(fixture, "w", 0), 1, 0, 2);
    g_assert_cmpint(node_named(fixture, "t")->input_bindings[1].max_samples, ==, 1);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/plan-rings/rings", Fixture, NULL, set_up, test_rings, tear_down);
    g_test_add("/plan-rings/large-samples", Fixture, NULL, set_up, test_large_samples, tear_down);
    g_test_add("/plan-rings/source-blocks", Fixture, NULL, set_up, test_source_blocks, tear_down);
    g_test_add("/plan-rings/short-streams", Fixture, NULL, set_up, test_short_streams, tear_down);
    return g_test_run();
}
