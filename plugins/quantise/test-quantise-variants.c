/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of quantisation's variants against the reference, to the bit, and of its kernels. */
#include "../../tests/kernel-test.h"

#include <math.h>

static const CtType types[] = {CT_CI4, CT_CI8, CT_CI16, CT_I8, CT_I16};

static const gfloat nans[] = {NAN, -NAN, __builtin_nanf("0x155")};
static const gfloat special[] = {
    0,     -0.f,     0.5f,     1.5f,     2.5f,       -0.5f,   7.49f,   7.5f,
    -7.5f, 127,      127.49f,  127.5f,   -127.5f,    -128,    -128.5f, -129,
    32767, 32767.5f, -32768,   -32768.f, 4194304.5f, 8388609, 0x1p31f, -0x1p63f,
    3e38f, -3e38f,   INFINITY, NAN,      -INFINITY,  1e-40f,  -1e-40f, 8388607.5f,
};

/* In most stretches only few parts are clipped, or none. */
static void
fill_part(guint8 *part, gsize count, gpointer data)
{
    GRand *random = data;
    const gboolean is_quiet = count / 512 % 4 > 0 && g_rand_int_range(random, 0, 300) > 0;
    const gint kind = is_quiet ? 3 : g_rand_int_range(random, 0, 4);

    *(gfloat *)part = !is_quiet && count % 19 == 0 ? nans[count / 19 % G_N_ELEMENTS(nans)]
                      : kind == 0 ? special[g_rand_int_range(random, 0, G_N_ELEMENTS(special))]
                      : kind == 1 ? (gfloat)g_rand_int_range(random, -600, 600) / 2
                      : kind == 2 ? (gfloat)g_rand_double_range(random, -70000, 70000)
                                  : (gfloat)g_rand_double_range(random, -10, 10);
}

static VariantTest *
quantisation(CtType type, const char *scale, const char *axes)
{
    g_autofree char *parameters =
        g_strdup_printf("{ type: %s, scale: %s }", ct_type_info(type)->name, scale);

    return variant_test_new("quantise", parameters,
                            ct_type_info(type)->is_complex ? CT_CF32 : CT_F32, axes);
}

/* Packed and aligned blocks, blocks that begin at any sample, blocks with gaps outside time; odd
 * sizes. */
static void
test_types(void)
{
    static const struct {
        const char *order;
        gint64 first, more; /* samples before and after those that are used */
    } cases[] = {
        {"time station pol", 0, 0}, {"time station pol", 1, 0}, {"station pol time", 0, 0},
        {"station pol time", 3, 2}, {"station time pol", 0, 5}, {"pol time station", 1, 1},
    };
    static const char *const scales[] = {"1", "0.3", "37.25"};
    guint64 counters[VARIANT_TEST_COUNTERS];
    g_autoptr(GRand) random = g_rand_new_with_seed(1);

    for (guint i = 0; i < G_N_ELEMENTS(types) * G_N_ELEMENTS(cases); i++) {
        const CtType type = types[i / G_N_ELEMENTS(cases)];
        const guint c = i % G_N_ELEMENTS(cases);
        const gint64 n = 1 + g_rand_int_range(random, 0, 700);
        const gint64 all = cases[c].first + n + cases[c].more;
        VariantTest *test = quantisation(type, scales[i % 3], "time:2000 station:5 pol:2");
        const char *const order[2] = {cases[c].order, cases[c].order};
        const CtLayout layout = variant_test_layout(test->in.type, order[0]);
        const CtBlock whole[] = {variant_test_block(&test->in, order[0], all, 0, 0),
                                 variant_test_block(&test->out, order[1], all, 0, 0xa5)};
        variant_test_visit(&whole[0], fill_part, random);
        const CtBlock in = ct_block_slice(&whole[0], &layout, cases[c].first, n);
        const CtBlock out = ct_block_slice(&whole[1], &layout, cases[c].first, n);
        test->counters = counters;
        variant_test_same(test, order, &in, &out, 100, ct_type_info(type)->name, random);
        g_aligned_free(whole[0].data);
        g_aligned_free(whole[1].data);
        variant_test_free(test);
    }
}

static void
test_kernels(void)
{
    static const char *const order[2] = {"time station", "time station"};

    for (guint i = 0; i < G_N_ELEMENTS(types) && kernel_test_can(); i++) {
        VariantTest *test = quantisation(types[i], "1", "time:64 station:8");
        kernel_test_compile(test, order, 64);
        variant_test_free(test);
    }
    kernel_test_finish();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/quantise/types", test_types);
    g_test_add_func("/quantise/kernels", test_kernels);
    return g_test_run();
}
