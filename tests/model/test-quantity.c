/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of numbers with units. */
#include "model/quantity.h"

#include <cornerturn/stage.h>

static const struct {
    const char *text, *unit;
    gint64 numerator, denominator;
} exact[] = {
    {"200 MHz", "Hz", 200000000, 1},
    {"200MHz", "Hz", 200000000, 1},
    {"200000000", "Hz", 200000000, 1},
    {"200 MHz/1024", "Hz", 390625, 2},
    {"200/1024 MHz", "Hz", 390625, 2},
    {" 200 MHz / 1024 ", "Hz", 390625, 2},
    {"195312.5 Hz", "Hz", 390625, 2},
    {"1/3", "Hz", 1, 3},
    {"1/-3", NULL, -1, 3},
    {"763 Hz", "Hz", 763, 1},
    {"5 us", "s", 1, 200000},
    {"5 µs", "s", 1, 200000},
    {"5.12 us", "s", 16, 3125000},
    {"2 min", "s", 120, 1},
    {"1.5 GiB", "B", 1610612736, 1},
    {"64 kB", "B", 64000, 1},
    {"-3 mm", "m", -3, 1000},
    {"2 cm", "m", 1, 50},
    {"0", "s", 0, 1},
    {"0.000", NULL, 0, 1},
    {"-0", NULL, 0, 1},
    {"1e6", NULL, 1000000, 1},
    {"1E-3", NULL, 1, 1000},
    {"+.5", NULL, 1, 2},
    {"7.", NULL, 7, 1},
    {"0.1", NULL, 1, 10},
    {"9223372036854775807", NULL, G_MAXINT64, 1},
    {"-9223372036854775808", NULL, G_MININT64, 1},
    {"1000000000000000000000/1000000000000000000000", NULL, 1, 1},
    {"3 Jy", "Jy", 3, 1},
    {"3 mJy", "Jy", 3, 1000},
};

static void
test_exact(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(exact); i++) {
        g_test_message("%s", exact[i].text);
        CtQuantity quantity;
        g_autoptr(GError) error = NULL;
        ct_quantity_parse(&quantity, exact[i].text, exact[i].unit, &error);
        g_assert_no_error(error);
        g_assert_cmpint(quantity.denominator * exact[i].numerator, ==,
                        quantity.numerator * exact[i].denominator);
        g_assert_cmpint(quantity.denominator, >, 0);
        g_assert_cmpfloat(quantity.value, ==, (gdouble)exact[i].numerator / exact[i].denominator);
    }
}

static const struct {
    const char *text, *unit;
    gdouble value;
} inexact[] = {
    {"180 deg", "rad", G_PI},         {"-3 deg", "rad", -3 * G_PI / 180},
    {"60 arcmin", "rad", G_PI / 180}, {"1e-30", NULL, 1e-30},
    {"1e-30 s", "s", 1e-30},          {"9223372036854775808", NULL, 9223372036854775808.0},
    {"1e300", NULL, 1e300},           {"1e-400", NULL, 0},
    {"5/1e-40", NULL, 5e40},
};

static void
test_inexact(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(inexact); i++) {
        g_test_message("%s", inexact[i].text);
        CtQuantity quantity;
        g_autoptr(GError) error = NULL;
        ct_quantity_parse(&quantity, inexact[i].text, inexact[i].unit, &error);
        g_assert_no_error(error);
        g_assert_cmpint(quantity.denominator, ==, 0);
        g_assert_cmpfloat_with_epsilon(quantity.value, inexact[i].value,
                                       4 * G_MINDOUBLE + 1e-15 * ABS(inexact[i].value));
    }
}

static const struct {
    const char *text, *unit, *message;
} wrong[] = {
    {"5 m", "s", "wants a time such as '5 us', but is given '5 m'"},
    {"200 Mhz", "Hz",
     "wants a frequency such as '200 MHz', but is given '200 Mhz'; did you mean 'MHz'?"},
    {"5 us", NULL, "wants a number, but is given '5 us'"},
    {"fast", "Hz", "wants a frequency such as '200 MHz', but is given 'fast'"},
    {"", "B", "wants an amount such as '1.5 GiB', but is given ''"},
    {"1/0", NULL, "wants a number, but is given '1/0'"},
    {"200 MHz/", "Hz", "wants a frequency such as '200 MHz', but is given '200 MHz/'"},
    {"200 MHz 3", "Hz", "wants a frequency such as '200 MHz', but is given '200 MHz 3'"},
    {"1e999", NULL, "wants a number, but is given '1e999'"},
    {"nan", NULL, "wants a number, but is given 'nan'"},
    {"0x10", NULL, "wants a number, but is given '0x10'"},
    {"3 km", "rad", "wants an angle such as '-3 deg', but is given '3 km'"},
    {"3 m", "Jy", "wants a number in Jy, but is given '3 m'"},
    {"--1", NULL, "wants a number, but is given '--1'"},
    {"1.2.3", NULL, "wants a number, but is given '1.2.3'"},
};

static void
test_wrong(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
        CtQuantity quantity;
        g_autoptr(GError) error = NULL;
        g_assert_false(ct_quantity_parse(&quantity, wrong[i].text, wrong[i].unit, &error));
        g_assert_error(error, CT_ERROR, CT_ERROR_PARAMETER);
        g_assert_cmpstr(error->message, ==, wrong[i].message);
    }
}

static const struct {
    gdouble value;
    const char *unit, *text;
} formatted[] = {
    {200e6, "Hz", "200 MHz"},  {195312.5, "Hz", "195.312 kHz"}, {0, "s", "0 s"},
    {5.12e-6, "s", "5.12 us"}, {1610612736, "B", "1.5 GiB"},    {999, "B", "999 B"},
    {0.25, NULL, "0.25"},      {-3e-3, "m", "-3 mm"},           {0.1, "B", "0.1 B"},
};

static void
test_format(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(formatted); i++) {
        g_autofree char *text = ct_quantity_format(formatted[i].value, formatted[i].unit);
        g_assert_cmpstr(text, ==, formatted[i].text);
    }
}

static void
test_ranges(void)
{
    static const struct {
        const char *text;
        gint64 first, last;
    } good[] = {{"0", 0, 0}, {"12..133", 12, 133}, {"7..7", 7, 7}, {"007", 7, 7}};
    static const char *const bad[] = {
        "",     "-1",    "+1",      " 1",    "1 ",   "1..", "..2",
        "3..2", "1...2", "1..2..3", "1..-2", "0x10", "CS1", "99999999999999999999",
    };
    for (guint i = 0; i < G_N_ELEMENTS(good); i++) {
        gint64 first, last;
        g_assert_true(ct_range_parse(good[i].text, &first, &last));
        g_assert_cmpint(first, ==, good[i].first);
        g_assert_cmpint(last, ==, good[i].last);
    }
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        gint64 first, last;
        g_assert_false(ct_range_parse(bad[i], &first, &last));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/quantity/exact", test_exact);
    g_test_add_func("/quantity/inexact", test_inexact);
    g_test_add_func("/quantity/wrong", test_wrong);
    g_test_add_func("/quantity/format", test_format);
    g_test_add_func("/quantity/ranges", test_ranges);
    return g_test_run();
}
