/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the filter's variants against the reference: types, orders, hops, strides and
 * firings. */
#include "../../tests/kernel-test.h"

#include <math.h>

static const CtType types[] = {CT_CI4, CT_CI8, CT_CI16, CT_CF16, CT_CF32,
                               CT_I8,  CT_I16, CT_U8,   CT_F16,  CT_F32};

/* The orders of the rows, and others that the code takes though only rows of the reference allow
 * them. */
static const char *const orders[][2] = {
    {"time station pol", "time phase station pol"}, {"time station pol", "time station pol phase"},
    {"time station pol", "station pol time phase"}, {"station pol time", "station pol time phase"},
    {"station time pol", "station time phase pol"}, {"station time pol", "time station pol phase"},
    {"pol station time", "time pol station phase"}, {"time station pol", "phase time station pol"},
    {"time station pol", "time station phase pol"}, {"station pol time", "station pol phase time"},
    {"time pol station", "phase station time pol"}, {"station pol time", "time phase station pol"},
    {"station pol time", "time station phase pol"},
};

typedef struct {
    CtType type;
    GRand *random;
    gboolean extreme;
} Fill;

static void
fill_part(guint8 *part, G_GNUC_UNUSED gsize count, gpointer data)
{
    const Fill *fill = data;
    const CtTypeInfo *type = ct_type_info(fill->type);
    const guint32 bits = g_rand_int(fill->random);

    if (type->is_float && type->part_bits == 32)
        *(float *)part = fill->extreme ? 1e30f : (float)bits / 0x1p32f - 0.5f;
    else if (type->is_float) /* any half up to 32768, or a smaller one, or a subnormal */
        *(guint16 *)part = fill->extreme ? 0xfbff : bits & (bits >> 16 & 1 ? 0xf7ff : 0x83ff);
    else if (type->part_bits == 16)
        *(guint16 *)part = fill->extreme ? 0x8000 : bits;
    else /* the most negative value; of ci4, in both halves of the byte */
        *part = fill->extreme ? (fill->type == CT_CI4 ? 0x88 : 0x80) : bits;
}

static gdouble
largest_sample(CtType type, gboolean extreme)
{
    const CtTypeInfo *info = ct_type_info(type);

    if (info->is_float)
        return info->part_bits == 16 ? 65504 : extreme ? 1e30 : 0.5;
    return ldexp(1, (gint)info->part_bits - (info->is_signed ? 1 : 0));
}

static gint64
pick(GRand *random, const gint64 *values, gint32 n)
{
    return values[g_rand_int_range(random, 0, n)];
}

#define PICK(random, ...)                                                                          \
    pick(random, (const gint64[]){__VA_ARGS__}, G_N_ELEMENTS(((const gint64[]){__VA_ARGS__})))

/* Lets the stream begin at any tick, at a multiple of the ticks of a sample or between two of them.
 * Rotated windows depend on it. */
static void
start_anywhere(VariantTest *test, GRand *random)
{
    const gint64 tick = g_rand_int_range(random, 0, 200);

    test->in.ticks_per_sample = PICK(random, 1, 1, 3, 48, G_GINT64_CONSTANT(1000000007));
    test->in.start = PICK(random, 0, tick, -tick, tick * test->in.ticks_per_sample,
                          tick + ((gint64)1 << 60), tick - ((gint64)1 << 60));
    test->out.ticks_per_sample = test->in.ticks_per_sample * test->node.footprint.hop;
    test->out.start = test->in.start;
}

/* Every variant of this machine on one problem. It must be near the reference, and give the same
 * bits however the stream is cut. */
static void
check(CtType type, const char *const order[2], gint64 n_channels, gint64 n_taps, gint64 hop,
      gint64 n_outputs, gint64 n_stations, gint64 n_pols, gsize padding, gboolean extreme,
      GRand *random)
{
    const gint64 n_samples = (n_outputs - 1) * hop + n_channels * n_taps;
    g_autofree char *parameters =
        g_strdup_printf("{ n_channels: %" G_GINT64_FORMAT ", n_taps: %" G_GINT64_FORMAT
                        ", hop: %" G_GINT64_FORMAT ", window: kaiser }",
                        n_channels, n_taps, hop);
    g_autofree char *axes = g_strdup_printf("time:%" G_GINT64_FORMAT " station:%" G_GINT64_FORMAT
                                            " pol:%" G_GINT64_FORMAT,
                                            n_samples, n_stations, n_pols);
    VariantTest *test = variant_test_new("fir", parameters, type, axes);
    g_assert_cmpint(test->out.axes[ct_stream_axis(&test->out, "time")].length, ==, n_outputs);
    start_anywhere(test, random);

    CtBlock in = variant_test_block(&test->in, order[0], n_samples, padding, 0);
    Fill fill = {type, random, extreme};
    variant_test_visit(&in, fill_part, &fill);

    /* n_taps products and as many sums are rounded, each by half an ulp of a number of at most
     * Σ|h||x|. With these windows, Σ|h| over the taps of a phase is below 4. */
    g_autofree char *what =
        g_strdup_printf("%s, %s, from tick %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " a sample",
                        parameters, axes, test->in.start, test->in.ticks_per_sample);
    variant_test_compare(test, order, &in, n_outputs, padding, 50,
                         2 * n_taps * 0x1p-24 * 4 * largest_sample(type, extreme), 0, what, random);
    g_aligned_free(in.data);
    variant_test_free(test);
}

