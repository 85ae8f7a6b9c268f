/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the places of nodes and links, and of the copies between them. */
#include "planning.h"

#include <string.h>

static CtPlanOptions
with_devices(guint n)
{
    CtPlanOptions options = usual;
    options.n_devices = n;
    return options;
}

/* "s s>copyci8[…]@0 a@0": inserted nodes have the layout that they make, and nodes on devices their
 * place. */
static char *
describe(const CtPlan *plan)
{
    g_free(summarise(plan));
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint n = 0; n < plan->nodes->len; n++) {
        const CtPlanNode *node = g_ptr_array_index(plan->nodes, n);
        g_string_append_printf(text, "%s%s", n ? " " : "", node->name);
        const gboolean copies = node->inserted && strstr(node->name, ">copy");
        if (node->inserted)
            g_string_append(text,
                            ct_type_info(ct_layout_type(&node->output_bindings[0].layout))->name);
        if (node->place != CT_HOST)
            g_string_append_printf(text, "@%d", node->place);
        /* A node reads and writes on its own place, except a copy. */
        for (guint i = 0; i < node->n_inputs; i++) {
            if (node->inputs[i] < 0)
                continue;
            const CtPlanLink *link = g_ptr_array_index(plan->links, node->inputs[i]);
            g_assert_true(copies || link->place == node->place);
        }
        for (guint i = 0; i < node->n_outputs; i++) {
            if (node->outputs[i] < 0)
                continue;
            const CtPlanLink *link = g_ptr_array_index(plan->links, node->outputs[i]);
            g_assert_true(copies || link->place == node->place);
            if (copies)
                g_string_append_printf(text, link->place == CT_HOST ? "→host" : "→%d", link->place);
        }
        g_assert_true((node->place != CT_HOST) == (node->variant->backend == CT_CUDA));
        /* The layouts are equal in every axis, even in the place of one of length 1. */
        g_assert_true(!copies || ct_layout_equal(&node->input_bindings[0].layout,
                                                 &node->output_bindings[0].layout));
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* ---- copies ---- */

typedef struct {
    const char *name;
    guint n_devices;
    gboolean no_peers;
    const char *stages;
    const char *wanted; /* alternatives of equal cost, separated by '|' */
} Case;

static const Case cases[] = {
    {"one-stage-swapped", 1, FALSE,
     "  s: {stage: test.source, backend: cpu}\n"
     "  a: {stage: test.pass, from: s, backend: cuda}\n"
     "  o: {stage: test.sink, from: a}\n",
     "s s>copycf32@0→0 a@0 a>copycf32@0→host o"},
    {"before-a-widening", 1, FALSE,
     "  s: {stage: test.source, type: ci8, backend: cpu}\n"
     "  a: {stage: test.float, from: s, backend: cuda}\n"
     "  o: {stage: test.sink, from: a}\n",
     "s s>copyci8@0→0 s>convertcf32@0 a@0 a>copycf32@0→host o"},
    {"where-there-is-least", 1, FALSE,
     "  s: {stage: test.source, backend: cpu, samples: -1}\n"
     "  w: {stage: test.window, from: s, hop: 10, window: 10, backend: cuda}\n"
     "  p: {stage: test.time-last, from: w}\n"
     "  o: {stage: test.sink, from: p}\n",
     "s s>copycf32@0→0 w@0 w>copycf32@0→host p o"},
    {"turned-on-the-device", 1, FALSE,
     "  s: {stage: test.source, backend: cpu, layout: '[time channel station pol]'}\n"
     "  a: {stage: test.channel-first, from: s, backend: cuda}\n"
     "  o: {stage: test.sink, from: a, layout: '[time channel station pol]'}\n",
     "s s>copycf32@0→0 s>transposecf32@0 a@0 a>transposecf32@0 a>copycf32@0→host o"},
    {"turned-and-widened-on-the-device", 1, FALSE,
     "  s: {stage: test.source, backend: cpu, type: ci8, layout: '[time channel station pol]'}\n"
     "  a: {stage: test.float, from: s, backend: cuda}\n"
     "  b: {stage: test.channel-first, from: a, backend: cuda}\n"
     "  o: {stage: test.sink, from: b}\n",
     "s s>copyci8@0→0 s>transposeci8@0 s>convertcf32@0 a@0 b@0 b>copycf32@0→host o"},
    {"blocks-are-copied-as-they-are", 1, FALSE,
     "  s: {stage: test.source, backend: cpu, layout: '[channel time station pol time:16]'}\n"
     "  a: {stage: test.blocked, from: s, backend: cuda}\n",
     "s s>copycf32@0→0 a@0"},
    {"chain", 1, FALSE,
     "  s: {stage: test.source, backend: cpu}\n"
     "  a: {stage: test.pass, from: s, backend: cuda}\n"
     "  b: {stage: test.window, from: a, backend: cuda}\n"
     "  c: {stage: test.channel-first, from: b, backend: cuda}\n"
     "  o: {stage: test.sink, from: c}\n",
     "s s>copycf32@0→0 a@0 b@0 c@0 c>copycf32@0→host o"},
    {"from-source-to-end", 1, FALSE,
     "  s: {stage: test.source, backend: cuda}\n"
     "  a: {stage: test.pass, from: s, backend: cuda}\n"
     "  o: {stage: test.sink, from: a}\n",
     "s@0 a@0 a>copycf32@0→host o"},
    {"in-between", 1, FALSE,
     "  s: {stage: test.source, backend: cpu}\n"
     "  a: {stage: test.pass, from: s, backend: cuda}\n"
     "  b: {stage: test.any, from: a}\n"
     "  c: {stage: test.pass, from: b, backend: cuda}\n"
     "  o: {stage: test.sink, from: c}\n",
     "s s>copycf32@0→0 a@0 a>copycf32@0→host b b>copycf32@0→0 c@0 c>copycf32@0→host o"},
    {"two-devices", 2, FALSE,
     "  s: {stage: test.source, backend: cuda}\n"
     "  a: {stage: test.pass, from: s, backend: 'cuda:1'}\n"
     "  o: {stage: test.sink, from: a}\n",
     "s@0 s>copycf32@0→1 a@1 a>copycf32@1→host o"},
    {"two-devices-that-are-no-peers", 2, TRUE,
     "  s: {stage: test.source, backend: cuda}\n"
     "  a: {stage: test.pass, from: s, backend: 'cuda:1'}\n"
     "  o: {stage: test.sink, from: a}\n",
     "s@0 s>copycf32@0→host s>copy2cf32@1→1 a@1 a>copycf32@1→host o"},
    {"widened-behind-both-copies", 2, TRUE,
     "  s: {stage: test.source, backend: cuda, type: ci8}\n"
     "  a: {stage: test.float, from: s, backend: 'cuda:1'}\n",
     "s@0 s>copyci8@0→host s>copy2ci8@1→1 s>convertcf32@1 a@1"},
    {"shared", 1, FALSE,
     "  s: {stage: test.source, backend: cpu}\n"
     "  a: {stage: test.pass, from: s, backend: cuda}\n"
     "  b: {stage: test.window, from: s, backend: cuda}\n"
     "  c: {stage: test.sink, from: s}\n"
     "  o: {stage: test.sink, from: a}\n"
     "  p: {stage: test.sink, from: a}\n",
     "s s>copycf32@0→0 a@0 a>copycf32@0→host b@0 c o p"},
    {"shared-by-what-is-turned", 1, FALSE,
     "  s: {stage: test.source, backend: cpu, layout: '[time channel station pol]'}\n"
     "  a: {stage: test.channel-first, from: s, backend: cuda}\n"
     "  b: {stage: test.window, from: s, backend: cuda}\n",
     "s s>copycf32@0→0 s>transposecf32@0 a@0 b@0|s s>copycf32@0→0 a@0 s>transposecf32@0 b@0"},
    {"shared-by-what-is-widened", 1, FALSE,
     "  s: {stage: test.source, backend: cpu, type: ci8, layout: '[time channel station pol]'}\n"
     "  a: {stage: test.float, from: s, backend: cuda}\n"
     "  b: {stage: test.pass, from: s, backend: cuda}\n"
     "  c: {stage: test.channel-first, from: s, backend: cuda}\n",
     "s s>copyci8@0→0 s>convertcf32@0 s>transposeci8@0 a@0 b@0 c@0"},
    {"copy-as-a-stage", 1, FALSE,
     "  s: {stage: test.source, backend: cpu}\n"
     "  a: {stage: copy, from: s, backend: cuda}\n"
     "  o: {stage: test.sink, from: a}\n",
     "s s>copycf32@0→0 a@0 a>copycf32@0→host o"},
    {"weights", 1, FALSE,
     "  s: {stage: test.source, backend: cpu}\n"
     "  w: {stage: test.weights, from: s}\n"
     "  t: {stage: test.two, from: [s, w], backend: cuda}\n",
     "s s>copycf32@0→0 w w>copycf32@0→0 t@0"},
    {"fused", 2, FALSE,
     "  s: {stage: test.source, backend: cuda}\n"
     "  a: {stage: test.float, from: s, backend: cuda}\n"
     "  b: {stage: test.window, from: a, backend: cuda}\n",
     "s@0 a+b@0"},
    {"not-fused-on-two-devices", 2, FALSE,
     "  s: {stage: test.source, backend: cuda}\n"
     "  a: {stage: test.float, from: s, backend: cuda}\n"
     "  b: {stage: test.window, from: a, backend: 'cuda:1'}\n",
     "s@0 a@0 a>copycf32@0→1 b@1"},
    {"for-all", 1, FALSE,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.pass, from: s}\n"
     "  b: {stage: test.any, from: a}\n"
     "  o: {stage: test.sink, from: b}\n"
     "backend: cuda\n",
     "s@0 a@0 a>copycf32@0→host b o"},
    {"one-device-for-all", 2, FALSE,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.pass, from: s, backend: cuda}\n"
     "  b: {stage: test.window, from: a, backend: 'cuda:0'}\n"
     "  o: {stage: test.sink, from: b}\n"
     "backend: cuda:1\n",
     "s@1 a@1 a>copycf32@1→0 b@0 b>copycf32@0→host o"},
    {"what-the-program-feeds", 1, FALSE,
     "  s: {stage: input, layout: 'cf32[time station]', shape: [-1, 4]}\n"
     "  a: {stage: test.pass, from: s}\n"
     "  o: {stage: output, from: a}\n"
     "backend: cuda\n",
     "s s>copycf32@0→0 a@0 a>copycf32@0→host o"},
    {"what-the-program-feeds-at-its-best", 1, FALSE,
     "  s: {stage: input, layout: 'cf32[time station]', shape: [-1, 4]}\n"
     "  o: {stage: output, from: s}\n",
     "s o"},
    {"what-the-program-feeds-on-a-device", 1, FALSE,
     "  s: {stage: input, layout: 'cf32[time station]', shape: [-1, 4], backend: cuda}\n"
     "  a: {stage: test.pass, from: s}\n"
     "  o: {stage: output, from: a, backend: 'cuda:0'}\n"
     "backend: cuda\n",
     "s@0 a@0 o@0"},
    /* One transpose serves both, although the axis of stations, of length 1, is in another
     * place. */
    {"same-memory", 1, FALSE,
     "  s: {stage: test.source, stations: 1, layout: '[time channel station pol]', backend: cuda}\n"
     "  a: {stage: test.channel-first, from: s, backend: cuda}\n"
     "  b: {stage: test.sink, from: a}\n"
     "  o: {stage: test.sink, from: s, layout: '[station channel time pol]'}\n",
     "s@0 s>transposecf32@0 s>copycf32@0→host a@0 a>copycf32@0→host b o"},
    {"what-is-best", 1, FALSE,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.pass, from: s}\n"
     "  o: {stage: test.sink, from: a}\n",
     "s@0 a@0 a>copycf32@0→host o"},
};

