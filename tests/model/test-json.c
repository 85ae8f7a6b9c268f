/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of JSON: every text and number that is written is read back as the same. */
#include "json-at.h"

#include <cornerturn/json.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* Writes one number. */
static char *
write_real(gdouble value)
{
    CtJson *json = ct_json_new();
    ct_json_add_real(json, "x", value);
    return ct_json_free_to_text(json, FALSE);
}

static void
test_reals(void)
{
    static const struct {
        gdouble value;
        const char *text;
    } cases[] = {
        {0.1, "{\"x\":0.1}"},
        {12345, "{\"x\":12345}"},
        {-2.5e-9, "{\"x\":-2.5e-09}"},
        {1e20, "{\"x\":1e+20}"},
        {1.0 / 3, "{\"x\":0.3333333333333333}"},
        {NAN, "{\"x\":null}"},
        {HUGE_VAL, "{\"x\":null}"},
        {-HUGE_VAL, "{\"x\":null}"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = write_real(cases[i].value);
        g_assert_cmpstr(text, ==, cases[i].text);
    }
}

static void
assert_reads_back(gdouble value)
{
    g_autofree char *text = write_real(value);
    g_autoptr(JsonArray) found = json_select(text, "$.x");
    if (json_array_get_double_element(found, 0) != value)
        g_error("%.17g is written as %s", value, text);
}

static void
test_reals_read_back(void)
{
    static const gdouble extremes[] = {DBL_MIN, DBL_MAX, -DBL_MAX, DBL_EPSILON, 0x1p-1074, 0x1p63};
    for (guint i = 0; i < G_N_ELEMENTS(extremes); i++)
        assert_reads_back(extremes[i]);
    for (guint i = 0; i < 2000; i++)
        assert_reads_back(g_test_rand_double_range(-1, 1) *
                          pow(10, g_test_rand_int_range(-300, 300)));
}

static void
test_integers(void)
{
    CtJson *json = ct_json_new();
    ct_json_begin_array(json, "x");
    ct_json_add_integer(json, NULL, G_MININT64);
    ct_json_add_integer(json, NULL, G_MAXINT64);
    ct_json_add_unsigned(json, NULL, G_MAXUINT64);
    ct_json_add_padded(json, NULL, 42, 5);
    ct_json_add_padded(json, NULL, -123456, 5);
    ct_json_end_array(json);
    g_autofree char *text = ct_json_free_to_text(json, FALSE);
    g_assert_cmpstr(text, ==,
                    "{\"x\":[-9223372036854775808,9223372036854775807,18446744073709551615,"
                    "   42,-123456]}");
}

/* All control characters, quotes, and what begins as the mark of a number does. */
static void
test_texts(void)
{
    char all[0x81] = {0};
    for (guint c = 1; c < 0x80; c++)
        all[c - 1] = (char)c;
    g_autofree char *long_text = g_strconcat(all, "é \\\"\\", all, NULL);
    const struct {
        const char *given, *wanted;
    } cases[] = {
        {"", ""},
        {long_text, long_text},
        {"\xff", "\uFFFD"},
        {"\xff"
         "12",
         "\uFFFD12"},
        {"\",\"\xff"
         "1\":[",
         "\",\"\uFFFD1\":["},
        {"end of \xc3", "end of \uFFFD"},
    };
    CtJson *json = ct_json_new();
    ct_json_begin_array(json, "x");
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        ct_json_add_text(json, NULL, cases[i].given);
    ct_json_add_text(json, NULL, NULL);
    ct_json_end_array(json);
    g_autofree char *text = ct_json_free_to_text(json, TRUE);
    for (const char *c = text; *c; c++)
        g_assert_true((guchar)*c >= ' ' || *c == '\n');
    g_autoptr(JsonArray) found = json_select(text, "$.x[*]");
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpstr(json_array_get_string_element(found, i), ==, cases[i].wanted);
    g_assert_true(json_array_get_null_element(found, G_N_ELEMENTS(cases)));
}

static void
test_lists(void)
{
    static const gdouble reals[] = {0.1, 1e20, -HUGE_VAL, 3};
    static const gint64 integers[] = {G_MININT64, 0, G_MAXINT64};
    CtJson *json = ct_json_new();
    ct_json_add_reals(json, "reals", reals, G_N_ELEMENTS(reals));
    ct_json_add_integers(json, "integers", integers, G_N_ELEMENTS(integers));
    ct_json_add_integers(json, "none", NULL, 0);
    g_autofree char *text = ct_json_free_to_text(json, TRUE);
    g_assert_nonnull(strstr(text, "\"reals\" : [0.1, 1e+20, null, 3],\n"));
    g_assert_nonnull(
        strstr(text, "\"integers\" : [-9223372036854775808, 0, 9223372036854775807],\n"));
    g_assert_nonnull(strstr(text, "\"none\" : []\n"));
    g_autoptr(JsonArray) found = json_select(text, "$.reals[3]");
    g_assert_cmpfloat(json_array_get_double_element(found, 0), ==, 3);
}

static void
test_order(void)
{
    CtJson *json = ct_json_new();
    ct_json_add_boolean(json, "z", TRUE);
    ct_json_begin_object(json, "a");
    ct_json_end_object(json);
    ct_json_add_real(json, "m", 1.5);
    g_autofree char *text = ct_json_free_to_text(json, FALSE);
    g_assert_cmpstr(text, ==, "{\"z\":true,\"a\":{},\"m\":1.5}");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/json/reals", test_reals);
    g_test_add_func("/json/reals-read-back", test_reals_read_back);
    g_test_add_func("/json/integers", test_integers);
    g_test_add_func("/json/texts", test_texts);
    g_test_add_func("/json/lists", test_lists);
    g_test_add_func("/json/order", test_order);
    return g_test_run();
}
