/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of plans: inserted nodes, choices, lengths of rings, printing, every message. */
#include "graph/tuning.h"
#include "json-at.h"
#include "planning.h"

#include <string.h>

/* ---- inserted nodes ---- */

typedef struct {
    const char *name;
    const char *stages;
    const char *wanted; /* the summary; alternatives of equal cost, separated by '|' */
} Mismatch;

static const Mismatch mismatches[] = {
    {"agree",
     "  s: " ORDERED "\n"
     "  a: {stage: test.pass, from: s}\n"
     "  o: {stage: test.sink, from: a, layout: '[time channel station pol]'}\n",
     "s a o"},
    {"source-writes-what-is-wanted",
     "  s: {stage: test.source}\n"
     "  a: {stage: test.channel-first, from: s}\n"
     "  o: {stage: test.sink, from: a}\n",
     "s a o"},
    {"through-a-pass",
     "  s: {stage: test.source}\n"
     "  p: {stage: test.pass, from: s}\n"
     "  q: {stage: test.pass, from: p}\n"
     "  a: {stage: test.channel-first, from: q}\n"
     "  r: {stage: test.pass, from: a}\n"
     "  o: {stage: test.sink, from: r}\n",
     "s p q a r o"},
    {"transpose",
     "  s: " ORDERED "\n"
     "  a: {stage: test.channel-first, from: s}\n"
     "  o: {stage: test.sink, from: a}\n",
     "s s>transposecf32[channel time station pol] a o"},
    {"in-and-out",
     "  s: " ORDERED "\n"
     "  a: {stage: test.channel-first, from: s}\n"
     "  o: {stage: test.sink, from: a, layout: '[time channel station pol]'}\n",
     "s s>transposecf32[channel time station pol] a a>transposecf32[time channel station pol] o"},
    {"once-along-a-chain",
     "  s: " ORDERED "\n"
     "  a: {stage: test.channel-first, from: s}\n"
     "  b: {stage: test.pass, from: a}\n"
     "  c: {stage: test.channel-first, from: b}\n"
     "  o: {stage: test.sink, from: c, layout: '[channel time station pol]'}\n",
     "s s>transposecf32[channel time station pol] a b c o"},
    {"where-it-is-smallest",
     "  s: {stage: test.source, layout: '[time channel station pol]', samples: 100000}\n"
     "  w: {stage: test.window, from: s, hop: 10}\n"
     "  o: {stage: test.sink, from: w, layout: '[pol station channel time]'}\n",
     "s w w>transposecf32[pol station channel time] o"},
    {"convert",
     "  s: {stage: test.source, type: ci8}\n"
     "  a: {stage: test.float, from: s}\n"
     "  o: {stage: test.sink, from: a}\n",
     "s s>convertcf32[time channel station pol] a o"},
    {"transpose-the-narrow",
     "  s: {stage: test.source, type: ci8, layout: '[time channel station pol]'}\n"
     "  a: {stage: test.float, from: s}\n"
     "  b: {stage: test.channel-first, from: a}\n"
     "  o: {stage: test.sink, from: b}\n",
     "s s>transposeci8[channel time station pol] s>convertcf32[channel time station pol] a b o"},
    {"one-of-two-rows-agrees",
     "  s: {stage: test.source, layout: '[channel time station pol]'}\n"
     "  a: {stage: test.either, from: s}\n"
     "  o: {stage: test.sink, from: a}\n",
     "s a o"},
    {"producer-has-two-rows",
     "  s: " ORDERED "\n"
     "  a: {stage: test.writes-both, from: s}\n"
     "  b: {stage: test.channel-first, from: a}\n"
     "  o: {stage: test.sink, from: b}\n",
     "s a b o"},
    {"any-order-absorbs",
     "  s: " ORDERED "\n"
     "  a: {stage: test.any, from: s}\n"
     "  o: {stage: test.sink, from: a, layout: '[pol station channel time]'}\n",
     "s a o"},
    {"any-order-absorbs-twice",
     "  s: " ORDERED "\n"
     "  p: {stage: test.pass, from: s}\n"
     "  a: {stage: test.any, from: p}\n"
     "  q: {stage: test.pass, from: a}\n"
     "  b: {stage: test.channel-first, from: q}\n"
     "  o: {stage: test.sink, from: b}\n",
     "s p a q b o"},
    {"shared",
     "  s: " ORDERED "\n"
     "  a: {stage: test.channel-first, from: s}\n"
     "  b: {stage: test.channel-first, from: s}\n"
     "  c: {stage: test.sink, from: s}\n"
     "  o: {stage: test.sink, from: a}\n"
     "  p: {stage: test.sink, from: b}\n",
     "s s>transposecf32[channel time station pol] a b c o p"},
    {"two-of-one",
     "  s: {stage: test.source, layout: '[station time channel pol]'}\n"
     "  a: {stage: test.channel-first, from: s}\n"
     "  b: {stage: test.sink, from: s, layout: '[pol station channel time]'}\n"
     "  c: {stage: test.channel-first, from: s}\n",
     "s s>transposecf32[channel time station pol] s>transpose2cf32[pol station channel time] a b "
     "c"},
    {"the-flexible-follows-the-fixed",
     "  s: " ORDERED "\n"
     "  a: {stage: test.channel-first, from: s}\n"
     "  b: {stage: test.either, from: s}\n"
     "  o: {stage: test.sink, from: a}\n"
     "  p: {stage: test.sink, from: b}\n",
     "s s>transposecf32[channel time station pol] a b o p"},
    {"converted-once",
     "  s: {stage: test.source, type: ci8, layout: '[time channel station pol]'}\n"
     "  a: {stage: test.float, from: s}\n"
     "  b: {stage: test.float, from: s}\n"
     "  c: {stage: test.sink, from: s}\n"
     "  o: {stage: test.sink, from: a, layout: '[time channel station pol]'}\n"
     "  p: {stage: test.sink, from: b, layout: '[time channel station pol]'}\n",
     "s s>convertcf32[time channel station pol] a b c o p"},
    {"join",
     "  s: " ORDERED "\n"
     "  a: {stage: test.pass, from: s}\n"
     "  b: {stage: test.pass, from: s}\n"
     "  m: {stage: test.many, from: [a, b]}\n"
     "  o: {stage: test.sink, from: m, layout: '[time channel station pol]'}\n",
     "s a b m o"},
    {"join-of-different-orders",
     "  s: " ORDERED "\n"
     "  t: {stage: test.source, layout: '[channel time station pol]'}\n"
     "  m: {stage: test.many, from: [s, t]}\n"
     "  o: {stage: test.sink, from: m, layout: '[time channel station pol]'}\n",
     "s t t>transposecf32[time channel station pol] m o"},
    {"static",
     "  s: {stage: test.source}\n"
     "  w: {stage: test.weights, from: s}\n"
     "  t: {stage: test.two, from: [s, w]}\n"
     "  o: {stage: test.sink, from: t.counts, layout: '[pol time station channel]'}\n",
     "s w t o"},
    {"second-port",
     "  s: {stage: test.source}\n"
     "  w: {stage: test.weights, from: s}\n"
     "  t: {stage: test.two, from: [s, w]}\n"
     "  o: {stage: test.channel-first, from: t}\n"
     "  p: {stage: test.time-last, from: t.counts}\n"
     "  q: {stage: test.sink, from: t.counts, layout: '[channel time station pol]'}\n"
     "  r: {stage: test.channel-first, from: t.counts}\n",
     "s w t t.counts>transposeu32[channel station pol time] o p q r"
     "|s w t t.counts>transposeu32[channel time station pol] o p q r"},
    {"both-ports",
     "  s: {stage: test.source}\n"
     "  w: {stage: test.weights, from: s}\n"
     "  t: {stage: test.two, from: [s, w]}\n"
     "  o: {stage: test.sink, from: t, layout: '[time channel station pol]'}\n"
     "  p: {stage: test.sink, from: t.counts}\n",
     "s w t t>transposecf32[time channel station pol] o p"},
    {"blocked",
     "  s: {stage: test.source}\n"
     "  a: {stage: test.blocked, from: s}\n"
     "  o: {stage: test.sink, from: a}\n",
     "s s>transposecf32[channel time station pol time:16] a o"},
    {"source-writes-blocks",
     "  s: {stage: test.source, layout: '[channel time station pol time:16]'}\n"
     "  a: {stage: test.blocked, from: s}\n"
     "  o: {stage: test.sink, from: a}\n",
     "s a o"},
    {"planes",
     "  s: {stage: test.source, type: ci8, layout: '[channel time station pol]'}\n"
     "  a: {stage: test.planes, from: s}\n"
     "  o: {stage: test.sink, from: a}\n",
     "s s>transposei8[channel time station complex pol] a o"},
    {"one-station-stands-anywhere",
     "  s: {stage: test.source, layout: '[station channel time pol]', stations: 1}\n"
     "  a: {stage: test.channel-first, from: s}\n"
     "  o: {stage: test.sink, from: a, layout: '[channel time pol station]'}\n",
     "s a o"},
    {"one-station-and-a-conversion",
     "  s: {stage: test.source, type: ci8, layout: '[station channel time pol]', stations: 1}\n"
     "  f: {stage: test.float, from: s}\n"
     "  a: {stage: test.channel-first, from: f}\n",
     "s s>convertcf32[station channel time pol] f a|s s>convertcf32[channel time station pol] f a"},
    {"parts-are-a-view",
     "  s: {stage: test.source, layout: '[channel time station pol]'}\n"
     "  a: {stage: test.parts, from: s}\n"
     "  b: {stage: test.channel-first, from: s}\n"
     "  o: {stage: test.sink, from: a}\n",
     "s a b o"},
    {"parts-share-the-transposed",
     "  s: " ORDERED "\n"
     "  a: {stage: test.parts, from: s}\n"
     "  b: {stage: test.channel-first, from: s}\n"
     "  o: {stage: test.sink, from: a}\n",
     "s s>transposecf32[channel time station pol] a b o"
     "|s s>transposef32[channel time station pol complex] a b o"},
    {"fused",
     "  s: {stage: test.source}\n"
     "  a: {stage: test.time-last, from: s}\n"
     "  b: {stage: test.either, from: a}\n"
     "  o: {stage: test.sink, from: b}\n",
     "s a+b o"},
    {"fused-between-transposes",
     "  s: " ORDERED "\n"
     "  a: {stage: test.time-last, from: s}\n"
     "  b: {stage: test.either, from: a}\n"
     "  o: {stage: test.sink, from: b, layout: '[time channel station pol]'}\n",
     "s s>transposecf32[channel station pol time] a+b a+b>transposecf32[time channel station pol] "
     "o|s s>transposecf32[channel station pol time] a+b b>transposecf32[time channel station pol] "
     "o"},
    {"not-fused-where-others-read",
     "  s: {stage: test.source}\n"
     "  a: {stage: test.time-last, from: s}\n"
     "  b: {stage: test.either, from: a}\n"
     "  c: {stage: test.sink, from: a}\n"
     "  o: {stage: test.sink, from: b}\n",
     "s a b c o"},
    {"three-fused",
     "  s: " ORDERED "\n"
     "  a: {stage: test.pass, from: s}\n"
     "  b: {stage: test.window, from: a, window: 5, hop: 3, offset: 1}\n"
     "  c: {stage: test.pass, from: b}\n"
     "  o: {stage: test.sink, from: c}\n",
     "s a+b+c o"},
    {"fused-in-a-diamond",
     "  s: " ORDERED "\n"
     "  a: {stage: test.time-last, from: s}\n"
     "  b: {stage: test.either, from: a}\n"
     "  p: {stage: test.pass, from: s}\n"
     "  m: {stage: test.many, from: [b, p]}\n"
     "  o: {stage: test.sink, from: m}\n",
     "s s>transposecf32[channel station pol time] a+b p m o"},
};

