/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of graphs: connections, their order, which links carry data, and every message. */
#include "graph/graph.h"

static CtRegistry *
open_registry(void)
{
    g_autofree char *folder =
        g_build_filename(g_getenv("CORNERTURN_TEST_PLUGINS"), "planner", NULL);
    const char *const folders[] = {folder, NULL};
    g_autoptr(GError) error = NULL;
    CtRegistry *registry = ct_registry_new_from(folders, &error);
    g_assert_no_error(error);
    return registry;
}

typedef struct {
    CtRegistry *registry;
    CtConfig *config;
    CtGraph *graph;
} Fixture;

static void
set_up(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    fixture->registry = open_registry();
}

static void
tear_down(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    ct_graph_free(fixture->graph);
    ct_config_free(fixture->config);
    ct_registry_free(fixture->registry);
}

static void
load(Fixture *fixture, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_clear_pointer(&fixture->graph, ct_graph_free);
    g_clear_pointer(&fixture->config, ct_config_free);
    fixture->config = ct_config_parse(text, -1, "g.yaml", NULL, &error);
    g_assert_no_error(error);
    fixture->graph = ct_graph_new(fixture->config, fixture->registry, FALSE, &error);
    g_assert_no_error(error);
}

static const CtGraphNode *
node_named(const Fixture *fixture, const char *name)
{
    for (guint i = 0; i < fixture->graph->nodes->len; i++) {
        const CtGraphNode *node = g_ptr_array_index(fixture->graph->nodes, i);
        if (g_str_equal(node->node.name, name))
            return node;
    }
    g_error("no node '%s'", name);
}

static void
check_order(const Fixture *fixture, const char *names)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < fixture->graph->nodes->len; i++) {
        const CtGraphNode *node = g_ptr_array_index(fixture->graph->nodes, i);
        g_string_append_printf(text, "%s%s", i ? " " : "", node->node.name);
    }
    g_assert_cmpstr(text->str, ==, names);
}

/* ---- connections ---- */

static void
test_order(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    load(fixture, "stages:\n"
                  "  out: {stage: test.sink, from: b}\n"
                  "  b: {stage: test.pass, from: a}\n"
                  "  a: {stage: test.pass, from: sky}\n"
                  "  sky: {stage: test.source}\n"
                  "  other: {stage: test.sink, from: sky}\n");
    check_order(fixture, "sky a b out other");
    g_assert_cmpint(node_named(fixture, "out")->from[0].node, ==, 2);
    g_assert_cmpint(node_named(fixture, "other")->from[0].node, ==, 0);
}

static void
test_ports(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    load(fixture, "stages:\n"
                  "  sky: {stage: test.source}\n"
                  "  w: {stage: test.weights, from: sky}\n"
                  "  two: {stage: test.two, from: {weights: w, in: sky}}\n"
                  "  counts: {stage: test.sink, from: two.counts}\n"
                  "  out: {stage: test.sink, from: two}\n"
                  "  listed: {stage: test.two, from: [sky, w, two.counts]}\n");
    const CtGraphNode *two = node_named(fixture, "two");
    g_assert_cmpuint(two->node.n_inputs, ==, 3);
    g_assert_cmpint(two->from[0].node, ==, 0);
    g_assert_cmpint(two->from[1].node, ==, 1);
    g_assert_cmpint(two->from[2].node, ==, -1);
    g_assert_cmpint(two->node.inputs[2].type, ==, CT_TYPE_NONE);
    g_assert_true(ct_node_input_flows(&two->node, 0));
    g_assert_false(ct_node_input_flows(&two->node, 2));
    g_assert_cmpuint(node_named(fixture, "counts")->from[0].port, ==, 1);
    g_assert_cmpint(node_named(fixture, "counts")->node.inputs[0].type, ==, CT_U32);
    g_assert_cmpuint(node_named(fixture, "listed")->from[2].port, ==, 1);
    /* No data flow over a link of which only the description is used. */
    g_assert_false(ct_node_input_flows(&node_named(fixture, "w")->node, 0));
    g_assert_cmpint(ct_stream_length(&node_named(fixture, "w")->node.outputs[0], "channel"), ==, 8);
}