/* Random problems in all types and orders; n_taps, n_channels and hops reach every path of the
 * code. */
static void
test_variants(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);

    /* Every problem has a kernel of its own, which takes long to compile for an emulated device. */
    const guint rounds = g_getenv("CORNERTURN_TEST_BACKEND") ? 1 : 3;

    for (guint i = 0; i < rounds * G_N_ELEMENTS(types) * G_N_ELEMENTS(orders); i++) {
        const gint64 n_channels = PICK(random, 1, 1, 2, 3, 4, 7, 13, 16, 32, 64, 100);
        const gint64 n_taps = PICK(random, 1, 2, 3, 8, 9, 16, 17, 33, 64);
        const gint64 hop = PICK(random, n_channels, n_channels, 2 * n_channels,
                                MAX(1, n_channels / 2), 1 + g_rand_int_range(random, 0, 20));
        const gint64 n_stations = PICK(random, 1, 1, 2, 3, 8, 11, 40);
        const gint64 n_pols = PICK(random, 1, 2);
        const gint64 most = 200000 / (n_channels * n_stations * n_pols * n_taps);
        const gint64 n_outputs = 1 + g_rand_int_range(random, 0, CLAMP(most, 2, 300));
        check(types[i % G_N_ELEMENTS(types)], orders[i / rounds % G_N_ELEMENTS(orders)], n_channels,
              n_taps, hop, n_outputs, n_stations, n_pols, PICK(random, 0, 0, 0, 1, 5), FALSE,
              random);
    }
}

static void
test_extremes(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(2);

    for (guint i = 0; i < G_N_ELEMENTS(types); i++)
        check(types[i], orders[i % 3], 16, 8, 16, 21, 3, 2, 0, TRUE, random);
}

/* Kernels of all types, orders, taps, widths and hops. */
static void
test_kernels(void)
{
    static const struct {
        gint64 n_channels, n_taps, hop, n_stations;
        guint order;
    } cases[] = {
        {256, 8, 256, 64, 3},  {256, 16, 256, 64, 3}, {256, 8, 256, 64, 0},  {256, 16, 256, 64, 0},
        {256, 8, 256, 64, 2},  {256, 16, 256, 64, 1}, {256, 64, 256, 8, 3},  {64, 64, 64, 16, 2},
        {16, 32, 16, 1, 3},    {64, 24, 48, 2, 3},    {1, 64, 4, 1, 3},      {1, 32, 1, 32, 0},
        {13, 3, 13, 3, 6},     {32, 40, 16, 4, 0},    {4096, 4, 4096, 4, 3}, {256, 1, 256, 64, 2},
        {256, 29, 256, 64, 3}, {256, 8, 128, 64, 3},  {256, 16, 64, 64, 1},  {64, 8, 27, 16, 0},
        {32, 16, 27, 16, 2},   {256, 29, 128, 64, 3}, {64, 24, 16, 16, 1},
    };

    if (!kernel_test_can())
        return;
    for (guint i = 0; i < G_N_ELEMENTS(types); i++)
        for (guint k = 0; k < G_N_ELEMENTS(cases); k++) {
            if ((i + k) % 4 != 0)
                continue;
            g_autofree char *parameters =
                g_strdup_printf("{ n_channels: %" G_GINT64_FORMAT ", n_taps: %" G_GINT64_FORMAT
                                ", hop: %" G_GINT64_FORMAT " }",
                                cases[k].n_channels, cases[k].n_taps, cases[k].hop);
            g_autofree char *axes =
                g_strdup_printf("time:-1 station:%" G_GINT64_FORMAT " pol:2", cases[k].n_stations);
            VariantTest *test = variant_test_new("fir", parameters, types[i], axes);
            kernel_test_compile(test, orders[cases[k].order], 1024);
            variant_test_free(test);
        }
    kernel_test_finish();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fir/variants", test_variants);
    g_test_add_func("/fir/extremes", test_extremes);
    g_test_add_func("/fir/kernels", test_kernels);
    return g_test_run();
}