static void
test_mismatch(Fixture *fixture, gconstpointer data)
{
    const Mismatch *mismatch = data;
    plan(fixture, mismatch->stages, &usual);
    g_assert_true(is_exact(fixture->plan));
    g_autofree char *given = summarise(fixture->plan);
    g_auto(GStrv) wanted = g_strsplit(mismatch->wanted, "|", -1);
    if (!g_strv_contains((const char *const *)wanted, given))
        g_error("wanted: %s\ngiven:  %s", mismatch->wanted, given);
}

/* ---- bindings ---- */

static void
test_bindings(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture,
         "  s: {stage: test.source, type: ci8}\n"
         "  w: {stage: test.weights, from: s}\n"
         "  f: {stage: test.float, from: s}\n"
         "  t: {stage: test.two, from: [f, w]}\n"
         "  o: {stage: test.sink, from: t}\n",
         &usual);
    const CtPlanNode *weights = node_named(fixture, "w");
    g_assert_cmpint(weights->inputs[0], ==, -1);
    g_assert_cmpint(weights->input_bindings[0].stream->type, ==, CT_CI8);
    const CtPlanNode *floats = node_named(fixture, "f");
    g_assert_cmpint(floats->nodes[0].inputs[0].type, ==, CT_CF32);
    g_assert_cmpint(floats->input_bindings[0].stream->type, ==, CT_CF32);
    g_assert_true(floats->graph_node != NULL);
    const CtPlanNode *convert = node_named(fixture, "s>convert");
    g_assert_cmpint(convert->nodes[0].inputs[0].type, ==, CT_CI8);
    g_assert_cmpint(convert->nodes[0].outputs[0].type, ==, CT_CF32);
    g_assert_true(convert->inserted);
    g_assert_cmpstr(convert->graph_node->node.name, ==, "s");
    const CtPlanNode *two = node_named(fixture, "t");
    g_assert_cmpuint(two->n_inputs, ==, 3);
    g_assert_cmpint(two->inputs[2], ==, -1);
    g_assert_cmpint(two->input_bindings[2].stream->type, ==, CT_TYPE_NONE);
    /* Nothing reads it, but it has a description. */
    g_assert_cmpint(two->outputs[1], ==, -1);
    g_assert_cmpint(two->output_bindings[1].stream->type, ==, CT_U32);
    g_assert_cmpuint(two->output_bindings[1].layout.n_axes, ==, 4);
    g_assert_cmpint(two->output_bindings[2].stream->type, ==, CT_TYPE_NONE);
}

