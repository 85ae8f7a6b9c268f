/* SPDX-License-Identifier: BSD-3-Clause */
/* A program whose samples are on a GPU already splits them into channels there, and reads the
 * spectra there: nothing crosses to the host.
 *
 *     bank CHANNELS TAPS [SAMPLES [BLOCKS]]
 *
 * A receiver would leave its real samples in two blocks by turns; here they hold a tone, in the
 * middle of channel CHANNELS/8. The program prints how long a block takes, and where the tone
 * is. */
#include <cornerturn/pipeline.h>
#include <gmodule.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The functions of the CUDA driver that this program calls. One that is built with the CUDA toolkit
 * would include its headers instead. */
typedef struct {
    int (*init)(unsigned flags);
    int (*retain)(void **context, int device);
    int (*set)(void *context);
    int (*alloc)(guint64 *address, size_t bytes);
    int (*send)(guint64 address, const void *from, size_t bytes);
    int (*fetch)(void *to, guint64 address, size_t bytes);
} Driver;

typedef struct {
    CtPipeline *pipeline;
    guint64 blocks[2]; /* addresses on the device */
    gint64 n_samples;
    int n_blocks;
} Receiver;

static const char graph[] =
    "backend: cuda\n"
    "stages:\n"
    "  receiver: { stage: input, layout: 'f32[time]', shape: [-1], sample_rate: 2 GHz,\n"
    "              first_frequency: 0 Hz, backend: cuda }\n"
    "  filter:   { stage: fir, from: receiver, n_channels: %d, n_taps: %d }\n"
    "  spectra:  { stage: fft, from: filter }\n"
    "  program:  { stage: output, from: spectra, layout: 'cf32[time channel]',\n"
    "              backend: cuda }\n";

static gboolean
open_driver(Driver *driver)
{
    const char *given = g_getenv("CORNERTURN_CUDA");
    GModule *module = g_module_open(given ? given : "libcuda.so.1", G_MODULE_BIND_LAZY);
    void *context;
    return module && g_module_symbol(module, "cuInit", (gpointer *)&driver->init) &&
           g_module_symbol(module, "cuDevicePrimaryCtxRetain", (gpointer *)&driver->retain) &&
           g_module_symbol(module, "cuCtxSetCurrent", (gpointer *)&driver->set) &&
           g_module_symbol(module, "cuMemAlloc_v2", (gpointer *)&driver->alloc) &&
           g_module_symbol(module, "cuMemcpyHtoD_v2", (gpointer *)&driver->send) &&
           g_module_symbol(module, "cuMemcpyDtoH_v2", (gpointer *)&driver->fetch) &&
           driver->init(0) == 0 && driver->retain(&context, 0) == 0 && driver->set(context) == 0;
}

/* Both blocks hold the same whole number of turns, so the tone goes on from one to the next. */
static gboolean
fill_blocks(const Driver *driver, Receiver *receiver, int n_channels)
{
    const size_t bytes = (size_t)receiver->n_samples * sizeof(float);
    float *samples = malloc(bytes);
    gboolean good = samples != NULL;
    for (gint64 t = 0; good && t < receiver->n_samples; t++)
        samples[t] =
            (float)cos(2 * G_PI * (double)(t % n_channels * (n_channels / 8)) / n_channels);
    for (int b = 0; good && b < 2; b++)
        good = driver->alloc(&receiver->blocks[b], bytes) == 0 &&
               driver->send(receiver->blocks[b], samples, bytes) == 0;
    free(samples);
    return good;
}

static gpointer
feed(gpointer data)
{
    const Receiver *receiver = data;
    for (int b = 0; b < receiver->n_blocks; b++)
        if (!ct_pipeline_feed(receiver->pipeline, "receiver",
                              GSIZE_TO_POINTER(receiver->blocks[b % 2]), receiver->n_samples, NULL,
                              NULL, NULL, NULL))
            return NULL;
    ct_pipeline_feed_end(receiver->pipeline, "receiver", NULL);
    return NULL;
}