static void
test_many(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    load(fixture, "stages:\n"
                  "  a: {stage: test.source, start: 10, samples: 100}\n"
                  "  b: {stage: test.source, start: 30, samples: 100}\n"
                  "  all: {stage: test.many, from: [a, b, a]}\n"
                  "  one: {stage: test.many, from: a}\n");
    const CtGraphNode *all = node_named(fixture, "all");
    g_assert_cmpuint(all->node.n_inputs, ==, 3);
    g_assert_cmpint(all->from[1].node, ==, 1);
    g_assert_cmpint(all->from[2].node, ==, 0);
    /* The range that all inputs have. */
    g_assert_cmpint(all->node.outputs[0].start, ==, 30);
    g_assert_cmpint(all->node.outputs[0].axes[0].length, ==, 80);
    g_assert_cmpuint(node_named(fixture, "one")->node.n_inputs, ==, 1);
}

/* ---- data flow ---- */

typedef struct {
    gint64 samples, window, hop;
    const char *sum;
    gint64 wanted;
} Tail;

static void
test_tails(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    static const Tail tails[] = {
        {100, 1, 1, "false", 100}, {100, 10, 10, "false", 10}, {100, 12, 10, "false", 9},
        {100, 101, 7, "false", 0}, {100, 100, 7, "false", 1},  {0, 1, 1, "false", 0},
        {100, 1, 30, "false", 4},  {100, 1, 30, "true", 4},    {90, 30, 30, "true", 3},
        {0, 30, 30, "true", 0},    {1, 30, 30, "true", 0},     {3, 30, 30, "true", 1},
        {-1, 12, 10, "false", -1}, {-1, 12, 10, "true", -1},
    };
    for (guint i = 0; i < G_N_ELEMENTS(tails); i++) {
        const Tail *tail = &tails[i];
        g_autofree char *text =
            g_strdup_printf("stages:\n"
                            "  sky: {stage: test.source, samples: %" G_GINT64_FORMAT ", start: 7}\n"
                            "  w: {stage: test.window, from: sky, window: %" G_GINT64_FORMAT
                            ", hop: %" G_GINT64_FORMAT ", sum: %s, offset: 2}\n"
                            "  v: {stage: test.window, from: w, hop: 3, offset: 1}\n",
                            tail->samples, tail->window, tail->hop, tail->sum);
        load(fixture, text);
        const CtStream *out = &node_named(fixture, "w")->node.outputs[0];
        g_assert_cmpint(out->axes[ct_stream_axis(out, "time")].length, ==, tail->wanted);
        g_assert_cmpint(out->ticks_per_sample, ==, tail->hop);
        g_assert_cmpint(out->start, ==, 9);
        g_assert_cmpint(out->rate_num, ==, 1000000);
        g_assert_cmpint(out->epoch, ==, CT_NO_EPOCH);
        const CtStream *next = &node_named(fixture, "v")->node.outputs[0];
        g_assert_cmpint(next->ticks_per_sample, ==, 3 * tail->hop);
        g_assert_cmpint(next->start, ==, 9 + tail->hop);
    }
}

static void
test_widened(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    load(fixture, "stages:\n"
                  "  sky: {stage: test.source, type: ci8}\n"
                  "  a: {stage: test.float, from: sky}\n"
                  "  long: {stage: test.source, type: ci32}\n"
                  "  b: {stage: test.float, from: long}\n"
                  "  double: {stage: test.source, type: cf64}\n"
                  "  c: {stage: test.float, from: double}\n");
    g_assert_cmpint(node_named(fixture, "a")->node.inputs[0].type, ==, CT_CF32);
    g_assert_cmpint(node_named(fixture, "a")->node.outputs[0].type, ==, CT_CF32);
    g_assert_cmpint(node_named(fixture, "b")->node.inputs[0].type, ==, CT_CF64);
    g_assert_cmpint(node_named(fixture, "c")->node.inputs[0].type, ==, CT_CF64);
}

static void
test_blocks(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    load(fixture, "block: {time: 100}\n"
                  "stages:\n"
                  "  sky: {stage: test.source}\n"
                  "  own: {stage: test.source, block: {time: 7}}\n"
                  "  w: {stage: test.weights, from: sky}\n"
                  "  a: {stage: test.pass, from: sky}\n");
    g_assert_cmpint(node_named(fixture, "sky")->node.block, ==, 100);
    g_assert_cmpint(node_named(fixture, "own")->node.block, ==, 7);
    g_assert_cmpint(node_named(fixture, "w")->node.block, ==, 100);
    g_assert_cmpint(node_named(fixture, "a")->node.block, ==, 0);
}

