/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the combination of choices whose largest cost component is the least.
 *
 * Elimination of variables finds least weighted sums (solve-pass.c). With weights that sum to one,
 * the least sum is a lower bound of the largest component, and the combination that has it is a
 * good first one. The weights are therefore moved towards the largest components until the bound
 * meets the best combination, which proves it. Where the two do not meet, sets of undominated
 * vectors (solve-labels.c) are eliminated instead of sums, without those that the bounds rule out:
 * at first with few for each entry, which finds better combinations, then with more. The result is
 * exact, unless the work exceeds the limits; the bound is then below the result.
 *
 * Variables that had to be fixed, because too many branches meet, are tried at each of their
 * choices, one at a time, as long as that helps. The bound then lets each table take its own best
 * choice of them. */
#include "solve-private.h"

#include <math.h>
#include <string.h>

/* The most moves of the weights, and as many as there should be time for without fixed variables;
 * the length of the first, and the factor by which a move without success shortens the next. */
enum { MAX_MOVES = 60, LEAST_MOVES = 8 };
static const gdouble first_move = 1;
static const gdouble shorter = 0.75;

/* The most labels of an entry at first, and the factor by which they grow. */
enum { FIRST_LABELS = 4, MORE_LABELS = 4 };

/* The most rounds over fixed variables. */
enum { MAX_ROUNDS = 4 };

static const gdouble rounding = 1e-12;

gboolean
ct_solver_within(const gdouble *a, const gdouble *b, guint n_components)
{
    for (guint c = 0; c < n_components; c++) {
        if (a[c] > b[c])
            return FALSE;
    }
    return TRUE;
}

CtSolver *
ct_solver_new(guint n_sums)
{
    CtSolver *solver = g_new0(CtSolver, 1);
    solver->n_sums = n_sums;
    solver->vectors = g_array_new(FALSE, FALSE, sizeof(gdouble));
    solver->starts = g_array_new(FALSE, FALSE, sizeof(guint));
    solver->variables = g_array_new(FALSE, FALSE, sizeof(CtVariable));
    solver->given = g_ptr_array_new_with_free_func(ct_factor_free);
    solver->pairs = g_array_new(FALSE, FALSE, sizeof(guint));
    solver->messages = g_ptr_array_new_with_free_func(ct_factor_free);
    solver->buckets = g_ptr_array_new_with_free_func(ct_bucket_free);
    ct_solver_add_cell(solver);
    ct_solver_add_cell(solver);
    g_autofree gdouble *nothing = g_new0(gdouble, n_sums + 1);
    ct_solver_add_vector(solver, nothing);
    return solver;
}

void
ct_solver_free(CtSolver *solver)
{
    if (!solver)
        return;
    g_ptr_array_unref(solver->buckets);
    g_ptr_array_unref(solver->messages);
    g_array_unref(solver->pairs);
    g_ptr_array_unref(solver->given);
    g_array_unref(solver->variables);
    g_array_unref(solver->starts);
    g_array_unref(solver->vectors);
    g_free(solver);
}

void
ct_solution_free(CtSolution *solution)
{
    if (!solution)
        return;
    g_free(solution->vector);
    g_free(solution->choices);
    g_free(solution->ways);
    g_free(solution->pair_ways);
    g_free(solution);
}

/* ---- cells and factors ---- */

guint
ct_solver_add_cell(CtSolver *solver)
{
    const guint begin = ct_solver_n_vectors(solver);
    g_array_append_val(solver->starts, begin);
    return solver->starts->len - 1;
}

void
ct_solver_add_vector(CtSolver *solver, const gdouble *vector)
{
    g_array_append_vals(solver->vectors, vector, solver->n_sums + 1);
}

/* Takes `cells`; the strides follow the order of `variables`. */
static CtFactor *
add_factor(CtSolver *solver, guint n, const guint *variables, guint *cells)
{
    CtFactor *factor = g_new0(CtFactor, 1);
    factor->n = n;
    factor->variables = g_memdup2(variables, n * sizeof(*variables));
    factor->strides = g_new(gsize, n);
    factor->cells = cells;
    factor->n_entries = 1;
    factor->bucket = -1;
    factor->index = solver->given->len;
    for (guint i = n; i-- > 0;) {
        factor->strides[i] = factor->n_entries;
        factor->n_entries *= ct_solver_variable(solver, variables[i])->n_choices;
    }
    g_ptr_array_add(solver->given, factor);
    return factor;
}

