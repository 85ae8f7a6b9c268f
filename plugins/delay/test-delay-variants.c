/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the variants of delay against the reference, and of its kernels. */
#include "../../tests/kernel-test.h"

#include <math.h>

/* The streams of a test have 1000 samples per second. */
enum { STATIONS = 5, POLS = 2, ROWS = 5 };

static void
fill_part(guint8 *part, gsize count, G_GNUC_UNUSED gpointer data)
{
    *(gfloat *)part = (gfloat)sin(0.7 * (gdouble)count) + 0.01f * (gfloat)(count % 11);
}

static void
set_frequencies(CtStream *stream)
{
    const gint channel = ct_stream_axis(stream, "channel");

    stream->has_frequency = TRUE;
    stream->frequency = 150e3;
    if (channel >= 0)
        stream->axes[channel].coordinate =
            (CtCoordinate){.unit = g_intern_static_string("Hz"), .first = 150e3, .step = 1e5 / 3};
}

typedef struct {
    const char *name;
    CtType type;
    gboolean changes;
    gboolean has_channels;
    gdouble samples; /* the most that the stream is shifted */
    gdouble step;    /* seconds from row to row */
} Case;

static const Case cases[] = {
    {"constant spectra", CT_CF32, FALSE, TRUE, 3, 0},
    {"constant voltages", CT_CF32, FALSE, FALSE, 20, 0},
    {"constant real voltages", CT_F32, FALSE, FALSE, 20, 0},
    {"changing spectra", CT_CF32, TRUE, TRUE, 3, 0.0503},
    {"changing voltages", CT_CF32, TRUE, FALSE, 20, 0.0503},
    {"fast changing voltages", CT_CF32, TRUE, FALSE, 300, 0.0711},
    {"changing real voltages", CT_F32, TRUE, FALSE, 20, 0.04},
    {"rows closer than samples", CT_CF32, TRUE, TRUE, 3, 0.0004},
};

/* The stage with delays, which are in a new file at *path. */
static VariantTest *
new_delay(const Case *given, GRand *random, char **path)
{
    const guint64 shape[] = {given->changes ? ROWS : 1, STATIONS, POLS};
    gdouble seconds[ROWS * STATIONS * POLS];

    for (guint i = 0; i < G_N_ELEMENTS(seconds); i++)
        seconds[i] = g_rand_double_range(random, -1, 1) * given->samples / 1000;
    *path = variant_test_npy(seconds, 'f', 3, shape);
    g_autofree char *parameters =
        g_strdup_printf("{ delays: %s, step: %g }", *path, given->step > 0 ? given->step : 1);
    return variant_test_new_described("delay", parameters, given->type,
                                      given->has_channels ? "time:1 channel:3 station:5 pol:2"
                                                          : "time:1 station:5 pol:2",
                                      set_frequencies);
}

static void
test_cases(void)
{
    static const char *const orders[2][4] = {
        {"time station pol", "station pol time", "station time pol", "pol time station"},
        {"time channel station pol", "channel station pol time", "channel time station pol",
         "station channel time pol"},
    };
    static const gint64 lengths[] = {1, 37, 401};
    g_autoptr(GRand) random = g_rand_new_with_seed(5);

    for (guint i = 0; i < G_N_ELEMENTS(cases) * 4; i++) {
        const Case *given = &cases[i / 4];
        const char *const order[2] = {orders[given->has_channels][i % 4],
                                      orders[given->has_channels][i % 4]};
        g_autofree char *path = NULL;
        VariantTest *test = new_delay(given, random, &path);
        const CtLayout layout = variant_test_layout(given->type, order[0]);
        const gint64 n = lengths[i % 3], first = i % 2;
        const gint64 used = n + test->node.footprint.window - 1;
        const CtBlock whole = variant_test_block(&test->in, order[0], first + used + i % 5, 0, 0);
        variant_test_visit(&whole, fill_part, NULL);
        const CtBlock in = ct_block_slice(&whole, &layout, first, used);
        /* The phases, of some 10⁵ turns in double precision, are rounded to 2⁻²⁶ of a turn; sine,
         * cosine and the product have an error of 4 units of a float. */
        const gdouble bound =
            given->type == CT_F32 ? 0 : (2 * G_PI * (0x1p-25 + 1e5 * 0x1p-51) + 8 * 0x1p-24) * 1.7;
        variant_test_compare(test, order, &in, n, 0, 50, bound, 0, given->name, random);
        g_aligned_free(whole.data);
        variant_test_free(test);
        unlink(path);
    }
}

static void
test_kernels(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(6);

    for (guint i = 0; i < G_N_ELEMENTS(cases) && kernel_test_can(); i++) {
        const char *axes = cases[i].has_channels ? "time channel station pol" : "time station pol";
        const char *const order[2] = {axes, axes};
        g_autofree char *path = NULL;
        VariantTest *test = new_delay(&cases[i], random, &path);
        kernel_test_compile(test, order, 64);
        variant_test_free(test);
        unlink(path);
    }
    kernel_test_finish();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/delay/cases", test_cases);
    g_test_add_func("/delay/kernels", test_kernels);
    return g_test_run();
}