static void
test_case(Fixture *fixture, gconstpointer data)
{
    const Case *one = data;
    CtPlanOptions options = with_devices(one->n_devices);
    options.no_peers = one->no_peers;
    plan(fixture, one->stages, &options);
    g_assert_true(is_exact(fixture->plan));
    g_autofree char *given = describe(fixture->plan);
    g_auto(GStrv) wanted = g_strsplit(one->wanted, "|", -1);
    if (!g_strv_contains((const char *const *)wanted, given))
        g_error("wanted: %s\ngiven:  %s", one->wanted, given);
}

/* With `auto`, the cost decides: on a slow device nothing runs that need not. */
static void
test_auto(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    static const char graph[] = "  s: {stage: test.source}\n"
                                "  a: {stage: test.pass, from: s}\n"
                                "  o: {stage: test.sink, from: a}\n";
    static const CtDeviceInfo slow = {
        .name = "slow", .memory_bytes = 1 << 30, .bandwidth = 1e9, .peak = 1e9};
    CtPlanOptions options = with_devices(1);
    options.devices = &slow;
    plan(fixture, graph, &options);
    g_autofree char *on_host = describe(fixture->plan);
    g_assert_cmpstr(on_host, ==, "s a o");
    options.backend = CT_CUDA;
    plan(fixture, graph, &options);
    g_autofree char *on_device = describe(fixture->plan);
    g_assert_cmpstr(on_device, ==, "s@0 a@0 a>copycf32@0→host o");
}

