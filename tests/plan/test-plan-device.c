/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of plans with devices: how large firings are there, queues, what is refused and printed. */
#include "json-at.h"
#include "planning.h"

#include <string.h>

/* Blocks are 1 MiB: 2048 samples of 8 channels, 4 stations, 2 pols, cf32. */
static const CtPlanOptions with_device = {
    .n_workers = 2,
    .backend = CT_N_BACKENDS,
    .cache_bytes = 1 << 20,
    .device_bytes = 1 << 20,
    .n_devices = 2,
    .devices = devices,
};

static const CtPlanNode *
node_at(const CtPlan *plan, guint i)
{
    return g_ptr_array_index(plan->nodes, i);
}

static void
check_link(const CtPlanLink *link, gint place, gint64 max_samples, gint64 history, gint64 capacity)
{
    g_assert_cmpint(link->place, ==, place);
    g_assert_cmpint(link->max_samples, ==, max_samples);
    g_assert_cmpint(link->history, ==, history);
    g_assert_cmpint(link->capacity, ==, capacity);
    if (ct_stream_axis(link->stream, "time") < 0)
        return;
    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
    g_assert_cmpuint(
        link->bytes, ==,
        ct_layout_strides(&link->layout, link->stream, history + capacity, length, stride));
}

/* ---- sizes ---- */

static const char chain[] =
    "  s: {stage: test.source, samples: -1, backend: cpu}\n"
    "  a: {stage: test.pass, from: s, backend: cuda}\n"
    "  w: {stage: test.window, from: a, window: 16, hop: 4, backend: cuda}\n"
    "  v: {stage: test.window, from: w, hop: 100, sum: true, backend: cuda}\n"
    "  o: {stage: test.sink, from: v}\n";

static void
test_chain(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture, chain, &with_device);
    /* A link between queues has three blocks. */
    check_link(link_of(fixture, "s", 0), CT_HOST, 2048, 0, 3 * 2048);
    g_assert_cmpint(node_named(fixture, "s>copy")->batch, ==, 2048);
    check_link(link_of(fixture, "s>copy", 0), 0, 2048, 0, 3 * 2048);
    /* A link on one queue has one block, or two and the history. */
    check_link(link_of(fixture, "a", 0), 0, 2048, 15, 2 * 2048 + 15);
    g_assert_cmpint(node_named(fixture, "w")->input_bindings[0].max_samples, ==, 511 * 4 + 16);
    check_link(link_of(fixture, "w", 0), 0, 512, 0, 512);
    g_assert_cmpint(node_named(fixture, "v")->input_bindings[0].max_samples, ==, 512);
    check_link(link_of(fixture, "v", 0), 0, 6, 0, 3 * 6);
    check_link(link_of(fixture, "v>copy", 0), CT_HOST, 6, 0, 3 * 6);
    for (guint n = 0; n < fixture->plan->nodes->len; n++)
        g_assert_true(node_at(fixture->plan, n)->batch == 0 ||
                      node_at(fixture->plan, n) == node_named(fixture, "s>copy"));

    /* Links have as many blocks as are asked for; a link that the host reads also has room for a
     * block that is being read. */
    CtPlanOptions options = with_device;
    options.n_in_flight = 1;
    plan(fixture, chain, &options);
    check_link(link_of(fixture, "s>copy", 0), 0, 2048, 0, 2048);
    check_link(link_of(fixture, "v", 0), 0, 6, 0, 6);
    check_link(link_of(fixture, "v>copy", 0), CT_HOST, 6, 0, 3 * 6);
    options.n_in_flight = 7;
    plan(fixture, chain, &options);
    g_assert_cmpuint(fixture->plan->n_in_flight, ==, 7);
    check_link(link_of(fixture, "s>copy", 0), 0, 2048, 0, 7 * 2048);
    check_link(link_of(fixture, "v>copy", 0), CT_HOST, 6, 0, 7 * 6);
}

