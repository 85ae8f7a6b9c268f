/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the configuration: the contents of a graph's file, and the places of its mistakes. */
#include "graph/config.h"

#include <string.h>

static const char graph[] =
    "backend: cpu\n"
    "block: { time: 65536 }\n"
    "stages:\n"
    "  sky:    { stage: file.source, path: 'a b.npy', layout: \"ci8[time station pol]\" }\n"
    "  filter:\n"
    "    stage: fir\n"
    "    from: sky\n"
    "    backend: cuda:1\n"
    "    variant: fast\n"
    "    block: { time: 1e3 }\n"
    "    n_taps: 16\n"
    "  beams:  { stage: beamform, from: { voltages: filter, weights: aim.weights } }\n"
    "  both:   { stage: stack, from: [filter, beams.second] }\n";

static CtConfig *
parse(const char *text, const char *const *overrides)
{
    g_autoptr(GError) error = NULL;
    CtConfig *config = ct_config_parse(text, -1, "graph.yaml", overrides, &error);
    g_assert_no_error(error);
    return config;
}

static void
test_graph(void)
{
    g_autoptr(CtConfig) config = parse(graph, NULL);
    g_assert_cmpint(config->backend.backend, ==, CT_CPU);
    g_assert_cmpint(config->block, ==, 65536);
    g_assert_cmpuint(config->stages->len, ==, 4);

    const CtConfigStage *sky = config->stages->pdata[0];
    g_assert_cmpstr(sky->name, ==, "sky");
    g_assert_cmpstr(sky->stage, ==, "file.source");
    g_assert_cmpuint(sky->links->len, ==, 0);
    g_assert_cmpint(sky->backend.backend, ==, CT_N_BACKENDS);
    g_assert_cmpstr(ct_value_get(sky->params, "path")->text, ==, "a b.npy");
    g_assert_cmpuint(ct_value_get(sky->params, "layout")->place.column, ==, 58);

    const CtConfigStage *filter = ct_config_find(config, "filter");
    g_assert_cmpuint(filter->place.line, ==, 5);
    g_assert_cmpuint(filter->place.column, ==, 3);
    g_assert_cmpint(filter->backend.backend, ==, CT_CUDA);
    g_assert_cmpint(filter->backend.device, ==, 1);
    g_assert_cmpstr(filter->variant, ==, "fast");
    g_assert_cmpint(filter->block, ==, 1000);
    g_assert_cmpuint(filter->params->keys->len, ==, 1);
    g_assert_null(ct_config_find(config, "nothing"));
}

static void
check_link(const CtConfigStage *stage, guint i, const char *port, const char *node,
           const char *output)
{
    const CtConfigLink *link = &g_array_index(stage->links, CtConfigLink, i);
    g_assert_cmpstr(link->port, ==, port);
    g_assert_cmpstr(link->node, ==, node);
    g_assert_cmpstr(link->output, ==, output);
}

static void
test_links(void)
{
    g_autoptr(CtConfig) config = parse(graph, NULL);
    check_link(ct_config_find(config, "filter"), 0, NULL, "sky", NULL);
    check_link(ct_config_find(config, "beams"), 0, "voltages", "filter", NULL);
    check_link(ct_config_find(config, "beams"), 1, "weights", "aim", "weights");
    check_link(ct_config_find(config, "both"), 0, NULL, "filter", NULL);
    check_link(ct_config_find(config, "both"), 1, NULL, "beams", "second");
}

static void
test_overrides(void)
{
    const char *const overrides[] = {"filter.n_taps=4",         "filter.n_channels=[1, 2]",
                                     "sky.path=a=b.c",          "both.from=filter",
                                     "beams.backend=reference", NULL};
    g_autoptr(CtConfig) config = parse(graph, overrides);
    const CtConfigStage *filter = ct_config_find(config, "filter");
    const CtValue *n_taps = ct_value_get(filter->params, "n_taps");
    g_assert_cmpstr(n_taps->text, ==, "4");
    g_autofree char *place = ct_place_to_string(&n_taps->place);
    g_assert_cmpstr(place, ==, "--set filter.n_taps=4");
    g_assert_cmpint(ct_value_get(filter->params, "n_channels")->kind, ==, CT_VALUE_LIST);
    g_assert_cmpstr(ct_value_get(ct_config_find(config, "sky")->params, "path")->text, ==, "a=b.c");
    g_assert_cmpuint(ct_config_find(config, "both")->links->len, ==, 1);
    g_assert_cmpint(ct_config_find(config, "beams")->backend.backend, ==, CT_REFERENCE);
}