/* The host and an equally fast device work at the same time: each has half of the work, and there
 * is one copy each way. */
static void
test_side_by_side(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    static const CtDeviceInfo equal = {
        .name = "equal", .memory_bytes = 1 << 30, .bandwidth = 24e9, .peak = 1e13};
    CtPlanOptions options = with_devices(1);
    options.devices = &equal;
    g_autoptr(GString) graph = g_string_new("  s: {stage: test.source, backend: cpu}\n");
    for (guint i = 0; i < 10; i++) {
        g_autofree char *from = i > 0 ? g_strdup_printf("n%u", i - 1) : g_strdup("s");
        g_string_append_printf(graph, "  n%u: {stage: test.pass, from: %s}\n", i, from);
    }
    g_string_append(graph, "  o: {stage: test.sink, from: n9}\n");
    plan(fixture, graph->str, &options);
    g_assert_true(is_exact(fixture->plan));
    const CtPlan *both = fixture->plan;
    guint n_there = 0, n_copies = 0;
    for (guint n = 0; n < both->nodes->len; n++) {
        const CtPlanNode *node = g_ptr_array_index(both->nodes, n);
        n_copies += node->inserted;
        n_there += node->place == 0 && !node->inserted;
    }
    g_assert_cmpuint(n_copies, ==, 2);
    g_assert_cmpuint(n_there, >=, 5);
    g_assert_cmpuint(n_there, <=, 6);
    const gdouble seconds = both->seconds;
    const guint workers = ct_resource(CT_HOST, CT_QUEUE_COMPUTE);
    const guint kernels = ct_resource(0, CT_QUEUE_COMPUTE);
    const guint copies = ct_resource(0, CT_QUEUE_TO_HOST);
    g_assert_cmpfloat(both->busy[workers], >, 0.8 * seconds);
    g_assert_cmpfloat(both->busy[kernels], >, 0.8 * seconds);
    g_assert_cmpfloat(both->busy[copies], >, 0);
    g_assert_cmpfloat(both->busy[copies], <, 0.3 * seconds);
    options.backend = CT_CPU;
    plan(fixture, graph->str, &options);
    g_assert_cmpfloat(seconds, <, 0.6 * fixture->plan->seconds);
    options.backend = CT_CUDA;
    plan(fixture, graph->str, &options);
    g_assert_cmpfloat(seconds, <, 0.65 * fixture->plan->seconds);
}

