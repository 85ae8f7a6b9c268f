/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's stream and the pipeline's queues, one of which is slow: neither reads or writes
 * before the other is done, whichever queue it is. */
#include "device/device.h"
#include "leak-test.h"

#include <cornerturn/pipeline.h>
#include <math.h>
#include <string.h>

enum { N_STATIONS = 3, LENGTH = 16 };

static const gsize width = N_STATIONS * 2 * sizeof(gfloat);

/* A program whose stream is kept busy. */
typedef struct {
    CtPipeline *pipeline;
    CtDevice *device;
    const CtCudaDriver *driver;
    CtCuStream stream;
    gpointer ballast;
    guint8 *blocks; /* for the inputs or outputs of a test */
} Program;

static const gsize ballast_bytes = (gsize)64 << 20;

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

static gpointer
allocate(const Program *program, gsize bytes)
{
    g_autoptr(GError) error = NULL;
    gpointer memory = ct_device_alloc(program->device, bytes, "a test", &error);
    g_assert_no_error(error);
    return memory;
}

static void
start(Program *program, const char *text, const char *node, gsize bytes)
{
    g_autoptr(GError) error = NULL;
    *program = (Program){.device = ct_device_open(0, &error)};
    g_assert_no_error(error);
    program->driver = ct_device_driver(program->device);
    program->pipeline = ct_pipeline_parse(text, -1, "graph", &error);
    g_assert_no_error(error);
    ct_pipeline_set_device_block(program->pipeline, 1 << 20, &error);
    g_assert_no_error(error);
    ct_pipeline_start(program->pipeline, &error);
    g_assert_no_error(error);
    ct_device_enter(program->device, &error);
    g_assert_no_error(error);
    program->driver->stream_create(&program->stream, CT_CU_STREAM_NON_BLOCKING);
    program->ballast = allocate(program, ballast_bytes);
    program->blocks = allocate(program, bytes);
    ct_pipeline_set_stream(program->pipeline, node, program->stream, &error);
    g_assert_no_error(error);
}

static void
end(Program *program)
{
    g_autoptr(GError) error = NULL;
    ct_pipeline_wait(program->pipeline, -1);
    ct_pipeline_result(program->pipeline, &error);
    g_assert_no_error(error);
    ct_pipeline_free(program->pipeline);
    ct_device_enter(program->device, NULL);
    program->driver->stream_destroy(program->stream);
    ct_device_free(program->device, program->ballast);
    ct_device_free(program->device, program->blocks);
    g_assert_cmpuint(ct_device_allocated(program->device), ==, 0);
    ct_device_close(program->device);
}

/* Keeps the stream busy for some tens of milliseconds. */
static void
delay(const Program *program)
{
    const char *library = g_getenv("CORNERTURN_CUDA");
    const guint n = library && strstr(library, "emulator") ? 8 : 1000;
    for (guint i = 0; i < n; i++)
        g_assert_cmpint(program->driver->fill(GPOINTER_TO_SIZE(program->ballast), (guint8)i,
                                              ballast_bytes, program->stream),
                        ==, 0);
}

static void
copy(const Program *program, gpointer to, gconstpointer from, gsize bytes)
{
    g_assert_cmpint(
        program->driver->copy(GPOINTER_TO_SIZE(to), GPOINTER_TO_SIZE(from), bytes, program->stream),
        ==, 0);
}

static gfloat *
new_samples(gint64 n)
{
    gfloat *samples = g_new(gfloat, n * N_STATIONS * 2);
    for (gint64 i = 0; i < n * N_STATIONS * 2; i++)
        samples[i] = (gfloat)g_test_rand_double_range(-1, 1);
    return samples;
}

/* A copy to the host, on a queue of its own, reads the input. */
static void
test_read_elsewhere(void)
{
    static const char text[] =
        "stages:\n"
        "  x: { stage: input, layout: \"cf32[time station]\", shape: [-1, 3], backend: cuda }\n"
        "  y: { stage: output, from: x, backend: cpu }\n";
    enum { BLOCK = 1000 };
    if (!has_device())
        return;
    g_autoptr(GError) error = NULL;
    g_autofree gfloat *samples = new_samples(BLOCK);
    Program program;
    start(&program, text, "x", BLOCK * width);
    guint8 *block = program.blocks;
    delay(&program);
    copy(&program, block, samples, BLOCK * width);
    ct_pipeline_feed(program.pipeline, "x", block, BLOCK, NULL, NULL, NULL, &error);
    g_assert_no_error(error);
    ct_pipeline_feed_end(program.pipeline, "x", &error);
    gint64 done = 0;
    CtBlock got;
    while (ct_pipeline_take(program.pipeline, "y", -1, &got, &error) && got.n_samples > 0) {
        g_assert_cmpmem(got.data, (gsize)got.n_samples * width,
                        (guint8 *)samples + (gsize)done * width, (gsize)got.n_samples * width);
        done += got.n_samples;
        ct_pipeline_give_back(program.pipeline, "y");
    }
    g_assert_no_error(error);
    g_assert_cmpint(done, ==, BLOCK);
    end(&program);
}

