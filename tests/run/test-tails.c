/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a file: no samples are lost or doubled, for any length of the file and any blocks. */
#include "sanitized.h"

#include <cornerturn/pipeline.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#define N_STATIONS  3
#define N_POLS      2
#define WIDTH       (N_STATIONS * N_POLS)
#define N_PHASES    4
#define N_TAPS      3
#define INTEGRATION 10

/* A chain of stages that reads `in.raw`, with `n` samples of ci8[time station pol]; and the
 * expected bytes of `out.raw`, and of `second.raw` if there is a second sink. */
typedef struct {
    const char *name;
    const char *stages; /* from `source` to the sinks */
    GBytes *(*expect)(const gint8 *in, gint64 n);
    GBytes *(*expect_second)(const gint8 *in, gint64 n);
    gdouble tolerance; /* of floats; 0: the bytes must be equal */
} Case;

static GBytes *
expect_same(const gint8 *in, gint64 n)
{
    return g_bytes_new(in, (gsize)(n * WIDTH * 2));
}

static GBytes *
expect_single(const gint8 *in, gint64 n)
{
    const gsize count = (gsize)(n * WIDTH * 2);
    gfloat *out = g_new(gfloat, count + 1);
    for (gsize i = 0; i < count; i++)
        out[i] = in[i];
    return g_bytes_new_take(out, count * sizeof *out);
}

/* [pol time station] */
static GBytes *
expect_turned(const gint8 *in, gint64 n)
{
    gint8 *out = g_new(gint8, n * WIDTH * 2 + 1);
    for (gint64 t = 0; t < n; t++)
        for (gint64 s = 0; s < N_STATIONS; s++)
            for (gint64 p = 0; p < N_POLS; p++)
                memcpy(out + 2 * ((p * n + t) * N_STATIONS + s),
                       in + 2 * ((t * N_STATIONS + s) * N_POLS + p), 2);
    return g_bytes_new_take(out, (gsize)(n * WIDTH * 2));
}

/* y[t][(p + t·hop) mod P] = Σ_k h[k][p] x[t·hop + k·P + p] with the taps 1, 2, 3 … 12 in the order
 * of time, as cf32[time phase station pol]. */
static GBytes *
expect_filtered(const gint8 *in, gint64 n, gint64 hop)
{
    const gint64 window = N_PHASES * N_TAPS;
    const gint64 n_out = n < window ? 0 : (n - window) / hop + 1;
    gfloat *out = g_new0(gfloat, n_out * N_PHASES * WIDTH * 2 + 1);
    for (gint64 t = 0; t < n_out; t++)
        for (gint64 p = 0; p < N_PHASES; p++)
            for (gint64 i = 0; i < WIDTH * 2; i++)
                for (gint64 k = 0; k < N_TAPS; k++)
                    out[(t * N_PHASES + (p + t * hop) % N_PHASES) * WIDTH * 2 + i] +=
                        (gfloat)(k * N_PHASES + p + 1) *
                        (gfloat)in[(t * hop + k * N_PHASES + p) * WIDTH * 2 + i];
    return g_bytes_new_take(out, (gsize)(n_out * N_PHASES * WIDTH * 2) * sizeof *out);
}

static GBytes *
expect_filtered_3(const gint8 *in, gint64 n)
{
    return expect_filtered(in, n, 3);
}

static GBytes *
expect_filtered_4(const gint8 *in, gint64 n)
{
    return expect_filtered(in, n, 4);
}

static GBytes *
expect_filtered_9(const gint8 *in, gint64 n)
{
    return expect_filtered(in, n, 9);
}

/* cf32[time baseline pol pol']: sums of whole numbers, which are exact. */
static GBytes *
expect_visibilities(const gint8 *in, gint64 n)
{
    const gint64 n_out = (n + INTEGRATION - 1) / INTEGRATION;
    gfloat *out = g_new0(gfloat, n_out * 2 * N_STATIONS * (N_STATIONS + 1) / 2 * 4 + 1);
    gfloat *sum = out;
    for (gint64 t = 0; t < n_out; t++)
        for (gint64 i = 0; i < N_STATIONS; i++)
            for (gint64 j = 0; j <= i; j++)
                for (gint64 p = 0; p < N_POLS; p++)
                    for (gint64 q = 0; q < N_POLS; q++, sum += 2)
                        for (gint64 k = t * INTEGRATION; k < MIN(n, (t + 1) * INTEGRATION); k++) {
                            const gint8 *a = in + 2 * ((k * N_STATIONS + i) * N_POLS + p);
                            const gint8 *b = in + 2 * ((k * N_STATIONS + j) * N_POLS + q);
                            sum[0] += (gfloat)(a[0] * b[0] + a[1] * b[1]);
                            sum[1] += (gfloat)(a[1] * b[0] - a[0] * b[1]);
                        }
    const gsize bytes = (gsize)(sum - out) * sizeof *out;
    return g_bytes_new_take(out, bytes);
}

