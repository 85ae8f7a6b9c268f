/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of planned rings: firings, histories, capacities. */
#include "model/memory.h"
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

/* A sample of 8 channels, 4 stations, 2 pols, cf32, has 512 bytes; 2048 make the usual 1 MiB. */
static void
test_rings(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture,
         "  s: {stage: test.source, samples: -1}\n"
         "  w: {stage: test.window, from: s, window: 16, hop: 4}\n"
         "  v: {stage: test.window, from: w, hop: 100, sum: true}\n"
         "  o: {stage: test.sink, from: v}\n",
         &usual);
    /* A firing makes (2048 − 12) / 4 windows, of 508 · 4 + 16 samples. */
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
    /* A transpose to blocks makes 16 samples at a time. */
    check_link(link_of(fixture, "s", 0), 100, 15, 200 + 1024);
    const CtPlanLink *blocked = link_of(fixture, "s>transpose", 0);
    g_assert_cmpint(blocked->granule, ==, 16);
    check_link(blocked, 1024, 0, 3 * 1024);
    /* There are two readers after the transpose; the longer window counts. */
    plan(fixture,
         "  s: {stage: test.source, samples: -1, layout: '[channel time station pol time:16]', "
         "block: {time: 100}}\n"
         "  a: {stage: test.blocked, from: s}\n",
         &usual);
    check_link(link_of(fixture, "s", 0), 112, 0, 336);
}

/* A short stream needs only its own length; static and empty ones need one sample. */
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

/* A node waits for as many bytes as its weights have, for a power of two of samples, but not for
 * more than it can see. Nodes without weights and sums do not wait. */
static void
test_batches(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    const struct {
        guint times;
        gint64 batch;
    } cases[] = {{1, 1}, {2, 1}, {4, 2}, {10, 8}, {12, 8}, {16, 8}, {18, 16}, {100000, 32768}};
    for (guint k = 0; k < G_N_ELEMENTS(cases); k++) {
        g_autofree char *stages = g_strdup_printf("  s: {stage: test.source, samples: -1}\n"
                                                  "  w: {stage: test.weights, from: s, times: %u}\n"
                                                  "  t: {stage: test.two, from: [s, w]}\n"
                                                  "  o: {stage: test.sink, from: t}\n",
                                                  cases[k].times);
        plan(fixture, stages, &usual);
        /* Weights for all stations have half the bytes of a sample. */
        g_assert_cmpint(node_named(fixture, "t")->batch, ==, cases[k].batch);
        g_assert_cmpint(node_named(fixture, "t")->input_bindings[0].max_samples, >=,
                        cases[k].batch);
        g_assert_cmpint(node_named(fixture, "o")->batch, ==, 0);
    }
}

/* ---- ways that meet again ---- */

static void
check_skew(const CtPlanLink *link, gint64 skew, const char *circle)
{
    g_assert_cmpint(link->skew, ==, skew);
    g_assert_cmpstr(link->circle, ==, circle);
    if (circle)
        g_assert_cmpint(link->capacity, >=, 2 * link->max_samples + skew);
}

/* If one way is 5000 samples late, the ring of the other one holds as many. */
static void
test_offsets(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    const char *const places[] = {"cpu", "cuda"};
    CtPlanOptions options = usual;
    options.n_devices = 1;
    for (guint a = 0; a < 8; a++) {
        g_autofree char *stages =
            g_strdup_printf("  s: {stage: test.source, samples: -1, backend: cpu}\n"
                            "  w: {stage: test.window, from: s, offset: 5000, backend: %s}\n"
                            "  v: {stage: test.window, from: s, offset: 100, backend: %s}\n"
                            "  m: {stage: test.many, from: [v, w], backend: %s}\n"
                            "  o: {stage: test.sink, from: m}\n",
                            places[a & 1], places[a >> 1 & 1], places[a >> 2]);
        plan(fixture, stages, &options);
        /* Wherever copies are inserted, the samples are held once. */
        gint64 held = 0;
        for (guint l = 0; l < fixture->plan->links->len; l++) {
            const CtPlanLink *link = g_ptr_array_index(fixture->plan->links, l);
            g_assert_cmpint(link->skew, ==, link->circle ? 4900 : 0);
            if (link->circle)
                check_skew(link, 4900, link->circle);
            g_assert_false(link->circle && link->transient);
            held += link->skew;
        }
        g_assert_cmpint(held, ==, 4900);
    }
    check_skew(link_of(fixture, "v", 0), 0, NULL);
}