static void
test_fused(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture,
         "  s: {stage: test.source}\n"
         "  a: {stage: test.pass, from: s}\n"
         "  b: {stage: test.window, from: a, window: 5, hop: 3, offset: 1}\n"
         "  c: {stage: test.pass, from: b}\n"
         "  o: {stage: test.sink, from: c}\n",
         &usual);
    const CtPlanNode *fused = node_named(fixture, "a+b+c");
    g_assert_cmpuint(fused->n_nodes, ==, 3);
    g_assert_cmpstr(fused->variant->name, ==, "fused-three");
    g_assert_cmpstr(fused->nodes[1].name, ==, "b");
    g_assert_cmpstr(fused->graph_node->node.name, ==, "c");
    g_assert_cmpint(fused->footprint.window, ==, 5);
    g_assert_cmpint(fused->footprint.hop, ==, 3);
    g_assert_cmpint(fused->footprint.offset, ==, 1);
}

/* ---- requested variants ---- */

static const char pass_graph[] = "  s: {stage: test.source}\n"
                                 "  a: {stage: test.pass, from: s}\n"
                                 "  b: {stage: test.pass, from: a, backend: reference}\n"
                                 "  c: {stage: test.pass, from: b, variant: cpu}\n"
                                 "  o: {stage: test.sink, from: c}\n";

