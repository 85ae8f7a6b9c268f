/* SPDX-License-Identifier: BSD-3-Clause */
/* Variants that mark samples as invalid, without planner and scheduler. */
#include "variant-test.h"

static void
fill_part(guint8 *part, G_GNUC_UNUSED gsize count, gpointer random)
{
    *(gfloat *)(gpointer)part = (gfloat)g_rand_double_range(random, -2, 2);
}

static void
test_marks(void)
{
    static const char *const orders[] = {"time channel station", "station channel time",
                                         "channel time station"};
    static const char *const along[] = {"", ", along: channel", ", along: [station, channel]"};
    g_autoptr(GRand) random = g_rand_new_with_seed(1);

    for (guint i = 0; i < 2 * 3 * 3; i++) {
        const CtType type = i % 2 ? CT_F32 : CT_CF32;
        const gint64 n = g_rand_int_range(random, 1, 300);
        const gsize padding = g_rand_boolean(random) ? 0 : 3;
        /* A few samples in a hundred have an element of more power. */
        g_autofree char *parameters =
            g_strdup_printf("{ limit: %s%s }", i % 2 ? "3.9" : "7", along[i / 6]);
        VariantTest *test =
            variant_test_new("mark", parameters, type, "time:300 channel:5 station:3");
        const char *const order[2] = {orders[i / 2 % 3], orders[i / 2 % 3]};
        CtBlock in = variant_test_block(&test->in, order[0], n, padding, 0xff);
        variant_test_visit(&in, fill_part, random);
        variant_test_compare(test, order, &in, n, padding, 40, 0, 0, "marks", random);
        g_aligned_free(in.data);
        variant_test_free(test);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *path = g_strdup_printf("%s:%s/mark", g_getenv("CORNERTURN_PLUGIN_PATH"),
                                            g_getenv("CORNERTURN_TEST_PLUGINS"));
    g_setenv("CORNERTURN_PLUGIN_PATH", path, TRUE);
    g_test_add_func("/mark-variants/marks", test_marks);
    return g_test_run();
}