/* Firings of the host fit into its cache, and a block is a whole number of them. */
static void
test_host_firings(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    CtPlanOptions options = with_device;
    options.cache_bytes = 100 << 10;
    plan(fixture, chain, &options);
    check_link(link_of(fixture, "s", 0), CT_HOST, 128, 0, 3 * 2048);
    g_assert_cmpint(node_named(fixture, "s>copy")->batch, ==, 2048);
    check_link(link_of(fixture, "s>copy", 0), 0, 2048, 0, 3 * 2048);
    /* One block is filled while the other one is copied. */
    options.n_in_flight = 1;
    plan(fixture, chain, &options);
    check_link(link_of(fixture, "s", 0), CT_HOST, 128, 0, 2 * 2048);
    options.n_in_flight = 3;
    /* A firing has at most one block. */
    options.cache_bytes = 64 << 20;
    plan(fixture, chain, &options);
    check_link(link_of(fixture, "s", 0), CT_HOST, 2048, 0, 3 * 2048);
}

/* Windows use all samples of a block; the source's own length has precedence. */
static void
test_blocks(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture,
         "  s: {stage: test.source, samples: -1, backend: cuda}\n"
         "  w: {stage: test.window, from: s, window: 30, hop: 10, backend: cuda}\n"
         "  x: {stage: test.window, from: w, window: 3, hop: 3, backend: cuda}\n"
         "  o: {stage: test.sink, from: x}\n",
         &with_device);
    g_assert_cmpint(link_of(fixture, "s", 0)->max_samples, ==, 2040);
    g_assert_cmpint(link_of(fixture, "w", 0)->max_samples, ==, 204);
    g_assert_cmpint(link_of(fixture, "x", 0)->max_samples, ==, 68);
    /* A block is made a little longer to have no remainder, but not much longer. */
    plan(fixture,
         "  s: {stage: test.source, samples: -1, backend: cuda}\n"
         "  w: {stage: test.window, from: s, window: 3000, hop: 3000, backend: cuda}\n"
         "  x: {stage: test.window, from: w, window: 3, hop: 3, backend: cpu}\n",
         &with_device);
    g_assert_cmpint(link_of(fixture, "s", 0)->max_samples, ==, 3000);
    g_assert_cmpint(link_of(fixture, "w", 0)->max_samples, ==, 1);
    plan(fixture,
         "  s: {stage: test.source, samples: -1, backend: cuda}\n"
         "  w: {stage: test.window, from: s, window: 30000, hop: 30000, backend: cuda}\n"
         "  x: {stage: test.sink, from: w}\n",
         &with_device);
    g_assert_cmpint(link_of(fixture, "s", 0)->max_samples, ==, 2048);
    g_assert_cmpint(link_of(fixture, "w", 0)->max_samples, ==, 1);
    /* The graph gives the block. */
    plan(fixture,
         "  s: {stage: test.source, samples: -1, backend: cpu, block: {time: 500}}\n"
         "  a: {stage: test.pass, from: s, backend: cuda}\n"
         "  o: {stage: test.sink, from: a}\n",
         &with_device);
    check_link(link_of(fixture, "s", 0), CT_HOST, 500, 0, 1500);
    check_link(link_of(fixture, "s>copy", 0), 0, 500, 0, 1500);
    /* A short stream needs only blocks of its own length. */
    plan(fixture,
         "  s: {stage: test.source, samples: 10, backend: cpu}\n"
         "  a: {stage: test.pass, from: s, backend: cuda}\n",
         &with_device);
    check_link(link_of(fixture, "s>copy", 0), 0, 10, 0, 30);
}

/* The number of launches follows from the block that a source asks for, not from the usual one;
 * this is so for inserted nodes and for halved blocks, too. */
