/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of expressions: what they give, and every message. */
#include "model/expression.h"

#include <cornerturn/error.h>
#include <string.h>

static const char names[] =
    "{ slow: 20 mhz, n: 32, rate: 20 MHz, step: 5 us, name: night, none: ~, half: 1/2, "
    "angle: 180 deg, big: 9223372036854775807, "
    "wide: 18446744073709551617, quoted: '7', "
    "list: [1, [2, 3], x], map: { a: 4, b: { c: 5 } } }";

static const CtValue *
find(gpointer scope, const char *name, GError **error)
{
    const CtValue *value = ct_value_get(scope, name);
    if (!value && !g_str_equal(name, "reported"))
        g_set_error(error, CT_ERROR, CT_ERROR_CONFIG, "there is no '%s'", name);
    return value;
}

static CtValue *
expand(const char *text, GError **error)
{
    g_autoptr(CtValue) scope = ct_value_parse(names, -1, "names", NULL);
    g_assert_nonnull(scope);
    g_autoptr(CtValue) scalar = ct_value_parse(text, -1, "g", NULL);
    g_assert_nonnull(scalar);
    return ct_expression_expand(scalar, "node 'x': ", find, scope, error);
}

static const struct {
    const char *text, *given;
} good[] = {
    {"plain", "plain"},
    {"$5 }", "$5 }"},
    {"\"$${n}\"", "${n}"},
    {"a$${n}b${n}", "a${n}b32"},
    {"${n}", "32"},
    {"\"${ n }\"", "32"},
    {"${rate}", "20 MHz"},
    {"x-${rate}-${n}", "x-20 MHz-32"},
    {"${n * 2}", "64"},
    {"${n-1}", "31"},
    {"${-n + 1}", "-31"},
    {"${2 - -3}", "5"},
    {"${1 + 2 * 3}", "7"},
    {"${(1 + 2) * 3}", "9"},
    {"${2 ** 3 ** 2}", "512"},
    {"${-2 ** 2}", "-4"},
    {"${2 ** -2}", "0.25"},
    {"${2 ** 100}", "1267650600228229401496703205376"},
    {"${(2 ** 100) % 7}", "2"},
    {"${(2 ** 124 + 1/3) % (2/3)}", "1/3"},
    {"${(2 ** 120) % (10 ** 30 / 3)}", "987354747618711421180841033728/3"},
    {"${-(2 ** 126) % (2 ** 126 - 1)}", "85070591730234615865843651857942052862"},
    {"${wide + 1}", "18446744073709551618"},
    {"${wide}", "18446744073709551617"},
    {"${7 // 2}", "3"},
    {"${-7 // 2}", "-4"},
    {"${-7 % 4}", "1"},
    {"${7 % -4}", "-1"},
    {"${7.5 % 2}", "1.5"},
    {"${1 ms % 300 us}", "0.0001 s"},
    {"${10 - 4 - 3}", "3"},
    {"${100 / 10 / 5}", "2"},
    {"${big - 1}", "9223372036854775806"},
    {"${big + 1}", "9223372036854775808"},
    {"${20 MHz / 3}", "20000000/3 Hz"},
    {"f ${20 MHz / 3}", "f 6666666.666666667 Hz"},
    {"${rate / n}", "625000 Hz"},
    {"${rate * step}", "100"},
    {"${1 / step}", "200000 Hz"},
    {"${rate * 1 ms}", "20000"},
    {"${3 / rate}", "0.00000015 s"},
    {"${step ** -1 + 1 kHz}", "201000 Hz"},
    {"${2 KiB * n}", "65536 B"},
    {"${3 km / 2}", "1500 m"},
    {"${half + half}", "1"},
    {"${half}", "1/2"},
    {"${quoted * 2}", "14"},
    {"${angle / angle}", "1"},
    {"${180 deg}", "3.141592653589793 rad"},
    {"${1 / 3}", "1/3"},
    {"${0.1 + 0.2}", "0.3"},
    {"${1e3}", "1000"},
    {"${2 ** 0.5}", "1.4142135623730951"},
    {"${list[0] + 1}", "2"},
    {"${list[n - 31][1]}", "3"},
    {"${list[2]}.npy", "x.npy"},
    {"${map.a * map.b.c}", "20"},
    {"${5 us}", "0.000005 s"},
    {"${5 µs * 2}", "0.00001 s"},
};

static void
test_good(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(good); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(CtValue) value = expand(good[i].text, &error);
        g_assert_no_error(error);
        g_assert_cmpint(value->kind, ==, CT_VALUE_SCALAR);
        g_assert_cmpstr(value->text, ==, good[i].given);
    }
}

