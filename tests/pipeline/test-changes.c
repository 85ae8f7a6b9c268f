/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes of parameters during a run, at ticks anywhere in blocks: from its tick on, each output
 * sample is that of a run which has the new value throughout. */
#include "../variant-block.h"

#include <cornerturn/pipeline.h>
#include <glib/gstdio.h>

enum { N_STATIONS = 3, N_POLS = 2, WIDTH = N_STATIONS * N_POLS, MAX_BLOCK = 150, N_VALUES = 4 };

/* A stage with a parameter that changes. */
typedef struct {
    const char *name;
    const char *stage; /* and its parameters but the one that changes */
    const char *after; /* the stage that follows */
    const char *parameter;
    const char *values[N_VALUES]; /* in YAML; NULL: files */
    char kind;                    /* of the files */
    guint n_axes;
    guint64 shape[3];
    gint64 window, hop, offset;
    const char *port;        /* an input for arrays of [time station], which change as well */
    gboolean is_behind_bank; /* of 8 channels with 4 taps: on a device, a part of its kernel */
} Case;

static const Case cases[] = {
    {"gain", "gains", "copy", "gain", {"[2, 0.5]", "-1", "[0, 1e-3]", "7"}, .window = 1, .hop = 1},
    {"gains", "gains, inverse: true", "copy", "gains", {NULL}, 'c', 2, {3, 2}, 1, 1, 0},
    {"arrays over a port, and whether they are inverted",
     "gains",
     "copy",
     "inverse",
     {"false", "true", "false", "true"},
     .window = 1,
     .hop = 1,
     .port = "gains"},
    {"gains behind a bank",
     "gains",
     "copy",
     "gains",
     {NULL},
     'c',
     3,
     {3, 2, 8},
     .window = 32,
     .hop = 8,
     .is_behind_bank = TRUE},
    {"weights", "beamform", "copy", "weights", {NULL}, 'c', 2, {5, 3}, 1, 1, 0},
    {"delays by phases and samples",
     "delay",
     "copy",
     "constant",
     {"[0, 1 us, 2.2 us]", "[2.1 us, 0.3 us, 0]", "[-0.2 us, 0, 1.9 us]", "[0, 2 us, 0.9 us]"},
     .window = 3,
     .hop = 1,
     .offset = 2},
    {"delays in a range",
     "delay, range: 4 us",
     "copy",
     "constant",
     {"[0, 1 us, 2.2 us]", "[-4 us, 0, 0]", "[1 us, 1 us, 1 us]", "[0, 3.7 us, -2 us]"},
     .window = 9,
     .hop = 1,
     .offset = 4},
    {"delays of phases", "delay", "copy", "delays", {NULL}, 'f', 2, {1, 3}, 1, 1, 0},
    {"window",
     "fir, n_channels: 4, n_taps: 3",
     "copy",
     "window",
     {"hamming", "rectangular", "hanning", "kaiser"},
     .window = 12,
     .hop = 4},
    {"coefficients",
     "fir, n_channels: 4",
     "copy",
     "coefficients",
     {NULL},
     'f',
     2,
     {5, 4},
     20,
     4,
     0},
    {"coefficients that overlap",
     "fir, hop: 3",
     "copy",
     "coefficients",
     {NULL},
     'f',
     2,
     {9, 1},
     9,
     3,
     0},
    {"coefficients of a bank",
     "fir, n_channels: 8",
     "fft",
     "coefficients",
     {NULL},
     'f',
     2,
     {4, 8},
     32,
     8,
     0},
};

/* The values of a case. */
typedef struct {
    char *texts[N_VALUES];
    char *arrays; /* for the port, or NULL */
} Values;

typedef struct {
    gint64 tick;
    guint value;
} Change;

typedef struct {
    CtPipeline *pipeline;
    GByteArray *taken;
} Taker;

static gpointer
take_all(gpointer data)
{
    Taker *taker = data;
    CtBlock block;
    for (;;) {
        g_autoptr(GError) error = NULL;
        const gboolean good = ct_pipeline_take(taker->pipeline, "y", 30, &block, &error);
        g_assert_no_error(error);
        g_assert_true(good);
        if (block.n_samples == 0)
            return NULL;
        /* The output's layout has time first, and is packed. */
        g_byte_array_append(taker->taken, block.data, (guint)(block.n_samples * block.stride[0]));
        ct_pipeline_give_back(taker->pipeline, "y");
    }
}

