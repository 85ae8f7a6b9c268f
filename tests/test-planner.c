/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of plans: what is inserted and chosen, how long rings are, what is printed, every message.
 */
#include "planner.h"

#include <math.h>
#include <string.h>

typedef struct {
    CtRegistry *registry;
    CtConfig *config;
    CtGraph *graph;
    CtPlan *plan;
} Fixture;

static const CtPlanOptions usual = {
    .n_workers = 2,
    .backend = CT_N_BACKENDS,
    .cache_bytes = 1 << 20,
};

static CtRegistry *
open_registry(const char *sub_folder)
{
    g_autofree char *folder =
        g_build_filename(g_getenv("CORNERTURN_TEST_PLUGINS"), "planner", sub_folder, NULL);
    const char *const folders[] = {folder, NULL};
    g_autoptr(GError) error = NULL;
    CtRegistry *registry = ct_registry_new_from(folders, &error);
    g_assert_no_error(error);
    return registry;
}

static void
set_up(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    fixture->registry = open_registry(NULL);
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

static void
plan(Fixture *fixture, const char *stages, const CtPlanOptions *options)
{
    g_autoptr(GError) error = NULL;
    load(fixture, stages);
    fixture->plan = ct_plan_new(fixture->graph, fixture->registry, options, &error);
    g_assert_no_error(error);
}

static const CtPlanNode *
node_named(const Fixture *fixture, const char *name)
{
    for (guint i = 0; i < fixture->plan->nodes->len; i++) {
        const CtPlanNode *node = g_ptr_array_index(fixture->plan->nodes, i);
        if (g_str_equal(node->name, name))
            return node;
    }
    g_error("no node '%s'", name);
}

static const CtPlanLink *
link_of(const Fixture *fixture, const char *name, guint port)
{
    return g_ptr_array_index(fixture->plan->links, node_named(fixture, name)->outputs[port]);
}

/* All nodes, inserted ones with the layout that they make; checks on the way that the plan is
 * whole. */
static char *
summarise(const CtPlan *plan)
{
    g_autoptr(GString) text = g_string_new(NULL);
    gdouble seconds = 0;
    for (guint n = 0; n < plan->nodes->len; n++) {
        const CtPlanNode *node = g_ptr_array_index(plan->nodes, n);
        g_string_append_printf(text, "%s%s", n ? " " : "", node->name);
        if (node->inserted) {
            g_autofree char *layout = ct_layout_to_string(&node->output_bindings[0].layout);
            g_string_append(text, layout);
        }
        seconds += node->seconds;
        for (guint i = 0; i < node->n_inputs; i++) {
            if (node->inputs[i] < 0)
                continue;
            const CtPlanLink *link = g_ptr_array_index(plan->links, node->inputs[i]);
            g_assert_cmpuint(link->writer, <, n);
            g_assert_true(ct_layout_same_memory(&link->layout, &node->input_bindings[i].layout,
                                                link->stream));
            g_assert_cmpint(link->stream->type, ==, node->input_bindings[i].stream->type);
            gboolean known = FALSE;
            for (guint r = 0; r < link->readers->len; r++) {
                const CtPlanReader *reader = &g_array_index(link->readers, CtPlanReader, r);
                known |= reader->node == n && reader->port == i;
            }
            g_assert_true(known);
        }
    }
    /* What was built is what was chosen. */
    g_assert_cmpfloat(fabs(seconds - plan->seconds), <=, 1e-9 * plan->seconds);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* ---- what is inserted ---- */

#define ORDERED "{stage: test.source, layout: '[time channel station pol]'}"

typedef struct {
    const char *name;
    const char *stages;
    const char *wanted; /* the summary; several alternatives of one cost separated by '|' */
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
    g_assert_true(fixture->plan->exact);
    g_autofree char *given = summarise(fixture->plan);
    g_auto(GStrv) wanted = g_strsplit(mismatch->wanted, "|", -1);
    if (!g_strv_contains((const char *const *)wanted, given))
        g_error("wanted: %s\ngiven:  %s", mismatch->wanted, given);
}

/* ---- what is handed on ---- */

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
    g_assert_null(convert->graph_node);
    const CtPlanNode *two = node_named(fixture, "t");
    g_assert_cmpuint(two->n_inputs, ==, 3);
    g_assert_cmpint(two->inputs[2], ==, -1);
    g_assert_cmpint(two->input_bindings[2].stream->type, ==, CT_TYPE_NONE);
    /* Nobody reads it, but it is described. */
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

/* ---- variants that are asked for ---- */

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

    /* What is inserted follows the backend for all. */
    static const char turned[] = "  s: " ORDERED "\n"
                                 "  a: {stage: test.channel-first, from: s}\n";
    options = usual;
    plan(fixture, turned, &options);
    g_assert_cmpstr(node_named(fixture, "s>transpose")->variant->name, ==, "cpu");
    options.backend = CT_REFERENCE;
    plan(fixture, turned, &options);
    g_assert_cmpstr(node_named(fixture, "s>transpose")->variant->name, ==, "reference");
}

/* ---- rings ---- */

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

/* ---- the least cost ---- */

static gdouble
cost_of_outlet(const Fixture *fixture, CtPlanner *planner, const CtOutlet *outlet,
               const CtArrangement *const *chosen)
{
    const CtGraphNode *writer = g_ptr_array_index(fixture->graph->nodes, outlet->node);
    const CtArrangement *from = chosen[outlet->node];
    g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(CtLayout));
    gdouble sum = 0;
    for (guint r = 0; r < outlet->readers->len; r++) {
        const CtPlanReader *reader = &g_array_index(outlet->readers, CtPlanReader, r);
        const CtArrangement *to = chosen[reader->node];
        const gboolean leaves = from->nodes[from->n_nodes - 1] == outlet->node;
        if (!leaves || to->nodes[0] != reader->node) {
            if (from != to)
                return HUGE_VAL;
            continue;
        }
        CtBridge bridge;
        ct_bridge_find(&bridge, planner, &writer->node.outputs[outlet->port],
                       &from->outputs[outlet->port], &to->inputs[reader->port]);
        if (bridge.seconds == HUGE_VAL)
            return HUGE_VAL;
        for (guint s = 0; s < bridge.n_steps; s++) {
            gboolean made = FALSE;
            for (guint k = 0; k < steps->len; k++)
                made |= ct_layout_equal(&g_array_index(steps, CtLayout, k), &bridge.steps[s].to);
            if (!made) {
                g_array_append_val(steps, bridge.steps[s].to);
                sum += bridge.steps[s].seconds;
            }
        }
    }
    return sum;
}