/* A whole expression becomes the value, of any kind, at the place of the expression. */
static void
test_kinds(void)
{
    g_autoptr(CtValue) list = expand("# first\n  ${list}", NULL);
    g_assert_cmpint(list->kind, ==, CT_VALUE_LIST);
    g_assert_cmpuint(list->place.line, ==, 2);
    g_assert_cmpuint(list->place.column, ==, 3);
    g_autoptr(CtValue) nested = expand("\"${list[1]}\"", NULL);
    g_assert_cmpuint(nested->items->len, ==, 2);
    g_autoptr(CtValue) mapping = expand("${map}", NULL);
    g_assert_cmpint(mapping->kind, ==, CT_VALUE_MAPPING);
    g_autoptr(CtValue) nothing = expand("${none}", NULL);
    g_assert_true(ct_value_is_nothing(nothing));
    g_autoptr(CtValue) made = expand("${n + 0.5}", NULL);
    g_autofree char *shown = ct_value_describe(made);
    g_assert_cmpstr(shown, ==, "'32.5' (from '${n + 0.5}')");
}

static const struct {
    const char *text, *message;
} bad[] = {
    {"${}", "g:1:1: node 'x': '${}': wants a number or a name, but is given nothing"},
    {"a ${n", "g:1:3: node 'x': '${': begins an expression, which wants a '}' at its end"},
    {"\"ä${x}\"", "g:1:3: node 'x': '${x}': there is no 'x'"},
    {"a${n}b${x}", "g:1:7: node 'x': '${x}': there is no 'x'"},
    {"${n n}", "g:1:1: node 'x': '${n n}': wants an operator, but is given 'n'"},
    {"${n +}", "g:1:1: node 'x': '${n +}': wants a number or a name, but is given nothing"},
    {"${(n}", "g:1:1: node 'x': '${(n}': wants ')', but is given nothing"},
    {"${n)}", "g:1:1: node 'x': '${n)}': wants an operator, but is given ')'"},
    {"${n $ 2}", "g:1:1: node 'x': '${n $ 2}': wants an operator, but is given '$ 2'"},
    {"${2 Jy}", "g:1:1: node 'x': '${2 Jy}': wants a unit such as MHz, ms, km, deg or GiB after a "
                "number, but is given 'Jy'"},
    {"${2 n}", "g:1:1: node 'x': '${2 n}': wants a unit such as MHz, ms, km, deg or GiB after a "
               "number, but is given 'n'"},
    {"${rate + step}",
     "g:1:1: node 'x': '${rate + step}': '+' wants two quantities of one unit, but "
     "is given Hz and s"},
    {"${rate - 1}", "g:1:1: node 'x': '${rate - 1}': '-' wants two quantities of one unit, but is "
                    "given Hz and a number"},
    {"${rate * rate}",
     "g:1:1: node 'x': '${rate * rate}': wants a result in Hz, s, m, rad or B, or "
     "a number, but gives one in s^-2"},
    {"${1 m / 1 s}", "g:1:1: node 'x': '${1 m / 1 s}': wants a result in Hz, s, m, rad or B, or a "
                     "number, but gives one in s^-1 m"},
    {"${name * 2}",
     "g:1:1: node 'x': '${name * 2}': arithmetic wants numbers, but is given 'night'"},
    {"${slow * 2}",
     "g:1:1: node 'x': '${slow * 2}': arithmetic wants numbers, but is given '20 mhz' at "
     "names:1:9; did you mean 'MHz'?"},
    {"${list * 2}",
     "g:1:1: node 'x': '${list * 2}': arithmetic wants numbers, but is given a list of 3"},
    {"a${list}",
     "g:1:2: node 'x': '${list}': wants a number or a text within a longer text, but is "
     "given a list of 3"},
    {"a${none}",
     "g:1:2: node 'x': '${none}': wants a number or a text within a longer text, but is "
     "given nothing"},
    {"${1 + 2}", "g:1:1: node 'x': '${1 + 2}': wants an operator, but is given ' + 2'"},
    {"${1 / 0}", "g:1:1: node 'x': '${1 / 0}': divides by zero"},
    {"${1 % (n - 32)}", "g:1:1: node 'x': '${1 % (n - 32)}': divides by zero"},
    {"${1 // 0.0}", "g:1:1: node 'x': '${1 // 0.0}': divides by zero"},
    {"${0 ** -1}", "g:1:1: node 'x': '${0 ** -1}': divides by zero"},
    {"${10 ** 400}", "g:1:1: node 'x': '${10 ** 400}': gives no finite number"},
    {"${1e308 * 10}", "g:1:1: node 'x': '${1e308 * 10}': gives no finite number"},
    {"${1e999}", "g:1:1: node 'x': '${1e999}': wants finite numbers"},
    {"${(-1) ** 0.5}", "g:1:1: node 'x': '${(-1) ** 0.5}': gives no finite number"},
    {"${nan}", "g:1:1: node 'x': '${nan}': there is no 'nan'"},
    {"${2 ** 200 % 7}", "g:1:1: node 'x': '${2 ** 200 % 7}': '%' wants numbers that are exact "
                        "fractions of 128 bits"},
    {"${angle // 1 deg}", "g:1:1: node 'x': '${angle // 1 deg}': '//' wants numbers that are exact "
                          "fractions of 128 bits"},
    {"${2 ** step}",
     "g:1:1: node 'x': '${2 ** step}': '**' wants an exponent that is a number, and "
     "an integer if the base has a unit"},
    {"${rate ** 0.5}",
     "g:1:1: node 'x': '${rate ** 0.5}': '**' wants an exponent that is a number, "
     "and an integer if the base has a unit"},
    {"${step ** 65}", "g:1:1: node 'x': '${step ** 65}': wants powers of units up to 64"},
    {"${list[3]}", "g:1:1: node 'x': '${list[3]}': wants an index from 0 to 2, but is given 3"},
    {"${list[-1]}", "g:1:1: node 'x': '${list[-1]}': wants an index from 0 to 2, but is given -1"},
    {"${list[0.5]}",
     "g:1:1: node 'x': '${list[0.5]}': wants an index from 0 to 2, but is given 0.5"},
    {"${list[1 s]}",
     "g:1:1: node 'x': '${list[1 s]}': wants an index from 0 to 2, but is given 1 s"},
    {"${list[0}", "g:1:1: node 'x': '${list[0}': wants ']', but is given nothing"},
    {"${n[0]}", "g:1:1: node 'x': '${n[0]}': wants a list before '[', but is given '32'"},
    {"${n.a}", "g:1:1: node 'x': '${n.a}': wants a mapping before '.a', but is given '32'"},
    {"${map.}", "g:1:1: node 'x': '${map.}': wants a key after '.'"},
    {"${map.aa}", "g:1:1: node 'x': '${map.aa}': the mapping has no key 'aa'; did you mean 'a'?"},
};