/* The command line's backends, for all nodes and for single ones. */
static void
test_options(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    static const char graph[] = "  s: {stage: test.source, backend: cpu}\n"
                                "  a: {stage: test.pass, from: s}\n"
                                "  b: {stage: test.window, from: a}\n"
                                "  o: {stage: test.sink, from: b}\n";
    CtPlanOptions options = with_devices(2);
    options.backend = CT_CUDA;
    options.device = 1;
    options.backends = g_hash_table_new(g_str_hash, g_str_equal);
    g_hash_table_insert(options.backends, "b", "cuda:0");
    plan(fixture, graph, &options);
    g_autofree char *two = describe(fixture->plan);
    g_assert_cmpstr(two, ==, "s s>copycf32@1→1 a@1 a>copycf32@1→0 b@0 b>copycf32@0→host o");
    /* `cuda` without a number is the device for all nodes. */
    g_hash_table_insert(options.backends, "b", "cuda");
    plan(fixture, graph, &options);
    g_autofree char *one = describe(fixture->plan);
    g_assert_cmpstr(one, ==, "s s>copycf32@1→1 a@1 b@1 b>copycf32@1→host o");
    g_hash_table_unref(options.backends);
}

/* The command line's backend of a node has precedence over the graph's; nodes in a fused variant
 * must agree. */