static const struct {
    const char *text, *message;
} wrong[] = {
    {"", "g:1:1: wants a graph: { stages: … }, but is given nothing"},
    {"# empty\n", "g:1:1: wants a graph: { stages: … }, but is given nothing"},
    {"- a\n", "g:1:1: wants a graph: { stages: … }, but is given a list of 1"},
    {"stages: { a: { stage: x }", "g:2:1: not YAML: while parsing a flow mapping that begins in "
                                  "line 1, did not find expected ',' or '}'"},
    {"stages:\n\t- a", "g:2:1: not YAML: while scanning for the next token, found character that "
                       "cannot start any token: YAML indents by spaces, not by tabs"},
    {"stages: { a: { stage: x } }\n---\n", "g:2:1: a second document begins here"},
    {"stages: { a: { stage: x }, a: { stage: y } }",
     "g:1:28: key 'a' stands twice, first in line 1"},
    {"stages: { a: *b }",
     "g:1:14: alias '*b' wants a value that is marked by '&b' and ends before it"},
    {"stages: &b { a: *b }",
     "g:1:17: alias '*b' wants a value that is marked by '&b' and ends before it"},
    {"stages: { a: { <<: 5 } }",
     "g:1:20: '<<' wants a mapping, or a list of mappings, but is given '5'"},
    {"stages: { a: { <<: [[5]] } }",
     "g:1:21: '<<' wants mappings, but is given a list within a list"},
    {"stages: { a: { <<: {}, <<: {} } }", "g:1:24: key '<<' stands twice, first in line 1"},
    {"stages: { a: !!str x }", "g:1:14: tags (tag:yaml.org,2002:str) are not taken"},
    {"stages: { a: \"\\0\" }", "g:1:14: a text cannot hold a NUL character"},
    {"stages: { ö: \xff }", "g:1:14: not text: invalid leading UTF-8 octet (0xff)"},
    {"? [a]\n: b\n", "g:1:3: a key wants to be a name, but is given a list of 1"},
    {"backend: cpu\n", "g:1:1: key 'stages' is missing"},
    {"stages: {}", "g:1:9: 'stages' wants a mapping from names to stages, but is given none"},
    {"stages: [a]",
     "g:1:9: 'stages' wants a mapping from names to stages, but is given a list of 1"},
    {"stage: {}", "g:1:1: there is no key 'stage'; did you mean 'stages'?"},
    {"pipeline: {}", "g:1:1: there is no key 'pipeline'; a graph has backend, block, "
                     "cpus, description, include, numa, observation, parameters, stages, start, "
                     "stations, stop"},
    {"backend: gpu", "g:1:10: 'backend' wants auto, reference, cpu, cuda or cuda:N, but is given "
                     "'gpu'"},
    {"backend: cuda:x", "g:1:10: 'backend' wants auto, reference, cpu, cuda or cuda:N, but is "
                        "given 'cuda:x'"},
    {"backend: [cpu]", "g:1:10: 'backend' wants auto, reference, cpu, cuda or cuda:N, but is "
                       "given a list of 1"},
    {"block: 5", "g:1:8: 'block' wants { time: N }, but is given '5'"},
    {"block: { channel: 5 }", "g:1:10: 'block' wants the key 'time' alone, but is given 'channel'"},
    {"block: { time: 0.5 }",
     "g:1:16: 'block' wants a number of samples, 1 to 1099511627776, but is given '0.5'"},
    {"stages: { a: x }", "g:1:14: node 'a': wants { stage: NAME, … }, but is given 'x'"},
    {"stages: { a.b: { stage: x } }",
     "g:1:11: a node's name wants letters, digits, _ and -, but is given 'a.b'"},
    {"stages: { a: { from: b } }", "g:1:11: node 'a': key 'stage' is missing"},
    {"stages: { a: { stage: } }",
     "g:1:23: node 'a': 'stage' wants the name of a stage, but is given nothing"},
    {"stages: { a: { stage: x, from: [] } }", "g:1:32: node 'a': 'from' is an empty list"},
    {"stages: { a: { stage: x, from: {} } }", "g:1:32: node 'a': 'from' is an empty mapping"},
    {"stages: { a: { stage: x, from: [[b]] } }",
     "g:1:33: node 'a': 'from' wants node or node.port, but is given a list of 1"},
    {"stages: { a: { stage: x, from: b.c.d } }",
     "g:1:32: node 'a': 'from' wants node or node.port, but is given 'b.c.d'"},
    {"stages: { a: { stage: x, variant: ~ } }",
     "g:1:35: node 'a': 'variant' wants the name of a variant, but is given nothing"},
};

