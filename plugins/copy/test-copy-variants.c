/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the copy's variants against the reference, between blocks of different strides. */
#include "../../tests/variant-test.h"

static void
fill_part(guint8 *part, G_GNUC_UNUSED gsize count, gpointer data)
{
    *part = (guint8)g_rand_int(data);
}

static void
test_strides(void)
{
    static const char *const orders[] = {"time station pol", "station time pol", "station pol time",
                                         "pol station time"};
    g_autoptr(GRand) random = g_rand_new_with_seed(1);

    for (guint i = 0; i < 4 * G_N_ELEMENTS(orders); i++) {
        const char *const order[2] = {orders[i / 4], orders[i / 4]};
        VariantTest *test = variant_test_new("copy", "{}", i % 2 == 0 ? CT_CI8 : CT_F32,
                                             "time:201 station:5 pol:2");
        CtBlock in = variant_test_block(&test->in, order[0], 201, i % 4 < 2 ? 0 : 3, 0);
        CtBlock out = variant_test_block(&test->out, order[1], 201, i % 4 == 1 ? 0 : 1, 0xa5);
        variant_test_visit(&in, fill_part, random);
        variant_test_same(test, order, &in, &out, 60, "", random);
        g_aligned_free(in.data);
        g_aligned_free(out.data);
        variant_test_free(test);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/copy/strides", test_strides);
    return g_test_run();
}
