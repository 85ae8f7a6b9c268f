/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of types, and of the description of streams. */
#include <cornerturn/tensor.h>
#include <math.h>
#include <string.h>

static void
test_type_table(void)
{
    for (CtType type = 1; type < CT_N_TYPES; type++) {
        const CtTypeInfo *info = ct_type_info(type);
        g_assert_cmpint(ct_type_from_name(info->name), ==, type);
        const guint parts = info->is_complex ? 2 : 1;
        g_assert_cmpuint(info->bytes * 8, ==, parts * info->part_bits);
        if (type == CT_CI4) {
            g_assert_cmpint(info->part, ==, CT_TYPE_NONE);
            continue;
        }
        const CtTypeInfo *part = ct_type_info(info->part);
        g_assert_false(part->is_complex);
        g_assert_cmpuint(part->part_bits, ==, info->part_bits);
        g_assert_cmpint(part->is_float, ==, info->is_float);
        g_assert_cmpint(part->is_signed, ==, info->is_signed);
    }
    g_assert_cmpint(ct_type_from_name("none"), ==, CT_TYPE_NONE);
    g_assert_cmpint(ct_type_from_name("CI8"), ==, CT_TYPE_NONE);
    g_assert_cmpint(ct_type_from_name(""), ==, CT_TYPE_NONE);
    g_assert_cmpuint(ct_type_info(CT_TYPE_NONE)->bytes, ==, 0);
    g_assert_cmpuint(ct_type_info(CT_N_TYPES)->bytes, ==, 0);
    g_assert_cmpuint(ct_type_info((CtType)-1)->bytes, ==, 0);
}

/* Significand and exponents of a float of `bits`: value = m · 2^e, m of `digits` bits. */
typedef struct {
    gint digits, lowest, highest;
} Float;

static Float
float_of(guint bits)
{
    return bits == 16   ? (Float){11, -24, 16}
           : bits == 32 ? (Float){24, -149, 128}
                        : (Float){53, -1074, 1024};
}

/* Values at which conversions often fail. long double holds every i64. */
static guint
telling_values(const CtTypeInfo *info, long double values[8])
{
    guint n = 0;
    values[n++] = 0;
    values[n++] = 1;
    if (info->is_float) {
        const Float f = float_of(info->part_bits);
        values[n++] = ldexpl(1, f.highest) - ldexpl(1, f.highest - f.digits);
        values[n++] = ldexpl(1, f.lowest);
        values[n++] = 1 + ldexpl(1, 1 - f.digits);
        values[n++] = -1.5;
        return n;
    }
    const long double top = ldexpl(1, info->part_bits - info->is_signed);
    values[n++] = top - 1;
    values[n++] = top / 2 + 1;
    if (info->is_signed) {
        values[n++] = -1;
        values[n++] = -top;
        values[n++] = -top + 1;
    }
    return n;
}

static gboolean
holds(const CtTypeInfo *info, long double value)
{
    if (info->is_float) {
        const Float f = float_of(info->part_bits);
        gint exponent;
        const long double mantissa = frexpl(value, &exponent);
        const gint digits = MIN(f.digits, exponent - f.lowest);
        if (value == 0)
            return TRUE;
        return exponent <= f.highest && digits > 0 &&
               ldexpl(mantissa, digits) == truncl(ldexpl(mantissa, digits));
    }
    const long double top = ldexpl(1, info->part_bits - info->is_signed);
    return value == truncl(value) && value < top && value >= (info->is_signed ? -top : 0);
}

static void
test_lossless(void)
{
    for (CtType from = 1; from < CT_N_TYPES; from++)
        for (CtType to = 1; to < CT_N_TYPES; to++) {
            const CtTypeInfo *a = ct_type_info(from), *b = ct_type_info(to);
            gboolean expected = a->is_complex == b->is_complex;
            long double values[8];
            for (guint n = telling_values(a, values); n-- > 0;)
                expected = expected && holds(b, values[n]);
            g_test_message("%s to %s: %d", a->name, b->name, expected);
            g_assert_cmpint(ct_type_is_lossless(from, to), ==, expected);
        }
    g_assert_true(ct_type_is_lossless(CT_CI16, CT_CF32));
    g_assert_false(ct_type_is_lossless(CT_I32, CT_F32));
    g_assert_true(ct_type_is_lossless(CT_U8, CT_I16));
    g_assert_false(ct_type_is_lossless(CT_I8, CT_CI16));
    g_assert_false(ct_type_is_lossless(CT_TYPE_NONE, CT_F32));
    g_assert_false(ct_type_is_lossless(CT_F32, CT_TYPE_NONE));
}

