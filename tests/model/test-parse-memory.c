/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs are read, planned and verified while the YAML parser gets no memory from its nth use on:
 * that is an error, not an abort. */
#include "graph/registry.h"

#include <cornerturn/pipeline.h>
#include <dlfcn.h>
#include <string.h>
#include <yaml.h>

static const char graph[] =
    "stages:\n"
    "  x: { stage: generate, type: cf32, sample_rate: 1 MHz, samples: 64,\n"
    "       n_stations: 3, n_pols: 2, noise: 1 }\n"
    "  y: { stage: file.sink, from: x, path: y.npy, layout: \"[time station pol]\" }\n"
    "  z: { stage: file.sink, from: x, path: z.npy, layout: \"[pol station time]\" }\n"
    "  f: { stage: fft, from: x, axis: time, length: 8 }\n"
    "  w: { stage: file.sink, from: f, path: w.npy, layout: \"cf64[...]\" }\n";

/* The number of uses of the parser that succeed. */
static guint n_left;

/* Replaces the library's function. */
int
yaml_parser_initialize(yaml_parser_t *parser)
{
    static int (*library)(yaml_parser_t *);

    if (n_left == 0)
        return 0;
    n_left--;
    if (!library)
        *(void **)&library = dlsym(RTLD_NEXT, "yaml_parser_initialize");
    return library(parser);
}

static char *
describe(CtPipeline *pipeline, GError **error)
{
    return ct_pipeline_describe(pipeline, "json", error);
}

static char *
verify(CtPipeline *pipeline, GError **error)
{
    gboolean agrees;

    return ct_pipeline_verify(pipeline, "reference", NULL, &agrees, error);
}

/* Makes each use the first that fails, in turn; `wanted` is part of the output when none fails any
 * more. */
static void
check(char *(*act)(CtPipeline *pipeline, GError **error), const char *wanted)
{
    g_autofree char *text = NULL;

    for (guint n = 0; !text; n++) {
        g_autoptr(GError) error = NULL;
        n_left = G_MAXUINT;
        g_autoptr(CtPipeline) pipeline = ct_pipeline_parse(graph, -1, "graph", &error);
        if (pipeline)
            ct_pipeline_check(pipeline, &error);
        g_assert_no_error(error);
        n_left = n;
        text = act(pipeline, &error);
        if (text)
            g_assert_no_error(error);
        else
            g_assert_error(error, CT_ERROR, CT_ERROR_MEMORY);
        g_assert_cmpuint(n, <, 1000);
    }
    g_assert_nonnull(strstr(text, wanted));
}

static void
test_plan(void)
{
    check(describe, "x>transpose");
    check(describe, "f>convert");
}

static void
test_verify(void)
{
    check(verify, "reference");
}

/* If a value can't be set, the graph is unchanged. */
static void
test_set(void)
{
    g_autoptr(GError) error = NULL;

    n_left = G_MAXUINT;
    g_autoptr(CtPipeline) pipeline = ct_pipeline_parse(graph, -1, "graph", &error);
    g_assert_no_error(error);
    n_left = 0;
    g_assert_false(ct_pipeline_set(pipeline, "x.samples=32", &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_MEMORY);
    g_clear_error(&error);
    n_left = G_MAXUINT;
    const CtStream *stream = ct_pipeline_stream(pipeline, "x", NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpint(stream->axes[ct_stream_axis(stream, "time")].length, ==, 64);
}

/* A lack of memory leaves out no plugin. */
static void
test_plugins(void)
{
    for (guint n = 0;; n++) {
        g_autoptr(GError) error = NULL;
        n_left = n;
        g_autoptr(CtRegistry) registry = ct_registry_new(&error);
        if (registry) {
            g_assert_null(ct_registry_problems(registry)[0]);
            g_assert_cmpuint(n, >, 0);
            return;
        }
        g_assert_error(error, CT_ERROR, CT_ERROR_MEMORY);
        g_assert_nonnull(strstr(error->message, ".so: "));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/parse-memory/plan", test_plan);
    g_test_add_func("/parse-memory/set", test_set);
    g_test_add_func("/parse-memory/plugins", test_plugins);
    g_test_add_func("/parse-memory/verify", test_verify);
    return g_test_run();
}