guint
ct_solver_add_variable(CtSolver *solver, guint n_choices, const guint *cells)
{
    g_assert(n_choices > 0);
    const guint index = solver->variables->len;
    const CtVariable variable = {.n_choices = n_choices, .factor = solver->given->len, .fixed = -1};
    g_array_append_val(solver->variables, variable);
    add_factor(solver, 1, &index, g_memdup2(cells, n_choices * sizeof(*cells)));
    return index;
}

guint
ct_solver_add_pair(CtSolver *solver, guint a, guint b, guint *cells)
{
    g_assert(a != b && MAX(a, b) < solver->variables->len);
    const guint pair[2] = {a, b};
    const CtFactor *factor = add_factor(solver, 2, pair, cells);
    g_array_append_val(solver->pairs, factor->index);
    return solver->pairs->len - 1;
}

/* ---- the search ---- */

typedef struct {
    CtSolver *solver;
    CtIncumbent best;
    gdouble least;    /* lower bound of every combination's largest component */
    gdouble *weights; /* [n_sums] the weights of the best bound */
    guint *choices;   /* of the current combination, as are `ways` and `vector` */
    guint *ways;
    gdouble *vector;
    gboolean any_fixed;
    gsize look_ups; /* costs that an elimination looks up */
    gsize left;     /* the same that optional eliminations may still look up */
} Search;

static void
vector_of(const CtSolver *solver, const guint *choices, const guint *ways, gdouble *vector)
{
    const guint n = solver->n_sums;
    memset(vector, 0, (n + 1) * sizeof(*vector));
    for (guint f = 0; f < solver->given->len; f++) {
        const CtFactor *factor = g_ptr_array_index(solver->given, f);
        gsize offset = 0;
        for (guint i = 0; i < factor->n; i++)
            offset += factor->strides[i] * choices[factor->variables[i]];
        guint begin, end;
        ct_solver_cell(solver, factor->cells[offset], &begin, &end);
        const gdouble *own = ct_solver_vector(solver, begin + ways[f]);
        for (guint c = 0; c < n; c++)
            vector[c] += own[c];
        vector[n] = MAX(vector[n], own[n]);
    }
}

/* Makes the combination of a pass the best one, if it is better; returns whether it was. */
static gboolean
consider(Search *search, const CtPass *pass)
{
    const CtSolver *solver = search->solver;
    if (pass->least == HUGE_VAL)
        return FALSE;
    ct_pass_choices(pass, search->choices, search->ways);
    vector_of(solver, search->choices, search->ways, search->vector);
    gdouble busiest = search->vector[solver->n_sums], sum = 0;
    for (guint c = 0; c < solver->n_sums; c++) {
        busiest = MAX(busiest, search->vector[c]);
        sum += search->vector[c];
    }
    if (!ct_incumbent_beaten(&search->best, busiest, sum))
        return FALSE;
    search->best.busiest = busiest;
    search->best.sum = sum;
    memcpy(search->best.choices, search->choices, solver->variables->len * sizeof(guint));
    memcpy(search->best.ways, search->ways, solver->given->len * sizeof(guint));
    return TRUE;
}

/* Whether another elimination, or two with fixed variables, is within the limit. */
static gboolean
may_go_on(Search *search)
{
    const gsize wanted = (search->any_fixed ? 2 : 1) * search->look_ups;
    const gboolean may = search->left >= wanted;
    search->left -= may ? wanted : 0;
    return may;
}

/* The least weighted sum of the combinations in which no vector's last component is above the
 * limit, or a lower bound of it where variables are fixed. Considers the combination that has
 * it. */
static gdouble
least_sum(Search *search, const gdouble *weights, gdouble limit)
{
    g_autoptr(CtPass) pass = ct_pass_new(search->solver, weights, limit, CT_NONE_FREE);
    consider(search, pass);
    if (!search->any_fixed)
        return pass->least;
    g_autoptr(CtPass) relaxed = ct_pass_new(search->solver, weights, limit, 0);
    return relaxed->least;
}

static gboolean
is_proven(const Search *search)
{
    return search->least >= search->best.busiest * (1 - rounding);
}

