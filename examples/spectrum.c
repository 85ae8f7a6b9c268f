/* SPDX-License-Identifier: BSD-3-Clause */
/* A program with samples of its own runs a graph on them, without a copy on the way in or out.
 *
 * A receiver would fill the blocks; here they hold a tone. The graph splits them into channels; the
 * program reads the spectra in memory that it has lent to the graph, sums their power, and says
 * where the tone is. */
#include <cornerturn/pipeline.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_CHANNELS = 64, N_BLOCKS = 6, BLOCK = 4096 };

static const char graph[] =
    "stages:\n"
    "  receiver: { stage: input, layout: 'cf32[time]', shape: [-1], sample_rate: 64 MHz,\n"
    "              centre_frequency: 100 MHz, block: { time: 4096 } }\n"
    "  filter:   { stage: fir, from: receiver, n_channels: 64, n_taps: 8 }\n"
    "  spectra:  { stage: fft, from: filter }\n"
    "  program:  { stage: output, from: spectra, layout: 'cf32[time channel]' }\n";

/* Hertz from the centre of the band. */
static const double tone = 7.3e6;

static int blocks_returned;

static void
fill(float *block, int number)
{
    for (int t = 0; t < BLOCK; t++) {
        const double turns = tone / 64e6 * (number * BLOCK + t);
        block[2 * t] = (float)cos(2 * G_PI * turns);
        block[2 * t + 1] = (float)sin(2 * G_PI * turns);
    }
}

/* The block is the program's again. */
static void
returned(gpointer block, G_GNUC_UNUSED gpointer user_data)
{
    free(block);
    g_atomic_int_inc(&blocks_returned);
}

static gboolean
feed_all(CtPipeline *pipeline, GError **error)
{
    for (int b = 0; b < N_BLOCKS; b++) {
        float *block = malloc(BLOCK * 2 * sizeof *block);
        fill(block, b);
        if (!ct_pipeline_feed(pipeline, "receiver", block, BLOCK, NULL, returned, NULL, error))
            return FALSE;
    }
    return ct_pipeline_feed_end(pipeline, "receiver", error);
}

static gpointer
feed(gpointer pipeline)
{
    g_autoptr(GError) error = NULL;
    if (!feed_all(pipeline, &error))
        fprintf(stderr, "%s\n", error->message);
    return NULL;
}

/* Adds the power of all spectra as they come. */
static gboolean
take_all(CtPipeline *pipeline, double power[N_CHANNELS], GError **error)
{
    CtBlock block;
    while (ct_pipeline_take(pipeline, "program", -1, &block, error) && block.n_samples > 0) {
        for (gint64 t = 0; t < block.n_samples; t++) {
            const float *spectrum =
                (const float *)(gconstpointer)(block.data + t * block.stride[0]);
            for (int c = 0; c < N_CHANNELS; c++)
                power[c] +=
                    spectrum[2 * c] * spectrum[2 * c] + spectrum[2 * c + 1] * spectrum[2 * c + 1];
        }
        ct_pipeline_give_back(pipeline, "program");
    }
    return !*error && ct_pipeline_wait(pipeline, -1) && ct_pipeline_result(pipeline, error);
}

static gboolean
run(GError **error)
{
    /* Freed last: the ring lies there until the pipeline is gone. */
    g_autofree char *lent = NULL;
    g_autoptr(CtPipeline) pipeline = ct_pipeline_parse(graph, -1, "spectrum.c", error);
    if (!pipeline)
        return FALSE;
    const gsize bytes = ct_pipeline_memory_bytes(pipeline, "program", error);
    if (bytes == 0)
        return FALSE;
    lent = g_malloc(bytes + 64);
    gpointer aligned = lent + (64 - (gsize)lent % 64) % 64;
    if (!ct_pipeline_offer(pipeline, "program", aligned, bytes, error) ||
        !ct_pipeline_start(pipeline, error))
        return FALSE;

    double power[N_CHANNELS] = {0};
    GThread *feeder = g_thread_new("receiver", feed, pipeline);
    const gboolean good = take_all(pipeline, power, error);
    g_thread_join(feeder);
    if (!good)
        return FALSE;

    const CtStream *spectra = ct_pipeline_stream(pipeline, "spectra", NULL, error);
    const guint channel = (guint)ct_stream_axis(spectra, "channel");
    int peak = 0;
    for (int c = 1; c < N_CHANNELS; c++)
        peak = power[c] > power[peak] ? c : peak;
    printf("the tone at %.1f MHz is in channel %d, whose centre is %.1f MHz\n", 100 + tone * 1e-6,
           peak, ct_stream_coordinate(spectra, channel, peak, 0) * 1e-6);
    return TRUE;
}

int
main(void)
{
    g_autoptr(GError) error = NULL;
    if (!run(&error)) {
        fprintf(stderr, "%s\n", error->message);
        return EXIT_FAILURE;
    }
    printf("%d of %d blocks came back\n", g_atomic_int_get(&blocks_returned), N_BLOCKS);
    return EXIT_SUCCESS;
}