static void
test_launches(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    static const char *const names[] = {"a", "s>copy", "a>copy"};
    gdouble seconds[3][3];
    for (guint k = 0; k < 3; k++) {
        CtPlanOptions options = with_device;
        options.n_halvings = k == 2 ? 1 : 0;
        options.why_smaller = "so it is asked";
        g_autofree char *stages =
            g_strdup_printf("  s: {stage: test.source, samples: -1, backend: cpu, block: {time: "
                            "%d}}\n"
                            "  a: {stage: test.pass, from: s, backend: cuda}\n"
                            "  o: {stage: test.sink, from: a}\n",
                            k == 0 ? 100000 : 500);
        plan(fixture, stages, &options);
        for (guint i = 0; i < 3; i++)
            seconds[k][i] = node_named(fixture, names[i])->cost.parts[0].seconds;
    }
    /* A launch takes 5 us; the rate is 1 MHz. */
    for (guint i = 0; i < 3; i++) {
        g_assert_cmpfloat_with_epsilon(seconds[1][i] - seconds[0][i], 1990 * 5e-6, 1e-6);
        g_assert_cmpfloat_with_epsilon(seconds[2][i] - seconds[0][i], 3990 * 5e-6, 1e-6);
    }
}

/* Data that every firing reads as a whole make firings longer; sums themselves do not. */
static void
test_wholes(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    /* Weights are 1 MiB, a sample is 2 MiB. */
    plan(fixture,
         "  s: {stage: test.source, samples: -1, channels: 32768, backend: cpu}\n"
         "  w: {stage: test.weights, from: s}\n"
         "  t: {stage: test.two, from: [s, w], backend: cuda}\n",
         &with_device);
    g_assert_cmpint(link_of(fixture, "s>copy", 0)->max_samples, ==, 2);
    check_link(link_of(fixture, "w>copy", 0), 0, 1, 0, 2);
    /* A sum is 64 KiB, and so is a sample; a firing has four samples. */
    CtPlanOptions options = with_device;
    options.device_bytes = 64 << 10;
    plan(fixture,
         "  s: {stage: test.source, samples: -1, channels: 1024, backend: cpu}\n"
         "  v: {stage: test.window, from: s, hop: 1000, sum: true, backend: cuda}\n"
         "  o: {stage: test.sink, from: v}\n",
         &options);
    g_assert_cmpint(link_of(fixture, "s>copy", 0)->max_samples, ==, 4);
    g_assert_cmpint(link_of(fixture, "v", 0)->max_samples, ==, 1);
    /* After a sum on the host, a firing takes all the samples that there are. */
    plan(fixture,
         "  s: {stage: test.source, samples: -1}\n"
         "  v: {stage: test.window, from: s, hop: 1000, sum: true, backend: cpu}\n"
         "  a: {stage: test.pass, from: v, backend: cuda}\n"
         "  x: {stage: test.window, from: a, hop: 10, sum: true, backend: cuda}\n",
         &with_device);
    g_assert_cmpint(link_of(fixture, "a", 0)->max_samples, ==, 2048);
}

/* Strides of axes outside time are multiples of 16 bytes. */
static void
test_padding(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    CtPlanOptions options = with_device;
    options.device_bytes = 1001 * 16;
    plan(fixture,
         "  s: {stage: test.source, samples: -1, type: ci8, channels: 4, stations: 1,\n"
         "      layout: '[channel time station pol]', backend: cuda}\n"
         "  a: {stage: test.window, from: s, window: 3, backend: cuda}\n"
         "  o: {stage: test.sink, from: a}\n",
         &options);
    const CtPlanLink *link = link_of(fixture, "s", 0);
    g_assert_cmpint(link->max_samples, ==, 1001);
    g_assert_cmpint(link->history, ==, 2);
    g_assert_cmpint(link->capacity, ==, 2 * 1001 + 2 + 2);
    g_assert_cmpuint(link->bytes, ==, 4 * 2008 * 4);
}

/* ---- queues ---- */