static void
check_variants(const Fixture *fixture, const char *a, const char *b, const char *c)
{
    g_assert_cmpstr(node_named(fixture, "a")->variant->name, ==, a);
    g_assert_cmpstr(node_named(fixture, "b")->variant->name, ==, b);
    g_assert_cmpstr(node_named(fixture, "c")->variant->name, ==, c);
    g_assert_cmpstr(node_named(fixture, "s")->variant->name, ==, "cpu");
}

static void
test_variants(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture, pass_graph, &usual);
    check_variants(fixture, "cpu", "reference", "cpu");

    CtPlanOptions options = usual;
    options.backend = CT_REFERENCE;
    plan(fixture, pass_graph, &options);
    check_variants(fixture, "reference", "reference", "cpu");

    options = usual;
    options.backends = g_hash_table_new(g_str_hash, g_str_equal);
    options.variants = g_hash_table_new(g_str_hash, g_str_equal);
    g_hash_table_insert(options.backends, "b", "cpu");
    g_hash_table_insert(options.variants, "c", "reference");
    plan(fixture, pass_graph, &options);
    check_variants(fixture, "cpu", "cpu", "reference");
    g_hash_table_unref(options.backends);
    g_hash_table_unref(options.variants);

    /* Inserted nodes have the backend for all nodes. */
    static const char turned[] = "  s: " ORDERED "\n"
                                 "  a: {stage: test.channel-first, from: s}\n";
    options = usual;
    plan(fixture, turned, &options);
    g_assert_cmpstr(node_named(fixture, "s>transpose")->variant->name, ==, "cpu");
    options.backend = CT_REFERENCE;
    plan(fixture, turned, &options);
    g_assert_cmpstr(node_named(fixture, "s>transpose")->variant->name, ==, "reference");
}