/* Writes the arrays for the port. */
static char *
write_arrays(GRand *random)
{
    const guint64 shape[] = {32, N_STATIONS};
    gdouble values[2 * 32 * N_STATIONS];
    for (guint i = 0; i < G_N_ELEMENTS(values); i++)
        values[i] = g_rand_double_range(random, 0.5, 1.5);
    return variant_test_npy(values, 'c', G_N_ELEMENTS(shape), shape);
}

/* Writes an array of random numbers near `around`, and returns its path. */
static char *
write_array(const Case *of, gdouble around, GRand *random)
{
    gdouble values[2 * 64];
    for (guint i = 0; i < G_N_ELEMENTS(values); i++)
        values[i] = around * g_rand_double_range(random, 0.5, 1.5);
    return variant_test_npy(values, of->kind, of->n_axes, of->shape);
}

static void
make_values(const Case *of, Values *values, GRand *random)
{
    const gboolean are_delays = g_str_equal(of->parameter, "delays");
    for (guint v = 0; v < N_VALUES; v++)
        values->texts[v] = of->values[0] ? g_strdup(of->values[v])
                                         : write_array(of, are_delays ? 1e-7 : 1, random);
    values->arrays = of->port ? write_arrays(random) : NULL;
}

static void
clear_values(const Case *of, Values *values)
{
    for (guint v = 0; v < N_VALUES; v++) {
        if (!of->values[0])
            g_remove(values->texts[v]);
        g_free(values->texts[v]);
    }
    if (values->arrays)
        g_remove(values->arrays);
    g_free(values->arrays);
}

static CtPipeline *
load(const Case *of, const Values *values, guint value, const char *backend, guint n_workers)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *from = of->port ? g_strdup_printf("{ in: x, %s: w }", of->port)
                                     : g_strdup(of->is_behind_bank ? "c" : "x");
    const char *bank = of->is_behind_bank
                           ? "  b: { from: x, stage: fir, n_channels: 8, n_taps: 4 }\n"
                             "  c: { from: b, stage: fft }\n"
                           : "";
    /* An array every 35.1 samples, from before the first one on. */
    g_autofree char *source =
        of->port ? g_strdup_printf("  w: { stage: file.source, path: '%s', layout: '[time "
                                   "station]', sample_rate: 28.5 kHz, start: -2 }\n",
                                   values->arrays)
                 : g_strdup("");
    g_autofree char *text = g_strdup_printf(
        "stages:\n"
        "  x: { stage: input, layout: 'cf32[time station pol]', shape: [-1, 3, 2],\n"
        "       sample_rate: 1 MHz, centre_frequency: 10 MHz }\n"
        "%s%s"
        "  n: { from: %s, stage: %s, %s: %s }\n"
        "  a: { from: n, stage: %s }\n"
        "  e: { from: a, stage: copy }\n"
        "  y: { stage: output, from: e, layout: '[time ...]' }\n",
        source, bank, from, of->stage, of->parameter, values->texts[value], of->after);
    CtPipeline *pipeline = ct_pipeline_parse(text, -1, "graph", &error);
    g_assert_no_error(error);
    g_assert_true(ct_pipeline_set_workers(pipeline, n_workers, NULL));
    const char *const nodes[] = {"n", "a", "e", "b", "c"};
    for (guint i = 0; i < (of->is_behind_bank ? 5 : 3); i++)
        g_assert_true(ct_pipeline_set_backend(pipeline, nodes[i], backend, &error));
    return pipeline;
}

