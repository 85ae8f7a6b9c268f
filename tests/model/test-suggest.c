/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the suggestions for mistyped names. */
#include "model/suggest.h"

static const char *const names[] = {"backend", "block", "stages", "n_channels", "n_taps"};

static void
check_suggestion(const char *given, const char *wanted)
{
    g_assert_cmpstr(ct_suggest_name(given, names, G_N_ELEMENTS(names)), ==, wanted);
}

static void
test_near(void)
{
    check_suggestion("stage", "stages");
    check_suggestion("stags", "stages");
    check_suggestion("n_channel", "n_channels");
    check_suggestion("n_tpas", "n_taps");
    check_suggestion("Backend", "backend");
    check_suggestion("blck", "block");
}

static void
test_far(void)
{
    check_suggestion("", NULL);
    check_suggestion("weights", NULL);
    check_suggestion("x", NULL);
    g_autofree char *long_name = g_strnfill(10000, 'b');
    check_suggestion(long_name, NULL);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/suggest/near", test_near);
    g_test_add_func("/suggest/far", test_far);
    return g_test_run();
}