/* ---- tunings ---- */

static void
check_tuning(const Fixture *fixture, const char *node, const char *wanted)
{
    const CtPlanNode *given = node_named(fixture, node);
    g_autofree char *name = ct_tuning_name(given->variant, given->tuning);
    g_assert_cmpstr(name, ==, wanted);
}

static void
test_tunings(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    static const char stages[] = "  s: {stage: test.source}\n"
                                 "  a: {stage: test.picky, from: s}\n"
                                 "  b: {stage: test.picky, from: a, variant: cpu:tile=2}\n"
                                 "  c: {stage: test.picky, from: b, variant: 'cpu:tile=4'}\n"
                                 "  d: {stage: test.picky, from: c, variant: cpu}\n";
    plan(fixture, stages, &usual);
    check_tuning(fixture, "a", "cpu");
    check_tuning(fixture, "b", "cpu:tile=2");
    check_tuning(fixture, "c", "cpu");
    check_tuning(fixture, "d", "cpu");
    g_assert_cmpint(node_named(fixture, "b")->tuning[0], ==, 2);
    g_assert_cmpint(node_named(fixture, "b")->tuning[1], ==, 128);

    CtPlanOptions options = usual;
    options.variants = g_hash_table_new(g_str_hash, g_str_equal);
    g_hash_table_insert(options.variants, "a", "cpu:threads=64,tile=8");
    g_hash_table_insert(options.variants, "b", "cpu:threads=64");
    plan(fixture, stages, &options);
    check_tuning(fixture, "a", "cpu:tile=8,threads=64");
    check_tuning(fixture, "b", "cpu:threads=64");
    g_hash_table_unref(options.variants);

    g_autofree char *text = ct_plan_to_text(fixture->plan);
    g_autofree char *json = ct_plan_to_json(fixture->plan);
    g_assert_nonnull(strstr(text, "a     cpu:tile=8,threads=64  host"));
    g_autofree char *tunings = json_at(json, "$.nodes[*].tuning");
    g_assert_nonnull(strstr(tunings, "{\"tile\":8,\"threads\":64}"));
    g_assert_nonnull(strstr(tunings, "{}"));
}