/* The output of all samples, changed on the way. */
static GByteArray *
run(const Case *of, const Values *values, guint first, const char *backend, guint n_workers,
    gfloat *samples, gint64 n, const Change *changes, guint n_changes, guint32 seed)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtPipeline) pipeline = load(of, values, first, backend, n_workers);
    GRand *random = g_rand_new_with_seed(seed);
    g_assert_true(ct_pipeline_start(pipeline, &error));
    g_assert_no_error(error);
    Taker taker = {pipeline, g_byte_array_new()};
    GThread *thread = g_thread_new("taker", take_all, &taker);
    guint next = 0;
    for (gint64 t = 0, block; t < n; t += block) {
        block = g_rand_int_range(random, 1, MAX_BLOCK);
        block = MIN(n - t, block);
        for (; next < n_changes && changes[next].tick < t + block; next++) {
            g_autofree char *assignment =
                g_strdup_printf("n.%s=%s", of->parameter, values->texts[changes[next].value]);
            ct_pipeline_set_at(pipeline, assignment, changes[next].tick, &error);
            g_assert_no_error(error);
        }
        ct_pipeline_feed(pipeline, "x", samples + 2 * WIDTH * t, block, NULL, NULL, NULL, &error);
        g_assert_no_error(error);
    }
    g_assert_true(ct_pipeline_feed_end(pipeline, "x", &error));
    g_thread_join(thread);
    g_assert_true(ct_pipeline_wait(pipeline, 30));
    g_assert_true(ct_pipeline_result(pipeline, &error));
    g_assert_no_error(error);
    g_rand_free(random);
    return taker.taken;
}

/* The output, put together from runs that have one value each. */
static void
check_case(const Case *of, const char *backend, guint n_workers, guint n_changes, guint32 seed)
{
    const gint64 n = 400 + 40 * (gint64)n_changes;
    g_autofree gfloat *samples = g_new(gfloat, 2 * WIDTH * n);
    g_autofree Change *changes = g_new(Change, n_changes + 1);
    GRand *random = g_rand_new_with_seed(seed);
    Values values;
    make_values(of, &values, random);
    for (gint64 i = 0; i < 2 * WIDTH * n; i++)
        samples[i] = (gfloat)g_rand_double_range(random, -1, 1);
    for (guint i = 0; i < n_changes; i++)
        changes[i] =
            (Change){g_rand_int_range(random, 0, (gint)n), g_rand_int_range(random, 0, N_VALUES)};
    for (guint i = 1; i < n_changes; i++)
        for (guint k = i; k > 0 && changes[k - 1].tick > changes[k].tick; k--) {
            const Change change = changes[k];
            changes[k] = changes[k - 1];
            changes[k - 1] = change;
        }
    g_autoptr(GByteArray) got =
        run(of, &values, 0, backend, n_workers, samples, n, changes, n_changes, seed);
    const gint64 n_out = (n - of->window) / of->hop + 1;
    const gsize width = got->len / (gsize)n_out;
    g_assert_cmpuint(got->len % (gsize)n_out, ==, 0);
    g_autofree guint8 *wanted = g_malloc0(got->len);
    for (guint v = 0; v < N_VALUES; v++) {
        g_autoptr(GByteArray) whole =
            run(of, &values, v, backend, 1, samples, n, NULL, 0, seed + 1);
        if (whole->len != got->len)
            g_error("%s on %s: %u bytes in place of %u", of->name, backend, got->len, whole->len);
        guint value = 0, next = 0;
        for (gint64 t = 0; t < n_out; t++) {
            for (; next < n_changes && changes[next].tick <= t * of->hop + of->offset; next++)
                value = changes[next].value;
            if (value == v)
                memcpy(wanted + (gsize)t * width, whole->data + (gsize)t * width, width);
        }
    }
    for (gint64 t = 0; t < n_out; t++)
        if (memcmp(got->data + (gsize)t * width, wanted + (gsize)t * width, width) != 0)
            g_error("%s on %s: output sample %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                    " is not that of its value",
                    of->name, backend, t, n_out);
    clear_values(of, &values);
    g_rand_free(random);
}

static void
test_backend(gconstpointer data)
{
    const char *backend = data;
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        check_case(&cases[i], backend, 1 + i % 2, 120, 7 + i);
}

/* ---- what is refused ---- */

#define GAINS_GRAPH                                                                                \
    "stages:\n"                                                                                    \
    "  x: { stage: input, layout: 'cf32[time station]', shape: [-1, 2] }\n"                        \
    "  n: { from: x, stage: gains, gain: 1 }\n"                                                    \
    "  s: { from: n, stage: integrate, length: 4 }\n"                                              \
    "  y: { stage: output, from: s }\n"

static CtPipeline *
parse(const char *graph)
{
    g_autoptr(GError) error = NULL;
    CtPipeline *pipeline = ct_pipeline_parse(graph, -1, "graph", &error);
    g_assert_no_error(error);
    g_assert_true(ct_pipeline_set_workers(pipeline, 1, NULL));
    g_assert_true(ct_pipeline_set_backend(pipeline, NULL, "cpu", NULL));
    return pipeline;
}