static const char *const canonical[] = {"time",     "subband", "tap", "channel", "phase", "beam",
                                        "baseline", "station", "pol", "pol'",    "stokes"};

static void
test_canonical_order(void)
{
    for (guint round = 0; round < 100; round++) {
        const char *names[G_N_ELEMENTS(canonical)];
        memcpy(names, canonical, sizeof names);
        for (guint i = G_N_ELEMENTS(names); i-- > 1;) {
            const guint j = g_test_rand_int_range(0, i + 1);
            const char *swapped = names[i];
            names[i] = names[j];
            names[j] = swapped;
        }
        CtStream stream;
        ct_stream_init(&stream);
        for (guint i = 0; i < G_N_ELEMENTS(names); i++)
            g_assert_cmpstr(ct_stream_add_axis(&stream, names[i], i)->name, ==, names[i]);
        for (guint i = 0; i < G_N_ELEMENTS(names); i++)
            g_assert_true(stream.axes[i].name == ct_axis_name(canonical[i]));
        g_assert_null(ct_stream_add_axis(&stream, "pol", 2));
        g_assert_nonnull(ct_stream_add_axis(&stream, "lag", 2));
        g_assert_cmpint(ct_stream_axis(&stream, "lag"), ==, ct_stream_axis(&stream, "beam") - 1);
        g_assert_null(ct_stream_add_axis(&stream, "thirteenth", 2));
        ct_stream_clear(&stream);
    }
}

static void
test_other_axes(void)
{
    CtStream stream;
    ct_stream_init(&stream);
    const char *const given[] = {"z", "pol", "a", "time", "channel"};
    const char *const wanted[] = {"time", "channel", "z", "a", "pol"};
    for (guint i = 0; i < G_N_ELEMENTS(given); i++)
        ct_stream_add_axis(&stream, given[i], 1);
    for (guint i = 0; i < G_N_ELEMENTS(wanted); i++)
        g_assert_cmpstr(stream.axes[i].name, ==, wanted[i]);
    ct_stream_remove_axis(&stream, "channel");
    ct_stream_remove_axis(&stream, "channel");
    g_assert_cmpuint(stream.n_axes, ==, 4);
    g_assert_cmpint(ct_stream_axis(&stream, "z"), ==, 1);
    g_assert_cmpint(ct_stream_axis(&stream, "channel"), ==, -1);
    ct_stream_clear(&stream);
    g_assert_cmpuint(stream.n_axes, ==, 0);
}

static void
count_free(gpointer data)
{
    ++*(guint *)data;
}

static void
test_copy_shares_tables(void)
{
    static const gdouble values[] = {1, 2, 4};
    guint n_freed = 0;
    CtStream stream, copy;
    ct_stream_init(&stream);
    CtAxis *axis = ct_stream_add_axis(&stream, "channel", 3);
    axis->coordinate.unit = g_intern_string("Hz");
    axis->coordinate.table =
        g_bytes_new_with_free_func(values, sizeof values, count_free, &n_freed);
    ct_stream_add_axis(&stream, "time", -1);
    ct_stream_copy(&copy, &stream);
    ct_stream_remove_axis(&stream, "channel");
    g_assert_cmpuint(n_freed, ==, 0);
    g_assert_cmpfloat(ct_stream_coordinate(&copy, 1, 2, 0), ==, 4);
    ct_stream_clear(&copy);
    g_assert_cmpuint(n_freed, ==, 1);
    ct_stream_clear(&stream);
}