static gdouble
least_cost(const Fixture *fixture, CtPlanner *planner, const CtCandidates *candidates,
           const GPtrArray *outlets)
{
    const guint n = candidates->n_nodes;
    g_autofree guint *digits = g_new0(guint, n);
    g_autofree const CtArrangement **chosen = g_new(const CtArrangement *, n);
    gdouble least = HUGE_VAL;
    for (;;) {
        gdouble sum = 0;
        for (guint i = 0; i < n; i++) {
            chosen[i] = g_ptr_array_index(candidates->nodes[i], digits[i]);
            sum += chosen[i]->nodes[0] == i ? chosen[i]->seconds : 0;
        }
        for (guint o = 0; o < outlets->len && sum < least; o++)
            sum += cost_of_outlet(fixture, planner, g_ptr_array_index(outlets, o), chosen);
        least = MIN(least, sum);
        guint i = 0;
        while (i < n && ++digits[i] == candidates->nodes[i]->len)
            digits[i++] = 0;
        if (i == n)
            return least;
    }
}

static const char *
random_of(const char *const *names, guint n)
{
    return names[g_test_rand_int_range(0, n)];
}

/* A few nodes, each fed by one or (stack) two of those before it. */
static char *
random_graph(guint n_nodes)
{
    static const char *const layouts[] = {
        "",
        ", layout: '[time channel station pol]'",
        ", layout: '[channel time station pol]'",
        ", layout: '[pol station channel time]'",
        ", layout: '[time ...]'",
    };
    static const char *const types[] = {"ci8", "cf32"};
    static const char *const passes[] = {
        "test.pass",   "test.time-last", "test.channel-first", "test.either",
        "test.either", "test.float",     "test.writes-both",   "test.window",
    };
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "  n0: {stage: test.source, type: %s%s}\n", random_of(types, 2),
                           random_of(layouts, G_N_ELEMENTS(layouts)));
    for (guint i = 1; i < n_nodes; i++) {
        const guint from = g_test_rand_bit() ? i - 1 : (guint)g_test_rand_int_range(0, i);
        if (i > 2 && g_test_rand_int_range(0, 4) == 0)
            g_string_append_printf(text, "  n%u: {stage: test.many, from: [n%u, n%u]}\n", i, from,
                                   g_test_rand_int_range(0, i));
        else
            g_string_append_printf(text, "  n%u: {stage: %s, from: n%u}\n", i,
                                   random_of(passes, G_N_ELEMENTS(passes)), from);
    }
    g_string_append_printf(text, "  o: {stage: test.sink, from: n%u%s}\n", n_nodes - 1,
                           random_of(layouts, G_N_ELEMENTS(layouts)));
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void
test_least(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    guint n_checked = 0, n_fused = 0, n_inserted = 0;
    for (guint trial = 0; trial < 400; trial++) {
        g_autofree char *text = random_graph(g_test_rand_int_range(2, 6));
        plan(fixture, text, &usual);
        g_autoptr(GHashTable) patterns =
            g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
        CtPlanner planner = {fixture->graph, fixture->registry, &usual, .patterns = patterns};
        planner.bridges[CT_BRIDGE_TRANSPOSE] =
            ct_registry_stage(fixture->registry, "transpose", NULL);
        planner.bridges[CT_BRIDGE_CONVERT] = ct_registry_stage(fixture->registry, "convert", NULL);
        ct_machine_init(&planner.machine, 2);
        g_autoptr(CtCandidates) candidates = ct_candidates_new(&planner, NULL);
        g_autoptr(GPtrArray) outlets = ct_outlets_new(fixture->graph);
        gdouble combinations = 1;
        for (guint i = 0; i < candidates->n_nodes; i++)
            combinations *= candidates->nodes[i]->len;
        if (combinations > 20000)
            continue;
        const gdouble least = least_cost(fixture, &planner, candidates, outlets);
        g_assert_true(fixture->plan->exact);
        if (fabs(fixture->plan->seconds - least) > 1e-9 * least)
            g_error("the least is %g, the plan's %g: %s", least, fixture->plan->seconds, text);
        g_autofree char *given = summarise(fixture->plan);
        n_fused += strchr(given, '+') != NULL;
        n_inserted += strchr(given, '>') != NULL;
        n_checked++;
    }
    g_test_message("%u graphs against every combination, %u with insertions, %u fused", n_checked,
                   n_inserted, n_fused);
    g_assert_cmpuint(n_checked, >, 100);
    g_assert_cmpuint(n_inserted, >, 20);
    g_assert_cmpuint(n_fused, >, 2);
}