typedef struct {
    CtPipeline *pipeline;
    guint8 *samples;
    gint64 n_blocks;
    gint64 block;
} Feeder;

static gpointer
feed(gpointer data)
{
    const Feeder *feeder = data;
    g_autoptr(GError) error = NULL;
    for (gint64 b = 0; b < feeder->n_blocks; b++) {
        ct_pipeline_feed(feeder->pipeline, "x",
                         feeder->samples + (gsize)(b * feeder->block) * width, feeder->block, NULL,
                         NULL, NULL, &error);
        g_assert_no_error(error);
    }
    ct_pipeline_feed_end(feeder->pipeline, "x", &error);
    return NULL;
}

/* A copy from the host, on a queue of its own, writes the output. */
static void
test_written_elsewhere(void)
{
    static const char text[] =
        "stages:\n"
        "  x: { stage: input, layout: \"cf32[time station]\", shape: [-1, 3] }\n"
        "  y: { stage: output, from: x, backend: cuda }\n";
    enum { BLOCK = 1 << 15, N_BLOCKS = 32 };
    if (!has_device())
        return;
    g_autoptr(GError) error = NULL;
    g_autofree gfloat *samples = new_samples(N_BLOCKS * BLOCK);
    g_autofree guint8 *got = g_malloc(N_BLOCKS * BLOCK * width);
    Program program;
    start(&program, text, "y", N_BLOCKS * BLOCK * width);
    guint8 *taken = program.blocks;
    Feeder feeder = {program.pipeline, (guint8 *)samples, N_BLOCKS, BLOCK};
    GThread *thread = g_thread_new("feed", feed, &feeder);
    gsize done = 0;
    CtBlock block;
    while (ct_pipeline_take(program.pipeline, "y", -1, &block, &error) && block.n_samples > 0) {
        const gsize bytes = (gsize)block.n_samples * width;
        delay(&program);
        copy(&program, taken + done, block.data, bytes);
        done += bytes;
        ct_pipeline_give_back(program.pipeline, "y");
    }
    g_assert_no_error(error);
    g_thread_join(thread);
    g_assert_cmpuint(done, ==, N_BLOCKS * BLOCK * width);
    copy(&program, got, taken, done);
    g_assert_cmpint(program.driver->stream_synchronize(program.stream), ==, 0);
    g_assert_cmpint(memcmp(got, samples, done), ==, 0);
    end(&program);
}

/* Overwrites a released block, as a program does that fills it again, on any stream. */
static void
overwrite(gpointer data, gpointer user_data)
{
    const Program *program = user_data;
    g_autofree guint8 *other = g_malloc(LENGTH * 3 / 2 * width);
    memset(other, 0xff, LENGTH * 3 / 2 * width);
    g_autoptr(GError) error = NULL;
    ct_device_upload(program->device, data, other, LENGTH * 3 / 2 * width, &error);
    g_assert_no_error(error);
}

/* The end of a block is needed for a splice with the next block, and is released only after
 * that. */