/* ---- errors ---- */

typedef struct {
    const char *name;
    int code;
    const char *stages; /* below "stages:", so one line and two columns further */
    const char *message;
} Mistake;

static const Mistake mistakes[] = {
    {"unknown-stage", CT_ERROR_CONFIG, "  a: {stage: test.surce}\n",
     "g.yaml:2:14: node 'a': *test.surce*test.source*"},
    {"unknown-parameter", CT_ERROR_CONFIG, "  a: {stage: test.source, stationz: 3}\n",
     "g.yaml:2:27: node 'a': *stationz*stations*"},
    {"no-input", CT_ERROR_CONFIG, "  a: {stage: test.sink}\n",
     "g.yaml:2:3: node 'a': port 'in' wants an input, but nothing is connected to it: say `from: "
     "NODE`"},
    {"no-input-of-several", CT_ERROR_CONFIG,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.two, from: s}\n",
     "g.yaml:3:3: node 'a': port 'weights' wants an input, but nothing is connected to it: say "
     "`from: {weights: NODE, …}`"},
    {"none-of-many", CT_ERROR_CONFIG, "  a: {stage: test.many}\n",
     "g.yaml:2:3: node 'a': port 'in' wants at least one input, but nothing is connected to it: "
     "say `from: [NODE, …]`"},
    {"unknown-node", CT_ERROR_CONFIG,
     "  sky: {stage: test.source}\n"
     "  a: {stage: test.sink, from: skye}\n",
     "g.yaml:3:31: node 'a': 'from' wants a node of this graph, but is given 'skye'; did you mean "
     "'sky'?"},
    {"unknown-node-listed", CT_ERROR_CONFIG,
     "  sky: {stage: test.source}\n"
     "  a: {stage: test.sink, from: quasar}\n",
     "g.yaml:3:31: node 'a': 'from' wants a node of this graph, but is given 'quasar'; there is "
     "sky"},
    {"unknown-output", CT_ERROR_CONFIG,
     "  s: {stage: test.source}\n"
     "  w: {stage: test.weights, from: s}\n"
     "  t: {stage: test.two, from: [s, w]}\n"
     "  a: {stage: test.sink, from: t.count}\n",
     "g.yaml:5:31: node 'a': node 't' ('test.two') has no output port 'count'; did you mean "
     "'counts'?"},
    {"unknown-input", CT_ERROR_CONFIG,
     "  s: {stage: test.source}\n"
     "  t: {stage: test.two, from: {in: s, weight: s}}\n",
     "g.yaml:3:*: node 't': 'test.two' has no input port 'weight'; did you mean 'weights'?"},
    {"unknown-input-of-many", CT_ERROR_CONFIG,
     "  s: {stage: test.source}\n"
     "  t: {stage: test.many, from: {inn: s}}\n",
     "g.yaml:3:*: node 't': 'test.many' has no input port 'inn'; did you mean 'in'?"},
    {"too-many-inputs", CT_ERROR_CONFIG,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.sink, from: [s, s]}\n",
     "g.yaml:3:35: node 'a': 'test.sink' wants at most 1 input, but is given 2"},
    {"input-of-source", CT_ERROR_CONFIG,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.source, from: s}\n",
     "g.yaml:3:33: node 'a': 'test.source' is a source and takes no input, but is given 's'"},
    {"output-of-sink", CT_ERROR_CONFIG,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.sink, from: s}\n"
     "  b: {stage: test.sink, from: a}\n",
     "g.yaml:4:31: node 'b': node 'a' is a sink ('test.sink') and has no output"},
    {"block-of-stage", CT_ERROR_CONFIG,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.sink, from: s, block: {time: 3}}\n",
     "g.yaml:3:*: node 'a': `block` is for sources, but 'test.sink' has inputs"},
    {"itself", CT_ERROR_CONFIG, "  a: {stage: test.pass, from: a}\n",
     "g.yaml:2:3: node 'a': wants its own output as input, a cycle: a -> a"},
    {"cycle", CT_ERROR_CONFIG,
     "  s: {stage: test.source}\n"
     "  out: {stage: test.sink, from: c}\n"
     "  b: {stage: test.pass, from: a}\n"
     "  c: {stage: test.pass, from: b}\n"
     "  a: {stage: test.many, from: [s, c]}\n",
     "g.yaml:4:3: node 'b': wants its own output as input, a cycle: b -> c -> a -> b"},
    {"absent-output", CT_ERROR_SHAPE,
     "  s: {stage: test.source}\n"
     "  w: {stage: test.weights, from: s}\n"
     "  t: {stage: test.two, from: [s, w]}\n"
     "  a: {stage: test.sink, from: t.extra}\n",
     "g.yaml:5:31: node 'a': port 'in' is connected to 't.extra', which this node does not have "
     "with its parameters and inputs"},
    {"type", CT_ERROR_SHAPE,
     "  s: {stage: test.source, type: i16}\n"
     "  a: {stage: test.float, from: s}\n",
     "g.yaml:3:32: node 'a': port 'in' wants cf32|cf64{time ...}, but 's' gives i16, time 4096, "
     "channel 8, station 4, pol 2"},
    {"axis", CT_ERROR_SHAPE,
     "  s: {stage: test.source, channels: 0}\n"
     "  w: {stage: test.source}\n"
     "  t: {stage: test.two, from: [s, w]}\n",
     "g.yaml:4:*: node 't': port 'in' wants cf32{time channel station ...}, but 's' gives cf32, "
     "time 4096, station 4, pol 2*"},
    {"rates", CT_ERROR_SHAPE,
     "  a: {stage: test.source}\n"
     "  b: {stage: test.source, rate: 2 MHz}\n"
     "  c: {stage: test.many, from: [a, b]}\n",
     "g.yaml:4:*: node 'c': inputs must have one sample rate, but input 2 (port 'in') has 2e+06 Hz "
     "and the first (port 'in') 1e+06 Hz"},
    {"parameter", CT_ERROR_PARAMETER,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.window, from: s, window: 2000000}\n",
     "g.yaml:3:44: node 'a': parameter 'window': wants less than a million"},
    {"ticks", CT_ERROR_SHAPE,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.window, from: s, hop: 4000000000000}\n"
     "  b: {stage: test.window, from: a, hop: 4000000000000}\n",
     "g.yaml:4:3: node 'b': a sample would span 4000000000000 × 4000000000000 ticks, more than can "
     "be counted"},
    {"silent", CT_ERROR_PLUGIN,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.wrong, from: s, how: silent}\n",
     "g.yaml:3:3: node 'a': the plugin of stage 'test.wrong' is at fault: its infer returns "
     "FALSE without an error"},
    {"nothing", CT_ERROR_PLUGIN,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.wrong, from: s, how: nothing}\n",
     "g.yaml:3:3: node 'a': the plugin of stage 'test.wrong' is at fault: it describes nothing for "
     "its output 'out'"},
    {"hop", CT_ERROR_PLUGIN,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.wrong, from: s, how: hop}\n",
     "g.yaml:3:3: node 'a': the plugin of stage 'test.wrong' is at fault: its footprint has a "
     "window of 1 and a hop of 0 samples"},
    {"output-axis", CT_ERROR_PLUGIN,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.wrong, from: s, how: axis}\n",
     "g.yaml:3:3: node 'a': the plugin of stage 'test.wrong' is at fault: output 'out' is declared "
     "as {time ...}, but described as cf32, channel 8, station 4, pol 2*"},
    {"output-length", CT_ERROR_PLUGIN,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.wrong, from: s, how: length}\n",
     "g.yaml:3:3: node 'a': the plugin of stage 'test.wrong' is at fault: output 'out' has an axis "
     "'pol' of length 0"},
};