/* ---- printing ---- */

static void
test_printing(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture,
         "  s: " ORDERED "\n"
         "  a: {stage: test.channel-first, from: s}\n"
         "  o: {stage: test.sink, from: a}\n",
         &usual);
    g_autofree char *text = ct_plan_to_text(fixture->plan);
    const char *const wanted =
        "node *variant *place *layouts *samples *operations *share\n"
        "s * cpu *host * -> cf32?time channel station pol? * 1024 *%\n"
        "+ s>transpose *cpu *host *cf32?time channel station pol? -> cf32?channel time station "
        "pol? *1024 *%\n"
        "a *%\n"
        "o *cpu *host *cf32?channel time station pol? -> * 1024 *%\n"
        "\n"
        "buffer *read by *place *layout *firing *holds *size *at *kind *room for\n"
        "s *s>transpose *host *cf32?time channel station pol? *1024 *3072 *1.5 MiB *ring *2 × 1024 "
        "of a "
        "firing, 1024 that a reader sees\n"
        "s>transpose *a *host *cf32?channel time station pol? *1024 *3072 *1.5 MiB *ring *2 × 1024 "
        "of a "
        "firing, 1024 that a reader sees\n"
        "a *o *host *cf32?channel time station pol? *1024 *3072 *1.5 MiB *ring *2 × 1024 of a "
        "firing, 1024 that a reader sees\n"
        "\n"
        "from *to *latency *in blocks *history *start-up *a missing sample touches\n"
        "s *o *1 us *1.02 ms *0 *0 *1 sample\n"
        "\n"
        "host: 4.5 MiB\n"
        "\n"
        "kept busy * seconds * share\n"
        "workers * 100.0%\n"
        "\n"
        "4 nodes, 1 of them inserted (+), 2 workers; predicted * s for a second of stream\n";
    if (!g_pattern_match_simple(wanted, text))
        g_error("wanted: %s\ngiven:  %s", wanted, text);
    g_autofree char *dot = ct_plan_to_dot(fixture->plan);
    g_assert_true(g_str_has_prefix(dot, "digraph plan {\n"));
    g_assert_nonnull(strstr(dot, "n1 [label=\"s>transpose\\ntranspose\\ncpu · host\\nbusy "));
    g_assert_nonnull(strstr(dot, "n0 -> n1 [label=\"cf32[time channel station pol]\\n"));
    g_autofree char *json = ct_plan_to_json(fixture->plan);
    assert_json(json, "$.links[1].layout", "[\"cf32[channel time station pol]\"]");
    assert_json(json, "$.exact", "[true]");
    assert_json(json, "$.alone", "[{\"node\":null,\"seconds\":0}]");
    g_autofree char *nodes = json_at(json, "$.nodes");
    g_assert_nonnull(strstr(nodes, "{\"name\":\"s>transpose\",\"stages\":[\"transpose\"],"
                                   "\"variant\":\"cpu\",\"inserted\":true"));
    g_autoptr(JsonArray) busy = json_select(json, "$.busy.workers");
    g_assert_cmpfloat(json_array_get_double_element(busy, 0), >, 0);
}

/* ---- errors ---- */

typedef struct {
    const char *name;
    int code;
    const char *folder;
    const char *stages;
    const char *option, *key, *value;
    const char *message;
} Mistake;