static gboolean
is_same(const CtValue *a, const CtValue *b)
{
    gboolean same = a->kind == b->kind && g_strcmp0(a->text, b->text) == 0 &&
                    (!a->items || a->items->len == b->items->len);
    for (guint i = 0; same && a->items && i < a->items->len; i++)
        same = is_same(a->items->pdata[i], b->items->pdata[i]) &&
               (!a->keys || is_same(a->keys->pdata[i], b->keys->pdata[i]));
    return same;
}

/* A value that is written in YAML reads back as the same. */
static void
test_value_text(void)
{
    static const struct {
        const char *given, *wanted;
    } rows[] = {
        {"200 MHz", "200 MHz"},
        {"'200 MHz'", "\"200 MHz\""},
        {"[1, -2.5, a b]", "[1, -2.5, a b]"},
        {"- a, b\n- [x, 'y: z']\n- 10:30:00", "[\"a, b\", [x, \"y: z\"], \"10:30:00\"]"},
        {"{a: 1, 'b c': [2, 3], d: {e: f}}", "{a: 1, \"b c\": [2, 3], d: {e: f}}"},
        {"|\n  two\n  lines \\ \"q\"\n", "\"two\\x0alines \\\\ \\\"q\\\"\\x0a\""},
        {"\"\\t\\x7f é\"", "\"\\x09\\x7f é\""},
        {"[]", "[]"},
        {"{}", "{}"},
        {"~", "~"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(CtValue) value = ct_value_parse(rows[i].given, -1, "t", &error);
        g_assert_no_error(error);
        g_autofree char *text = ct_value_to_text(value);
        g_assert_cmpstr(text, ==, rows[i].wanted);
        g_autoptr(CtValue) again = ct_value_parse(text, -1, "t", &error);
        g_assert_no_error(error);
        g_assert_true(is_same(value, again));
    }
    g_autoptr(CtValue) nothing = ct_value_parse("- 1\n-\n- 2\n", -1, "t", NULL);
    g_autofree char *text = ct_value_to_text(nothing);
    g_assert_cmpstr(text, ==, "[1, ~, 2]");
}

static void
test_wrong(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(ct_config_parse(wrong[i].text, -1, "g", NULL, &error));
        g_assert_cmpstr(error->message, ==, wrong[i].message);
        g_assert_error(error, CT_ERROR, CT_ERROR_CONFIG);
    }
}

