/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the language of graphs: parameters, included files, replicated stages, and every
 * message. */
#include "graph/config.h"
#include "model/warning.h"

#include <cornerturn/error.h>
#include <string.h>

static CtConfig *
parse(const char *text, const char *set)
{
    const char *const overrides[] = {set, NULL};
    g_autoptr(GError) error = NULL;
    CtConfig *config = ct_config_parse(text, -1, "g", overrides, &error);
    g_assert_no_error(error);
    return config;
}

/* The text of a parameter of a node. */
static const char *
param(const CtConfig *config, const char *node, const char *key)
{
    const CtConfigStage *stage = ct_config_find(config, node);
    g_assert_nonnull(stage);
    const CtValue *value = ct_value_get(stage->params, key);
    g_assert_nonnull(value);
    return value->text;
}

static void
check_failure(const char *text, const char *set, const char *message)
{
    const char *const overrides[] = {set, NULL};
    g_autoptr(GError) error = NULL;
    g_assert_null(ct_config_parse(text, -1, "g", overrides, &error));
    g_assert_cmpstr(error->message, ==, message);
}

/* ---- parameters ---- */

static const char graph[] = "description: A test of ${n} stations\n"
                            "parameters:\n"
                            "  n: 4\n"
                            "  twice: ${n * 2}\n"
                            "  rate: 20 MHz\n"
                            "  dirs: [[0, '${twice}'], [1, 2]]\n"
                            "backend: ${where}\n"
                            "stages:\n"
                            "  a: { stage: '${kind}', n: '${twice}', step: '${rate / n}', d: "
                            "'${dirs}', path: '${here}/x-${n}', pair: ['${n}', x] }\n";

static void
test_parameters(void)
{
    g_autofree char *text = g_strconcat(graph, "", NULL);
    char *parameters = strstr(text, "  n: 4\n");
    g_autofree char *whole = g_strdup_printf("%.*s  where: cpu\n  kind: fir\n%s",
                                             (gint)(parameters - text), text, parameters);
    g_autoptr(CtConfig) config = parse(whole, NULL);
    g_assert_cmpstr(config->description, ==, "A test of 4 stations");
    g_assert_cmpint(config->backend.backend, ==, CT_CPU);
    g_assert_cmpstr(ct_config_find(config, "a")->stage, ==, "fir");
    g_assert_cmpstr(param(config, "a", "n"), ==, "8");
    g_assert_cmpstr(param(config, "a", "step"), ==, "5000000 Hz");
    g_assert_cmpstr(param(config, "a", "path"), ==, "./x-4");
    const CtValue *dirs = ct_value_get(ct_config_find(config, "a")->params, "d");
    g_assert_cmpuint(dirs->items->len, ==, 2);
    const CtValue *row = dirs->items->pdata[0];
    g_assert_cmpstr(((const CtValue *)row->items->pdata[1])->text, ==, "8");
    g_assert_cmpuint(config->warnings->len, ==, 0);
    g_assert_cmpstr(config->text, ==, whole);

    g_autoptr(CtConfig) other = parse(whole, "n=5");
    g_assert_cmpstr(param(other, "a", "n"), ==, "10");
    g_autoptr(CtConfig) node = parse(whole, "a.n=${n + 1}");
    g_assert_cmpstr(param(node, "a", "n"), ==, "5");
}

static void
test_unused(void)
{
    g_autoptr(CtConfig) config =
        parse("parameters: { a: 1, b: '${a}', c: 2 }\nstages: { x: { stage: '${c}' } }", NULL);
    g_assert_cmpuint(config->warnings->len, ==, 1);
    g_autofree char *line = ct_warning_to_string(config->warnings->pdata[0]);
    g_assert_cmpstr(line, ==,
                    "g:1:21: warning: parameter 'b' has no effect: no expression names it");
}

static const struct {
    const char *text, *set, *message;
} wrong[] = {
    {"parameters: 5\nstages: { a: { stage: x } }", NULL,
     "g:1:13: 'parameters' wants a mapping from names to values, but is given '5'"},
    {"parameters: { a-b: 5 }\nstages: { a: { stage: x } }", NULL,
     "g:1:15: a parameter's name wants letters, digits and _, and no digit first, but is given "
     "'a-b'"},
    {"parameters: { here: 5 }\nstages: { a: { stage: x } }", NULL,
     "g:1:15: a parameter's name wants letters, digits and _, and no digit first, and not 'here', "
     "the file's folder, but is given 'here'"},
    {"parameters: { n_stations: 5 }\nstages: { a: { stage: x, n: '${n_station}' } }", NULL,
     "g:2:30: node 'a': '${n_station}': there is no parameter 'n_station'; did you mean "
     "'n_stations'?"},
    {"stages: { a: { stage: x, n: '${n}' } }", NULL,
     "g:1:30: node 'a': '${n}': there is no parameter 'n'; there is here"},
    {"parameters:\n  a: ${b}\n  b: ${c + 1}\n  c: ${b}\nstages: { a: { stage: x, n: '${a}' } }",
     NULL,
     "g:4:6: parameter 'c': '${b}': a parameter is made of itself: 'b' (g:3:3) -> 'c' (g:4:3) -> "
     "'b'"},
    {"parameters: { a: }\nstages: { a: { stage: x, n: '${a}' } }", NULL,
     "g:2:30: node 'a': '${a}': parameter 'a' has no value: --set a=… gives it one, or the "
     "including file"},
    {"parameters: { a: 1 }\nstages: { a: { stage: x, n: '${a}' } }", "b=2",
     "--set b=2: the graph has no parameter 'b'; node.parameter=value sets that of a node"},
    {"parameters: { alpha: 1 }\nstages: { a: { stage: x, n: '${alpha}' } }", "alhpa=2",
     "--set alhpa=2: the graph has no parameter 'alhpa'; did you mean 'alpha'?"},
    {"parameters: { a: 1 }\nstages: { a: { stage: x, n: '${a}' } }", "a=[",
     "--set a=[: not YAML: while parsing a flow node, did not find expected node content"},
    {"parameters: { a: 1 }\nstages: { a: { stage: x, n: '${a}' } }", "a=${a}",
     "--set a=${a}: parameter 'a': '${a}': a parameter is made of itself: 'a' (g:1:15) -> 'a'"},
    {"stages: { a: { stage: x, n: ${n} } }", NULL,
     "g:1:30: not YAML: while parsing a flow mapping, did not find expected ',' or '}': a text "
     "with "
     "brackets or braces stands in quotation marks here"},
    /* several at once, each once */
    {"parameters: { a: '${1 / 0}' }\nblock: 5\nstages:\n  x: { stage: f, n: '${a}', m: '${b}' }\n"
     "  y: { from: x }\n  z: 5\nother: 1\n",
     NULL,
     "g:1:19: parameter 'a': '${1 / 0}': divides by zero\n"
     "g:4:33: node 'x': '${b}': there is no parameter 'b'; there is a, here\n"
     "g:2:8: 'block' wants { time: N }, but is given '5'\n"
     "g:5:3: node 'y': key 'stage' is missing\n"
     "g:6:6: node 'z': wants { stage: NAME, … }, but is given '5'\n"
     "g:7:1: there is no key 'other'; a graph has backend, block, cpus, description, "
     "numa, "
     "observation, parameters, stages, start, stations, stop"},
};