static void
refuse(CtPipeline *pipeline, const char *assignment, gint64 tick, CtError code, const char *message)
{
    g_autoptr(GError) error = NULL;
    g_assert_false(ct_pipeline_set_at(pipeline, assignment, tick, &error));
    g_assert_cmpstr(error->message, ==, message);
    g_assert_error(error, CT_ERROR, (gint)code);
}

static void
test_values(void)
{
    static const struct {
        const char *assignment;
        CtError code;
        const char *message;
    } refused[] = {
        {"gain", CT_ERROR_CONFIG, "ct_pipeline_set_at: wants node.parameter=value"},
        {"m.gain=2", CT_ERROR_CONFIG, "graph has no node 'm'; it has x, n, s, y"},
        {"n.gian=2", CT_ERROR_PARAMETER,
         "ct_pipeline_set_at: node 'n': stage 'gains' has no parameter 'gian'; did you mean "
         "'gain'?"},
        {"n.gain=much", CT_ERROR_PARAMETER,
         "ct_pipeline_set_at: node 'n': parameter 'gain': wants a number, but is given 'much'"},
        {"n.gain=[1, 2, 3]", CT_ERROR_PARAMETER,
         "ct_pipeline_set_at: node 'n': parameter 'gain': wants a real part or a real and an "
         "imaginary part, but is given 3 numbers"},
        {"n.axes=[station]", CT_ERROR_PARAMETER,
         "ct_pipeline_set_at: node 'n': parameter 'axes': cannot change during a run, unlike "
         "gains, gain, inverse"},
        {"s.length=5", CT_ERROR_PARAMETER,
         "ct_pipeline_set_at: node 's': parameter 'length': cannot change during a run"},
    };
    g_autoptr(CtPipeline) pipeline = parse(GAINS_GRAPH);
    for (guint i = 0; i < G_N_ELEMENTS(refused); i++)
        refuse(pipeline, refused[i].assignment, 0, refused[i].code, refused[i].message);
}

/* A value in place of which there is an array over a port. */
static void
test_beside_port(void)
{
    g_autoptr(CtPipeline) pipeline =
        parse("stages:\n"
              "  x: { stage: input, layout: 'cf32[time station]', shape: [-1, 2] }\n"
              "  w: { stage: input, layout: 'cf32[time station]', shape: [-1, 2] }\n"
              "  n: { from: { in: x, gains: w }, stage: gains }\n"
              "  y: { stage: output, from: n }\n");
    refuse(pipeline, "n.gain=2", 0, CT_ERROR_PARAMETER,
           "ct_pipeline_set_at: node 'n': parameter 'gain': wants to stand alone, but the port "
           "'gains' is connected too");
}

/* Changes that would need other windows, outputs or layouts of memory. */
static void
test_descriptions(void)
{
    g_autoptr(CtPipeline) pipeline =
        parse("stages:\n"
              "  x: { stage: input, layout: 'cf32[time station]', shape: [-1, 2],\n"
              "       sample_rate: 1 MHz, centre_frequency: 10 MHz }\n"
              "  d: { from: x, stage: delay, constant: [0, 2 us] }\n"
              "  y: { stage: output, from: d }\n");
    refuse(pipeline, "d.constant=[0, 3 us]", 0, CT_ERROR_PARAMETER,
           "graph:4:3: node 'd': a change during a run wants windows to stay as they are: 3 "
           "samples, one every 1, offset 2, but makes them 4, 1, 3");
    refuse(pipeline, "d.constant=[1 us]", 0, CT_ERROR_PARAMETER,
           "ct_pipeline_set_at: node 'd': parameter 'constant': wants a delay for each of 2 "
           "stations, or for each station and pol, but is given 1");
}

/* ---- the order of changes ---- */

static void
feed(CtPipeline *pipeline, gfloat *samples, gint64 n)
{
    g_autoptr(GError) error = NULL;
    ct_pipeline_feed(pipeline, "x", samples, n, NULL, NULL, NULL, &error);
    g_assert_no_error(error);
}

