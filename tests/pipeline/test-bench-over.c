/* SPDX-License-Identifier: BSD-3-Clause */
/* A benchmark that is over while it measures ceilings, or while its first case warms up, ends
 * there, and has no figures of them. */
#include <cornerturn/bench.h>
#include <string.h>

/* Over from the second question on: the first one comes before the case. */
static gboolean
is_over(gpointer data)
{
    guint *n_asked = data;
    return (*n_asked)++ > 0;
}

/* Measures cases of a group, which is over then; the figures have nothing in the list `empty`. */
static guint
end_early(const char *group, const char *const *names, const char *empty)
{
    g_autoptr(GError) error = NULL;
    guint n_asked = 0;
    const CtBenchHow how = {
        .group = group,
        .names = names,
        .n_workers = 1,
        .seconds = 0.005,
        .is_over = is_over,
        .user_data = &n_asked,
    };
    g_autoptr(CtBench) bench = ct_bench(&how, &error);
    g_assert_no_error(error);
    g_autofree char *json = ct_bench_describe(bench, NULL, "json", &error);
    g_assert_no_error(error);
    g_autofree char *list = g_strdup_printf("\"%s\" : []", empty);
    g_assert_nonnull(strstr(json, "\"state\" : \"interrupted\""));
    g_assert_nonnull(strstr(json, list));
    return n_asked;
}

static void
test_warm_up(void)
{
    static const char *const names[] = {"gains", NULL};
    /* It is asked again after the first part of the case, and then says so to itself. */
    g_assert_cmpuint(end_early("stages", names, "cases"), ==, 2);
}

static void
test_ceilings(void)
{
    end_early("ceilings", NULL, "ceilings");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/bench-over/warm-up", test_warm_up);
    g_test_add_func("/bench-over/ceilings", test_ceilings);
    return g_test_run();
}