static void
test_wrong(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(wrong); i++)
        check_failure(wrong[i].text, wrong[i].set, wrong[i].message);
}

/* The message of a fault after expansion says from what the value came, and where. */
static void
test_origin(void)
{
    check_failure(
        "parameters: { a: 0.5 }\nblock: { time: '${a * 3}' }\nstages: { x: { stage: y } }", NULL,
        "g:2:16: 'block' wants a number of samples, 1 to 1099511627776, but is given '1.5' "
        "(from '${a * 3}')");
}

/* ---- limits ---- */

/* `first`, then `n` lines of `format` with the numbers i and i + 1, then `last`. */
static char *
make_chain(const char *first, guint n, const char *format, const char *last)
{
    GString *text = g_string_new(first);
    for (guint i = 0; i < n; i++) {
        g_autofree char *this = g_strdup_printf("%u", i), *next = g_strdup_printf("%u", i + 1);
        g_auto(GStrv) parts = g_strsplit(format, "#", -1);
        for (guint k = 0; parts[k]; k++)
            g_string_append_printf(text, "%s%s", parts[k],
                                   !parts[k + 1] ? ""
                                   : k == 0      ? this
                                                 : next);
    }
    g_string_append(text, last);
    return g_string_free(text, FALSE);
}

static void
check_failure_ends(const char *text, const char *ending)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(ct_config_parse(text, -1, "g", NULL, &error));
    g_test_message("%s", error->message);
    g_assert_true(g_str_has_suffix(error->message, ending));
}

static void
test_bombs(void)
{
    /* Each text is ten times the next one. */
    g_autofree char *texts = make_chain(
        "parameters:\n", 12, "  a#: ${a#}${a#}${a#}${a#}${a#}${a#}${a#}${a#}${a#}${a#}\n",
        "  a12: xxxxxxxxxx\nstages: { x: { stage: y, n: '${a0}' } }\n");
    check_failure_ends(texts, "makes a text of more than 1048576 bytes");
    g_autofree char *lists = make_chain(
        "parameters:\n", 12,
        "  a#: ['${a#}', '${a#}', '${a#}', '${a#}', '${a#}', '${a#}', '${a#}', '${a#}']\n",
        "  a12: x\nstages: { x: { stage: y, n: '${a0}' } }\n");
    check_failure_ends(lists, "the graph has more than 128 MiB once it is expanded");
    g_autofree char *chain = make_chain("parameters:\n", 4000, "  a#: ${a#}\n",
                                        "  a4000: x\nstages: { x: { stage: y, n: '${a0}' } }\n");
    check_failure_ends(chain, "parameters are made of one another more than 64 times");
    g_autofree char *many = make_chain("parameters:\n", 100000, "  a#: ${a#}\n",
                                       "stages: { x: { stage: y, n: '${a0}' } }\n");
    check_failure_ends(many, "a graph wants at most 4096 stages and 4096 parameters, but has more");
}

/* Many faults: the first twenty are told. */
static void
test_many(void)
{
    g_autofree char *text = make_chain("stages:\n", 25, "  a#: { stage: x, n: '${b}' }\n", "");
    g_autoptr(GError) error = NULL;
    g_assert_null(ct_config_parse(text, -1, "g", NULL, &error));
    g_auto(GStrv) lines = g_strsplit(error->message, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 21);
    g_assert_cmpstr(lines[19], ==,
                    "g:21:24: node 'a19': '${b}': there is no parameter 'b'; there is here");
    g_assert_cmpstr(lines[20], ==, "and 5 more errors");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/expand/parameters", test_parameters);
    g_test_add_func("/expand/unused", test_unused);
    g_test_add_func("/expand/wrong", test_wrong);
    g_test_add_func("/expand/origin", test_origin);
    g_test_add_func("/expand/bombs", test_bombs);
    g_test_add_func("/expand/many", test_many);
    return g_test_run();
}
