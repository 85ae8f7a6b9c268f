/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs with blocks on a device: inputs and outputs there, in blocks of any lengths, for a long
 * time. */
#include "counting-allocator.h"
#include "device/device.h"
#include "json-at.h"
#include "leak-test.h"
#include "sanitized.h"

#include <cornerturn/pipeline.h>
#include <math.h>
#include <string.h>

enum { N_STATIONS = 3, LENGTH = 16, MAX_BLOCK = 200 };

static const char graph[] =
    "backend: %s\n"
    "stages:\n"
    "  x: { stage: input, layout: \"cf32[time station]\", shape: [-1, 3], backend: %s }\n"
    "  f: { stage: fft, from: x, axis: time, length: 16 }\n"
    "  s: { stage: integrate, from: f, length: %d }\n"
    "  y: { stage: output, from: s, layout: \"[time channel station]\", backend: %s }\n";

/* Feeds samples in blocks, in memory on the device or on the host. */
typedef struct {
    CtPipeline *pipeline;
    gfloat *samples; /* complex [n_samples][N_STATIONS], on the host */
    gint64 n_samples;
    guint32 seed;     /* for the lengths of blocks */
    CtDevice *device; /* NULL: on the host */
    CtCuStream stream;
    guint released;
} Feeder;

static void
release(gpointer data, gpointer user_data)
{
    Feeder *feeder = user_data;
    if (feeder->device)
        ct_device_free(feeder->device, data);
    g_atomic_int_inc(&feeder->released);
}

static gpointer
feed(gpointer data)
{
    Feeder *feeder = data;
    GRand *random = g_rand_new_with_seed(feeder->seed);
    const gsize width = N_STATIONS * 2 * sizeof(gfloat);
    gint64 n;
    guint n_blocks = 0;
    for (gint64 t = 0; t < feeder->n_samples; t += n, n_blocks++) {
        g_autoptr(GError) error = NULL;
        n = g_rand_int_range(random, 1, MAX_BLOCK);
        n = MIN(n, feeder->n_samples - t);
        guint8 *from = (guint8 *)feeder->samples + (gsize)t * width;
        gpointer block = from;
        if (feeder->device) {
            block = ct_device_alloc(feeder->device, (gsize)n * width, "a block", &error);
            g_assert_no_error(error);
            if (feeder->stream) {
                /* The copy is asynchronous, so the pipeline must wait for it. */
                ct_device_driver(feeder->device)
                    ->copy(GPOINTER_TO_SIZE(block), GPOINTER_TO_SIZE(from), (gsize)n * width,
                           feeder->stream);
            } else {
                ct_device_upload(feeder->device, block, from, (gsize)n * width, &error);
            }
        }
        ct_pipeline_feed(feeder->pipeline, "x", block, n, NULL, release, feeder, &error);
        g_assert_no_error(error);
    }
    ct_pipeline_feed_end(feeder->pipeline, "x", NULL);
    g_rand_free(random);
    return GUINT_TO_POINTER(n_blocks);
}

