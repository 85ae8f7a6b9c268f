/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the solver against every combination, and of its proven bounds if it is cut short. */
#include "plan/solve.h"

#include <math.h>
#include <string.h>

enum { MAX_VARIABLES = 9, MAX_CHOICES = 4, MAX_WAYS = 3, MAX_SUMS = 5 };

typedef struct {
    guint n;
    gdouble vectors[MAX_WAYS][MAX_SUMS + 1];
} Cell;

/* A table over one variable (a == b) or over two. */
typedef struct {
    guint a, b;
    Cell cells[MAX_CHOICES][MAX_CHOICES];
} Table;

typedef struct {
    GRand *random;
    guint n_sums;
    guint n;
    guint n_choices[MAX_VARIABLES];
    guint n_tables;
    Table tables[MAX_VARIABLES * (MAX_VARIABLES + 1) / 2];
    gdouble busiest, sum; /* the least */
} Problem;

/* Distributions of costs. */
typedef enum { FEW_VALUES, REALS, SKEWED, N_KINDS } Kind;

static gdouble
random_cost(GRand *random, Kind kind)
{
    if (kind == FEW_VALUES)
        return g_rand_int_range(random, 0, 6);
    if (kind == REALS)
        return g_rand_double(random);
    /* Some take long on one resource, most take very little. */
    return exp(-6 * g_rand_double(random));
}

static void
random_cell(const Problem *problem, Cell *cell, Kind kind)
{
    GRand *random = problem->random;
    const gint32 dice = g_rand_int_range(random, 0, 20);
    cell->n = dice == 0 ? 0 : dice < 17 ? 1 : (guint)g_rand_int_range(random, 2, MAX_WAYS + 1);
    for (guint w = 0; w < cell->n; w++) {
        for (guint c = 0; c <= problem->n_sums; c++) {
            const gboolean any = c < problem->n_sums ? g_rand_int_range(random, 0, 3) > 0
                                                     : g_rand_int_range(random, 0, 4) == 0;
            cell->vectors[w][c] = any ? random_cost(random, kind) : 0;
        }
        cell->vectors[w][problem->n_sums] *= 3;
    }
}

/* `links[i]`: for each variable but the first, a bit for each earlier one that shares a table with
 * it. */
static void
problem_init(Problem *problem, guint32 seed, guint n, const guint *links, Kind kind)
{
    GRand *random = g_rand_new_with_seed(seed);
    *problem = (Problem){.random = random, .n = n};
    problem->n_sums = (guint)g_rand_int_range(random, 1, MAX_SUMS + 1);
    for (guint v = 0; v < n; v++)
        problem->n_choices[v] = (guint)g_rand_int_range(random, 1, MAX_CHOICES + 1);
    for (guint v = 0; v < n; v++) {
        for (guint u = 0; u <= v; u++) {
            if (u < v && !(links[v] >> u & 1))
                continue;
            Table *table = &problem->tables[problem->n_tables++];
            table->a = u;
            table->b = v;
            for (guint k = 0; k < MAX_CHOICES * MAX_CHOICES; k++)
                random_cell(problem, &table->cells[k / MAX_CHOICES][k % MAX_CHOICES], kind);
        }
    }
}

static const Cell *
cell_at(const Table *table, const guint *choices)
{
    return &table->cells[table->a == table->b ? 0 : choices[table->a]][choices[table->b]];
}

static gdouble
busiest_of(const Problem *problem, const gdouble *vector, gdouble *sum)
{
    gdouble busiest = 0;
    *sum = 0;
    for (guint c = 0; c <= problem->n_sums; c++) {
        busiest = MAX(busiest, vector[c]);
        *sum += c < problem->n_sums ? vector[c] : 0;
    }
    return busiest;
}

static void
add_vector(const Problem *problem, gdouble *vector, const gdouble *other)
{
    for (guint c = 0; c < problem->n_sums; c++)
        vector[c] += other[c];
    vector[problem->n_sums] = MAX(vector[problem->n_sums], other[problem->n_sums]);
}

/* Tries all entries of the tables from `t` on. */
static void
try_ways(Problem *problem, guint t, const guint *choices, const gdouble *vector)
{
    if (t == problem->n_tables) {
        gdouble sum;
        const gdouble busiest = busiest_of(problem, vector, &sum);
        if (busiest < problem->busiest * (1 - 1e-12) ||
            (busiest <= problem->busiest * (1 + 1e-12) && sum < problem->sum)) {
            problem->busiest = busiest;
            problem->sum = sum;
        }
        return;
    }
    const Cell *cell = cell_at(&problem->tables[t], choices);
    for (guint w = 0; w < cell->n; w++) {
        gdouble next[MAX_SUMS + 1];
        memcpy(next, vector, sizeof(next));
        add_vector(problem, next, cell->vectors[w]);
        try_ways(problem, t + 1, choices, next);
    }
}

