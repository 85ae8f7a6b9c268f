/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the variants of power against the reference, and of its kernels. */
#include "../../tests/kernel-test.h"

#include <math.h>

static const CtType types[] = {CT_CI4, CT_CI8, CT_CI16, CT_CF16, CT_CF32, CT_CF64,
                               CT_I8,  CT_I16, CT_F16,  CT_F32,  CT_F64};

typedef struct {
    CtType type;
    GRand *random;
} Fill;

/* Fills a part with any integer, or with a floating-point number from −2 to 2. */
static void
fill_part(guint8 *part, G_GNUC_UNUSED gsize count, gpointer data)
{
    const Fill *fill = data;
    const CtTypeInfo *type = ct_type_info(fill->type);
    const guint32 bits = g_rand_int(fill->random);
    const gdouble value = g_rand_double_range(fill->random, -2, 2);

    if (!type->is_float)
        memcpy(part, &bits, MAX(type->part_bits, 8) / 8);
    else if (type->part_bits == 16)
        *(guint16 *)part = (guint16)(bits % 0x4000 + (bits & 0x8000));
    else if (type->part_bits == 32)
        *(gfloat *)part = (gfloat)value;
    else
        *(gdouble *)part = value;
}

/* Compares the variants on packed blocks, on blocks that begin at any sample, and on blocks with
 * gaps. */
static void
check(CtType type, const char *parameters, const char *in_order, const char *out_order,
      GRand *random)
{
    static const struct {
        gint64 first, n;
        gsize padding;
    } cases[] = {{0, 301, 0}, {3, 257, 0}, {1, 90, 3}};
    const char *const order[2] = {in_order, out_order};
    VariantTest *test = variant_test_new("power", parameters, type, "time:400 station:7 pol:2");
    const CtLayout layout = variant_test_layout(type, in_order);
    const gdouble unit = test->out.type == CT_F64 ? 0x1p-53 : 0x1p-24;

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const CtBlock whole = variant_test_block(&test->in, in_order, cases[i].first + cases[i].n,
                                                 cases[i].padding, 0);
        variant_test_visit(&whole, fill_part, &(Fill){type, random});
        const CtBlock in = ct_block_slice(&whole, &layout, cases[i].first, cases[i].n);
        variant_test_compare(test, order, &in, cases[i].n, cases[i].padding, 100, 0, 8 * unit,
                             parameters, random);
        g_aligned_free(whole.data);
    }
    variant_test_free(test);
}

static void
test_squares(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);

    for (guint i = 0; i < G_N_ELEMENTS(types); i++) {
        check(types[i], "{}", "time station pol", "time station pol", random);
        check(types[i], "{}", "station pol time", "station pol time", random);
    }
}

static void
test_stokes(void)
{
    static const char *const parameters[] = {"{ stokes: I }", "{ stokes: IQUV }",
                                             "{ stokes: IQUV, feed: circular }"};
    g_autoptr(GRand) random = g_rand_new_with_seed(2);

    for (guint i = 0; i < G_N_ELEMENTS(types) && ct_type_info(types[i])->is_complex; i++)
        for (guint k = 0; k < G_N_ELEMENTS(parameters); k++) {
            check(types[i], parameters[k], "time station pol", "time station stokes", random);
            check(types[i], parameters[k], "station pol time", "station stokes time", random);
            check(types[i], parameters[k], "pol time station", "stokes time station", random);
        }
}

static void
test_kernels(void)
{
    static const char *const squares[2] = {"time station pol", "time station pol"};
    static const char *const pairs[2] = {"time station pol", "time station stokes"};

    if (!kernel_test_can())
        return;
    for (guint i = 0; i < G_N_ELEMENTS(types); i++) {
        VariantTest *test = variant_test_new("power", "{}", types[i], "time:64 station:7 pol:2");
        kernel_test_compile(test, squares, 64);
        variant_test_free(test);
        if (!ct_type_info(types[i])->is_complex)
            continue;
        for (guint all = i < 2 ? 0 : 1; all < 2; all++) {
            test = variant_test_new("power", all ? "{ stokes: IQUV }" : "{ stokes: I }", types[i],
                                    "time:64 station:7 pol:2");
            kernel_test_compile(test, pairs, 64);
            variant_test_free(test);
        }
    }
    kernel_test_finish();
}

/* Kernels of chains with a stage of groups, whose elements are contiguous or not, among maps and
 * before a fold. */
static void
test_chains(void)
{
    static const char *const orders[][2] = {
        {"time station pol", "time station stokes"},
        {"time pol station", "time stokes station"},
        {"station pol time", "station stokes time"},
    };
    static const char *const chains[][7] = {
        {"power", "{ stokes: IQUV }", "quantise", "{ type: i8 }"},
        {"power", "{ stokes: I }", "integrate", "{ length: 10 }"},
        {"power", "{ stokes: IQUV }", "level", "{ mean: 2 }", "integrate", "{ length: 100 }"},
    };

    if (!kernel_test_can())
        return;
    for (guint i = 0; i < 5; i++) {
        const guint chain = (i + i / G_N_ELEMENTS(orders)) % G_N_ELEMENTS(chains);
        const gint64 samples[2] = {1000, chain == 0 ? 1000 : chain == 1 ? 100 : 10};
        const CtType type = types[i];
        const char *to = type == CT_CF32 ? "{ type: cf64 }" : "{ type: cf32 }";
        VariantTest *test = variant_test_new("convert", to, type, "time:1000 station:7 pol:2");
        const GPtrArray *variants = ct_registry_variants(test->registry, "convert");
        for (guint v = 0; v < variants->len; v++) {
            const CtVariant *variant = variants->pdata[v];
            if (variant->flags & CT_VARIANT_ATTACHABLE)
                kernel_test_compile_attached(test, variant, orders[i % G_N_ELEMENTS(orders)],
                                             samples, chains[chain]);
        }
        variant_test_free(test);
    }
    kernel_test_finish();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/power/squares", test_squares);
    g_test_add_func("/power/stokes", test_stokes);
    g_test_add_func("/power/kernels", test_kernels);
    g_test_add_func("/power/chains", test_chains);
    return g_test_run();
}