/* All samples of the graph's output, packed. */
static GArray *
run(gfloat *samples, gint64 n_samples, guint32 seed, gboolean on_device, gboolean with_stream,
    gint integration)
{
    g_autoptr(GError) error = NULL;
    const char *backend = on_device ? "cuda" : "reference", *own = on_device ? "cuda" : "auto";
    g_autofree char *text = g_strdup_printf(graph, backend, own, integration, own);
    g_autoptr(CtPipeline) pipeline = ct_pipeline_parse(text, -1, "graph", &error);
    g_assert_no_error(error);
    g_autoptr(CtDevice) device = on_device ? ct_device_open(0, &error) : NULL;
    g_assert_no_error(error);
    Feeder feeder = {.pipeline = pipeline,
                     .samples = samples,
                     .n_samples = n_samples,
                     .seed = seed,
                     .device = device};
    ct_pipeline_start(pipeline, &error);
    g_assert_no_error(error);
    if (with_stream) {
        ct_device_driver(device)->stream_create(&feeder.stream, CT_CU_STREAM_NON_BLOCKING);
        ct_pipeline_set_stream(pipeline, "x", feeder.stream, &error);
        g_assert_no_error(error);
    }
    GThread *thread = g_thread_new("feed", feed, &feeder);
    GArray *all = g_array_new(FALSE, FALSE, sizeof(gfloat));
    for (;;) {
        CtBlock block;
        ct_pipeline_take(pipeline, "y", -1, &block, &error);
        g_assert_no_error(error);
        if (block.n_samples == 0)
            break;
        const gsize n = (gsize)block.n_samples * LENGTH * N_STATIONS * 2;
        const guint at = all->len;
        g_array_set_size(all, at + (guint)n);
        gfloat *to = &g_array_index(all, gfloat, at);
        if (device) {
            ct_device_enter(device, NULL);
            const CtCudaDriver *driver = ct_device_driver(device);
            g_assert_cmpint(driver->copy(GPOINTER_TO_SIZE(to), GPOINTER_TO_SIZE(block.data),
                                         n * sizeof(gfloat), NULL),
                            ==, 0);
            g_assert_cmpint(driver->stream_synchronize(NULL), ==, 0);
        } else {
            memcpy(to, block.data, n * sizeof(gfloat));
        }
        ct_pipeline_give_back(pipeline, "y");
    }
    const guint n_blocks = GPOINTER_TO_UINT(g_thread_join(thread));
    ct_pipeline_wait(pipeline, -1);
    ct_pipeline_result(pipeline, &error);
    g_assert_no_error(error);
    g_clear_pointer(&pipeline, ct_pipeline_free);
    g_assert_cmpuint(feeder.released, ==, n_blocks);
    if (device) {
        if (feeder.stream)
            ct_device_driver(device)->stream_destroy(feeder.stream);
        g_assert_cmpuint(ct_device_allocated(device), ==, 0);
    }
    return all;
}

/* Whether there is a device; otherwise the test is skipped. */
static gboolean
has_device(void)
{
    const char *reason;
    if (ct_devices(NULL, &reason) > 0)
        return TRUE;
    g_autofree char *text = g_strdup_printf("no CUDA device: %s", reason);
    g_test_skip(text);
    return FALSE;
}

static void
test_cuts(gconstpointer data)
{
    const gboolean with_stream = GPOINTER_TO_INT(data);
    if (!has_device())
        return;
    const guint32 seed = (guint32)g_test_rand_int();
    g_test_message("seed %u", seed);
    GRand *random = g_rand_new_with_seed(seed);
    const gint64 n_samples = 5000;
    g_autofree gfloat *samples = g_new(gfloat, n_samples * N_STATIONS * 2);
    for (gint64 i = 0; i < n_samples * N_STATIONS * 2; i++)
        samples[i] = (gfloat)g_rand_double_range(random, -1, 1);
    g_autoptr(GArray) wanted = run(samples, n_samples, seed, FALSE, FALSE, 3);
    for (guint i = 0; i < 3; i++) {
        g_autoptr(GArray) got = run(samples, n_samples, g_rand_int(random), TRUE, with_stream, 3);
        g_assert_cmpuint(got->len, ==, wanted->len);
        /* The bound is for sums of 3 · 16 numbers up to 1, in single precision. */
        for (guint k = 0; k < got->len; k++)
            g_assert_cmpfloat(
                fabsf(g_array_index(got, gfloat, k) - g_array_index(wanted, gfloat, k)), <,
                48 * 8 * 6e-8);
    }
    g_rand_free(random);
}