/* Moves the weights such that the least weighted sum grows. */
static void
move_weights(Search *search)
{
    const guint n = search->solver->n_sums;
    g_autofree gdouble *weights = g_memdup2(search->weights, n * sizeof(gdouble));
    gdouble highest = 0, move = first_move;
    for (guint m = 0; m < MAX_MOVES && !is_proven(search) && may_go_on(search); m++) {
        const gdouble least = least_sum(search, weights, search->best.busiest);
        if (least > highest) {
            highest = least;
            memcpy(search->weights, weights, n * sizeof(gdouble));
        } else {
            move *= shorter;
        }
        search->least = MAX(search->least, MIN(least, search->best.busiest));
        gdouble largest = 0, total = 0;
        for (guint c = 0; c < n; c++)
            largest = MAX(largest, search->vector[c]);
        if (n == 1 || largest <= 0)
            return;
        for (guint c = 0; c < n; c++) {
            weights[c] *= exp(move * (search->vector[c] - least) / largest);
            total += weights[c];
        }
        for (guint c = 0; c < n; c++)
            weights[c] /= total;
    }
}

static int
compare_reals(const void *a, const void *b)
{
    const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;
    return (x > y) - (x < y);
}

/* Handles the last component, of which the largest value counts. A lower limit of it raises the
 * least sum of the others, so the least of the larger of the two lies where they cross, at one of
 * the values that vectors have. */
static void
cross_limits(Search *search)
{
    const CtSolver *solver = search->solver;
    g_autoptr(GArray) limits = g_array_new(FALSE, FALSE, sizeof(gdouble));
    for (guint v = 0; v < ct_solver_n_vectors(solver); v++) {
        const gdouble last = ct_solver_vector(solver, v)[solver->n_sums];
        if (last < search->best.busiest)
            g_array_append_val(limits, last);
    }
    qsort(limits->data, limits->len, sizeof(gdouble), compare_reals);
    guint n = 0;
    for (guint i = 0; i < limits->len; i++) {
        const gdouble limit = g_array_index(limits, gdouble, i);
        if (n == 0 || limit > g_array_index(limits, gdouble, n - 1))
            g_array_index(limits, gdouble, n++) = limit;
    }
    guint from = 0, to = n;
    gdouble below = HUGE_VAL; /* the least sum just below the crossing */
    gdouble above = search->best.busiest;
    while (from < to && may_go_on(search)) {
        const guint middle = from + (to - from) / 2;
        const gdouble limit = g_array_index(limits, gdouble, middle);
        const gdouble least = least_sum(search, search->weights, limit);
        if (limit >= least) {
            to = middle;
            above = limit;
        } else {
            from = middle + 1;
            below = least;
        }
    }
    if (from == to)
        search->least = MAX(search->least, MIN(MIN(above, below), search->best.busiest));
}

/* Sets fixed variables one by one to the choice with the least sum while later ones are free. */
static void
dive(const Search *search)
{
    const CtSolver *solver = search->solver;
    for (guint v = 0; v < solver->variables->len; v++) {
        CtVariable *variable = ct_solver_variable(solver, v);
        const guint n_choices = variable->fixed >= 0 ? variable->n_choices : 0;
        guint best = 0;
        gdouble least = HUGE_VAL;
        for (guint k = 0; k < n_choices; k++) {
            variable->fixed = (gint)k;
            g_autoptr(CtPass) pass = ct_pass_new(solver, search->weights, HUGE_VAL, v + 1);
            if (pass->least < least) {
                least = pass->least;
                best = k;
            }
        }
        if (n_choices > 0)
            variable->fixed = (gint)best;
    }
}

/* Tries the choices of fixed variables, one at a time, and leaves them at the best. */
static void
try_fixed(Search *search)
{
    const CtSolver *solver = search->solver;
    gboolean improved = TRUE;
    for (guint round = 0; round < MAX_ROUNDS && improved; round++) {
        improved = FALSE;
        for (guint v = 0; v < solver->variables->len; v++) {
            CtVariable *variable = ct_solver_variable(solver, v);
            const guint n_choices = variable->fixed >= 0 ? variable->n_choices : 0;
            for (guint k = 0; k < n_choices && may_go_on(search); k++) {
                variable->fixed = (gint)k;
                g_autoptr(CtPass) pass =
                    ct_pass_new(solver, search->weights, search->best.busiest, CT_NONE_FREE);
                improved |= consider(search, pass);
            }
            if (n_choices > 0 && search->best.busiest < HUGE_VAL)
                variable->fixed = (gint)search->best.choices[v];
        }
    }
}

/* The passes for the bounds of labels: with all weights one, with the weights of the best bound,
 * and with each component by itself. */