/* u32[time baseline] */
static GBytes *
expect_weights(G_GNUC_UNUSED const gint8 *in, gint64 n)
{
    const gint64 n_baselines = N_STATIONS * (N_STATIONS + 1) / 2;
    const gint64 n_out = (n + INTEGRATION - 1) / INTEGRATION;
    guint32 *out = g_new0(guint32, n_out * n_baselines + 1);
    for (gint64 i = 0; i < n_out * n_baselines; i++)
        out[i] = (guint32)MIN(INTEGRATION, n - i / n_baselines * INTEGRATION);
    return g_bytes_new_take(out, (gsize)(n_out * n_baselines) * sizeof *out);
}

#define FIR(hop)                                                                                   \
    "  filter: { stage: fir, from: source, n_channels: 4, n_taps: 3, hop: " hop                    \
    ", coefficients: taps.npy }\n"                                                                 \
    "  out: { stage: file.sink, from: filter, path: out.raw, layout: '[time phase station pol]' "  \
    "}\n"

static const Case cases[] = {
    {"file", "  out: { stage: file.sink, from: source, path: out.raw }\n", expect_same, NULL, 0},
    {"copy",
     "  same: { stage: copy, from: source }\n"
     "  out: { stage: file.sink, from: same, path: out.raw }\n",
     expect_same, NULL, 0},
    {"convert",
     "  wide: { stage: convert, from: source, type: cf32 }\n"
     "  out: { stage: file.sink, from: wide, path: out.raw }\n",
     expect_single, NULL, 0},
    {"quantise",
     "  wide: { stage: convert, from: source, type: cf32 }\n"
     "  narrow: { stage: quantise, from: wide, type: ci8, scale: 1 }\n"
     "  out: { stage: file.sink, from: narrow, path: out.raw }\n",
     expect_same, NULL, 0},
    {"transpose",
     "  out: { stage: file.sink, from: source, path: out.raw, layout: '[pol time station]' }\n",
     expect_turned, NULL, 0},
    {"two-sinks",
     "  turned: { stage: transpose, from: source, layout: '[pol time station]' }\n"
     "  out: { stage: file.sink, from: source, path: out.raw }\n"
     "  second: { stage: file.sink, from: turned, path: second.raw, "
     "layout: '[pol time station]' }\n",
     expect_same, expect_turned, 0},
    {"fir-hop-4", FIR("4"), expect_filtered_4, NULL, 1e-5},
    {"fir-hop-3", FIR("3"), expect_filtered_3, NULL, 1e-5},
    {"fir-hop-9", FIR("9"), expect_filtered_9, NULL, 1e-5},
    {"correlate",
     "  visibilities: { stage: correlate, from: source, integration: 10 }\n"
     "  out: { stage: file.sink, from: visibilities, path: out.raw }\n"
     "  second: { stage: file.sink, from: visibilities.weights, path: second.raw }\n",
     expect_visibilities, expect_weights, 0},
};

static CtPipeline *
new_pipeline(const Case *test, gint64 block, guint n_workers)
{
    g_autofree char *graph = g_strdup_printf(
        "stages:\n"
        "  source: { stage: file.source, path: in.raw, layout: 'ci8[time station pol]', "
        "shape: [-1, %d, %d], sample_rate: 1 MHz, block: { time: %" G_GINT64_FORMAT " } }\n%s",
        N_STATIONS, N_POLS, block, test->stages);
    g_autoptr(GError) error = NULL;
    CtPipeline *pipeline = ct_pipeline_parse(graph, -1, test->name, &error);
    g_assert_no_error(error);
    g_assert_true(ct_pipeline_set_workers(pipeline, n_workers, &error));
    g_assert_true(ct_pipeline_set_backend(pipeline, NULL, "cpu", &error));
    return pipeline;
}

/* Reads a file and removes it. */
static GBytes *
take_file(const char *path)
{
    char *data;
    gsize length;
    g_autoptr(GError) error = NULL;
    g_file_get_contents(path, &data, &length, &error);
    g_assert_no_error(error);
    g_remove(path);
    return g_bytes_new_take(data, length);
}

static void
assert_near(GBytes *given, GBytes *wanted, gdouble tolerance)
{
    gsize given_bytes, wanted_bytes;
    const gfloat *a = g_bytes_get_data(given, &given_bytes);
    const gfloat *b = g_bytes_get_data(wanted, &wanted_bytes);
    g_assert_cmpuint(given_bytes, ==, wanted_bytes);
    for (gsize i = 0; i < given_bytes / sizeof *a; i++)
        g_assert_cmpfloat_with_epsilon(a[i], b[i], tolerance * (1 + fabs(b[i])));
}