/* ---- size ---- */

static void
test_200_nodes(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    static const char *const passes[] = {
        "test.pass",   "test.time-last", "test.channel-first", "test.either",
        "test.either", "test.float",     "test.writes-both",   "test.window",
    };
    g_autoptr(GString) text = g_string_new("  n0: {stage: test.source, type: ci8}\n");
    for (guint i = 1; i < 199; i++) {
        if (i % 10 == 9)
            g_string_append_printf(text, "  n%u: {stage: test.many, from: [n%u, n%u]}\n", i, i - 1,
                                   i - 5);
        else
            g_string_append_printf(text, "  n%u: {stage: %s, from: n%u}\n", i,
                                   passes[i * 7 % G_N_ELEMENTS(passes)], i - 1);
    }
    g_string_append(text, "  o: {stage: test.sink, from: n198}\n");
    gdouble best = HUGE_VAL;
    for (guint trial = 0; trial < 5; trial++) {
        load(fixture, text->str);
        g_autoptr(GError) error = NULL;
        const gint64 begin = g_get_monotonic_time();
        fixture->plan = ct_plan_new(fixture->graph, fixture->registry, &usual, &error);
        best = MIN(best, (g_get_monotonic_time() - begin) * 1e-6);
        g_assert_no_error(error);
    }
    g_assert_true(fixture->plan->exact);
    g_test_message("200 nodes planned in %.4f s", best);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    g_assert_cmpfloat(best, <, 0.1);
#endif
}