static void
test_mistake(Fixture *fixture, gconstpointer data)
{
    const Mistake *mistake = data;
    g_autofree char *text = g_strdup_printf("stages:\n%s", mistake->stages);
    g_autoptr(GError) error = NULL;
    fixture->config = ct_config_parse(text, -1, "g.yaml", NULL, &error);
    g_assert_no_error(error);
    fixture->graph = ct_graph_new(fixture->config, fixture->registry, FALSE, &error);
    g_assert_null(fixture->graph);
    g_assert_nonnull(error);
    if (!g_pattern_match_simple(mistake->message, error->message))
        g_error("wanted: %s\ngiven:  %s", mistake->message, error->message);
    if (mistake->code != CT_ERROR_CONFIG)
        g_assert_error(error, CT_ERROR, mistake->code);
    g_assert_true(error->domain == CT_ERROR);
}

/* Faults that do not follow from one another are told together; what a faulty node feeds is left
 * out. */
static void
test_several(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    fixture->config = ct_config_parse("stages:\n"
                                      "  sky: {stage: test.source, sampls: 5, stationz: 1}\n"
                                      "  a: {stage: test.pass, from: sky}\n"
                                      "  b: {stage: test.pass, from: a}\n"
                                      "  c: {stage: test.pass, from: bb}\n"
                                      "  d: {stage: test.pass, from: c}\n"
                                      "  e: {stage: test.pss, from: d}\n"
                                      "  f: {stage: test.sink, from: {inn: e}}\n",
                                      -1, "g.yaml", NULL, &error);
    g_assert_no_error(error);
    g_assert_null(ct_graph_new(fixture->config, fixture->registry, FALSE, &error));
    g_auto(GStrv) lines = g_strsplit(error->message, "\n", -1);
    static const char *const starts[] = {
        "g.yaml:2:29: node 'sky': stage 'test.source' has no parameter 'sampls'",
        "g.yaml:2:40: node 'sky': stage 'test.source' has no parameter 'stationz'",
        "g.yaml:7:14: node 'e': there is no stage 'test.pss'",
        "g.yaml:5:31: node 'c': 'from' wants a node of this graph, but is given 'bb'",
        "g.yaml:8:37: node 'f': 'test.sink' has no input port 'inn'",
    };
    g_assert_cmpuint(g_strv_length(lines), ==, G_N_ELEMENTS(starts));
    for (guint i = 0; i < G_N_ELEMENTS(starts); i++)
        if (!g_str_has_prefix(lines[i], starts[i]))
            g_error("wanted: %s\ngiven:  %s", starts[i], lines[i]);
}