static void
check_queue(const Fixture *fixture, const char *name, gint device, CtQueueKind kind, gint queue)
{
    const CtPlanNode *node = node_named(fixture, name);
    g_assert_cmpint(node->queue, ==, queue);
    const CtPlanQueue *given = &g_array_index(fixture->plan->queues, CtPlanQueue, queue);
    g_assert_cmpint(given->device, ==, device);
    g_assert_cmpint(given->kind, ==, kind);
}

static void
test_queues(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture,
         "  s: {stage: test.source, backend: cpu}\n"
         "  a: {stage: test.pass, from: s, backend: cuda}\n"
         "  b: {stage: test.pass, from: a, backend: cuda}\n"
         "  c: {stage: test.pass, from: b, backend: 'cuda:1'}\n"
         "  d: {stage: test.any, from: c}\n"
         "  e: {stage: test.pass, from: d, backend: 'cuda:1'}\n",
         &with_device);
    g_assert_cmpuint(fixture->plan->n_devices, ==, 2);
    g_assert_cmpuint(fixture->plan->queues->len, ==, 7);
    g_assert_cmpint(node_named(fixture, "s")->queue, ==, -1);
    check_queue(fixture, "s>copy", 0, CT_QUEUE_TO_DEVICE, 0);
    check_queue(fixture, "a", 0, CT_QUEUE_COMPUTE, 1);
    check_queue(fixture, "b", 0, CT_QUEUE_COMPUTE, 1);
    check_queue(fixture, "b>copy", 0, CT_QUEUE_TO_PEER, 2);
    check_queue(fixture, "c", 1, CT_QUEUE_COMPUTE, 3);
    check_queue(fixture, "c>copy", 1, CT_QUEUE_TO_HOST, 4);
    check_queue(fixture, "d>copy", 1, CT_QUEUE_TO_DEVICE, 5);
    check_queue(fixture, "e", 1, CT_QUEUE_COMPUTE, 6);
    /* A copy from one device to another has the samples of a firing of the first. */
    g_assert_cmpint(link_of(fixture, "b>copy", 0)->max_samples, ==,
                    link_of(fixture, "b", 0)->max_samples);
    /* A copy that the graph asks for runs like any other node. */
    plan(fixture,
         "  s: {stage: test.source, backend: cuda}\n"
         "  a: {stage: copy, from: s, backend: cuda}\n",
         &with_device);
    check_queue(fixture, "a", 0, CT_QUEUE_COMPUTE, 0);
}

/* ---- too little memory ---- */

/* If a run lacks memory, firings become smaller, even if the rings held a whole short stream. */
static void
test_taking_smaller(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture,
         "  s: {stage: test.source, samples: 1000, backend: cpu}\n"
         "  a: {stage: test.pass, from: s, backend: cuda}\n",
         &with_device);
    g_assert_cmpint(link_of(fixture, "s>copy", 0)->max_samples, ==, 1000);
    g_autoptr(GError) of_memory = g_error_new(CT_ERROR, CT_ERROR_MEMORY, "others have it");
    g_autoptr(GError) of_data = g_error_new(CT_ERROR, CT_ERROR_DATA, "it is no good");
    g_assert_false(ct_plan_take_smaller(&fixture->plan, fixture->registry, &with_device, of_data));
    g_assert_true(ct_plan_take_smaller(&fixture->plan, fixture->registry, &with_device, of_memory));
    g_assert_cmpint(link_of(fixture, "s>copy", 0)->max_samples, ==, 512);
    g_assert_cmpstr(fixture->plan->shrunk, ==,
                    "firings on devices cover 1/4 of what is aimed at: else others have it");
    g_assert_true(ct_plan_take_smaller(&fixture->plan, fixture->registry, &with_device, of_memory));
    g_assert_cmpint(link_of(fixture, "s>copy", 0)->max_samples, ==, 256);
}