static void
try_all(Problem *problem)
{
    const gdouble nothing[MAX_SUMS + 1] = {0};
    guint choices[MAX_VARIABLES] = {0};
    problem->busiest = problem->sum = HUGE_VAL;
    for (;;) {
        try_ways(problem, 0, choices, nothing);
        guint v = 0;
        while (v < problem->n && ++choices[v] == problem->n_choices[v])
            choices[v++] = 0;
        if (v == problem->n)
            return;
    }
}

static guint
add_cell(CtSolver *solver, const Cell *cell)
{
    if (cell->n == 0)
        return CT_CELL_FORBIDDEN;
    const guint index = ct_solver_add_cell(solver);
    for (guint w = 0; w < cell->n; w++)
        ct_solver_add_vector(solver, cell->vectors[w]);
    return index;
}

static CtSolution *
solve(const Problem *problem, CtSolverLimits limits)
{
    g_autoptr(CtSolver) solver = ct_solver_new(problem->n_sums);
    for (guint v = 0; v < problem->n; v++) {
        for (guint t = 0; t < problem->n_tables; t++) {
            const Table *table = &problem->tables[t];
            if (table->a != v || table->b != v)
                continue;
            guint cells[MAX_CHOICES];
            for (guint k = 0; k < problem->n_choices[v]; k++)
                cells[k] = add_cell(solver, &table->cells[0][k]);
            g_assert_cmpuint(ct_solver_add_variable(solver, problem->n_choices[v], cells), ==, v);
        }
    }
    for (guint t = 0; t < problem->n_tables; t++) {
        const Table *table = &problem->tables[t];
        if (table->a == table->b)
            continue;
        /* The pair may be in either order. */
        const gboolean turned = g_rand_boolean(problem->random);
        const guint a = turned ? table->b : table->a, b = turned ? table->a : table->b;
        guint *cells = g_new(guint, problem->n_choices[a] * problem->n_choices[b]);
        for (guint i = 0; i < problem->n_choices[a]; i++) {
            for (guint k = 0; k < problem->n_choices[b]; k++)
                cells[i * problem->n_choices[b] + k] =
                    add_cell(solver, turned ? &table->cells[k][i] : &table->cells[i][k]);
        }
        ct_solver_add_pair(solver, a, b, cells);
    }
    return ct_solver_run(solver, limits);
}

/* Checks that the solution's choices cost what it says. */
static void
check_sums(const Problem *problem, const CtSolution *solution)
{
    gdouble vector[MAX_SUMS + 1] = {0};
    guint pair = 0;
    for (guint t = 0; t < problem->n_tables; t++) {
        const Table *table = &problem->tables[t];
        const Cell *cell = cell_at(table, solution->choices);
        const guint way =
            table->a == table->b ? solution->ways[table->a] : solution->pair_ways[pair++];
        g_assert_cmpuint(way, <, cell->n);
        add_vector(problem, vector, cell->vectors[way]);
    }
    gdouble sum;
    const gdouble busiest = busiest_of(problem, vector, &sum);
    g_assert_cmpfloat_with_epsilon(solution->busiest, busiest, 1e-12 * busiest + 1e-15);
    g_assert_cmpfloat_with_epsilon(solution->sum, sum, 1e-12 * sum + 1e-15);
    for (guint c = 0; c <= problem->n_sums; c++)
        g_assert_cmpfloat_with_epsilon(solution->vector[c], vector[c], 1e-12 * busiest + 1e-15);
}

static void
check_exact(guint n, const guint *links)
{
    const guint32 seed = (guint32)g_test_rand_int();
    Problem problem;
    problem_init(&problem, seed, n, links, seed % N_KINDS);
    try_all(&problem);
    g_autoptr(CtSolution) solution = solve(&problem, CT_SOLVER_LIMITS);
    const gboolean is_right =
        problem.busiest == HUGE_VAL
            ? solution->busiest == HUGE_VAL
            : fabs(solution->busiest - problem.busiest) <= 1e-11 * problem.busiest &&
                  fabs(solution->sum - problem.sum) <= 1e-11 * problem.sum &&
                  solution->least == solution->busiest;
    if (!is_right)
        g_error("seed %u, %u variables, %u sums: found %.17g (%.17g in all), proven %.17g; the "
                "least is %.17g (%.17g)",
                seed, n, problem.n_sums, solution->busiest, solution->sum, solution->least,
                problem.busiest, problem.sum);
    if (solution->busiest < HUGE_VAL)
        check_sums(&problem, solution);
    g_rand_free(problem.random);
}