/* Takes `n` samples, and checks that sample t is that of the gain gains[t]. */
static void
expect(CtPipeline *pipeline, const gfloat *gains, gint64 n)
{
    g_autoptr(GError) error = NULL;
    for (gint64 t = 0; t < n;) {
        CtBlock block;
        ct_pipeline_take(pipeline, "y", 30, &block, &error);
        g_assert_no_error(error);
        g_assert_cmpint(block.n_samples, >, 0);
        for (gint64 k = 0; k < block.n_samples; k++)
            g_assert_cmpfloat(*(gfloat *)(gpointer)(block.data + k * block.stride[0]), ==,
                              gains[t + k]);
        t += block.n_samples;
        ct_pipeline_give_back(pipeline, "y");
    }
}

static void
change(CtPipeline *pipeline, const char *assignment, gint64 tick)
{
    g_autoptr(GError) error = NULL;
    ct_pipeline_set_at(pipeline, assignment, tick, &error);
    g_assert_no_error(error);
}

#define PLAIN_GRAPH(parameters)                                                                    \
    "stages:\n"                                                                                    \
    "  x: { stage: input, layout: 'cf32[time]', shape: [-1] }\n"                                   \
    "  n: { from: x, stage: gains, " parameters " }\n"                                             \
    "  y: { stage: output, from: n }\n"

/* Before and during the run, in any order, two at one tick, and too late. */
static void
test_order(void)
{
    static const gfloat gains[] = {1, 2, 2, 4, 0.25, 0.25, 8, 8};
    g_autoptr(GError) error = NULL;
    g_autoptr(CtPipeline) pipeline = parse(PLAIN_GRAPH("gain: 1"));
    gfloat samples[16];
    for (guint i = 0; i < 8; i++) {
        samples[2 * i] = 1;
        samples[2 * i + 1] = 0;
    }
    change(pipeline, "n.inverse=true", 4);
    change(pipeline, "n.gain=3", 1);
    change(pipeline, "n.gain=2", 1);
    change(pipeline, "n.gain=4", 3);
    change(pipeline, "n.gain=0.125", 6);
    change(pipeline, "n.gain=16", 100);
    g_assert_true(ct_pipeline_start(pipeline, &error));
    feed(pipeline, samples, 5);
    expect(pipeline, gains, 5);
    refuse(pipeline, "n.gain=5", 4, CT_ERROR_ORDER,
           "ct_pipeline_set_at: node 'n': parameter 'gain': comes too late for tick 4: the output "
           "is made up to tick 5");
    feed(pipeline, samples + 10, 3);
    expect(pipeline, gains + 5, 3);
    ct_pipeline_feed_end(pipeline, "x", &error);
    CtBlock block;
    g_assert_true(ct_pipeline_take(pipeline, "y", 30, &block, &error));
    g_assert_true(ct_pipeline_wait(pipeline, 30));
    refuse(pipeline, "n.gain=5", 200, CT_ERROR_ORDER,
           "ct_pipeline_set_at: node 'n': parameter 'gain': comes too late: the node has ended");
    g_auto(GStrv) warnings = ct_pipeline_warnings(pipeline);
    g_assert_cmpstr(warnings[0], ==,
                    "graph:3:3: node 'n': warning: the change n.gain=16 had no effect: the output "
                    "ended before tick 100");
    g_assert_null(warnings[1]);
    g_autofree char *stats = ct_pipeline_stats_text(pipeline);
    g_assert_nonnull(strstr(stats, "n.gain=3 from tick 1\nn.gain=2 from tick 1\n"
                                   "n.gain=4 from tick 3\nn.inverse=true from tick 4\n"
                                   "n.gain=0.125 from tick 6\n"));
}

/* Of stages that are attached to one another: at the tick, for each of them. */
static void
test_chain(void)
{
    static const gfloat powers[] = {1, 1, 4, 4, 36, 36, 144, 144};
    g_autoptr(GError) error = NULL;
    g_autoptr(CtPipeline) pipeline =
        parse("stages:\n"
              "  x: { stage: input, layout: 'cf32[time]', shape: [-1] }\n"
              "  n: { from: x, stage: gains, gain: 1, backend: cpu }\n"
              "  m: { from: n, stage: gains, gain: 1, backend: cpu }\n"
              "  p: { from: m, stage: power, backend: cpu }\n"
              "  y: { stage: output, from: p }\n");
    gfloat samples[16];
    for (guint i = 0; i < 8; i++) {
        samples[2 * i] = 0;
        samples[2 * i + 1] = 1;
    }
    change(pipeline, "m.gain=2", 2);
    change(pipeline, "n.gain=3", 4);
    change(pipeline, "m.gain=4", 6);
    g_assert_true(ct_pipeline_start(pipeline, &error));
    feed(pipeline, samples, 8);
    expect(pipeline, powers, 8);
    ct_pipeline_feed_end(pipeline, "x", &error);
    CtBlock block;
    g_assert_true(ct_pipeline_take(pipeline, "y", 30, &block, &error));
    g_assert_true(ct_pipeline_wait(pipeline, 30));
    g_autofree char *stats = ct_pipeline_stats_text(pipeline);
    g_assert_nonnull(strstr(stats, "n+m+p"));
    g_assert_nonnull(strstr(stats, "m.gain=2 from tick 2\nn.gain=3 from tick 4\n"
                                   "m.gain=4 from tick 6\n"));
}