static void
test_smaller(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    const char *const stages =
        "  s: {stage: test.source, samples: -1, block: {time: 1000000}, backend: cuda}\n"
        "  w: {stage: test.window, from: s, window: 16, backend: cuda}\n"
        "  v: {stage: test.window, from: w, hop: 1000000, sum: true, backend: cuda}\n"
        "  o: {stage: test.sink, from: v}\n";
    plan(fixture, stages, &with_device);
    g_assert_cmpint(link_of(fixture, "s", 0)->max_samples, ==, 500000);
    g_assert_cmpuint(fixture->plan->n_in_flight, ==, 3);
    g_assert_cmpuint(fixture->plan->device_bytes[0], <, (1 << 30) / 16 * 15);
    g_assert_cmpstr(fixture->plan->shrunk, ==,
                    "firings on devices cover 1/2 of the `block` of 's': else the rings on cuda:0 "
                    "(first) want 1.4 GiB of 960 MiB");
    const GPtrArray *warnings = fixture->plan->warnings;
    g_assert_cmpuint(warnings->len, ==, 1);
    g_autofree char *warning = ct_warning_to_string(warnings->pdata[0]);
    g_autofree char *expected =
        g_strdup_printf("g.yaml:2:47: node 's': warning: %s", fixture->plan->shrunk);
    g_assert_cmpstr(warning, ==, expected);
    g_autofree char *text = ct_plan_to_text(fixture->plan);
    g_assert_nonnull(strstr(text, "firings on devices cover 1/2 of the `block` of 's'"));

    /* There is no warning unless the graph gives a block. */
    CtPlanOptions options = with_device;
    options.device_bytes = 600 << 20;
    plan(fixture,
         "  s: {stage: test.source, samples: -1, backend: cpu}\n"
         "  a: {stage: test.pass, from: s, backend: cuda}\n"
         "  o: {stage: test.sink, from: a}\n",
         &options);
    g_assert_cmpuint(link_of(fixture, "a", 0)->max_samples * 512, <=, 150 << 20);
    g_assert_true(g_str_has_prefix(fixture->plan->shrunk,
                                   "firings on devices cover 1/4 of what is aimed at: else the "
                                   "rings on cuda:0 (first) want "));
    g_assert_cmpuint(fixture->plan->warnings->len, ==, 0);
    plan(fixture, "  s: {stage: test.source}\n  o: {stage: test.sink, from: s}\n", &with_device);
    g_assert_null(fixture->plan->shrunk);
}

/* Samples are a second and more; a ring between queues holds three. */
static void
test_memory(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    const char *const stages = "  s: {stage: test.source, samples: -1, backend: cpu}\n"
                               "  w: {stage: test.window, from: s, window: 900000, backend: cuda}\n"
                               "  o: {stage: test.sink, from: w}\n";
    load(fixture, stages);
    g_autoptr(GError) error = NULL;
    fixture->plan = ct_plan_new(fixture->graph, fixture->registry, &with_device, &error);
    g_assert_error(error, CT_ERROR, CT_ERROR_MEMORY);
    const char *const wanted =
        "g.yaml:2:3: node 's': the rings of this graph want * GiB of device memory, but cuda:0 "
        "(first) has 960 MiB for them; the largest is that behind 's>copy': cf32?time channel "
        "station pol? of time (length unknown), channel 8, station 4, pol 2, * samples (* of a "
        "firing, * so that the history is moved seldom, 899999 of history) of 512 bytes are * GiB; "
        "no smaller blocks help";
    if (!g_pattern_match_simple(wanted, error->message))
        g_error("wanted: %s\ngiven:  %s", wanted, error->message);
}

/* ---- printing ---- */

