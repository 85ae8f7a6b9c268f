/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the variants of gains against the reference, and of its kernels. */
#include "../../tests/kernel-test.h"

#include <math.h>

static void
fill_part(guint8 *part, gsize count, gpointer data)
{
    const gdouble value = sin(0.7 * (gdouble)count) + 0.01 * (gdouble)(count % 11);

    if (GPOINTER_TO_INT(data) == CT_CF64)
        *(gdouble *)part = value;
    else
        *(gfloat *)part = (gfloat)value;
}

/* Factors from a file, [station pol channel] of 7, 2 and `n_channels`; those of one station are
 * zero. */
static void
test_file(void)
{
    static const char *const orders[] = {
        "time channel station pol", "channel time station pol", "channel station pol time",
        "station channel time pol", "time pol station channel",
    };
    static const struct {
        gint64 n_channels;
        gint64 first, n,
            more; /* samples before those that are used, the used ones, and samples after them */
        const char *inverse;
    } cases[] = {{5, 0, 300, 0, "false"}, {3, 1, 77, 4, "true"}, {40, 2, 9, 1, "false"}};
    g_autoptr(GRand) random = g_rand_new_with_seed(3);

    for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
        const guint64 shape[] = {7, 2, (guint64)cases[c].n_channels};
        const gsize n_gains = 7 * 2 * shape[2];
        g_autofree gdouble *gains = g_new(gdouble, 2 * n_gains);
        for (gsize i = 0; i < 2 * n_gains; i++)
            gains[i] = i / 2 < n_gains / 7 ? 0 : g_rand_double_range(random, 0.5, 1.5);
        g_autofree char *path = variant_test_npy(gains, 'c', 3, shape);
        g_autofree char *parameters =
            g_strdup_printf("{ gains: %s, inverse: %s }", path, cases[c].inverse);
        g_autofree char *axes = g_strdup_printf(
            "time:1000 channel:%" G_GINT64_FORMAT " station:7 pol:2", cases[c].n_channels);
        for (guint i = 0; i < 2 * G_N_ELEMENTS(orders); i++) {
            const CtType type = i % 2 == 0 ? CT_CF32 : CT_CF64;
            const char *const order[2] = {orders[i / 2], orders[i / 2]};
            VariantTest *test = variant_test_new("gains", parameters, type, axes);
            const CtLayout layout = variant_test_layout(type, order[0]);
            const CtBlock whole = variant_test_block(
                &test->in, order[0], cases[c].first + cases[c].n + cases[c].more, 0, 0);
            variant_test_visit(&whole, fill_part, GINT_TO_POINTER(type));
            const CtBlock in = ct_block_slice(&whole, &layout, cases[c].first, cases[c].n);
            const gdouble unit = type == CT_CF32 ? 0x1p-24 : 0x1p-53;
            /* parts of samples are below 1.2, those of factors below 2.2 */
            test->cut_difference = 4 * unit * 1.7 * 2.2;
            variant_test_compare(test, order, &in, cases[c].n, 0, 60, 4 * unit * 1.7 * 2.2, 0,
                                 cases[c].inverse, random);
            g_aligned_free(whole.data);
            variant_test_free(test);
        }
        unlink(path);
    }
}

/* A stream without time, such as factors from a table. */
static void
test_without_time(void)
{
    static const char *const order[2] = {"channel station", "channel station"};
    g_autoptr(GRand) random = g_rand_new_with_seed(4);
    VariantTest *test =
        variant_test_new("gains", "{ gain: [0.5, -2] }", CT_CF32, "channel:33 station:5");
    const CtBlock in = variant_test_block(&test->in, order[0], 1, 0, 0);

    test->cut_difference = 4 * 0x1p-24 * 1.7 * 2.1;
    variant_test_visit(&in, fill_part, GINT_TO_POINTER(CT_CF32));
    variant_test_compare(test, order, &in, 1, 0, 1, 4 * 0x1p-24 * 1.7 * 2.1, 0, "no time", random);
    g_aligned_free(in.data);
    variant_test_free(test);
}

static void
test_kernels(void)
{
    static const char *const order[2] = {"time channel station", "time channel station"};

    for (guint i = 0; i < 2 && kernel_test_can(); i++) {
        VariantTest *test = variant_test_new("gains", "{ gain: 2 }", i == 0 ? CT_CF32 : CT_CF64,
                                             "time:64 channel:4 station:8");
        kernel_test_compile(test, order, 64);
        variant_test_free(test);
    }
    kernel_test_finish();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/gains/file", test_file);
    g_test_add_func("/gains/without-time", test_without_time);
    g_test_add_func("/gains/kernels", test_kernels);
    return g_test_run();
}
