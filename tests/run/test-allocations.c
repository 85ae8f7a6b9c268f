/* SPDX-License-Identifier: BSD-3-Clause */
/* Nothing is allocated for each block: a long stream makes as many allocations as a short one. */
#include "counting-allocator.h"

#include <cornerturn/pipeline.h>
#include <glib/gstdio.h>
#include <string.h>

#define BLOCK 4096

typedef struct {
    const char *name;
    const char *graph; /* with SAMPLES in place of the stream's length, and the folder twice */
} Case;

static const Case cases[] = {
    {"file", "stages:\n"
             "  source: { stage: file.source, path: SAMPLES.npy, layout: 'ci8[time station pol]', "
             "sample_rate: 1 MHz, block: { time: 4096 } }\n"
             "  filter: { stage: fir, from: source, n_channels: 16, n_taps: 8 }\n"
             "  spectra: { stage: fft, from: filter }\n"
             "  visibilities: { stage: correlate, from: spectra, integration: 256 }\n"
             "  sink: { stage: file.sink, from: visibilities, path: out.npy }\n"
             "  counts: { stage: file.sink, from: visibilities.weights, path: weights.npy }\n"},
    {"generate",
     "stages:\n"
     "  source: { stage: generate, type: ci8, samples: SAMPLES, sample_rate: 1 MHz, n_stations: 4, "
     "centre_frequency: 150 MHz, n_pols: 2, spiral: 100 m, source_directions: [[0.1, 0.2]], "
     "invalid: [[1, 5000, 16]], block: { time: 4096 } }\n"
     "  filter: { stage: fir, from: source, n_channels: 16, n_taps: 8 }\n"
     "  spectra: { stage: fft, from: filter }\n"
     "  pointing: { stage: pointing, from: spectra, spiral: 100 m, disk: 0.05, n_beams: 8 }\n"
     "  beams: { stage: beamform, from: { voltages: spectra, weights: pointing } }\n"
     "  sink: { stage: discard, from: beams }\n"},
    /* This has no sum, any number of blocks, and two transposes. */
    {"corner-turn",
     "stages:\n"
     "  source: { stage: generate, type: ci8, samples: SAMPLES, sample_rate: 1 MHz, n_stations: 4, "
     "n_pols: 2, centre_frequency: 150 MHz, layout: '[time station pol]', block: { time: 4096 } }\n"
     "  wide: { stage: convert, from: source, type: cf32 }\n"
     "  delayed: { stage: delay, from: wide, spiral: 100 m, direction: [[0.2, 0.1]] }\n"
     "  sink: { stage: file.sink, from: delayed, path: turned.npy, layout: '[pol station time]' "
     "}\n"},
};

static void
write_samples(const char *path, gint64 n_samples)
{
    const gsize bytes = (gsize)n_samples * 4 * 2 * 2;
    g_autofree char *header = g_strdup_printf(
        "{'descr': '|i1', 'fortran_order': False, 'shape': (%" G_GINT64_FORMAT ", 4, 2, 2), }",
        n_samples);
    const gsize length = 64 * 3 - 10;
    GString *text = g_string_new(NULL);
    g_string_append_len(text, "\x93NUMPY\x01\x00", 8);
    g_string_append_c(text, (char)(length & 0xff));
    g_string_append_c(text, (char)(length >> 8));
    g_string_append_printf(text, "%-*s\n", (int)length - 1, header);
    const gsize head = text->len;
    g_string_set_size(text, head + bytes);
    for (gsize i = 0; i < bytes; i++)
        text->str[head + i] = (char)((i * 2654435761u >> 13) % 255 - 127);
    g_autoptr(GError) error = NULL;
    g_file_set_contents(path, text->str, (gssize)text->len, &error);
    g_assert_no_error(error);
    g_string_free(text, TRUE);
}

/* The allocations between the start of the threads and the end of the stream. Twice a second, a
 * sink describes its unfinished file: *n_marks is how often it may have done so. */
static gint
run(const Case *test, guint n_blocks, guint n_workers, gint *n_marks)
{
    const gint64 n_samples = (gint64)n_blocks * BLOCK;
    g_autofree char *number = g_strdup_printf("%" G_GINT64_FORMAT, n_samples);
    g_autofree char *array = g_strconcat(number, ".npy", NULL);
    g_auto(GStrv) parts = g_strsplit(test->graph, "SAMPLES", -1);
    g_autofree char *graph = g_strjoinv(number, parts);
    g_autoptr(GError) error = NULL;
    if (!g_file_test(array, G_FILE_TEST_EXISTS))
        write_samples(array, n_samples);

    CtPipeline *pipeline = ct_pipeline_parse(graph, -1, test->name, &error);
    g_assert_no_error(error);
    g_assert_true(ct_pipeline_set_workers(pipeline, n_workers, &error));
    /* Drivers of devices allocate as they like. */
    g_assert_true(ct_pipeline_set_backend(pipeline, NULL, "cpu", &error));
    g_assert_true(ct_pipeline_plan(pipeline, &error));
    const gint before = allocations_made();
    const gint64 begin = g_get_monotonic_time();
    ct_pipeline_start(pipeline, &error);
    g_assert_no_error(error);
    ct_pipeline_wait(pipeline, -1);
    const gint after = allocations_made();
    *n_marks = (gint)((g_get_monotonic_time() - begin) / (G_USEC_PER_SEC / 2));
    ct_pipeline_result(pipeline, &error);
    g_assert_no_error(error);
    ct_pipeline_free(pipeline);
    return after - before;
}

/* Whether this machine's plugins have all stages of the graph. */
static gboolean
is_there(const Case *test)
{
    g_auto(GStrv) parts = g_strsplit(test->graph, "SAMPLES", -1);
    g_autofree char *graph = g_strjoinv("100", parts);
    g_autoptr(GError) error = NULL;
    write_samples("100.npy", 100);
    g_autoptr(CtPipeline) pipeline = ct_pipeline_parse(graph, -1, test->name, &error);
    g_assert_no_error(error);
    ct_pipeline_check(pipeline, &error);
    if (!error)
        return TRUE;
    g_test_message("%s", error->message);
    return FALSE;
}

/* There is less than one allocation for every 36 further blocks. A few depend on the order in which
 * threads start and end: from file to file there are 304 to 308, for short and long streams. */
static void
test_allocations(gconstpointer data)
{
    const Case *test = data;
    if (!is_there(test)) {
        g_test_skip("a stage is not there");
        return;
    }
    for (guint n_workers = 1; n_workers <= 2; n_workers++) {
        gint n_marks;
        run(test, 8, n_workers, &n_marks); /* fills what is kept for the next run */
        const gint few = run(test, 40, n_workers, &n_marks);
        const gint many = run(test, 400, n_workers, &n_marks);
        g_test_message("%u workers: %d allocations for 40 blocks, %d for 400", n_workers, few,
                       many);
        g_assert_cmpint(few, >, 0);
        g_assert_cmpint(many, <, few + (400 - 40) / 36 + 2 * 300 * n_marks);
    }
}

int
main(int n_arguments, char **arguments)
{
    g_test_init(&n_arguments, &arguments, NULL);
    g_autofree char *folder = g_dir_make_tmp("cornerturn-allocations-XXXXXX", NULL);
    g_assert_cmpint(g_chdir(folder), ==, 0);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strdup_printf("/allocations/%s", cases[i].name);
        g_test_add_data_func(path, &cases[i], test_allocations);
    }
    const int status = g_test_run();
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name; (name = g_dir_read_name(dir));)
        g_remove(name);
    g_rmdir(folder);
    return status;
}