/* Many readers of one output that want all kinds of layouts: each kind is made once. */
static void
check_star(Fixture *fixture, guint n_orders, guint n_types, guint n_each, gboolean exact)
{
    static const char *const axes[] = {"time", "channel", "station", "pol"};
    static const char *const types[] = {"ci8", "cf32", "cf64", "ci16"};
    g_autoptr(GString) text = g_string_new(
        "  s: {stage: test.source, type: ci8, layout: '[time channel station pol]'}\n");
    for (guint i = 0; i < n_orders * n_types * n_each; i++) {
        guint order = i % n_orders, taken = 0;
        g_string_append_printf(text, "  o%u: {stage: test.sink, from: s, layout: '%s[", i,
                               types[i / n_orders % n_types]);
        for (guint left = 4; left > 0; left--) {
            guint pick = order % left, a = 0;
            order /= left;
            while (taken >> a & 1 || pick-- > 0)
                a++;
            taken |= 1u << a;
            g_string_append_printf(text, "%s%s", left < 4 ? " " : "", axes[a]);
        }
        g_string_append(text, "]'}\n");
    }
    plan(fixture, text->str, &usual);
    g_assert_true(fixture->plan->exact == exact);
    g_free(summarise(fixture->plan));
    /* All but the written one, each by one step from another. */
    g_assert_cmpuint(fixture->plan->inserted->len, ==, n_orders * n_types - 1);
    for (guint i = 0; i < fixture->plan->links->len; i++) {
        const CtPlanLink *link = g_ptr_array_index(fixture->plan->links, i);
        g_assert_cmpuint(link->readers->len, >=, n_each);
    }
}

