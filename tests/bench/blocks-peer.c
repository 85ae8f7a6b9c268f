/* SPDX-License-Identifier: BSD-3-Clause */
/* Feeds a graph blocks of a program and takes its blocks, as examples/spectrum.c does, without work
 * of its own: blocks-peer GRAPH BLOCK N_BLOCKS prints the samples per second. */
#include <cornerturn/pipeline.h>
#include <stdio.h>
#include <stdlib.h>

/* More than the pipeline can have unread, so the next one is always free. */
enum { N_BUFFERS = 8 };

static gint64 block_length, n_blocks;

static gpointer
feed(gpointer pipeline)
{
    g_autoptr(GError) error = NULL;
    float *buffers[N_BUFFERS];
    for (int b = 0; b < N_BUFFERS; b++)
        buffers[b] = calloc((gsize)block_length * 2, sizeof **buffers);
    for (gint64 b = 0; b < n_blocks && !error; b++)
        ct_pipeline_feed(pipeline, "x", buffers[b % N_BUFFERS], block_length, NULL, NULL, NULL,
                         &error);
    if (!error)
        ct_pipeline_feed_end(pipeline, "x", &error);
    if (error)
        g_error("%s", error->message);
    return NULL; /* the buffers may still be read */
}

static gint64
take_all(CtPipeline *pipeline, GError **error)
{
    CtBlock block;
    gint64 n = 0;
    while (ct_pipeline_take(pipeline, "y", -1, &block, error) && block.n_samples > 0) {
        n += block.n_samples;
        ct_pipeline_give_back(pipeline, "y");
    }
    return n;
}

int
main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    if (argc != 4)
        return EXIT_FAILURE;
    block_length = atoll(argv[2]);
    n_blocks = atoll(argv[3]);
    g_autoptr(CtPipeline) pipeline = ct_pipeline_parse(argv[1], -1, "graph", &error);
    if (!pipeline || !ct_pipeline_start(pipeline, &error))
        g_error("%s", error->message);
    const gint64 begin = g_get_monotonic_time();
    GThread *feeder = g_thread_new("feeder", feed, pipeline);
    take_all(pipeline, &error);
    g_thread_join(feeder);
    if (error || !ct_pipeline_wait(pipeline, -1) || !ct_pipeline_result(pipeline, &error))
        g_error("%s", error->message);
    const gdouble seconds = (gdouble)(g_get_monotonic_time() - begin) * 1e-6;
    printf("%.6g\n", (gdouble)(block_length * n_blocks) / seconds);
    return EXIT_SUCCESS;
}
