/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of tunings: conversion from text and to text, and the check of a variant's table. */
#include "graph/tuning.h"

static const CtTunable tunables[] = {
    {"tile", CT_VALUES(2, 4, 8), 4, "along a side"},
    {"lanes", CT_VALUES(0, 1), 0, "0: by the shape"},
    {"alone", CT_VALUES(-7), -7, "one value"},
    {NULL},
};
static const CtVariant variant = {.name = "cpu", .tunables = tunables};
static const CtVariant plain = {.name = "plain"};

static void
check_parsed(const char *text, const char *wanted)
{
    g_autoptr(GError) error = NULL;
    gint64 tuning[CT_MAX_TUNABLES];
    ct_tuning_defaults(&variant, tuning);
    ct_tuning_parse(&variant, text, tuning, &error);
    g_assert_no_error(error);
    g_autofree char *given = ct_tuning_to_string(&variant, tuning, FALSE);
    g_assert_cmpstr(given, ==, wanted);
}

static void
test_parse(void)
{
    check_parsed("tile=2", "tile=2,lanes=0,alone=-7");
    check_parsed("lanes=1, tile = 8", "tile=8,lanes=1,alone=-7");
    check_parsed("alone=-7", "tile=4,lanes=0,alone=-7");
}

static void
check_mistake(const char *text, const char *wanted)
{
    g_autoptr(GError) error = NULL;
    gint64 tuning[CT_MAX_TUNABLES];
    ct_tuning_defaults(&variant, tuning);
    g_assert_false(ct_tuning_parse(&variant, text, tuning, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_CONFIG);
    g_assert_cmpstr(error->message, ==, wanted);
    g_assert_cmpint(tuning[0], ==, 4);
}

static void
test_mistakes(void)
{
    check_mistake("tile=8,tile=2", "'tile' is given twice in 'tile=8,tile=2'");
    check_mistake("tile", "a tuning wants NAME=VALUE,…, but is given 'tile'");
    check_mistake("", "a tuning wants NAME=VALUE,…, but is given ''");
    check_mistake("tile=8,", "a tuning wants NAME=VALUE,…, but is given 'tile=8,'");
    check_mistake("tile=", "'tile' of variant 'cpu' wants 2, 4 or 8, but is given ''");
    check_mistake("tile=8,alone=7", "'alone' of variant 'cpu' wants -7, but is given '7'");
    check_mistake("width=8", "variant 'cpu' has no tunable 'width'; it has tile, lanes, alone");
    check_mistake("lane=1", "variant 'cpu' has no tunable 'lane'; did you mean 'lanes'?");
}

static void
test_names(void)
{
    gint64 tuning[CT_MAX_TUNABLES], others[CT_MAX_TUNABLES];
    ct_tuning_defaults(&variant, tuning);
    ct_tuning_defaults(&variant, others);
    g_assert_true(ct_tuning_equal(&variant, tuning, others));
    g_autofree char *usual = ct_tuning_name(&variant, tuning);
    g_assert_cmpstr(usual, ==, "cpu");
    tuning[1] = 1;
    g_assert_false(ct_tuning_equal(&variant, tuning, others));
    g_autofree char *other = ct_tuning_name(&variant, tuning);
    g_assert_cmpstr(other, ==, "cpu:lanes=1");
    g_assert_cmpuint(ct_tuning_count(&variant), ==, 3);
    g_assert_cmpuint(ct_tuning_count(&plain), ==, 0);
    g_autofree char *none = ct_tuning_name(&plain, tuning);
    g_assert_cmpstr(none, ==, "plain");
}

static const struct {
    CtTunable tunables[2];
    const char *fault; /* NULL: none */
} cases[] = {
    {{{"tile", CT_VALUES(2, 4), 2, "fine"}}, NULL},
    {{{"tile", CT_VALUES(4, 2), 4, "falls"}}, "'tile' wants values that rise"},
    {{{"tile", CT_VALUES(2, 2), 2, "stands still"}}, "'tile' wants values that rise"},
    {{{"tile", CT_VALUES(2, 4), 3, "the default is none of them"}},
     "'tile' wants a fallback of 2 or 4, but is given 3"},
    {{{"Tile", CT_VALUES(2), 2, "a capital"}}, "'Tile' wants a name of a-z, 0-9 and _"},
    {{{"", CT_VALUES(2), 2, "no name"}}, "'' wants a name of a-z, 0-9 and _"},
};

static void
test_faults(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const CtVariant variant_of_case = {.name = "bad", .tunables = cases[i].tunables};
        g_autofree char *fault = ct_tuning_find_fault(&variant_of_case);
        g_assert_cmpstr(fault, ==, cases[i].fault);
    }
    g_assert_null(ct_tuning_find_fault(&variant));
    g_assert_null(ct_tuning_find_fault(&plain));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tuning/parse", test_parse);
    g_test_add_func("/tuning/mistakes", test_mistakes);
    g_test_add_func("/tuning/names", test_names);
    g_test_add_func("/tuning/faults", test_faults);
    return g_test_run();
}