static const Mistake mistakes[] = {
    {"no-variant", CT_ERROR_PLUGIN, NULL,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.lonely, from: s}\n",
     NULL, NULL, NULL, "g.yaml:3:3: node 'a': stage 'test.lonely' has no variant"},
    {"tunable", CT_ERROR_CONFIG, NULL,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.picky, from: s, variant: cpu:tiles=2}\n",
     NULL, NULL, NULL,
     "g.yaml:3:44: node 'a': variant 'cpu' has no tunable 'tiles'; did you mean 'tile'?"},
    {"no-tunables", CT_ERROR_CONFIG, NULL,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.pass, from: s, variant: 'cpu:tile=2'}\n",
     NULL, NULL, NULL, "g.yaml:3:43: node 'a': variant 'cpu' has no tunable 'tile'; it has none"},
    {"tunable-value", CT_ERROR_CONFIG, NULL,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.picky, from: s, variant: cpu:tile=3}\n",
     NULL, NULL, NULL,
     "g.yaml:3:44: node 'a': 'tile' of variant 'cpu' wants 2, 4 or 8, but is given '3'"},
    {"tunable-given", CT_ERROR_CONFIG, NULL,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.picky, from: s}\n",
     "variant", "a", "cpu:threads=many",
     "--variant a=cpu:threads=many: 'threads' of variant 'cpu' wants 64 or 128, but is given "
     "'many'"},
    {"tuning-of-no-variant", CT_ERROR_CONFIG, NULL,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.picky, from: s}\n",
     "variant", "a", "fast:threads=64",
     "--variant a=fast:threads=64: stage 'test.picky' has no variant 'fast'; it has cpu"},
    {"no-device", CT_ERROR_DEVICE, NULL,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.pass, from: s, backend: cuda}\n",
     NULL, NULL, NULL,
     "g.yaml:3:43: node 'a': backend 'cuda' is asked for, but cuda is not available: none is "
     "given"},
    {"no-device-for-all", CT_ERROR_DEVICE, NULL,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.pass, from: s}\n"
     "backend: cuda\n",
     NULL, NULL, NULL,
     "g.yaml:4:10: backend 'cuda' is asked for, but cuda is not available: none is given"},
    {"no-stage-for-the-device", CT_ERROR_DEVICE, NULL,
     "  s: {stage: test.host-source}\n"
     "  a: {stage: test.any, from: s}\n"
     "backend: cuda\n",
     NULL, NULL, NULL,
     "g.yaml:4:10: backend 'cuda' is asked for, but no stage of this graph has a variant for it"},
    {"no-device-of-option", CT_ERROR_DEVICE, NULL,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.pass, from: s}\n",
     "backend", "a", "cuda",
     "--backend: node 'a': backend 'cuda' is asked for, but cuda is not available: none is "
     "given"},
    {"no-device-by-variant", CT_ERROR_LAYOUT, NULL,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.pass, from: s, variant: cuda}\n",
     NULL, NULL, NULL,
     "g.yaml:3:3: node 'a': no variant of 'test.pass' can run here (cuda: not "
     "available: none is given)"},
    {"stage-without-cuda", CT_ERROR_LAYOUT, NULL,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.any, from: s, backend: cuda}\n",
     NULL, NULL, NULL,
     "g.yaml:3:3: node 'a': no variant of 'test.any' can run here (cpu: backend 'cuda' is asked "
     "for)"},
    {"unknown-variant", CT_ERROR_CONFIG, NULL,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.float, from: s, variant: fast}\n",
     NULL, NULL, NULL,
     "g.yaml:3:44: node 'a': stage 'test.float' has no variant 'fast'; it has fused-cuda, "
     "cpu, cuda"},
    {"variant-of-other-backend", CT_ERROR_CONFIG, NULL,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.pass, from: s, backend: cpu, variant: cuda}\n",
     NULL, NULL, NULL,
     "g.yaml:3:57: node 'a': wants a variant of backend 'cpu', which is asked for too, but is "
     "given "
     "'cuda'"},
    {"does-not-fit", CT_ERROR_LAYOUT, NULL,
     "  s: {stage: test.source, type: ci8}\n"
     "  a: {stage: test.picky, from: s}\n",
     NULL, NULL, NULL,
     "g.yaml:3:3: node 'a': no variant of 'test.picky' can run here (cpu: it is made for cf32)"},
    {"no-row", CT_ERROR_LAYOUT, NULL,
     "  s: {stage: test.source, type: u8}\n"
     "  a: {stage: test.planes, from: s}\n",
     NULL, NULL, NULL, "g.yaml:3:3: node 'a': no variant of 'test.planes' can run here (cpu *"},
    {"no-splice", CT_ERROR_LAYOUT, "bare",
     "  s: " ORDERED "\n"
     "  a: {stage: test.channel-first, from: s}\n",
     NULL, NULL, NULL,
     "g.yaml:3:40: node 'a': port 'in' wants cf32?channel time station pol?, but is given "
     "cf32?time channel station pol? by 's', and no transpose or conversion that is installed "
     "leads there"},
    {"unknown-node", CT_ERROR_CONFIG, NULL, "  sky: {stage: test.source}\n", "backend", "skye",
     "cpu", "--backend skye=…: the graph has no node 'skye'; did you mean 'sky'?"},
    {"unknown-node-of-variant", CT_ERROR_CONFIG, NULL, "  sky: {stage: test.source}\n", "variant",
     "b", "cpu", "--variant b=…: the graph has no node 'b'; it has *"},
    {"unknown-backend", CT_ERROR_CONFIG, NULL, "  s: {stage: test.source}\n", "backend", "s", "gpu",
     "--backend s=gpu: *"},
    {"memory", CT_ERROR_MEMORY, NULL,
     "  s: {stage: test.source, samples: -1, block: {time: 100000000000}}\n"
     "  o: {stage: test.sink, from: s}\n",
     NULL, NULL, NULL,
     "g.yaml:2:3: node 's': the rings of this graph want 140 TiB, but this machine has *; the "
     "largest is that behind 's': *300000000000 samples (2 × 100000000000 of a firing, "
     "100000000000 that a reader sees) of 512 bytes are 140 TiB*"},
};