/* A thousand blocks, from the host and back, need no more memory than a hundred. */
static void
test_growth(void)
{
    static const char text[] =
        "stages:\n"
        "  x: { stage: input, layout: \"cf32[time station]\", shape: [-1, 3] }\n"
        "  f: { stage: fft, from: x, axis: time, length: 16, backend: cuda }\n"
        "  s: { stage: integrate, from: f, length: 4, backend: cuda }\n"
        "  y: { stage: output, from: s, layout: \"[time channel station]\" }\n";
    if (!has_device())
        return;
    enum { N_BLOCKS = 1000, BLOCK = 256 };
    g_autoptr(GError) error = NULL;
    g_autofree gfloat *samples = g_new0(gfloat, BLOCK * N_STATIONS * 2);
    g_autoptr(CtPipeline) pipeline = ct_pipeline_parse(text, -1, "graph", &error);
    g_assert_no_error(error);
    ct_pipeline_start(pipeline, &error);
    g_assert_no_error(error);
    g_autoptr(CtDevice) device = ct_device_open(0, &error);
    g_assert_no_error(error);
    const CtCudaDriver *driver = ct_device_driver(device);
    size_t free_before = 0, free_after = 0, total;
    gint held_before = 0;
    for (guint b = 0; b < N_BLOCKS; b++) {
        ct_pipeline_feed(pipeline, "x", samples, BLOCK, NULL, NULL, NULL, &error);
        g_assert_no_error(error);
        CtBlock block;
        while (ct_pipeline_take(pipeline, "y", 0, &block, &error) && block.n_samples > 0)
            ct_pipeline_give_back(pipeline, "y");
        g_assert_no_error(error);
        if (b == N_BLOCKS / 10) {
            held_before = allocations_held();
            ct_device_enter(device, &error);
            driver->memory_info(&free_before, &total);
        }
    }
    ct_device_enter(device, &error);
    driver->memory_info(&free_after, &total);
    /* Other tests that run at the same time may use memory of the device. */
    if (!is_sanitized("compute"))
        g_assert_cmpuint(free_after, ==, free_before);
    /* Firings in flight hold some allocations; a leak of one for each block would be 900. */
    const gint held_after = allocations_held();
    g_test_message("%d allocations held after a tenth of the blocks, %d after all", held_before,
                   held_after);
    g_assert_cmpint(held_after, <, held_before + N_BLOCKS / 10);
    ct_pipeline_feed_end(pipeline, "x", &error);
    CtBlock block;
    while (ct_pipeline_take(pipeline, "y", -1, &block, &error) && block.n_samples > 0)
        ct_pipeline_give_back(pipeline, "y");
    g_assert_no_error(error);
    ct_pipeline_wait(pipeline, -1);
    ct_pipeline_result(pipeline, &error);
    g_assert_no_error(error);
}

/* The sum of the numbers that a JSONPath selects. */
static gdouble
sum_of(const char *json, const char *path)
{
    g_autoptr(JsonArray) values = json_select(json, path);
    gdouble sum = 0;
    for (guint i = 0; i < json_array_get_length(values); i++)
        sum += json_array_get_double_element(values, i);
    return sum;
}

/* Many short firings of several nodes: each node has a time of its own, and all together take no
 * longer than the queue existed. */
static void
test_times(void)
{
    if (!has_device())
        return;
    const gboolean is_slow = is_sanitized(NULL) || is_emulated();
    g_autofree char *text = g_strdup_printf(
        "backend: cuda\n"
        "stages:\n"
        "  sky: { stage: generate, type: ci8, sample_rate: 1 MHz, samples: %d, n_stations: 2,\n"
        "         n_pols: 2, noise: 1, block: { time: 64 } }\n"
        "  f: { stage: fft, from: sky, axis: time, length: 16 }\n"
        "  v: { stage: correlate, from: f, integration: 8 }\n"
        "  p: { stage: power, from: f }\n"
        "  a: { stage: discard, from: v }\n"
        "  b: { stage: discard, from: p }\n",
        64 * (is_slow ? 300 : 20000));
    g_autoptr(GError) error = NULL;
    g_autoptr(CtPipeline) pipeline = ct_pipeline_parse(text, -1, "graph", &error);
    g_assert_no_error(error);
    ct_pipeline_start(pipeline, &error);
    g_assert_no_error(error);
    ct_pipeline_wait(pipeline, -1);
    ct_pipeline_result(pipeline, &error);
    g_assert_no_error(error);
    g_autofree char *json = ct_pipeline_stats_json(pipeline);
    const gdouble work = sum_of(json, "$.nodes[*].work_seconds");
    g_assert_cmpfloat(work, >, 0);
    g_assert_cmpfloat(work, <, 1.05 * sum_of(json, "$.running_seconds"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/pipeline-device/cuts", GINT_TO_POINTER(FALSE), test_cuts);
    g_test_add_data_func("/pipeline-device/stream", GINT_TO_POINTER(TRUE), test_cuts);
    g_test_add_func("/pipeline-device/growth", test_growth);
    g_test_add_func("/pipeline-device/times", test_times);
    g_test_add_func("/pipeline-device/nothing-is-left", leak_test_nothing_is_left);
    return g_test_run();
}
