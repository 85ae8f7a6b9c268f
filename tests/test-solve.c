/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the solver against every combination. */
#include "solve.h"

#include <math.h>

enum { MAX_VARIABLES = 9, MAX_CHOICES = 5 };

typedef struct {
    guint n;
    guint n_choices[MAX_VARIABLES];
    gdouble own[MAX_VARIABLES][MAX_CHOICES];
    gboolean paired[MAX_VARIABLES][MAX_VARIABLES];
    gdouble pair[MAX_VARIABLES][MAX_VARIABLES][MAX_CHOICES][MAX_CHOICES];
} Problem;

static gdouble
random_cost(void)
{
    /* Few values, so that there are ties, and forbidden ones. */
    const gint32 cost = g_test_rand_int_range(0, 12);
    return cost == 11 ? HUGE_VAL : cost;
}

/* `links[i]`: for each variable but the first, bits of those before it that it is paired with. */
static void
problem_init(Problem *problem, guint n, const guint *links)
{
    *problem = (Problem){.n = n};
    for (guint v = 0; v < n; v++) {
        problem->n_choices[v] = g_test_rand_int_range(1, MAX_CHOICES + 1);
        for (guint k = 0; k < MAX_CHOICES; k++)
            problem->own[v][k] = random_cost();
        for (guint u = 0; u < v; u++) {
            problem->paired[u][v] = links[v] >> u & 1;
            for (guint k = 0; k < MAX_CHOICES * MAX_CHOICES; k++)
                problem->pair[u][v][k / MAX_CHOICES][k % MAX_CHOICES] = random_cost();
        }
    }
}

static gdouble
cost_of(const Problem *problem, const guint *choices)
{
    gdouble sum = 0;
    for (guint v = 0; v < problem->n; v++) {
        sum += problem->own[v][choices[v]];
        for (guint u = 0; u < v; u++) {
            if (problem->paired[u][v])
                sum += problem->pair[u][v][choices[u]][choices[v]];
        }
    }
    return sum;
}

static gdouble
least_cost(const Problem *problem)
{
    guint choices[MAX_VARIABLES] = {0};
    gdouble least = HUGE_VAL;
    for (;;) {
        least = MIN(least, cost_of(problem, choices));
        guint v = 0;
        while (v < problem->n && ++choices[v] == problem->n_choices[v])
            choices[v++] = 0;
        if (v == problem->n)
            return least;
    }
}

static gdouble
solve(const Problem *problem, guint max_entries, guint *choices, gboolean *exact)
{
    g_autoptr(CtSolver) solver = ct_solver_new();
    for (guint v = 0; v < problem->n; v++)
        g_assert_cmpuint(ct_solver_add_variable(solver, problem->n_choices[v], problem->own[v]), ==,
                         v);
    for (guint v = 0; v < problem->n; v++) {
        for (guint u = 0; u < v; u++) {
            if (!problem->paired[u][v])
                continue;
            /* Either order of the pair must serve. */
            const gboolean turned = g_test_rand_bit();
            const guint a = turned ? v : u, b = turned ? u : v;
            gdouble *costs = g_new(gdouble, problem->n_choices[a] * problem->n_choices[b]);
            for (guint i = 0; i < problem->n_choices[a]; i++) {
                for (guint k = 0; k < problem->n_choices[b]; k++)
                    costs[i * problem->n_choices[b] + k] =
                        turned ? problem->pair[u][v][k][i] : problem->pair[u][v][i][k];
            }
            ct_solver_add_pair(solver, a, b, costs);
        }
    }
    return ct_solver_run(solver, max_entries, choices, exact);
}

static void
check_exact(const Problem *problem)
{
    guint choices[MAX_VARIABLES];
    gboolean exact;
    const gdouble found = solve(problem, CT_SOLVER_ENTRIES, choices, &exact);
    g_assert_true(exact);
    g_assert_cmpfloat(found, ==, least_cost(problem));
    if (found < HUGE_VAL)
        g_assert_cmpfloat(cost_of(problem, choices), ==, found);
}