static void
test_mistake(Fixture *fixture, gconstpointer data)
{
    const Mistake *mistake = data;
    if (mistake->folder) {
        ct_registry_free(fixture->registry);
        fixture->registry = open_registry(mistake->folder);
    }
    load(fixture, mistake->stages);
    g_autoptr(GHashTable) table = g_hash_table_new(g_str_hash, g_str_equal);
    CtPlanOptions options = usual;
    if (mistake->option) {
        g_hash_table_insert(table, (gpointer)mistake->key, (gpointer)mistake->value);
        if (g_str_equal(mistake->option, "backend"))
            options.backends = table;
        else
            options.variants = table;
    }
    g_autoptr(GError) error = NULL;
    fixture->plan = ct_plan_new(fixture->graph, fixture->registry, &options, &error);
    g_assert_null(fixture->plan);
    if (!g_pattern_match_simple(mistake->message, error->message))
        g_error("wanted: %s\ngiven:  %s", mistake->message, error->message);
    g_assert_error(error, CT_ERROR, mistake->code);
}

int
main(int argc, char **argv)
{
    /* What is printed shall not depend on the machine. */
    g_setenv("HWLOC_SYNTHETIC", "numa:1 pu:2", TRUE);
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(mismatches); i++) {
        g_autofree char *path = g_strdup_printf("/planner/insert/%s", mismatches[i].name);
        g_test_add(path, Fixture, &mismatches[i], set_up, test_mismatch, tear_down);
    }
    g_test_add("/planner/bindings", Fixture, NULL, set_up, test_bindings, tear_down);
    g_test_add("/planner/fused", Fixture, NULL, set_up, test_fused, tear_down);
    g_test_add("/planner/variants", Fixture, NULL, set_up, test_variants, tear_down);
    g_test_add("/planner/tunings", Fixture, NULL, set_up, test_tunings, tear_down);
    g_test_add("/planner/printing", Fixture, NULL, set_up, test_printing, tear_down);
    for (guint i = 0; i < G_N_ELEMENTS(mistakes); i++) {
        g_autofree char *path = g_strdup_printf("/planner/mistake/%s", mistakes[i].name);
        g_test_add(path, Fixture, &mistakes[i], set_up, test_mistake, tear_down);
    }
    return g_test_run();
}