static void
test_spliced(void)
{
    static const char text[] =
        "stages:\n"
        "  x: { stage: input, layout: \"cf32[time station]\", shape: [-1, 3], backend: cuda }\n"
        "  f: { stage: fft, from: x, axis: time, length: 16, backend: cuda }\n"
        "  y: { stage: output, from: f, layout: \"[time channel station]\", backend: cuda }\n";
    /* A block has one and a half transforms. */
    enum { BLOCK = LENGTH * 3 / 2 };
    if (!has_device())
        return;
    g_autoptr(GError) error = NULL;
    g_autofree gfloat *samples = new_samples(2 * BLOCK);
    Program program;
    start(&program, text, "x", 2 * BLOCK * width);
    gfloat spectrum[3][LENGTH][N_STATIONS][2];
    gint64 done = 0;
    for (guint b = 0; b < 2; b++) {
        guint8 *to = program.blocks + b * BLOCK * width;
        if (b > 0)
            delay(&program);
        copy(&program, to, (guint8 *)samples + b * BLOCK * width, BLOCK * width);
        ct_pipeline_feed(program.pipeline, "x", to, BLOCK, NULL, overwrite, &program, &error);
        g_assert_no_error(error);
        if (b > 0)
            ct_pipeline_feed_end(program.pipeline, "x", &error);
        CtBlock block;
        while (done < (b ? 3 : 1)) {
            ct_pipeline_take(program.pipeline, "y", -1, &block, &error);
            g_assert_no_error(error);
            g_assert_cmpint(block.n_samples, >, 0);
            ct_device_enter(program.device, NULL);
            program.driver->copy(GPOINTER_TO_SIZE(spectrum[done]), GPOINTER_TO_SIZE(block.data),
                                 (gsize)block.n_samples * LENGTH * width, NULL);
            program.driver->stream_synchronize(NULL);
            done += block.n_samples;
            ct_pipeline_give_back(program.pipeline, "y");
        }
        /* Time for the device to retire what was submitted. */
        g_usleep(20000);
    }
    CtBlock none;
    ct_pipeline_take(program.pipeline, "y", -1, &none, &error);
    g_assert_no_error(error);
    g_assert_cmpint(none.n_samples, ==, 0);
    for (guint t = 0; t < 3; t++)
        for (guint c = 0; c < LENGTH; c++)
            for (guint s = 0; s < N_STATIONS; s++) {
                gdouble re = 0, im = 0;
                for (guint i = 0; i < LENGTH; i++) {
                    const gfloat *x = samples + 2 * ((t * LENGTH + i) * N_STATIONS + s);
                    const gdouble turn = -2 * G_PI * (gdouble)(i * c) / LENGTH;
                    re += (gdouble)x[0] * cos(turn) - (gdouble)x[1] * sin(turn);
                    im += (gdouble)x[0] * sin(turn) + (gdouble)x[1] * cos(turn);
                }
                g_assert_cmpfloat(fabs((gdouble)spectrum[t][c][s][0] - re), <, 1e-4);
                g_assert_cmpfloat(fabs((gdouble)spectrum[t][c][s][1] - im), <, 1e-4);
            }
    end(&program);
}

/* The program takes a block that it has fed: it is released when the stream has read it. */
static void
test_taken_as_fed(void)
{
    static const char text[] =
        "stages:\n"
        "  x: { stage: input, layout: \"cf32[time station]\", shape: [-1, 3], backend: cuda }\n"
        "  y: { stage: output, from: x, backend: cuda }\n";
    enum { BLOCK = LENGTH * 3 / 2 };
    if (!has_device())
        return;
    g_autoptr(GError) error = NULL;
    g_autofree gfloat *samples = new_samples(BLOCK);
    gfloat got[BLOCK * N_STATIONS * 2];
    Program program;
    start(&program, text, "y", 2 * BLOCK * width);
    ct_device_upload(program.device, program.blocks, samples, BLOCK * width, &error);
    g_assert_no_error(error);
    ct_pipeline_feed(program.pipeline, "x", program.blocks, BLOCK, NULL, overwrite, &program,
                     &error);
    g_assert_no_error(error);
    ct_pipeline_feed_end(program.pipeline, "x", &error);
    CtBlock block;
    ct_pipeline_take(program.pipeline, "y", -1, &block, &error);
    g_assert_no_error(error);
    g_assert_cmpint(block.n_samples, ==, BLOCK);
    delay(&program);
    copy(&program, program.blocks + BLOCK * width, block.data, BLOCK * width);
    ct_pipeline_give_back(program.pipeline, "y");
    ct_pipeline_take(program.pipeline, "y", -1, &block, &error);
    g_assert_no_error(error);
    g_assert_cmpint(block.n_samples, ==, 0);
    copy(&program, got, program.blocks + BLOCK * width, BLOCK * width);
    g_assert_cmpint(program.driver->stream_synchronize(program.stream), ==, 0);
    g_assert_cmpint(memcmp(got, samples, BLOCK * width), ==, 0);
    end(&program);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/endpoint-device/read-elsewhere", test_read_elsewhere);
    g_test_add_func("/endpoint-device/written-elsewhere", test_written_elsewhere);
    g_test_add_func("/endpoint-device/spliced", test_spliced);
    g_test_add_func("/endpoint-device/taken-as-fed", test_taken_as_fed);
    g_test_add_func("/endpoint-device/nothing-is-left", leak_test_nothing_is_left);
    return g_test_run();
}