static void
test_chains(void)
{
    for (guint trial = 0; trial < 1000; trial++) {
        guint links[MAX_VARIABLES] = {0};
        for (guint v = 1; v < MAX_VARIABLES; v++)
            links[v] = 1u << (v - 1);
        Problem problem;
        problem_init(&problem, g_test_rand_int_range(1, 7), links);
        check_exact(&problem);
    }
}

static void
test_trees(void)
{
    for (guint trial = 0; trial < 1000; trial++) {
        guint links[MAX_VARIABLES] = {0};
        for (guint v = 1; v < MAX_VARIABLES; v++)
            links[v] = 1u << g_test_rand_int_range(0, v);
        Problem problem;
        problem_init(&problem, g_test_rand_int_range(1, 7), links);
        check_exact(&problem);
    }
}

static void
test_graphs(void)
{
    for (guint trial = 0; trial < 1000; trial++) {
        guint links[MAX_VARIABLES] = {0};
        for (guint v = 1; v < MAX_VARIABLES; v++)
            links[v] = g_test_rand_int() & g_test_rand_int();
        Problem problem;
        problem_init(&problem, g_test_rand_int_range(1, 7), links);
        check_exact(&problem);
    }
}

/* With tables too small the answer is some combination, with its true cost, and says that it may
 * not be the best. */
static void
test_small_tables(void)
{
    guint n_best = 0, n_possible = 0, n_exact = 0;
    for (guint trial = 0; trial < 300; trial++) {
        guint links[MAX_VARIABLES] = {0}, choices[MAX_VARIABLES];
        for (guint v = 1; v < MAX_VARIABLES; v++)
            links[v] = (1u << v) - 1;
        Problem problem;
        problem_init(&problem, 6, links);
        for (guint v = 0; v < problem.n; v++) {
            for (guint u = 0; u < v; u++) {
                for (guint k = 0; k < MAX_CHOICES * MAX_CHOICES; k++)
                    problem.pair[u][v][k / MAX_CHOICES][k % MAX_CHOICES] =
                        g_test_rand_int_range(0, 12);
            }
        }
        gboolean exact;
        const gdouble found = solve(&problem, 16, choices, &exact);
        const gdouble least = least_cost(&problem);
        g_assert_cmpfloat(found, >=, least);
        if (exact)
            g_assert_cmpfloat(found, ==, least);
        n_exact += exact;
        if (found < HUGE_VAL)
            g_assert_cmpfloat(cost_of(&problem, choices), ==, found);
        n_possible += least < HUGE_VAL;
        n_best += least < HUGE_VAL && found == least;
    }
    g_assert_cmpuint(n_exact, <, 150);
    g_assert_cmpuint(n_best, >, n_possible / 3);
}

static void
test_long_chain(void)
{
    enum { N = 2000, CHOICES = 12 };
    g_autoptr(CtSolver) solver = ct_solver_new();
    for (guint v = 0; v < N; v++) {
        gdouble own[CHOICES];
        for (guint k = 0; k < CHOICES; k++)
            own[k] = k == v % CHOICES ? 0 : 1;
        ct_solver_add_variable(solver, CHOICES, own);
        if (v > 0)
            ct_solver_add_pair(solver, v - 1, v, g_new0(gdouble, CHOICES * CHOICES));
    }
    g_autofree guint *choices = g_new(guint, N);
    gboolean exact;
    g_assert_cmpfloat(ct_solver_run(solver, CT_SOLVER_ENTRIES, choices, &exact), ==, 0);
    g_assert_true(exact);
    for (guint v = 0; v < N; v++)
        g_assert_cmpuint(choices[v], ==, v % CHOICES);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/solve/chains", test_chains);
    g_test_add_func("/solve/trees", test_trees);
    g_test_add_func("/solve/graphs", test_graphs);
    g_test_add_func("/solve/small-tables", test_small_tables);
    g_test_add_func("/solve/long-chain", test_long_chain);
    return g_test_run();
}