/* The strongest channel of the spectrum at `data` on the device. */
static int
find_tone(const Driver *driver, const void *data, int n_channels)
{
    const int n = n_channels / 2 + 1;
    float *spectrum = calloc(2 * (size_t)n, sizeof *spectrum);
    int strongest = 0;
    driver->fetch(spectrum, GPOINTER_TO_SIZE(data), 2 * (size_t)n * sizeof *spectrum);
    for (int c = 1; c < n; c++)
        if (hypotf(spectrum[2 * c], spectrum[2 * c + 1]) >
            hypotf(spectrum[2 * strongest], spectrum[2 * strongest + 1]))
            strongest = c;
    free(spectrum);
    return strongest;
}

/* Takes what there is until the end; the clock begins with the first of it. */
static gboolean
take_all(const Receiver *receiver, const Driver *driver, int n_channels, GError **error)
{
    gint64 begin = 0, end = 0, first = 0, all = 0;
    int tone = -1;
    CtBlock block;
    for (;;) {
        if (!ct_pipeline_take(receiver->pipeline, "program", -1, &block, error))
            return FALSE;
        if (block.n_samples == 0)
            break;
        end = g_get_monotonic_time();
        if (begin == 0) {
            begin = end;
            first = block.n_samples;
            tone = find_tone(driver, block.data, n_channels);
        }
        all += block.n_samples;
        ct_pipeline_give_back(receiver->pipeline, "program");
    }
    printf("%" G_GINT64_FORMAT " spectra of %d channels; the tone is in channel %d\n", all,
           n_channels / 2 + 1, tone);
    if (all > first && end > begin)
        printf("%.2f ms for a block of %" G_GINT64_FORMAT " samples\n",
               (double)(end - begin) * 1e-3 * (double)receiver->n_samples /
                   (double)((all - first) * n_channels),
               receiver->n_samples);
    return TRUE;
}

int
main(int argc, char **argv)
{
    Driver driver;
    g_autoptr(GError) error = NULL;
    const int n_channels = argc > 1 ? atoi(argv[1]) : 0, n_taps = argc > 2 ? atoi(argv[2]) : 0;
    Receiver receiver = {
        .n_samples = argc > 3 ? atoll(argv[3]) : 250000000,
        .n_blocks = argc > 4 ? atoi(argv[4]) : 16,
    };
    if (argc > 5 || n_channels < 8 || n_channels % 8 > 0 || n_taps < 1 ||
        receiver.n_samples < n_channels || receiver.n_blocks < 1) {
        fprintf(stderr, "bank CHANNELS TAPS [SAMPLES [BLOCKS]]\n"
                        "CHANNELS are a multiple of 8, and at most SAMPLES\n");
        return 2;
    }
    receiver.n_samples -= receiver.n_samples % n_channels;
    if (!open_driver(&driver)) {
        fprintf(stderr, "bank: there is no GPU\n");
        return 77;
    }
    if (!fill_blocks(&driver, &receiver, n_channels)) {
        fprintf(stderr, "bank: no memory for two blocks\n");
        return 1;
    }
    g_autofree char *text = g_strdup_printf(graph, n_channels, n_taps);
    g_autoptr(CtPipeline) pipeline = receiver.pipeline =
        ct_pipeline_parse(text, -1, "bank", &error);
    gboolean good = pipeline && ct_pipeline_start(pipeline, &error);
    if (good) {
        GThread *feeder = g_thread_new("feed", feed, &receiver);
        good = take_all(&receiver, &driver, n_channels, &error);
        g_thread_join(feeder);
        ct_pipeline_wait(pipeline, -1);
        good = good && ct_pipeline_result(pipeline, &error);
    }
    if (!good)
        fprintf(stderr, "bank: %s\n", error->message);
    return good ? 0 : 1;
}
