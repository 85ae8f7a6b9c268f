/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the variants of integrate against the reference, and of its kernels. */
#include "../../tests/kernel-test.h"

static const CtType types[] = {CT_F32, CT_F64, CT_CF32, CT_CF64};

static void
fill_part(guint8 *part, G_GNUC_UNUSED gsize count, gpointer data)
{
    const VariantTest *test = data;
    const gdouble value = g_test_rand_double_range(-1, 1);

    if (ct_type_info(test->in.type)->part_bits == 32)
        *(gfloat *)part = (gfloat)value;
    else
        *(gdouble *)part = value;
}

/* Compares the variants over `n` samples, in firings that begin and end anywhere in a sum. */
static void
check(CtType type, const char *axes, const char *axes_order, gint64 length, gint64 n,
      gint32 longest, gsize padding, GRand *random)
{
    const char *const order[2] = {axes_order, axes_order};
    g_autofree char *parameters = g_strdup_printf("{ length: %" G_GINT64_FORMAT " }", length);
    g_autofree char *all = g_strdup_printf("time:%" G_GINT64_FORMAT " %s", n, axes);
    VariantTest *test = variant_test_new("integrate", parameters, type, all);
    const CtBlock in = variant_test_block(&test->in, axes_order, n, padding, 0);
    variant_test_visit(&in, fill_part, test);
    /* a sum is at most `length`, and is rounded once */
    const gdouble unit = ct_type_info(type)->part_bits == 32 ? 0x1p-24 : 0;
    const gdouble bound = (gdouble)length * (unit + 2 * (gdouble)length * 0x1p-53);
    variant_test_compare(test, order, &in, (n + length - 1) / length, padding, longest, bound, 0,
                         all, random);
    g_aligned_free(in.data);
    variant_test_free(test);
}

/* Few and many elements in a sample, short and long sums, with and without gaps in memory. */
static void
test_sums(void)
{
    static const struct {
        const char *axes, *order;
        gint64 length, n;
        gint32 longest; /* of a firing */
        gsize padding;
    } cases[] = {
        {"channel:5 pol:2", "time channel pol", 10, 73, 40, 0},
        {"channel:40 pol:2", "time channel pol", 7, 63, 30, 0},
        {"channel:40 pol:2", "time channel pol", 150, 640, 300, 2},
        {"channel:6 stokes:4", "channel time stokes", 16, 477, 150, 0},
        {"channel:6 stokes:4", "channel time stokes", 300, 1433, 400, 0},
        {"channel:6 stokes:4", "channel time stokes", 33, 160, 90, 1},
        {"channel:50", "channel time", 1, 100, 60, 0},
        {"channel:3 pol:2", "pol channel time", 65, 700, 200, 0},
        {"channel:3 pol:3", "channel time pol", 200, 600, 200, 0},
        {"channel:1", "channel time", 5000, 9007, 3000, 0},
        {"channel:600", "time channel", 100, 290, 150, 0},
    };
    g_autoptr(GRand) random = g_rand_new_with_seed(1);

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        for (guint k = i % 2; k < G_N_ELEMENTS(types); k += 2)
            check(types[k], cases[i].axes, cases[i].order, cases[i].length, cases[i].n,
                  cases[i].longest, cases[i].padding, random);
}

static void
test_kernels(void)
{
    static const struct {
        const char *axes, *order, *parameters;
    } cases[] = {
        {"time:1024 channel:16 stokes:4", "channel time stokes", "{ length: 16 }"},
        {"time:1024 channel:16 stokes:4", "channel time stokes", "{ length: 500, average: true }"},
        {"time:1024 channel:512 pol:2", "time channel pol", "{ length: 1000 }"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases) * G_N_ELEMENTS(types) && kernel_test_can(); i++) {
        const guint c = i / G_N_ELEMENTS(types);
        const char *const order[2] = {cases[c].order, cases[c].order};
        VariantTest *test = variant_test_new("integrate", cases[c].parameters,
                                             types[i % G_N_ELEMENTS(types)], cases[c].axes);
        kernel_test_compile(test, order, 10);
        variant_test_free(test);
    }
    kernel_test_finish();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/integrate/sums", test_sums);
    g_test_add_func("/integrate/kernels", test_kernels);
    return g_test_run();
}