enum { N_TRIALS = 2000 };

static void
test_chains(void)
{
    for (guint trial = 0; trial < N_TRIALS; trial++) {
        guint links[MAX_VARIABLES] = {0};
        for (guint v = 1; v < MAX_VARIABLES; v++)
            links[v] = 1u << (v - 1);
        check_exact(g_test_rand_int_range(1, 6), links);
    }
    g_test_message("%u random chains of cost vectors against every combination", N_TRIALS);
}

static void
test_trees(void)
{
    for (guint trial = 0; trial < N_TRIALS; trial++) {
        guint links[MAX_VARIABLES] = {0};
        for (guint v = 1; v < MAX_VARIABLES; v++)
            links[v] = 1u << g_test_rand_int_range(0, v);
        check_exact(g_test_rand_int_range(1, 6), links);
    }
    g_test_message("%u random trees of cost vectors against every combination", N_TRIALS);
}

/* Diamonds in a row: branches of one variable meet in another. */
static void
test_diamonds(void)
{
    static const guint links[MAX_VARIABLES] = {
        0, 1u << 0, 1u << 0, 1u << 1 | 1u << 2, 1u << 3, 1u << 3 | 1u << 4};
    for (guint trial = 0; trial < N_TRIALS; trial++)
        check_exact(g_test_rand_int_range(4, 7), links);
    g_test_message("%u random diamonds of cost vectors against every combination", N_TRIALS);
}

static void
test_graphs(void)
{
    for (guint trial = 0; trial < N_TRIALS; trial++) {
        guint links[MAX_VARIABLES] = {0};
        for (guint v = 1; v < MAX_VARIABLES; v++)
            links[v] = (guint)(g_test_rand_int() & g_test_rand_int());
        check_exact(g_test_rand_int_range(1, 6), links);
    }
    g_test_message("%u random graphs of cost vectors against every combination", N_TRIALS);
}

/* If the solver is cut short, by tables or by labels, its solution is a valid combination with its
 * true cost, and no combination costs less than the proven bound. */
static void
test_cut_short(void)
{
    static const CtSolverLimits limits[] = {
        {100, 100000, 1000000}, {500, 0, 1000000}, {10000000, 10000000, 200}};
    guint n_possible = 0, n_found = 0, n_best = 0, n_proven = 0;
    gdouble worst = 1;
    for (guint trial = 0; trial < 600; trial++) {
        guint links[MAX_VARIABLES] = {0};
        for (guint v = 1; v < MAX_VARIABLES; v++)
            links[v] = (1u << v) - 1;
        const guint32 seed = (guint32)g_test_rand_int();
        Problem problem;
        problem_init(&problem, seed, 5, links, seed % N_KINDS);
        try_all(&problem);
        g_autoptr(CtSolution) solution = solve(&problem, limits[trial % G_N_ELEMENTS(limits)]);
        g_rand_free(problem.random);
        n_possible += problem.busiest < HUGE_VAL;
        if (solution->busiest == HUGE_VAL)
            continue;
        n_found++;
        check_sums(&problem, solution);
        if (solution->busiest < problem.busiest * (1 - 1e-12) ||
            solution->least > problem.busiest * (1 + 1e-12))
            g_error("seed %u: found %.17g, proven %.17g; the least is %.17g", seed,
                    solution->busiest, solution->least, problem.busiest);
        n_best += solution->busiest <= problem.busiest * (1 + 1e-12);
        n_proven += solution->least == solution->busiest;
        worst = MAX(worst, problem.busiest > 0 ? solution->busiest / problem.busiest : 1);
    }
    g_test_message("%u graphs cut short: %u solved, %u at the least, %u proven; at worst %.3f "
                   "times the least",
                   n_possible, n_found, n_best, n_proven, worst);
    g_assert_cmpuint(n_found, >, n_possible * 9 / 10);
    g_assert_cmpuint(n_best, >, n_possible / 2);
    g_assert_cmpuint(n_proven, <, n_best);
}