static void
test_wrong_override(void)
{
    static const struct {
        const char *override, *message;
    } cases[] = {
        {"n_taps=4", "--set n_taps=4: the graph has no parameter 'n_taps'; node.parameter=value "
                     "sets that of a node"},
        {"n_taps", "--set n_taps: wants node.parameter=value"},
        {"filter.n_taps", "--set filter.n_taps: wants node.parameter=value"},
        {".a=1", "--set .a=1: wants node.parameter=value"},
        {"filtre.n_taps=4",
         "--set filtre.n_taps=4: there is no node 'filtre'; did you mean 'filter'?"},
        {"x.n_taps=4", "--set x.n_taps=4: there is no node 'x'; there is sky, filter, beams, both"},
        {"filter.from=[", "--set filter.from=[: not YAML: while parsing a flow node, did not "
                          "find expected node content"},
        {"filter.from=7.",
         "--set filter.from=7.: node 'filter': 'from' wants node or node.port, but is given '7.'"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *const overrides[] = {cases[i].override, NULL};
        g_autoptr(GError) error = NULL;
        g_assert_null(ct_config_parse(graph, -1, "g", overrides, &error));
        g_assert_cmpstr(error->message, ==, cases[i].message);
    }
}

/* ---- aliases and merge keys ---- */

static const char *
param(const CtConfig *config, const char *node, const char *key)
{
    const CtValue *value = ct_value_get(ct_config_find(config, node)->params, key);
    return value ? value->text : NULL;
}

static void
test_aliases(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtConfig) config = ct_config_parse("stages:\n"
                                                 "  a: &a { stage: &s fir, n: 1, m: 2 }\n"
                                                 "  b: *a\n"
                                                 "  c: { m: 3, <<: *a, k: *s }\n"
                                                 "  d: { <<: [{ n: 4 }, *a], stage: fft }\n"
                                                 "  e: { stage: *s, '<<': 5 }\n"
                                                 "  f: &a { stage: g }\n"
                                                 "  g: *a\n",
                                                 -1, "g", NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(ct_config_find(config, "b")->stage, ==, "fir");
    g_assert_cmpuint(ct_config_find(config, "b")->stage_place.line, ==, 2);
    g_assert_cmpstr(param(config, "c", "n"), ==, "1");
    g_assert_cmpstr(param(config, "c", "m"), ==, "3");
    g_assert_cmpstr(param(config, "c", "k"), ==, "fir");
    g_assert_cmpstr(param(config, "d", "n"), ==, "4");
    g_assert_cmpstr(param(config, "d", "m"), ==, "2");
    g_assert_cmpstr(ct_config_find(config, "d")->stage, ==, "fft");
    g_assert_cmpstr(param(config, "e", "<<"), ==, "5");
    g_assert_cmpstr(ct_config_find(config, "g")->stage, ==, "g");
}

/* Twenty lines, each of ten of the one before it; `item` has its name. */
static char *
make_bomb(const char *item)
{
    GString *text = g_string_new("a0: &a0 { x: y }\n");
    for (guint i = 1; i <= 20; i++) {
        g_string_append_printf(text, "a%u: &a%u %s", i, i, "{ ");
        for (guint k = 0; k < 10; k++) {
            g_autofree char *name = g_strdup_printf("a%u", i - 1);
            g_auto(GStrv) parts = g_strsplit(item, "#", 2);
            g_string_append_printf(text, "k%u: %s%s%s, ", k, parts[0], name, parts[1]);
        }
        g_string_append(text, "}\n");
    }
    return g_string_free(text, FALSE);
}

static void
test_alias_bombs(void)
{
    static const char *const items[] = {"*# ", "[*# ]", "{ <<: *# }"};
    for (guint i = 0; i < G_N_ELEMENTS(items); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *bomb = make_bomb(items[i]);
        g_assert_null(ct_config_parse(bomb, -1, "g", NULL, &error));
        g_assert_true(g_str_has_suffix(
            error->message, ": anchors, aliases and merge keys stand for more than 100000 values"));
    }
    g_autoptr(GString) deep = g_string_new("a0: &a0 [x]\n");
    for (guint i = 1; i <= 40; i++)
        g_string_append_printf(deep, "a%u: &a%u [*a%u]\n", i, i, i - 1);
    g_autoptr(GError) error = NULL;
    g_assert_null(ct_config_parse(deep->str, -1, "g", NULL, &error));
    g_assert_cmpstr(error->message, ==, "g:32:12: nested more than 32 deep");
}

static void
test_nul(void)
{
    static const char text[] = "stages: { a: \0 }";
    g_autoptr(GError) error = NULL;
    g_assert_null(ct_config_parse(text, sizeof text - 1, "g", NULL, &error));
    g_assert_cmpstr(error->message, ==,
                    "g:1:14: not text: control characters are not allowed (0x00)");
}

static void
test_deep(void)
{
    g_autofree char *open = g_strnfill(100000, '[');
    g_autoptr(GError) error = NULL;
    g_assert_null(ct_config_parse(open, -1, "g", NULL, &error));
    g_assert_cmpstr(error->message, ==, "g:1:34: nested more than 32 deep");
}

static void
test_missing_file(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(ct_config_load("/nonexistent/graph.yaml", NULL, &error));
    g_assert_cmpstr(error->message, ==,
                    "/nonexistent/graph.yaml: cannot be read: No such file or directory");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/config/graph", test_graph);
    g_test_add_func("/config/links", test_links);
    g_test_add_func("/config/overrides", test_overrides);
    g_test_add_func("/config/wrong", test_wrong);
    g_test_add_func("/config/value-text", test_value_text);
    g_test_add_func("/config/wrong-override", test_wrong_override);
    g_test_add_func("/config/aliases", test_aliases);
    g_test_add_func("/config/alias-bombs", test_alias_bombs);
    g_test_add_func("/config/nul", test_nul);
    g_test_add_func("/config/deep", test_deep);
    g_test_add_func("/config/missing-file", test_missing_file);
    return g_test_run();
}
