/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program needs that must not wait in the library for ever, as one in another language:
 * whether a feed would wait, which blocks are read, a run that it stops, streams as JSON. */
#include <cornerturn/pipeline.h>
#include <cornerturn/version.h>
#include <string.h>

#define GRAPH                                                                                      \
    "stages:\n"                                                                                    \
    "  x: { stage: input, layout: 'f32[time]', shape: [-1], sample_rate: 1 kHz }\n"                \
    "  c: { stage: copy, from: x }\n"                                                              \
    "  y: { stage: output, from: c }\n"

enum { BLOCK = 1000 };

static CtPipeline *
start(void)
{
    g_autoptr(GError) error = NULL;
    CtPipeline *pipeline = ct_pipeline_parse(GRAPH, -1, "graph", &error);
    g_assert_no_error(error);
    g_assert_true(ct_pipeline_set_workers(pipeline, 1, &error));
    g_assert_true(ct_pipeline_start(pipeline, &error));
    g_assert_no_error(error);
    return pipeline;
}

/* Blocks are unread until they would be released; a full queue has no room in time. */
static void
test_room(void)
{
    static gfloat samples[BLOCK];
    g_autoptr(GError) error = NULL;
    guint n_unread;
    g_autoptr(CtPipeline) pipeline = start();
    do {
        n_unread = 17;
        if (!ct_pipeline_try_feed(pipeline, "x", samples, BLOCK, NULL, 0.1, &n_unread, &error))
            break;
        g_assert_cmpuint(n_unread, <=, CT_PIPELINE_QUEUE);
    } while (!error);
    g_assert_no_error(error);
    g_assert_cmpuint(n_unread, ==, CT_PIPELINE_QUEUE);

    g_assert_true(ct_pipeline_feed_end(pipeline, "x", &error));
    n_unread = 17;
    g_assert_false(ct_pipeline_try_feed(pipeline, "x", samples, BLOCK, NULL, 0, &n_unread, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_CANCELLED);
    g_assert_cmpstr(error->message, ==, "node 'x' has ended");
    g_assert_cmpuint(n_unread, <=, CT_PIPELINE_QUEUE);
}

/* A reader that has read all leaves nothing unread. */
static void
test_all_is_read(void)
{
    static gfloat samples[BLOCK];
    g_autoptr(GError) error = NULL;
    g_autoptr(CtPipeline) pipeline = start();
    gint64 n = 0;
    for (guint i = 0; i < 20; i++) {
        guint n_unread;
        CtBlock block;
        g_assert_true(
            ct_pipeline_try_feed(pipeline, "x", samples, BLOCK, NULL, -1, &n_unread, &error));
        g_assert_cmpuint(n_unread, ==, 1);
        for (; n < (i + 1) * BLOCK; n += block.n_samples) {
            g_assert_true(ct_pipeline_take(pipeline, "y", -1, &block, &error));
            ct_pipeline_give_back(pipeline, "y");
        }
    }
}

static void
test_refused(void)
{
    static gfloat samples[BLOCK];
    g_autoptr(GError) error = NULL;
    guint n_unread;
    g_autoptr(CtPipeline) pipeline = ct_pipeline_parse(GRAPH, -1, "graph", &error);
    g_assert_no_error(error);
    ct_pipeline_stop(pipeline);
    g_assert_false(ct_pipeline_try_feed(pipeline, "x", samples, 1, NULL, 0, &n_unread, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_ORDER);
    g_assert_true(g_str_has_prefix(error->message, "ct_pipeline_try_feed comes too early"));
    g_clear_error(&error);
    g_assert_true(ct_pipeline_start(pipeline, &error));
    g_assert_false(ct_pipeline_try_feed(pipeline, "y", samples, 1, NULL, 0, &n_unread, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_CONFIG);
    g_clear_error(&error);
    g_assert_false(ct_pipeline_try_feed(pipeline, "x", samples, 0, NULL, 0, &n_unread, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_PARAMETER);
    g_assert_cmpuint(n_unread, ==, 0);
}

static gpointer
take(gpointer pipeline)
{
    GError *error = NULL;
    CtBlock block;
    g_assert_false(ct_pipeline_take(pipeline, "y", -1, &block, &error));
    return error;
}

/* A call that waits on another thread returns. */
static void
test_stop(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtPipeline) pipeline = start();
    GThread *taker = g_thread_new("taker", take, pipeline);
    ct_pipeline_stop(pipeline);
    g_autoptr(GError) taken = g_thread_join(taker);
    g_assert_error(taken, CT_ERROR, CT_ERROR_CANCELLED);
    g_assert_true(ct_pipeline_wait(pipeline, -1));
    g_assert_false(ct_pipeline_result(pipeline, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_CANCELLED);
    g_assert_cmpstr(error->message, ==, "the program has stopped the run");
}

/* A run that is over stays as it ended. */
static void
test_stop_after_the_end(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtPipeline) pipeline = start();
    CtBlock block;
    g_assert_true(ct_pipeline_feed_end(pipeline, "x", &error));
    g_assert_true(ct_pipeline_take(pipeline, "y", -1, &block, &error));
    g_assert_true(ct_pipeline_wait(pipeline, -1));
    ct_pipeline_stop(pipeline);
    g_assert_true(ct_pipeline_result(pipeline, &error));
    g_assert_no_error(error);
}

static void
test_streams_json(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtPipeline) pipeline = ct_pipeline_parse(GRAPH, -1, "graph", &error);
    g_autofree char *text = ct_pipeline_streams_json(pipeline, &error);
    g_assert_no_error(error);
    const char *const parts[] = {
        "\"layout\" : \"f32[time]\"",       "\"layout\" : null", "\"from\" : \"x.out\"",
        "\"ticks_per_second\" : [1000, 1]", "\"length\" : -1",
    };
    for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
        if (!strstr(text, parts[i]))
            g_error("no %s in %s", parts[i], text);
    }
    g_autoptr(CtPipeline) wrong = ct_pipeline_parse("stages: { x: { stage: y } }", -1, "g", &error);
    g_assert_null(ct_pipeline_streams_json(wrong, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_PLUGIN);
}

static void
test_version(void)
{
    g_assert_true(g_regex_match_simple("^\\d+\\.\\d+\\.\\d+$", ct_version(), 0, 0));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/feeding/room", test_room);
    g_test_add_func("/feeding/all-is-read", test_all_is_read);
    g_test_add_func("/feeding/refused", test_refused);
    g_test_add_func("/feeding/stop", test_stop);
    g_test_add_func("/feeding/stop-after-the-end", test_stop_after_the_end);
    g_test_add_func("/feeding/streams-json", test_streams_json);
    g_test_add_func("/feeding/version", test_version);
    return g_test_run();
}