static void
assert_equal(GBytes *given, GBytes *wanted, const char *what)
{
    gsize n_given, n_wanted;
    const guint8 *a = g_bytes_get_data(given, &n_given);
    const guint8 *b = g_bytes_get_data(wanted, &n_wanted);
    gsize i = 0;
    while (i < MIN(n_given, n_wanted) && a[i] == b[i])
        i++;
    if (n_given != n_wanted || i < n_given)
        g_error("%s: %" G_GSIZE_FORMAT " bytes instead of %" G_GSIZE_FORMAT
                ", the first %" G_GSIZE_FORMAT " as they should be",
                what, n_given, n_wanted, i);
}

/* Runs the case in blocks of several sizes on one and two workers; with sanitizers, in a quarter of
 * these ways, which are others at the next call. */
static void
check_length(const Case *test, const gint8 *in, gint64 n)
{
    static const gint64 blocks[] = {64, 16, 7, 1000};
    static guint turn;
    g_autoptr(GBytes) wanted = test->expect(in, n);
    g_autoptr(GBytes) second = test->expect_second ? test->expect_second(in, n) : NULL;
    g_autoptr(GBytes) first = NULL;
    g_autoptr(GError) error = NULL;
    g_file_set_contents("in.raw", (const char *)in, n * WIDTH * 2, &error);
    g_assert_no_error(error);
    turn++;
    for (guint b = 0; b < G_N_ELEMENTS(blocks); b++)
        for (guint n_workers = 1; n_workers <= 2; n_workers++) {
            if (is_sanitized(NULL) && (2 * b + n_workers) % 4 != turn % 4)
                continue;
            g_autoptr(CtPipeline) pipeline = new_pipeline(test, blocks[b], n_workers);
            ct_pipeline_start(pipeline, &error);
            g_assert_no_error(error);
            ct_pipeline_wait(pipeline, -1);
            ct_pipeline_result(pipeline, &error);
            g_assert_no_error(error);
            g_autofree char *what = g_strdup_printf("%s of %d samples in blocks of %d, %u workers",
                                                    test->name, (int)n, (int)blocks[b], n_workers);
            g_autoptr(GBytes) given = take_file("out.raw");
            if (!first)
                first = g_bytes_ref(given);
            assert_equal(given, test->tolerance > 0 ? first : wanted, what);
            if (test->tolerance > 0)
                assert_near(given, wanted, test->tolerance);
            if (second) {
                g_autoptr(GBytes) given_second = take_file("second.raw");
                assert_equal(given_second, second, what);
            }
        }
}

static void
test_tails(gconstpointer data)
{
    const Case *test = data;
    static const gint64 lengths[] = {1,  6,  7,  8,  15, 16,  17,  31,  32,  33,  47,
                                     48, 49, 63, 64, 65, 127, 128, 129, 191, 192, 193};
    gint8 in[200 * WIDTH * 2];
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    for (gsize i = 0; i < sizeof in; i++)
        in[i] = (gint8)g_rand_int_range(random, -127, 128);
    g_autoptr(GError) error = NULL;
    g_file_set_contents("in.raw", (const char *)in, 100 * WIDTH * 2, NULL);
    g_autoptr(CtPipeline) pipeline = new_pipeline(test, 16, 1);
    if (!ct_pipeline_check(pipeline, &error)) {
        g_assert_true(strstr(error->message, "there is no stage") != NULL);
        g_test_skip(error->message);
        return;
    }
    for (guint i = 0; i < G_N_ELEMENTS(lengths); i++)
        check_length(test, in, lengths[i]);
}

/* Writes the taps 1, 2, 3 … 12, in the order of time. */
static void
write_taps(void)
{
    GString *text = g_string_new(NULL);
    g_string_append_len(text, "\x93NUMPY\x01\x00\x76\x00", 10);
    g_string_append_printf(text, "%-117s\n",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }");
    for (guint i = 1; i <= N_PHASES * N_TAPS; i++) {
        const gfloat tap = (gfloat)i;
        g_string_append_len(text, (const char *)&tap, sizeof tap);
    }
    g_autoptr(GError) error = NULL;
    g_file_set_contents("taps.npy", text->str, (gssize)text->len, &error);
    g_assert_no_error(error);
    g_string_free(text, TRUE);
}

int
main(int n_arguments, char **arguments)
{
    g_test_init(&n_arguments, &arguments, NULL);
    g_autofree char *folder = g_dir_make_tmp("cornerturn-tails-XXXXXX", NULL);
    g_assert_cmpint(g_chdir(folder), ==, 0);
    write_taps();
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strdup_printf("/tails/%s", cases[i].name);
        g_test_add_data_func(path, &cases[i], test_tails);
    }
    const int status = g_test_run();
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name; (name = g_dir_read_name(dir));)
        g_remove(name);
    g_rmdir(folder);
    return status;
}