static void
test_options_first(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    CtPlanOptions options = with_devices(1);
    options.backends = g_hash_table_new(g_str_hash, g_str_equal);
    g_hash_table_insert(options.backends, "a", "cuda");
    plan(fixture,
         "  s: {stage: test.source, backend: cpu}\n"
         "  a: {stage: test.pass, from: s, variant: reference}\n",
         &options);
    g_autofree char *backend = describe(fixture->plan);
    g_assert_cmpstr(backend, ==, "s s>copycf32@0→0 a@0");

    options.variants = g_hash_table_new(g_str_hash, g_str_equal);
    g_hash_table_insert(options.variants, "a", "cpu");
    g_autoptr(GError) error = NULL;
    g_assert_null(ct_plan_new(fixture->graph, fixture->registry, &options, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_CONFIG);
    g_assert_cmpstr(error->message, ==,
                    "--variant a=cpu: wants a variant of backend 'cuda', which is asked for too, "
                    "but is given 'cpu'");

    g_hash_table_remove_all(options.backends);
    plan(fixture,
         "  s: {stage: test.source, backend: cpu}\n"
         "  a: {stage: test.pass, from: s, backend: cuda}\n",
         &options);
    g_autofree char *variant = describe(fixture->plan);
    g_assert_cmpstr(variant, ==, "s a");
    g_hash_table_unref(options.backends);
    g_hash_table_unref(options.variants);
}

/* ---- errors ---- */

static void
check_refused(Fixture *fixture, const char *stages, guint n_devices, const char *message)
{
    load(fixture, stages);
    const CtPlanOptions options = with_devices(n_devices);
    g_autoptr(GError) error = NULL;
    fixture->plan = ct_plan_new(fixture->graph, fixture->registry, &options, &error);
    g_assert_null(fixture->plan);
    g_assert_error(error, CT_ERROR, CT_ERROR_DEVICE);
    g_assert_cmpstr(error->message, ==, message);
}

static void
test_no_such_device(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    check_refused(fixture,
                  "  s: {stage: test.source}\n"
                  "  a: {stage: test.pass, from: s, backend: 'cuda:3'}\n",
                  2,
                  "g.yaml:3:43: node 'a': backend 'cuda:3' is asked for, but this machine has 2 "
                  "CUDA devices, cuda:0 to cuda:1");
    check_refused(fixture,
                  "  s: {stage: test.source}\n"
                  "  a: {stage: test.pass, from: s}\n"
                  "backend: cuda:1\n",
                  1,
                  "g.yaml:4:10: backend 'cuda:1' is asked for, but this machine has one CUDA "
                  "device, cuda:0");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strdup_printf("/plan-places/copies/%s", cases[i].name);
        g_test_add(path, Fixture, &cases[i], set_up, test_case, tear_down);
    }
    g_test_add("/plan-places/side-by-side", Fixture, NULL, set_up, test_side_by_side, tear_down);
    g_test_add("/plan-places/auto", Fixture, NULL, set_up, test_auto, tear_down);
    g_test_add("/plan-places/options", Fixture, NULL, set_up, test_options, tear_down);
    g_test_add("/plan-places/options-first", Fixture, NULL, set_up, test_options_first, tear_down);
    g_test_add("/plan-places/no-such-device", Fixture, NULL, set_up, test_no_such_device,
               tear_down);
    return g_test_run();
}
