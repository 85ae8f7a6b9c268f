/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the turns of fold against exact fractions, up to 2⁵⁰ samples after the start. */
#include "../../tests/variant-test.h"
#include "fold-turns.c" /* the plugin exports only its description */

#define N 50

static gint64 rate_num, rate_den;

static void
set_rate(CtStream *stream)
{
    stream->rate_num = rate_num;
    stream->rate_den = rate_den;
    stream->ticks_per_sample = 3;
    stream->start = -7;
}

/* The bins of N samples from sample `first` on, by a node with these parameters. */
static void
find_bins(const char *ephemeris, gint64 n_bins, gint64 first, guint32 *bins)
{
    g_autofree char *parameters = g_strdup_printf(
        "{ subintegration: 10, n_bins: %" G_GINT64_FORMAT ", %s }", n_bins, ephemeris);
    g_autoptr(GError) error = NULL;
    TurnsRule rule;
    VariantTest *test =
        variant_test_new_described("fold", parameters, CT_F64, "time:100", set_rate);

    ct_turns_rule(&rule, &test->node, &error);
    g_assert_no_error(error);
    ct_turns_bins(&rule, -7 + 3 * first, N, n_bins, bins);
    variant_test_free(test);
}

/* Frequencies and rates that are fractions: sample k is at a (2 k + 1) / b turns, whose remainder
 * is exact. */
static void
test_fractions(void)
{
    for (guint i = 0; i < 100; i++) {
        const guint64 nanos = (guint64)g_test_rand_int_range(1, 2000000000);
        const gint64 first =
            ((gint64)(guint32)g_test_rand_int() << 18) + g_test_rand_int_range(0, 1000);
        const gint64 n_bins = g_test_rand_int_range(1, (1 << 20) + 1);
        guint32 bins[N];

        rate_num = g_test_rand_int_range(1, 1000000);
        rate_den = g_test_rand_int_range(1, 1000);
        g_autofree char *period = g_strdup_printf("period: %" G_GUINT64_FORMAT "e-9", nanos);
        find_bins(period, n_bins, first, bins);
        for (gint64 k = 0; k < N; k++) {
            const Wide b = 2 * (Wide)rate_num * nanos;
            const Wide a = (Wide)(2 * (first + k) + 1) * 3 * (Wide)rate_den * 1000000000;
            g_assert_cmpint(bins[k], ==, (gint64)(a % b * (Wide)n_bins / b));
        }
    }
}

/* Powers of two, with a derivative: in units of 2⁻⁶³ turns, all terms are integers. */
static void
test_derivative(void)
{
    rate_num = 3 * 1024;
    rate_den = 1;
    for (guint i = 0; i < 100; i++) {
        const gint64 f = g_test_rand_int_range(1, 1 << 20);               /* in 2⁻¹⁰ Hz */
        const gint64 change = g_test_rand_int_range(-(1 << 26), 1 << 26); /* in 2⁻⁴⁰ Hz/s */
        const gint64 first =
            ((gint64)(guint32)g_test_rand_int() << 18) + g_test_rand_int_range(0, 1000);
        const gint64 n_bins = g_test_rand_int_range(1, (1 << 20) + 1);
        guint32 bins[N];

        g_autofree char *text = g_strdup_printf("frequency: %.17g, frequency_derivative: %.17g",
                                                (gdouble)f * 0x1p-10, (gdouble)change * 0x1p-40);
        find_bins(text, n_bins, first, bins);
        for (gint64 k = 0; k < N; k++) {
            const Wide middle = (Wide)(2 * (first + k) + 1); /* in 2⁻¹¹ s */
            const Wide turns = (middle * (Wide)f << 42) + middle * middle * (Wide)change;
            const Wide part = turns & (((Wide)1 << 63) - 1);
            g_assert_cmpint(bins[k], ==, (gint64)(part * (Wide)n_bins >> 63));
        }
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fold/fractions", test_fractions);
    g_test_add_func("/fold/derivative", test_derivative);
    return g_test_run();
}
