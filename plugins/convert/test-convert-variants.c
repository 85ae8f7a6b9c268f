/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the conversion's variants against the reference, to the bit; and of its kernels. */
#include "../../tests/kernel-test.h"

#include <math.h>

static const CtType types[] = {
    CT_CI4, CT_CI8, CT_CI16, CT_CI32, CT_CI64, CT_CF16, CT_CF32, CT_CF64, /* complex */
    CT_I8,  CT_I16, CT_I32,  CT_I64,  CT_U8,   CT_U32,  CT_F16,  CT_F32,  CT_F64,
};

/* Numbers where the direction of rounding changes, and limits of types. */
static const gdouble turns[] = {0.5,         1.5,         2.5,           -0.5,
                                -1.5,        127.5,       -128.5,        255.5,
                                65504,       65519,       65520,         32767.5,
                                -32768.5,    2147483647,  2147483648,    -2147483648.,
                                4294967295., 4294967296., 0x1p63,        -0x1p63,
                                1e30,        -1e30,       3e-8,          2.98e-8,
                                6e-5,        1e-300,      1.00048828125, 1.0004882812500002,
                                -0.,         2049,        2051,          INFINITY,
                                -INFINITY,   NAN};

typedef struct {
    CtType type;
    GRand *random;
} Fill;

static gdouble
pick_real(GRand *random)
{
    if (g_rand_int_range(random, 0, 3) == 0)
        return turns[g_rand_int_range(random, 0, G_N_ELEMENTS(turns))];
    return ldexp(g_rand_double_range(random, -1, 1), g_rand_int_range(random, -30, 70));
}

/* Fills a part with random bits, of which a random number are kept, if it is an integer or of half
 * precision; else with one of the numbers above, or a random one. */
static void
fill_part(guint8 *part, G_GNUC_UNUSED gsize count, gpointer data)
{
    const Fill *fill = data;
    const CtTypeInfo *type = ct_type_info(fill->type);
    const guint64 bits = (guint64)g_rand_int(fill->random) << 32 | g_rand_int(fill->random);
    const guint bytes = MAX(type->part_bits, 8) / 8;

    if (type->is_float && bytes == 8) {
        *(gdouble *)part = pick_real(fill->random);
    } else if (type->is_float && bytes == 4) {
        *(gfloat *)part = (gfloat)pick_real(fill->random);
    } else {
        const gint64 value = (gint64)bits >> (8 * g_rand_int_range(fill->random, 0, (gint)bytes)) >>
                             (64 - 8 * bytes);
        memcpy(part, &value, bytes);
    }
}

static VariantTest *
conversion(CtType from, CtType to, const char *axes)
{
    g_autofree char *parameters = g_strdup_printf("{ type: %s }", ct_type_info(to)->name);

    return variant_test_new("convert", parameters, from, axes);
}

static gboolean
is_pair(guint from, guint to)
{
    return ct_type_info(types[from])->is_complex == ct_type_info(types[to])->is_complex;
}

/* Every pair of types, for packed and aligned blocks, for others, and for another order of axes. */
static void
test_pairs(void)
{
    static const struct {
        const char *order[2];
        gsize in_padding, out_padding;
        gint64 first;
    } cases[] = {
        {{"time station", "time station"}, 0, 0, 0},
        {{"time station", "time station"}, 0, 0, 1},
        {{"station time", "station time"}, 3, 1, 2},
        {{"station time", "time station"}, 0, 2, 0},
    };
    g_autoptr(GRand) random = g_rand_new_with_seed(1);

    for (guint pair = 0; pair < G_N_ELEMENTS(types) * G_N_ELEMENTS(types); pair++) {
        const guint from = pair / G_N_ELEMENTS(types), to = pair % G_N_ELEMENTS(types);
        if (!is_pair(from, to))
            continue;
        VariantTest *test = conversion(types[from], types[to], "time:301 station:7");
        for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
            const gint64 n = 301 - cases[i].first;
            const CtLayout layouts[] = {variant_test_layout(types[from], cases[i].order[0]),
                                        variant_test_layout(types[to], cases[i].order[1])};
            const CtBlock whole[] = {
                variant_test_block(&test->in, cases[i].order[0], 301, cases[i].in_padding, 0),
                variant_test_block(&test->out, cases[i].order[1], 301, cases[i].out_padding, 0xa5)};
            Fill fill = {types[from], random};
            variant_test_visit(&whole[0], fill_part, &fill);
            const CtBlock in = ct_block_slice(&whole[0], &layouts[0], cases[i].first, n);
            const CtBlock out = ct_block_slice(&whole[1], &layouts[1], cases[i].first, n);
            variant_test_same(test, cases[i].order, &in, &out, 100, ct_type_info(types[to])->name,
                              random);
            g_aligned_free(whole[0].data);
            g_aligned_free(whole[1].data);
        }
        variant_test_free(test);
    }
}

/* Kernels from every type and to every type. */
static void
test_kernels(void)
{
    static const char *const order[2] = {"time station", "time station"};

    if (!kernel_test_can())
        return;
    for (guint from = 0; from < G_N_ELEMENTS(types); from++)
        for (guint to = 0; to < G_N_ELEMENTS(types); to++) {
            if (!is_pair(from, to) || (from + 3 * to) % 5 != 0)
                continue;
            VariantTest *test = conversion(types[from], types[to], "time:64 station:8");
            kernel_test_compile(test, order, 64);
            variant_test_free(test);
        }
    kernel_test_finish();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/convert/pairs", test_pairs);
    g_test_add_func("/convert/kernels", test_kernels);
    return g_test_run();
}
