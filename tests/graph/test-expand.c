/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the language of graphs: parameters, included files, replicated stages, and every
 * message. */
#include "graph/config.h"
#include "model/warning.h"

#include <cornerturn/error.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

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
    {"parameters: { t: { stage: x } }\nstages: { a: { stage: x }, b: '${t}' }", NULL,
     "g:2:31: node 'b': no expression stands for it, only for the values of a node's keys, but is "
     "given '${t}'"},
    {"parameters: { t: { stage: x } }\nstages: { b: '${t}' }", "b.n=1",
     "g:2:14: node 'b': no expression stands for it, only for the values of a node's keys, but is "
     "given '${t}'"},
    {"parameters: { t: { b: { stage: x } } }\nstages: ${t}", NULL,
     "g:2:9: 'stages': no expression stands for it, only for the values of a node's keys, but is "
     "given '${t}'"},
    {"include: '${p}'\nparameters: { p: [a] }\nstages: { a: { stage: x } }", NULL,
     "g:1:10: 'include' wants a path, but is given a list of 1"},
    {"include: { file: '${p}' }\nparameters: { p: { a: b } }\nstages: { a: { stage: x } }", NULL,
     "g:1:18: 'include' wants a path, but is given a mapping"},
    {"description: \"a\\e[31m\"\nstages: { a: { stage: x } }", NULL,
     "g:1:14: 'description' wants a text without control characters"},
    {"block: { time: \"a\\ng:9:9: b\\e[31m\\x9b\" }\nstages: { a: { stage: x } }", NULL,
     "g:1:16: 'block' wants a number of samples, 1 to 1099511627776, but is given "
     "'a\\ng:9:9: b\\x1b[31m\\x9b'"},
    /* several at once, each once */
    {"parameters: { a: '${1 / 0}' }\nblock: 5\nstages:\n  x: { stage: f, n: '${a}', m: '${b}' }\n"
     "  y: { from: x }\n  z: 5\nother: 1\n",
     NULL,
     "g:1:19: parameter 'a': '${1 / 0}': divides by zero\n"
     "g:4:33: node 'x': '${b}': there is no parameter 'b'; there is a, here\n"
     "g:2:8: 'block' wants { time: N }, but is given '5'\n"
     "g:5:3: node 'y': key 'stage' is missing\n"
     "g:6:6: node 'z': wants { stage: NAME, … }, but is given '5'\n"
     "g:7:1: there is no key 'other'; a graph has backend, block, cpus, description, include, "
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

/* ---- replicated stages ---- */

static const char replicated[] = "parameters: { n: 2, base: 10 }\n"
                                 "stages:\n"
                                 "  sky: { stage: s }\n"
                                 "  replicate:\n"
                                 "    over: ${n}\n"
                                 "    as: i\n"
                                 "    stages:\n"
                                 "      a: { stage: s, from: sky, n: '${base + i}' }\n"
                                 "      b: { stage: s, from: { x: a.out, y: [a, c-low.out] } }\n"
                                 "      replicate:\n"
                                 "        - over: [low, high]\n"
                                 "          as: band\n"
                                 "          stages:\n"
                                 "            c: { stage: s, from: a, path: '${band}-${i}' }\n"
                                 "            d: { stage: s, from: [c, a, sky] }\n"
                                 "        - over: { x: { k: 1 }, y: { k: 2 } }\n"
                                 "          as: e\n"
                                 "          stages: { e: { stage: s, k: '${e.k * 2}' } }\n"
                                 "      all: { stage: s, from: c-* }\n"
                                 "  e: { stage: s, from: { p: c-*.out, q: d-1-* } }\n"
                                 "  f: { stage: s, from: [sky, a-*, a-1] }\n";

/* The links of a node: "x:a-0.out a-1". */
static void
check_links(const CtConfig *config, const char *node, const char *links)
{
    const CtConfigStage *stage = ct_config_find(config, node);
    g_assert_nonnull(stage);
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < stage->links->len; i++) {
        const CtConfigLink *link = &g_array_index(stage->links, CtConfigLink, i);
        g_string_append_printf(text, "%s%s%s%s%s%s", i ? " " : "", link->port ? link->port : "",
                               link->port ? ":" : "", link->node, link->output ? "." : "",
                               link->output ? link->output : "");
    }
    g_assert_cmpstr(text->str, ==, links);
}