/* Every other choice is expensive. */
static void
test_long_chain(void)
{
    enum { N = 2000, CHOICES = 12 };
    const gdouble dear[] = {1, 0, 0}, alone[] = {0, 0, 5};
    g_autoptr(CtSolver) solver = ct_solver_new(2);
    const guint dear_cell = ct_solver_add_cell(solver);
    ct_solver_add_vector(solver, dear);
    const guint alone_cell = ct_solver_add_cell(solver);
    ct_solver_add_vector(solver, alone);
    for (guint v = 0; v < N; v++) {
        guint own[CHOICES];
        for (guint k = 0; k < CHOICES; k++)
            own[k] = k == v % CHOICES ? CT_CELL_FREE : k % 2 ? dear_cell : alone_cell;
        ct_solver_add_variable(solver, CHOICES, own);
        guint *pair = g_new(guint, CHOICES * CHOICES);
        for (guint k = 0; k < CHOICES * CHOICES; k++)
            pair[k] = CT_CELL_FREE;
        if (v > 0)
            ct_solver_add_pair(solver, v - 1, v, pair);
        else
            g_free(pair);
    }
    g_autoptr(CtSolution) solution = ct_solver_run(solver, CT_SOLVER_LIMITS);
    g_assert_cmpfloat(solution->busiest, ==, 0);
    g_assert_cmpfloat(solution->least, ==, 0);
    for (guint v = 0; v < N; v++)
        g_assert_cmpuint(solution->choices[v], ==, v % CHOICES);
}

/* Two hundred nodes that may run on either of two places, with copies between: the distance from
 * the least cost, and the time. */
static void
test_two_places(void)
{
    enum { N = 200, CHOICES = 8 };
    GRand *random = g_rand_new_with_seed((guint32)g_test_rand_int());
    const gint64 begin = g_get_monotonic_time();
    g_autoptr(CtSolver) solver = ct_solver_new(4); /* workers, kernels, copies each way */
    for (guint v = 0; v < N; v++) {
        guint own[CHOICES];
        for (guint k = 0; k < CHOICES; k++) {
            const gdouble seconds = 0.5 + g_rand_double(random);
            const gdouble here[] = {seconds, 0, 0, 0, 0}, there[] = {0, seconds / 3, 0, 0, 0};
            own[k] = ct_solver_add_cell(solver);
            ct_solver_add_vector(solver, k < CHOICES / 2 ? here : there);
        }
        ct_solver_add_variable(solver, CHOICES, own);
        if (v == 0)
            continue;
        guint *pair = g_new(guint, CHOICES * CHOICES);
        for (guint k = 0; k < CHOICES * CHOICES; k++) {
            const guint from = k / CHOICES, to = k % CHOICES;
            const gdouble turn = from % 4 == to % 4 ? 0 : 0.3 * g_rand_double(random);
            const gboolean is_here = from < CHOICES / 2, goes_here = to < CHOICES / 2;
            const gdouble copy = 0.2 * g_rand_double(random);
            const gdouble first[] = {is_here ? turn : 0, is_here ? 0 : turn / 5,
                                     is_here && !goes_here ? copy : 0,
                                     !is_here && goes_here ? copy : 0, 0};
            const gdouble after[] = {goes_here ? turn : 0, goes_here ? 0 : turn / 5, first[2],
                                     first[3], 0};
            pair[k] = ct_solver_add_cell(solver);
            ct_solver_add_vector(solver, first);
            if (is_here != goes_here)
                ct_solver_add_vector(solver, after);
        }
        ct_solver_add_pair(solver, v - 1, v, pair);
    }
    g_autoptr(CtSolution) solution = ct_solver_run(solver, CT_SOLVER_LIMITS);
    g_rand_free(random);
    g_test_message("%u nodes at two places: at most %.6f times the least, in %.3f s", N,
                   solution->busiest / solution->least,
                   (gdouble)(g_get_monotonic_time() - begin) * 1e-6);
    g_assert_cmpfloat(solution->busiest, <=, solution->least * 1.01);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/solve/chains", test_chains);
    g_test_add_func("/solve/trees", test_trees);
    g_test_add_func("/solve/diamonds", test_diamonds);
    g_test_add_func("/solve/graphs", test_graphs);
    g_test_add_func("/solve/cut-short", test_cut_short);
    g_test_add_func("/solve/long-chain", test_long_chain);
    g_test_add_func("/solve/two-places", test_two_places);
    return g_test_run();
}