static void
test_bad(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(expand(bad[i].text, &error));
        g_assert_cmpstr(error->message, ==, bad[i].message);
    }
}

/* What the finder has reported is not reported again. */
static void
test_reported(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(expand("a${1 + reported}", &error));
    g_assert_no_error(error);
    g_assert_null(expand("${reported}", &error));
    g_assert_no_error(error);
}

/* Nesting and lengths that would take too much of the stack, the memory or the time. */
static void
test_limits(void)
{
    g_autofree char *parentheses = g_strnfill(900, '(');
    g_autofree char *signs = g_strnfill(900, '-');
    g_autofree char *long_one = g_strnfill(1001, '1');
    g_autofree char *text = g_strnfill(3000, 'x');
    const struct {
        char *text;
        const char *message;
    } cases[] = {
        {g_strdup_printf("${%s}", parentheses), "nested more than 32 deep"},
        {g_strdup_printf("${%sn}", signs), "nested more than 32 deep"},
        {g_strdup_printf("${%s}", long_one), "wants at most 1000 bytes"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(expand(cases[i].text, &error));
        g_assert_true(g_str_has_suffix(error->message, cases[i].message));
        g_free(cases[i].text);
    }
    g_autoptr(CtValue) scope = ct_value_new(CT_VALUE_MAPPING, (CtPlace){"g", 0, 0});
    ct_value_set(scope, "t", ct_value_new_text(&(CtPlace){"g", 0, 0}, text));
    g_autoptr(GString) many = g_string_new(NULL);
    for (guint i = 0; i < 1000; i++)
        g_string_append(many, "${t}");
    g_autoptr(CtValue) scalar = ct_value_new_text(&(CtPlace){"g", 0, 0}, many->str);
    g_autoptr(GError) error = NULL;
    g_assert_null(ct_expression_expand(scalar, NULL, find, scope, &error));
    g_assert_cmpstr(error->message, ==, "g: '${t}': makes a text of more than 1048576 bytes");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/expression/good", test_good);
    g_test_add_func("/expression/kinds", test_kinds);
    g_test_add_func("/expression/bad", test_bad);
    g_test_add_func("/expression/reported", test_reported);
    g_test_add_func("/expression/limits", test_limits);
    return g_test_run();
}