static void
test_replicate(void)
{
    g_autoptr(CtConfig) config = parse(replicated, NULL);
    g_assert_cmpuint(config->stages->len, ==, 1 + 2 * (2 + 4 + 2 + 1) + 2);
    g_assert_cmpstr(param(config, "a-1", "n"), ==, "11");
    g_assert_cmpstr(param(config, "c-1-high", "path"), ==, "high-1");
    g_assert_cmpstr(param(config, "e-0-y", "k"), ==, "4");
    check_links(config, "a-1", "sky");
    check_links(config, "b-1", "x:a-1.out y:a-1 y:c-1-low.out");
    check_links(config, "d-0-high", "c-0-high a-0 sky");
    check_links(config, "all-1", "c-1-low c-1-high");
    check_links(config, "e",
                "p:c-0-low.out p:c-0-high.out p:c-1-low.out p:c-1-high.out q:d-1-low "
                "q:d-1-high");
    check_links(config, "f", "sky a-0 a-1 a-1");

    g_autoptr(CtConfig) one = parse(replicated, "a-1.n=5");
    g_assert_cmpstr(param(one, "a-0", "n"), ==, "10");
    g_assert_cmpstr(param(one, "a-1", "n"), ==, "5");
    g_autoptr(CtConfig) all = parse(replicated, "c-*.path=${base}");
    g_assert_cmpstr(param(all, "c-0-low", "path"), ==, "10");
    g_assert_cmpstr(param(all, "c-1-high", "path"), ==, "10");
    g_autoptr(CtConfig) more = parse(replicated, "n=3");
    check_links(more, "f", "sky a-0 a-1 a-2 a-1");
}

static const struct {
    const char *text, *message;
} wrong_replicates[] = {
    {"stages: { replicate: 5 }",
     "g:1:22: 'replicate' wants { over: N or list, as: NAME, stages: { … } "
     "}, but is given '5'"},
    {"stages: { replicate: { over: 2, as: i } }", "g:1:22: 'replicate' wants the key 'stages'"},
    {"stages: { replicate: { as: i, stages: { a: { stage: x } } }, b: { stage: x, from: a-* } }",
     "g:1:22: 'replicate' wants the key 'over'"},
    {"stages: { replicate: { over: 2, as: [i], stages: { a: { stage: x } } } }",
     "g:1:37: 'as' of 'replicate' wants a name, but is given a list of 1"},
    {"stages: { replicate: { over: 2, stages: 5 } }",
     "g:1:41: 'stages' of 'replicate' wants a mapping from names to stages, but is given '5'"},
    {"stages: { replicate: { over: 0, stages: { a: { stage: x } } }, b: { stage: x, from: a-* } }",
     "g:1:30: 'over' wants a number of copies, a list, or a mapping from names (of letters, digits "
     "and _), of 1 to 4096, but is given '0'"},
    {"stages: { replicate: { over: 2, as: i, stage: {} } }",
     "g:1:40: 'replicate' has no key 'stage'; did you mean 'stages'?"},
    {"stages: { replicate: { over: 0, as: i, stages: { a: { stage: x } } } }",
     "g:1:30: 'over' wants a number of copies, a list, or a mapping from names (of letters, digits "
     "and _), of 1 to 4096, but is given '0'"},
    {"stages: { replicate: { over: [], as: i, stages: { a: { stage: x } } } }",
     "g:1:30: 'over' wants a number of copies, a list, or a mapping from names (of letters, digits "
     "and _), of 1 to 4096, but is given a list of 0"},
    {"stages: { replicate: { over: { a-b: 1 }, as: i, stages: { a: { stage: x } } } }",
     "g:1:30: 'over' wants a number of copies, a list, or a mapping from names (of letters, digits "
     "and _), of 1 to 4096, but is given a mapping"},
    {"stages: { replicate: { over: 1000000000, as: i, stages: { a: { stage: x } } } }",
     "g:1:30: 'over' wants a number of copies, a list, or a mapping from names (of letters, digits "
     "and _), of 1 to 4096, but is given '1000000000'"},
    {"parameters: { i: 1 }\nstages: { replicate: { over: '${i}', as: i, stages: { a: { stage: x } "
     "} "
     "} }",
     "g:2:42: 'i' stands for two values; the first is at g:1:15"},
    {"stages: { a-1: { stage: x }, replicate: { over: 2, as: i, stages: { a: { stage: x } } } }",
     "g:1:69: node 'a-1' stands twice; the first is at g:1:11"},
    {"stages: { replicate: { over: 2, as: i, stages: { a: { stage: x, n: '${j}' } } } }",
     "g:1:69: node 'a-0': '${j}': there is no parameter 'j'; there is i, here (2 copies)"},
    {"stages: { replicate: { over: 2, as: i, stages: { a: { stage: x, n: '${1 / i}' } } } }",
     "g:1:69: node 'a-0': '${1 / i}': divides by zero"},
    {"stages: { a: { stage: x, from: [b] }, replicate: { over: 2, stages: { b: { stage: y } } } }",
     "g:1:33: node 'a': 'from' wants a node of this graph, but is given 'b'; 'b-*' is all its "
     "copies"},
    {"stages: { a: { stage: x, from: b }, replicate: { over: 2, stages: { b: { stage: y } } } }",
     "g:1:32: node 'a': 'from' wants a node of this graph, but is given 'b'; 'b-*' is all its "
     "copies"},
    {"stages: { a: { stage: x, from: b-* } }",
     "g:1:32: node 'a': 'from' wants copies of a node, but there is no 'b-*'"},
    {"stages: { replicate: { over: 4096, as: i, stages: { replicate: { over: 4096, as: j, stages: "
     "{ "
     "a: { stage: x } } } } } }",
     "g:1:22: a graph wants at most 4096 stages and 4096 parameters, but has more"},
    {"stages: { replicate: { over: 4000, as: i, stages: { a: { stage: x }, b: { stage: x } } } }",
     "g:1:22: a graph wants at most 4096 stages and 4096 parameters, but has more"},
};