static void
test_printing(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture,
         "  s: {stage: test.source, samples: -1, backend: cpu}\n"
         "  a: {stage: test.pass, from: s, backend: cuda}\n"
         "  b: {stage: test.pass, from: a, backend: cuda}\n"
         "  o: {stage: test.sink, from: b}\n",
         &with_device);
    g_autofree char *text = ct_plan_to_text(fixture->plan);
    const char *const wanted =
        "*\n+ s>copy *cuda *cuda:0 *\na *cuda *cuda:0 *\n"
        "*\ns *s>copy *host *2048 *6144 *3.0 MiB *ring *3 × 2048 of a firing\n"
        "s>copy *a *cuda:0 *2048 *6144 *3.0 MiB *0 *ring *\n"
        "a *b *cuda:0 *2048 *2048 *1.0 MiB *3145728 *transient *1 × 2048 of a firing\n"
        "b *b>copy *cuda:0 *2048 *6144 *3.0 MiB *4194304 *ring *\n"
        "b>copy *o *host *2048 *6144 *3.0 MiB *ring *\n"
        "\n*\n"
        "host: 6.0 MiB\n"
        "cuda:0 (first): 7.0 MiB of 1.0 GiB\n"
        "the largest block of a firing there: about 1.0 MiB\n"
        "\n"
        "kept busy * seconds * share\n"
        "workers *%\n"
        "cuda:0 kernels *%\n"
        "cuda:0 to device *%\n"
        "cuda:0 to host *%\n"
        "\n"
        "6 nodes, 2 of them inserted (+), 2 workers, 3 queues of devices, 3 blocks in flight; "
        "predicted * s for a second of stream\n";
    if (!g_pattern_match_simple(wanted, text))
        g_error("wanted: %s\ngiven:  %s", wanted, text);
    g_autofree char *dot = ct_plan_to_dot(fixture->plan);
    g_assert_nonnull(strstr(dot, "    subgraph cluster_0 {\n        label=\"cuda:0\\nfirst\";\n"
                                 "        n1 [label=\"s>copy\\ncopy\\ncuda · cuda:0\\nbusy "));
    g_autofree char *json = ct_plan_to_json(fixture->plan);
    g_autofree char *busy = json_at(json, "$.busy");
    g_assert_true(g_pattern_match_simple("[{\"workers\":*,\"cuda:0 kernels\":*,"
                                         "\"cuda:0 to device\":*,\"cuda:0 to host\":*}]",
                                         busy));
    assert_json(json, "$.queues",
                "[[{\"device\":0,\"kind\":\"to device\"},{\"device\":0,\"kind\":\"compute\"},"
                "{\"device\":0,\"kind\":\"to host\"}]]");
    assert_json(json, "$.devices",
                "[[{\"name\":\"first\",\"bytes\":7340032,\"memory\":1073741824,\"numa\":null}]]");
    g_autofree char *links = json_at(json, "$.links");
    g_assert_nonnull(
        strstr(links, "\"place\":\"cuda:0\",\"numa\":null,\"offset\":3145728,\"group\":2}"));
    g_autofree char *nodes = json_at(json, "$.nodes");
    g_assert_nonnull(strstr(nodes, "\"place\":\"host\",\"numa\":null,\"queue\":null"));
}

int
main(int argc, char **argv)
{
    /* What is printed shall not depend on the machine. */
    g_setenv("HWLOC_SYNTHETIC", "numa:1 pu:2", TRUE);
    g_test_init(&argc, &argv, NULL);
    static const struct {
        const char *path;
        void (*test)(Fixture *fixture, gconstpointer data);
    } tests[] = {
        {"/plan-device/chain", test_chain},
        {"/plan-device/host-firings", test_host_firings},
        {"/plan-device/launches", test_launches},
        {"/plan-device/blocks", test_blocks},
        {"/plan-device/wholes", test_wholes},
        {"/plan-device/padding", test_padding},
        {"/plan-device/queues", test_queues},
        {"/plan-device/smaller", test_smaller},
        {"/plan-device/taking-smaller", test_taking_smaller},
        {"/plan-device/memory", test_memory},
        {"/plan-device/printing", test_printing},
    };
    for (guint i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add(tests[i].path, Fixture, NULL, set_up, tests[i].test, tear_down);
    return g_test_run();
}