/* Before sums that are fused with the node: only where a sum begins. */
static void
test_sums(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtPipeline) pipeline =
        parse("stages:\n"
              "  x: { stage: input, layout: 'cf32[time]', shape: [-1], sample_rate: 1 MHz,\n"
              "       centre_frequency: 10 MHz }\n"
              "  n: { from: x, stage: fir, n_channels: 8, n_taps: 4, variant: fused-cuda }\n"
              "  m: { from: n, stage: fft, variant: fused-cuda }\n"
              "  p: { from: m, stage: power, backend: cuda }\n"
              "  s: { from: p, stage: integrate, length: 5, backend: cuda }\n"
              "  y: { stage: output, from: s }\n");
    refuse(pipeline, "n.window=hamming", 41, CT_ERROR_PARAMETER,
           "ct_pipeline_set_at: node 'n': parameter 'window': wants a tick at which a block of 5 "
           "output samples begins, such as 40, but is given 41");
    change(pipeline, "n.window=hamming", 73); /* the output sample behind it begins at 80 */
    g_autofree char *plan = ct_pipeline_describe(pipeline, "json", &error);
    g_assert_no_error(error);
    g_assert_nonnull(strstr(plan, "n+m+p+s"));
}

/* The number of times that a text has another in it. */
static guint
count_text(const char *text, const char *other)
{
    guint n = 0;
    for (; (text = strstr(text, other)); text++)
        n++;
    return n;
}

/* The list of a long run does not grow without end: the newest are listed, the others counted. */
static void
test_many(void)
{
    enum { N = 1200, LISTED = 1000 };
    g_autoptr(GError) error = NULL;
    g_autoptr(CtPipeline) pipeline = parse(PLAIN_GRAPH("gain: 1"));
    gfloat sample[2] = {1, 0};
    g_assert_true(ct_pipeline_start(pipeline, &error));
    for (gint i = 0; i < N; i++) {
        const gfloat gain = (gfloat)i;
        g_autofree char *assignment = g_strdup_printf("n.gain=%d", i);
        change(pipeline, assignment, i);
        feed(pipeline, sample, 1);
        expect(pipeline, &gain, 1);
    }
    /* The thread that makes the next change, which stays pending, drops what is too much. */
    change(pipeline, "n.gain=7", N + 1);
    g_autofree char *text = ct_pipeline_stats_text(pipeline);
    g_autofree char *json = ct_pipeline_stats_json(pipeline);
    g_assert_cmpuint(count_text(text, " from tick "), ==, LISTED);
    g_assert_nonnull(strstr(text, "\n200 earlier changes\nn.gain=200 from tick 200\n"));
    g_assert_nonnull(strstr(text, "n.gain=1199 from tick 1199\n"));
    g_assert_cmpuint(count_text(json, "\"set\""), ==, LISTED);
    g_assert_nonnull(strstr(json, "\"earlier_changes\" : 200"));
    feed(pipeline, sample, 1);
    expect(pipeline, (const gfloat[]){N - 1}, 1);
    ct_pipeline_feed_end(pipeline, "x", &error);
    CtBlock block;
    g_assert_true(ct_pipeline_take(pipeline, "y", 30, &block, &error));
    g_assert_true(ct_pipeline_wait(pipeline, 30));
    g_assert_true(ct_pipeline_result(pipeline, &error));
}

/* ---- files that are read again ---- */

