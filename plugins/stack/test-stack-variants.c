/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the variants of stack on one input, and of its kernels; tests of whole graphs run it on
 * several inputs. */
#include "../../tests/kernel-test.h"

static const char *const orders[] = {
    "time station pol", "time pol station", "station time pol",
    "pol time station", "station pol time",
};

static void
fill_part(guint8 *part, gsize count, gpointer data)
{
    memset(part, (guint8)(count * 7 + count / 256), GPOINTER_TO_SIZE(data));
}

static void
test_orders(void)
{
    static const CtType types[] = {CT_CI4, CT_CI8, CT_CF16, CT_CF32, CT_CF64};
    g_autoptr(GRand) random = g_rand_new_with_seed(7);

    for (guint i = 0; i < G_N_ELEMENTS(types) * G_N_ELEMENTS(orders); i++) {
        const CtType type = types[i / G_N_ELEMENTS(orders)];
        const char *axes = orders[i % G_N_ELEMENTS(orders)], *const order[2] = {axes, axes};
        const gint64 first = i % 3, n = 1 + g_rand_int_range(random, 0, 300);
        VariantTest *test =
            variant_test_new("stack", "{ axis: station }", type, "time:1000 station:5 pol:3");
        const CtLayout layout = variant_test_layout(type, axes);
        const CtTypeInfo *info = ct_type_info(type);
        const CtBlock whole[] = {variant_test_block(&test->in, axes, first + n + i % 2, 0, 0),
                                 variant_test_block(&test->out, axes, first + n, 0, 0xa5)};
        variant_test_visit(&whole[0], fill_part, GSIZE_TO_POINTER(MAX(info->part_bits, 8) / 8));
        const CtBlock in = ct_block_slice(&whole[0], &layout, first, n);
        const CtBlock out = ct_block_slice(&whole[1], &layout, first, n);
        variant_test_same(test, order, &in, &out, 60, info->name, random);
        g_aligned_free(whole[0].data);
        g_aligned_free(whole[1].data);
        variant_test_free(test);
    }
}

/* Contiguous pieces that are multiples of 1 to 16 bytes, and pieces outside time. */
static void
test_kernels(void)
{
    static const CtType types[] = {CT_CI4, CT_CI8, CT_CI16, CT_CF32, CT_CF64};

    for (guint i = 0; i < 2 * G_N_ELEMENTS(types) && kernel_test_can(); i++) {
        const char *axes = orders[i % 2 == 0 ? 0 : 2], *const order[2] = {axes, axes};
        VariantTest *test =
            variant_test_new("stack", "{ axis: station }", types[i / 2], "time:64 station:3 pol:1");
        kernel_test_compile(test, order, 64);
        variant_test_free(test);
    }
    kernel_test_finish();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stack/orders", test_orders);
    g_test_add_func("/stack/kernels", test_kernels);
    return g_test_run();
}