static void
test_coordinates(void)
{
    CtStream stream;
    ct_stream_init(&stream);
    *ct_stream_add_axis(&stream, "subband", 2) = (CtAxis){
        .name = ct_axis_name("subband"), .length = 2, .coordinate = {"Hz", 100, 10, NULL, NULL}};
    ct_stream_add_axis(&stream, "channel", 4)->coordinate =
        (CtCoordinate){"Hz", -2, 1, NULL, ct_axis_name("subband")};
    g_assert_cmpfloat(ct_stream_coordinate(&stream, 0, 1, 0), ==, 110);
    g_assert_cmpfloat(ct_stream_coordinate(&stream, 1, 3, 1), ==, 111);
    g_assert_cmpfloat(ct_stream_coordinate(&stream, 1, 0, 0), ==, 98);

    static const gdouble table[] = {1, 2, 3, 4, 50, 60, 70, 80};
    stream.axes[1].coordinate.table = g_bytes_new_static(table, sizeof table);
    g_assert_cmpfloat(ct_stream_coordinate(&stream, 1, 2, 1), ==, 70);
    g_assert_cmpfloat(ct_stream_coordinate(&stream, 1, 2, 0), ==, 3);

    ct_stream_add_axis(&stream, "station", 5);
    g_assert_cmpfloat(ct_stream_coordinate(&stream, 2, 4, 0), ==, 4);

    /* Removing the parent also removes coordinates that depend on it. */
    ct_stream_remove_axis(&stream, "subband");
    g_assert_cmpstr(stream.axes[0].coordinate.unit, ==, NULL);
    g_assert_null(stream.axes[0].coordinate.parent);
    g_assert_null(stream.axes[0].coordinate.table);
    g_assert_cmpfloat(ct_stream_coordinate(&stream, 0, 3, 0), ==, 3);
    ct_stream_clear(&stream);
}

static void
test_sizes(void)
{
    CtStream stream;
    ct_stream_init(&stream);
    g_assert_cmpint(ct_stream_width(&stream), ==, 1);
    g_assert_cmpint(ct_stream_n_lanes(&stream), ==, 1);
    ct_stream_add_axis(&stream, "time", 4096)->loses = TRUE;
    ct_stream_add_axis(&stream, "station", 16)->loses = TRUE;
    ct_stream_add_axis(&stream, "channel", 7);
    ct_stream_add_axis(&stream, "pol", 2)->loses = TRUE;
    g_assert_cmpint(ct_stream_width(&stream), ==, 224);
    g_assert_cmpint(ct_stream_n_lanes(&stream), ==, 32);
    g_assert_cmpint(ct_stream_length(&stream, "station"), ==, 16);
    g_assert_cmpint(ct_stream_length(&stream, "beam"), ==, 1);
    stream.axes[ct_stream_axis(&stream, "station")].length = G_MAXINT64 / 2;
    g_assert_cmpint(ct_stream_width(&stream), ==, G_MAXINT64);
    g_assert_cmpint(ct_stream_n_lanes(&stream), ==, G_MAXINT64 - 1);
    ct_stream_clear(&stream);
}

static void
test_sample_rate(void)
{
    CtStream stream;
    ct_stream_init(&stream);
    g_assert_cmpfloat(ct_stream_sample_rate(&stream), ==, 0);
    stream.rate_num = 200000000;
    stream.rate_den = 1024;
    stream.ticks_per_sample = 256;
    g_assert_cmpfloat(ct_stream_sample_rate(&stream), ==, 200e6 / 1024 / 256);
    g_assert_cmpint(stream.epoch, ==, CT_NO_EPOCH);
    ct_stream_clear(&stream);
}

static void
check_description(const CtStream *stream, const char *wanted)
{
    g_autofree char *text = ct_stream_describe(stream);
    g_assert_cmpstr(text, ==, wanted);
}

static void
test_describe(void)
{
    CtStream stream;
    ct_stream_init(&stream);
    check_description(&stream, "no axes");
    ct_stream_add_axis(&stream, "pol", 2);
    ct_stream_add_axis(&stream, "time", 4096);
    check_description(&stream, "time 4096, pol 2");
    stream.axes[0].length = -1;
    check_description(&stream, "time (length unknown), pol 2");
    ct_stream_clear(&stream);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tensor/type-table", test_type_table);
    g_test_add_func("/tensor/lossless", test_lossless);
    g_test_add_func("/tensor/canonical-order", test_canonical_order);
    g_test_add_func("/tensor/other-axes", test_other_axes);
    g_test_add_func("/tensor/copy-shares-tables", test_copy_shares_tables);
    g_test_add_func("/tensor/coordinates", test_coordinates);
    g_test_add_func("/tensor/sizes", test_sizes);
    g_test_add_func("/tensor/sample-rate", test_sample_rate);
    g_test_add_func("/tensor/describe", test_describe);
    return g_test_run();
}