/* Puts a file of one gain, of which `bytes` bytes are left out, in the place of another. */
static void
replace_file(const char *path, gdouble gain, gsize bytes)
{
    const gdouble values[] = {gain, 0};
    g_autofree char *made = variant_test_npy(values, 'c', 0, NULL);
    g_autofree char *contents = NULL;
    gsize length;
    g_assert_true(g_file_get_contents(made, &contents, &length, NULL));
    g_assert_true(g_file_set_contents(path, contents, (gssize)(length - bytes), NULL));
    g_remove(made);
}

static gboolean
has_statistic(CtPipeline *pipeline, const char *text)
{
    g_autofree char *stats = ct_pipeline_stats_json(pipeline);
    return strstr(stats, text) != NULL;
}

/* Feeds samples one by one until the output has changed from one gain to another, and checks that
 * the statistics say so. */
static void
feed_until(CtPipeline *pipeline, gfloat from, gfloat to, gint64 *tick)
{
    gfloat sample[2] = {1, 0}, gain = from;
    for (guint i = 0; i < 600 && gain == from; i++, ++*tick) {
        g_autoptr(GError) error = NULL;
        CtBlock block;
        g_usleep(20000);
        feed(pipeline, sample, 1);
        g_assert_true(ct_pipeline_take(pipeline, "y", 30, &block, &error));
        gain = *(gfloat *)(gpointer)block.data;
        ct_pipeline_give_back(pipeline, "y");
    }
    g_assert_cmpfloat(gain, ==, to);
    g_autofree char *shown = g_strdup_printf("\"tick\" : %" G_GINT64_FORMAT, *tick - 1);
    g_assert_true(has_statistic(pipeline, shown));
}

static void
test_key(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(
        ct_pipeline_parse(PLAIN_GRAPH("gains: g.npy, reread: often"), -1, "graph", &error));
    g_assert_cmpstr(error->message, ==,
                    "graph:3:53: node 'n': 'reread' wants true or false, but is given 'often'");
    g_clear_error(&error);
    g_autoptr(CtPipeline) pipeline = parse(PLAIN_GRAPH("gain: 1, reread: true"));
    g_assert_false(ct_pipeline_check(pipeline, &error));
    g_assert_cmpstr(error->message, ==,
                    "graph:3:48: node 'n': 'reread' wants a file that may change during a run, but "
                    "'gains' is given none");
}

/* A file that cannot be used is reported, and the next one is read all the same. */
static void
test_reread(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *name = g_strdup_printf("cornerturn-reread-%d.npy", (int)getpid());
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), name, NULL);
    g_autofree char *graph = g_strdup_printf(PLAIN_GRAPH("gains: %s, reread: true"), path);
    gint64 tick = 0;
    replace_file(path, 2, 0);
    g_autoptr(CtPipeline) pipeline = parse(graph);
    g_assert_true(ct_pipeline_start(pipeline, &error));
    replace_file(path, 3, 0);
    feed_until(pipeline, 2, 3, &tick);
    replace_file(path, 4, 1);
    for (guint i = 0; i < 600 && !has_statistic(pipeline, "\"change\""); i++)
        g_usleep(20000);
    g_auto(GStrv) warnings = ct_pipeline_warnings(pipeline);
    g_autofree char *wanted =
        g_strdup_printf("graph:3:38: node 'n': warning: parameter 'gains': %s: wants 16 bytes of "
                        "data as its header says, but is given 15 (truncated); the values before "
                        "stay in effect",
                        path);
    g_assert_cmpstr(warnings[0], ==, wanted);
    replace_file(path, 5, 0);
    feed_until(pipeline, 3, 5, &tick);
    g_remove(path);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/changes/values", test_values);
    g_test_add_func("/changes/beside-port", test_beside_port);
    g_test_add_func("/changes/descriptions", test_descriptions);
    g_test_add_func("/changes/order", test_order);
    g_test_add_func("/changes/chain", test_chain);
    g_test_add_func("/changes/many", test_many);
    g_test_add_func("/changes/key", test_key);
    g_test_add_func("/changes/reread", test_reread);
    g_test_add_data_func("/changes/reference", "reference", test_backend);
    g_test_add_data_func("/changes/cpu", "cpu", test_backend);
    /* Opening a device takes long. */
    g_autoptr(GPtrArray) devices = ct_devices_keep_open();
    if (devices->len > 0) {
        g_test_add_data_func("/changes/cuda", "cuda", test_backend);
        g_test_add_func("/changes/sums", test_sums);
    }
    return g_test_run();
}