static void
test_stars(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    check_star(fixture, 3, 1, 2, TRUE);
    check_star(fixture, 12, 1, 1, TRUE);
    check_star(fixture, 24, 1, 3, TRUE);
    check_star(fixture, 2, 2, 3, TRUE);
    check_star(fixture, 24, 3, 1, FALSE);
    /* Readers that would take any of them follow those that would not. */
    g_autoptr(GString) text = g_string_new("  s: " ORDERED "\n");
    for (guint i = 0; i < 40; i++)
        g_string_append_printf(text, "  e%u: {stage: %s, from: s}\n", i,
                               i == 7  ? "test.channel-first"
                               : i % 2 ? "test.either"
                                       : "test.pass");
    plan(fixture, text->str, &usual);
    g_assert_true(fixture->plan->exact);
    g_assert_cmpuint(fixture->plan->inserted->len, ==, 1);
    g_free(summarise(fixture->plan));
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
        "node *variant *layouts *samples *ring MiB *operations *share\n"
        "s * cpu * -> cf32?time channel station pol? * 2048 * 3.0 *%\n"
        "+ s>transpose  cpu * cf32?time channel station pol? -> cf32?channel time station pol? *%\n"
        "a *%\n"
        "o * cf32?channel time station pol? -> * 2048 * 0.0 *%\n"
        "\n"
        "4 nodes, 1 of them inserted (+), 2 workers; 9.0 MiB of rings; predicted * s for a second "
        "of stream\n";
    if (!g_pattern_match_simple(wanted, text))
        g_error("wanted: %s\ngiven:  %s", wanted, text);
    g_autofree char *dot = ct_plan_to_dot(fixture->plan);
    g_assert_true(g_str_has_prefix(dot, "digraph plan {\n"));
    g_assert_nonnull(strstr(dot, "n1 [label=\"s>transpose\\ncpu\", style=dashed];"));
    g_assert_nonnull(strstr(dot, "n0 -> n1 [label=\"cf32[time channel station pol]\\n"));
    g_autofree char *json = ct_plan_to_json(fixture->plan);
    g_assert_nonnull(strstr(json, "\"layout\": \"cf32[channel time station pol]\""));
    g_assert_nonnull(strstr(json, "{\"name\": \"s>transpose\", \"stages\": [\"transpose\"], "
                                  "\"variant\": \"cpu\", \"inserted\": true"));
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
    {"no-gpu", CT_ERROR_LAYOUT, NULL,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.pass, from: s, backend: cuda}\n",
     NULL, NULL, NULL,
     "g.yaml:3:3: node 'a': no variant of 'test.pass' can run here (cpu: backend 'cuda' is asked "
     "for; reference: backend 'cuda' is asked for; cuda: *)"},
    {"unknown-variant", CT_ERROR_LAYOUT, NULL,
     "  s: {stage: test.source}\n"
     "  a: {stage: test.float, from: s, variant: fast}\n",
     NULL, NULL, NULL,
     "g.yaml:3:3: node 'a': no variant of 'test.float' can run here (cpu: 'fast' is asked for)"},
    {"does-not-fit", CT_ERROR_LAYOUT, NULL,
     "  s: {stage: test.source, type: ci8}\n"
     "  a: {stage: test.picky, from: s}\n",
     NULL, NULL, NULL,
     "g.yaml:3:3: node 'a': no variant of 'test.picky' can run here (cpu: it is made for cf32)"},
    {"no-row", CT_ERROR_LAYOUT, NULL,
     "  s: {stage: test.source, type: u8}\n"
     "  a: {stage: test.planes, from: s}\n",
     NULL, NULL, NULL, "g.yaml:3:3: node 'a': no variant of 'test.planes' can run here (cpu *"},
    {"no-bridge", CT_ERROR_LAYOUT, "bare",
     "  s: " ORDERED "\n"
     "  a: {stage: test.channel-first, from: s}\n",
     NULL, NULL, NULL,
     "g.yaml:3:40: node 'a': port 'in' wants cf32?channel time station pol?, but is given "
     "cf32?time channel station pol? by 's', and no transpose or conversion that is installed "
     "leads there"},
    {"unknown-node", CT_ERROR_CONFIG, NULL, "  sky: {stage: test.source}\n", "backend", "skye",
     "cpu", "--backend skye=…: the graph has no node 'skye' (did you mean 'sky'?)"},
    {"unknown-node-of-variant", CT_ERROR_CONFIG, NULL, "  sky: {stage: test.source}\n", "variant",
     "b", "cpu", "--variant b=…: the graph has no node 'b'"},
    {"unknown-backend", CT_ERROR_CONFIG, NULL, "  s: {stage: test.source}\n", "backend", "s", "gpu",
     "--backend s=gpu: *"},
    {"memory", CT_ERROR_MEMORY, NULL,
     "  s: {stage: test.source, samples: -1, block: {time: 100000000000}}\n"
     "  o: {stage: test.sink, from: s}\n",
     NULL, NULL, NULL,
     "g.yaml:2:3: node 's': the rings of this graph want 140 TiB, but this machine has *; the "
     "largest is that behind 's': *300000000000 samples (2 × 100000000000 of a firing, "
     "100000000000 that a reader sees, 0 of history) of 512 bytes are 140 TiB*"},
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
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(mismatches); i++) {
        g_autofree char *path = g_strdup_printf("/planner/insert/%s", mismatches[i].name);
        g_test_add(path, Fixture, &mismatches[i], set_up, test_mismatch, tear_down);
    }
    g_test_add("/planner/bindings", Fixture, NULL, set_up, test_bindings, tear_down);
    g_test_add("/planner/fused", Fixture, NULL, set_up, test_fused, tear_down);
    g_test_add("/planner/variants", Fixture, NULL, set_up, test_variants, tear_down);
    g_test_add("/planner/rings", Fixture, NULL, set_up, test_rings, tear_down);
    g_test_add("/planner/large-samples", Fixture, NULL, set_up, test_large_samples, tear_down);
    g_test_add("/planner/source-blocks", Fixture, NULL, set_up, test_source_blocks, tear_down);
    g_test_add("/planner/short-streams", Fixture, NULL, set_up, test_short_streams, tear_down);
    g_test_add("/planner/least", Fixture, NULL, set_up, test_least, tear_down);
    g_test_add("/planner/200-nodes", Fixture, NULL, set_up, test_200_nodes, tear_down);
    g_test_add("/planner/stars", Fixture, NULL, set_up, test_stars, tear_down);
    g_test_add("/planner/printing", Fixture, NULL, set_up, test_printing, tear_down);
    for (guint i = 0; i < G_N_ELEMENTS(mistakes); i++) {
        g_autofree char *path = g_strdup_printf("/planner/mistake/%s", mistakes[i].name);
        g_test_add(path, Fixture, &mistakes[i], set_up, test_mistake, tear_down);
    }
    return g_test_run();
}