static void
test_wrong_replicates(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(wrong_replicates); i++)
        check_failure(wrong_replicates[i].text, NULL, wrong_replicates[i].message);
}

/* ---- included files ---- */

typedef struct {
    char *folder;
} Files;

static void
set_up(Files *files, G_GNUC_UNUSED gconstpointer data)
{
    files->folder = g_dir_make_tmp("expand-XXXXXX", NULL);
    g_assert_nonnull(files->folder);
    g_autofree char *inner = g_build_filename(files->folder, "in", NULL);
    g_assert_cmpint(g_mkdir(inner, 0700), ==, 0);
    g_autofree char *fifo = g_build_filename(files->folder, "fifo", NULL);
    g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
}

static void
remove_all(const char *path)
{
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    for (const char *name; folder && (name = g_dir_read_name(folder));) {
        g_autofree char *inner = g_build_filename(path, name, NULL);
        remove_all(inner);
    }
    g_remove(path);
}

static void
tear_down(Files *files, G_GNUC_UNUSED gconstpointer data)
{
    remove_all(files->folder);
    g_free(files->folder);
}

static void
write_file(const Files *files, const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(files->folder, name, NULL);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

/* Loads the file "g"; in the message of an error, DIR stands for the folder. */
static CtConfig *
load(const Files *files, const char *set, char **message)
{
    const char *const overrides[] = {set, NULL};
    g_autofree char *path = g_build_filename(files->folder, "g", NULL);
    g_autoptr(GError) error = NULL;
    CtConfig *config = ct_config_load(path, overrides, &error);
    g_autoptr(GString) text = g_string_new(error ? error->message : "");
    g_string_replace(text, files->folder, "DIR", 0);
    *message = g_strdup(text->str);
    return config;
}

static void
test_include(Files *files, G_GNUC_UNUSED gconstpointer data)
{
    write_file(files, "g",
               "include:\n"
               "  - in/bank.yaml\n"
               "  - { file: in/bank.yaml, parameters: { n: '${m * 2}' }, prefix: wide }\n"
               "parameters: { m: 8 }\n"
               "stages:\n"
               "  sky: { stage: s }\n"
               "  a: { stage: s, from: [fft, wide-fft, wide-part-*], n: '${n}' }\n");
    write_file(files, "in/bank.yaml",
               "description: a filter bank\n"
               "include: more.yaml\n"
               "parameters: { n: 4, taps: '${here}/taps-${n}.npy' }\n"
               "stages:\n"
               "  fir: { stage: s, from: sky, n: '${n}', path: '${taps}' }\n"
               "  fft: { stage: s, from: fir }\n"
               "  replicate: { over: 2, as: i, stages: { part: { stage: s, from: fft } } }\n");
    write_file(files, "in/more.yaml", "stages: {}\n");
    g_autofree char *message = NULL;
    g_autoptr(CtConfig) config = load(files, NULL, &message);
    g_assert_cmpstr(message, ==, "");
    g_assert_null(config->description);
    g_assert_cmpuint(config->stages->len, ==, 10);
    g_assert_cmpstr(param(config, "fir", "n"), ==, "4");
    g_assert_cmpstr(param(config, "wide-fir", "n"), ==, "16");
    g_assert_cmpstr(param(config, "a", "n"), ==, "4");
    g_autofree char *taps = g_strdup_printf("%s/in/taps-16.npy", files->folder);
    g_assert_cmpstr(param(config, "wide-fir", "path"), ==, taps);
    check_links(config, "fir", "sky");
    check_links(config, "wide-fir", "sky");
    check_links(config, "wide-fft", "wide-fir");
    check_links(config, "wide-part-1", "wide-fft");
    check_links(config, "a", "fft wide-fft wide-part-0 wide-part-1");
    g_assert_cmpuint(config->files->len, ==, 4);
    g_assert_nonnull(strstr(config->text, "\n--- # "));
    g_assert_nonnull(strstr(config->text, "description: a filter bank"));

    g_autofree char *none = NULL;
    g_autoptr(CtConfig) other = load(files, "n=5", &none);
    g_assert_cmpstr(param(other, "fir", "n"), ==, "5");
    g_assert_cmpstr(param(other, "wide-fir", "n"), ==, "16");
}

/* Settings reach the parameters of the files that an included file includes. */
static void
test_include_twice(Files *files, G_GNUC_UNUSED gconstpointer data)
{
    write_file(files, "g",
               "include: [{ file: mid, parameters: { req: '${m * 2}' } },\n"
               "  { file: mid, parameters: { req: 100 }, prefix: p }]\n"
               "parameters: { m: 4 }\n");
    write_file(files, "mid", "include: inner\nstages: { b: { stage: s, n: '${req}' } }\n");
    write_file(files, "inner", "parameters: { req: }\nstages: { a: { stage: s, n: '${req}' } }\n");
    g_autofree char *message = NULL;
    g_autoptr(CtConfig) config = load(files, NULL, &message);
    g_assert_cmpstr(message, ==, "");
    g_assert_cmpstr(param(config, "a", "n"), ==, "8");
    g_assert_cmpstr(param(config, "b", "n"), ==, "8");
    g_assert_cmpstr(param(config, "p-a", "n"), ==, "100");
    g_assert_cmpstr(param(config, "p-b", "n"), ==, "100");
    g_assert_cmpuint(config->warnings->len, ==, 0);
}

static const struct {
    const char *graph, *other, *message;
} wrong_includes[] = {
    {"include: [[a]]", "",
     "DIR/g:1:11: 'include' wants a file, or { file: PATH, parameters: { … }, "
     "prefix: NAME }, but is given a list of 1"},
    {"include: { fil: a }", "", "DIR/g:1:12: 'include' has no key 'fil'; did you mean 'file'?"},
    {"include: { file: o, prefix: 'a b' }", "",
     "DIR/g:1:29: 'prefix' of 'include' wants letters, digits, _ and -, and no digit first, but is "
     "given 'a b'"},
    {"include: { prefix: a }", "", "DIR/g:1:10: 'include' wants the key 'file'"},
    {"include: { file: [a] }", "",
     "DIR/g:1:18: 'file' of 'include' wants a path, but is given a list of 1"},
    {"include: { file: o, parameters: ~ }", "",
     "DIR/g:1:33: 'parameters' of 'include' wants a mapping from names to values, but is given "
     "nothing"},
    {"include: fifo", "", "DIR/g:1:10: 'include': DIR/fifo: is no regular file"},
    {"include: nothing\nstages: { a: { stage: s, n: '${m}', from: b-* } }", "",
     "DIR/g:1:10: 'include': DIR/nothing: cannot be read: No such file or directory"},
    {"include: nothing", "",
     "DIR/g:1:10: 'include': DIR/nothing: cannot be read: No such file or directory"},
    {"include: in", "", "DIR/g:1:10: 'include': DIR/in: is no regular file"},
    {"include: o", "[a",
     "DIR/o:2:1: not YAML: while parsing a flow sequence that begins in line 1, "
     "did not find expected ',' or ']'"},
    {"include: o", "- a",
     "DIR/o:1:1: wants a part of a graph: { stages: … }, but is given a list of 1"},
    {"include: g", "", "DIR/g:1:10: a file includes itself: DIR/g -> DIR/g"},
    {"include: o", "include: in/../g",
     "DIR/o:1:10: a file includes itself: DIR/g -> DIR/o -> DIR/g"},
    {"include: o\nstages: { a: { stage: s } }", "stages: { a: { stage: s } }",
     "DIR/g:2:11: node 'a' stands twice; the first is at DIR/o:1:11"},
    {"include: o\nbackend: cpu\nstages: { b: { stage: s } }",
     "backend: cpu\nstages: { a: { stage: s } }",
     "DIR/g:2:1: key 'backend' stands twice, first at DIR/o:1:1"},
    {"include: o\nparameters: { n: 1 }",
     "parameters: { n: 2 }\nstages: { a: { stage: s, n: '${n}' } }",
     "DIR/o:1:15: 'n' stands for two values; the first is at DIR/g:2:15"},
    {"include: { file: o, parameters: { m: 1 } }",
     "parameters: { n: 2 }\nstages: { a: { stage: s } }",
     "DIR/g:1:35: the included file has no parameter 'm'; it has n"},
    {"include: o\nparameters: { m: 1 }", "stages: { a: { stage: s, n: '${m}' } }",
     "DIR/o:1:30: node 'a': '${m}': there is no parameter 'm'; there is here"},
    {"include: o", "parameters: { n: }\nstages: { a: { stage: s, n: '${n}' } }",
     "DIR/o:2:30: node 'a': '${n}': parameter 'n' has no value: --set n=… gives it one, or the "
     "including file"},
    {"include: o", "stages: { a: { stages: s } }\nother: 5",
     "DIR/o:1:11: node 'a': key 'stage' is missing\n"
     "DIR/o:2:1: there is no key 'other'; a graph has backend, block, cpus, description, include, "
     "numa, observation, parameters, stages, start, stations, stop"},
};

static void
test_wrong_includes(Files *files, G_GNUC_UNUSED gconstpointer data)
{
    for (guint i = 0; i < G_N_ELEMENTS(wrong_includes); i++) {
        write_file(files, "g", wrong_includes[i].graph);
        write_file(files, "o", wrong_includes[i].other);
        g_autofree char *message = NULL;
        g_assert_null(load(files, NULL, &message));
        g_assert_cmpstr(message, ==, wrong_includes[i].message);
    }
}

/* Files that include one another too deep, or too often. */
static void
test_include_bombs(Files *files, G_GNUC_UNUSED gconstpointer data)
{
    for (guint i = 0; i < 20; i++) {
        g_autofree char *name = g_strdup_printf("f%u", i);
        g_autofree char *text = g_strdup_printf("include: f%u\nstages: {}", i + 1);
        write_file(files, name, text);
    }
    write_file(files, "g", "include: f0");
    g_autofree char *deep = NULL;
    g_assert_null(load(files, NULL, &deep));
    g_assert_cmpstr(deep, ==, "DIR/f15:1:10: files include one another more than 16 deep");
    for (guint i = 0; i < 12; i++) {
        g_autofree char *name = g_strdup_printf("f%u", i);
        g_autofree char *text = g_strdup_printf("include: [f%u, f%u]\nstages: {}", i + 1, i + 1);
        write_file(files, name, text);
    }
    write_file(files, "f12", "stages: {}");
    g_autofree char *many = NULL;
    g_assert_null(load(files, NULL, &many));
    g_assert_true(g_str_has_suffix(many, ": a graph wants at most 256 included files"));
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
    check_failure_ends(lists, "the graph has more than 64 MiB once it is expanded");
    g_autofree char *chain = make_chain("parameters:\n", 4000, "  a#: ${a#}\n",
                                        "  a4000: x\nstages: { x: { stage: y, n: '${a0}' } }\n");
    check_failure_ends(chain, "parameters are made of one another more than 64 times");
    g_autofree char *many = make_chain("parameters:\n", 100000, "  a#: ${a#}\n",
                                       "stages: { x: { stage: y, n: '${a0}' } }\n");
    check_failure_ends(many, "a graph wants at most 4096 stages and 4096 parameters, but has more");
}

/* Items of copies are no parameters of the graph, and a copy is no node. */
static void
test_many_copies(void)
{
    g_autoptr(CtConfig) config =
        parse("stages: { replicate: { over: 2100, as: i, stages: { replicate: { over: [x], as: j, "
              "stages: { a: { stage: s, n: '${i}${j}' } } } } } }",
              NULL);
    g_assert_cmpuint(config->stages->len, ==, 2100);
    g_assert_cmpstr(param(config, "a-2099-x", "n"), ==, "2099x");
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
    g_test_add_func("/expand/replicate", test_replicate);
    g_test_add_func("/expand/wrong-replicates", test_wrong_replicates);
    g_test_add("/expand/include", Files, NULL, set_up, test_include, tear_down);
    g_test_add("/expand/include-twice", Files, NULL, set_up, test_include_twice, tear_down);
    g_test_add("/expand/wrong-includes", Files, NULL, set_up, test_wrong_includes, tear_down);
    g_test_add("/expand/include-bombs", Files, NULL, set_up, test_include_bombs, tear_down);
    g_test_add_func("/expand/bombs", test_bombs);
    g_test_add_func("/expand/many-copies", test_many_copies);
    g_test_add_func("/expand/many", test_many);
    return g_test_run();
}