/* The earlier way holds the samples that the windows and sums of the later way need. */
static void
test_windows_and_sums(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture,
         "  s: {stage: test.source, samples: -1}\n"
         "  a: {stage: test.window, from: s, window: 3000}\n"
         "  b: {stage: test.window, from: a, window: 4000}\n"
         "  m: {stage: test.many, from: [b, s]}\n"
         "  o: {stage: test.sink, from: m}\n",
         &usual);
    check_skew(link_of(fixture, "s", 0), 2999 + 3999, "s > m < b < a");
    check_skew(link_of(fixture, "a", 0), 3999, NULL);
    check_skew(link_of(fixture, "b", 0), 0, NULL);
    plan(fixture,
         "  s: {stage: test.source, samples: -1}\n"
         "  p: {stage: test.window, from: s, window: 100, hop: 100}\n"
         "  q: {stage: test.window, from: p, window: 70}\n"
         "  r: {stage: test.window, from: s, hop: 100, sum: true}\n"
         "  m: {stage: test.many, from: [q, r]}\n"
         "  o: {stage: test.sink, from: m}\n",
         &usual);
    check_skew(link_of(fixture, "r", 0), 69, "r > m < q < p < s");
}

/* The streams of two sources wait in the sources. */
static void
test_two_sources(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture,
         "  s: {stage: test.source, samples: -1}\n"
         "  z: {stage: test.source, samples: -1, start: 1000000000}\n"
         "  w: {stage: test.window, from: s, offset: 100000}\n"
         "  v: {stage: test.window, from: z, window: 500}\n"
         "  m: {stage: test.many, from: [v, w]}\n"
         "  o: {stage: test.sink, from: m}\n",
         &usual);
    check_skew(link_of(fixture, "s", 0), 0, NULL);
    check_skew(link_of(fixture, "w", 0), 0, NULL);
    check_skew(link_of(fixture, "z", 0), 499, NULL);
    check_skew(link_of(fixture, "v", 0), 0, NULL);
}

/* Samples are held on the link where this takes the fewest bytes. */
static void
test_cheapest(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture,
         "  s: {stage: test.source, type: ci8, samples: -1}\n"
         "  p: {stage: test.pass, from: s}\n"
         "  f: {stage: test.float, from: p}\n"
         "  g: {stage: test.float, from: s}\n"
         "  w: {stage: test.window, from: g, window: 9000}\n"
         "  m: {stage: test.many, from: [f, w]}\n"
         "  o: {stage: test.sink, from: m}\n",
         &usual);
    check_skew(link_of(fixture, "f", 0), 0, NULL);
    g_assert_cmpint(link_of(fixture, "s", 0)->skew + link_of(fixture, "p", 0)->skew, >=, 8999);
    g_assert_cmpint(link_of(fixture, "s", 0)->stream->type, ==, CT_CI8);
}

/* Sizes of memory are printed in a unit in which they are not 0.0. */
static void
test_memory(void)
{
    const struct {
        gsize bytes;
        const char *wanted;
    } sizes[] = {
        {(gsize)1 << 62, "a ring wants 4.0 EiB of memory: *"},
        {(gsize)3 << 59, "a ring wants 1.5 EiB of memory: *"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(ct_memory_new(sizes[i].bytes, "a ring", &error));
        g_assert_error(error, CT_ERROR, CT_ERROR_MEMORY);
        if (!g_pattern_match_simple(sizes[i].wanted, error->message))
            g_error("wanted: %s\ngiven:  %s", sizes[i].wanted, error->message);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/plan-rings/rings", Fixture, NULL, set_up, test_rings, tear_down);
    g_test_add("/plan-rings/large-samples", Fixture, NULL, set_up, test_large_samples, tear_down);
    g_test_add("/plan-rings/source-blocks", Fixture, NULL, set_up, test_source_blocks, tear_down);
    g_test_add("/plan-rings/short-streams", Fixture, NULL, set_up, test_short_streams, tear_down);
    g_test_add("/plan-rings/batches", Fixture, NULL, set_up, test_batches, tear_down);
    g_test_add("/plan-rings/offsets", Fixture, NULL, set_up, test_offsets, tear_down);
    g_test_add("/plan-rings/windows-and-sums", Fixture, NULL, set_up, test_windows_and_sums,
               tear_down);
    g_test_add("/plan-rings/two-sources", Fixture, NULL, set_up, test_two_sources, tear_down);
    g_test_add("/plan-rings/cheapest", Fixture, NULL, set_up, test_cheapest, tear_down);
    g_test_add_func("/plan-rings/memory", test_memory);
    return g_test_run();
}