static GPtrArray *
bounding_passes(const Search *search)
{
    const guint n = search->solver->n_sums;
    GPtrArray *passes = g_ptr_array_new_with_free_func((GDestroyNotify)ct_pass_free);
    g_autofree gdouble *weights = g_new(gdouble, n);
    for (guint c = 0; c < n; c++)
        weights[c] = 1;
    const gdouble limit = search->best.busiest;
    g_ptr_array_add(passes, ct_pass_new(search->solver, weights, limit, CT_NONE_FREE));
    g_ptr_array_add(passes, ct_pass_new(search->solver, search->weights, limit, CT_NONE_FREE));
    for (guint c = 0; c < n && n > 1; c++) {
        memset(weights, 0, n * sizeof(*weights));
        weights[c] = 1;
        g_ptr_array_add(passes, ct_pass_new(search->solver, weights, limit, CT_NONE_FREE));
    }
    for (guint p = 0; p < passes->len; p++)
        ct_pass_complete(g_ptr_array_index(passes, p));
    return passes;
}

static void
label(Search *search, gsize comparisons)
{
    gboolean is_all = FALSE;
    for (guint most = FIRST_LABELS; !is_all && comparisons > 0; most *= MORE_LABELS) {
        g_autoptr(GPtrArray) passes = bounding_passes(search);
        const gdouble proven =
            ct_solver_label(search->solver, (CtPass *const *)passes->pdata, passes->len,
                            search->least, most, &search->best, &comparisons, &is_all);
        if (!search->any_fixed)
            search->least = MAX(search->least, MIN(proven, search->best.busiest));
    }
}

static void
search_all(Search *search, gsize comparisons)
{
    const guint n = search->solver->n_sums;
    g_autofree gdouble *equal = g_new(gdouble, n);
    for (guint c = 0; c < n; c++)
        equal[c] = 1.0 / n;
    memcpy(search->weights, equal, n * sizeof(gdouble));
    if (search->any_fixed)
        dive(search);
    search->least = least_sum(search, equal, HUGE_VAL);
    if (search->any_fixed)
        try_fixed(search);
    if (search->best.busiest == HUGE_VAL)
        return;
    if (!is_proven(search))
        move_weights(search);
    if (search->any_fixed)
        try_fixed(search);
    if (!is_proven(search))
        cross_limits(search);
    /* Among equally good combinations, the one with the least sum counts. */
    const gdouble sum = n * least_sum(search, equal, search->best.busiest);
    if (!is_proven(search) || search->best.sum > sum * (1 + rounding))
        label(search, comparisons);
}

CtSolution *
ct_solver_run(CtSolver *solver, CtSolverLimits limits)
{
    const guint n = solver->variables->len;
    const gsize look_ups =
        ct_solver_order(solver, limits.max_look_ups, limits.max_look_ups_in_all / LEAST_MOVES);
    g_autofree gdouble *weights = g_new0(gdouble, solver->n_sums + 1);
    g_autofree guint *choices = g_new0(guint, n + 1);
    g_autofree guint *ways = g_new0(guint, solver->given->len + 1);
    g_autofree guint *best_ways = g_new0(guint, solver->given->len + 1);
    CtSolution *solution = g_new0(CtSolution, 1);
    solution->vector = g_new0(gdouble, solver->n_sums + 1);
    solution->choices = g_new0(guint, n + 1);
    solution->ways = g_new0(guint, n + 1);
    solution->pair_ways = g_new0(guint, solver->pairs->len + 1);
    Search search = {
        .solver = solver,
        .best = {HUGE_VAL, HUGE_VAL, solution->choices, best_ways},
        .weights = weights,
        .choices = choices,
        .ways = ways,
        .vector = solution->vector,
        .any_fixed = ct_solver_any_fixed(solver),
        .look_ups = look_ups,
        .left = limits.max_look_ups_in_all,
    };
    search_all(&search, limits.max_comparisons);
    solution->busiest = search.best.busiest;
    solution->sum = search.best.sum;
    if (solution->busiest == HUGE_VAL)
        return solution;
    solution->least = is_proven(&search) ? solution->busiest : search.least;
    vector_of(solver, solution->choices, best_ways, solution->vector);
    for (guint v = 0; v < n; v++)
        solution->ways[v] = best_ways[ct_solver_variable(solver, v)->factor];
    for (guint p = 0; p < solver->pairs->len; p++)
        solution->pair_ways[p] = best_ways[g_array_index(solver->pairs, guint, p)];
    return solution;
}