/* ---- the key ---- */

static void
check_key(Fixture *fixture, const char *key, gboolean is_same, const char *text)
{
    load(fixture, text);
    g_autofree char *other = ct_graph_key(fixture->graph);
    g_assert_cmpuint(strlen(other), ==, 16);
    g_assert_cmpint(g_str_equal(key, other), ==, is_same);
}

static void
test_key(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    load(fixture, "stages:\n"
                  "  sky: {stage: test.source}\n"
                  "  a: {stage: test.pass, from: sky}\n"
                  "  b: {stage: test.pass, from: a}\n"
                  "  out: {stage: test.sink, from: b}\n");
    g_autofree char *key = ct_graph_key(fixture->graph);
    check_key(fixture, key, TRUE,
              "stages:\n"
              "  x: {stage: test.source, samples: 99, block: {time: 7}}\n"
              "  y: {stage: test.pass, from: x}\n"
              "  z: {stage: test.pass, from: y}\n"
              "  end: {stage: test.sink, from: z}\n");
    check_key(fixture, key, FALSE,
              "stages:\n"
              "  sky: {stage: test.source}\n"
              "  a: {stage: test.pass, from: sky}\n"
              "  b: {stage: test.pass, from: sky}\n"
              "  out: {stage: test.sink, from: b}\n");
    check_key(fixture, key, FALSE,
              "stages:\n"
              "  sky: {stage: test.source, channels: 9}\n"
              "  a: {stage: test.pass, from: sky}\n"
              "  b: {stage: test.pass, from: a}\n"
              "  out: {stage: test.sink, from: b}\n");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/graph/order", Fixture, NULL, set_up, test_order, tear_down);
    g_test_add("/graph/ports", Fixture, NULL, set_up, test_ports, tear_down);
    g_test_add("/graph/many", Fixture, NULL, set_up, test_many, tear_down);
    g_test_add("/graph/tails", Fixture, NULL, set_up, test_tails, tear_down);
    g_test_add("/graph/widened", Fixture, NULL, set_up, test_widened, tear_down);
    g_test_add("/graph/blocks", Fixture, NULL, set_up, test_blocks, tear_down);
    g_test_add("/graph/several", Fixture, NULL, set_up, test_several, tear_down);
    g_test_add("/graph/key", Fixture, NULL, set_up, test_key, tear_down);
    for (guint i = 0; i < G_N_ELEMENTS(mistakes); i++) {
        g_autofree char *path = g_strdup_printf("/graph/mistake/%s", mistakes[i].name);
        g_test_add(path, Fixture, &mistakes[i], set_up, test_mistake, tear_down);
    }
    return g_test_run();
}
