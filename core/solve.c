/* SPDX-License-Identifier: BSD-3-Clause */
/* The least sum of costs over choices, by eliminating one variable after another.
 *
 * A *factor* is a table of costs over the choices of a few variables. Eliminating a variable
 * replaces all factors that know it by one over its neighbours, which holds for each of their
 * choices the best that the variable can do, and remembers which choice that was. The order is
 * greedy: the variable whose table is the smallest comes next. On chains and trees no table is
 * larger than that of a pair; a diamond needs one over two variables. Where the smallest table
 * would be too large, the variable that most factors know is fixed at the choice that looks best,
 * and when all are chosen, single choices are improved as long as the sum falls. */
#include "solve.h"

#include <math.h>
#include <string.h>

typedef struct {
    guint n; /* variables, in ascending order */
    guint *variables;
    gsize *strides; /* of a variable's choice in `table`; the last is 1 */
    gdouble *table;
} Factor;

typedef struct {
    guint n_choices;
    gboolean gone;
    GPtrArray *factors; /* those that know it and are not yet absorbed; borrowed */
    Factor *rest;       /* over the neighbours, at elimination; borrowed */
    guint *best;        /* of each entry of `rest`, this variable's choice */
} Variable;

struct CtSolver {
    GPtrArray *variables; /* of Variable */
    GPtrArray *factors;   /* of Factor, all ever made */
    GPtrArray *given;     /* those that were added, borrowed */
};

static void
factor_free(gpointer data)
{
    Factor *factor = data;
    g_free(factor->variables);
    g_free(factor->strides);
    g_free(factor->table);
    g_free(factor);
}

static void
variable_free(gpointer data)
{
    Variable *variable = data;
    g_ptr_array_unref(variable->factors);
    g_free(variable->best);
    g_free(variable);
}

CtSolver *
ct_solver_new(void)
{
    CtSolver *solver = g_new0(CtSolver, 1);
    solver->variables = g_ptr_array_new_with_free_func(variable_free);
    solver->factors = g_ptr_array_new_with_free_func(factor_free);
    solver->given = g_ptr_array_new();
    return solver;
}

void
ct_solver_free(CtSolver *solver)
{
    if (!solver)
        return;
    g_ptr_array_unref(solver->variables);
    g_ptr_array_unref(solver->factors);
    g_ptr_array_unref(solver->given);
    g_free(solver);
}

static Variable *
variable_at(const CtSolver *solver, guint i)
{
    return g_ptr_array_index(solver->variables, i);
}

/* A factor over `variables`, taking both arrays, known to all of them. */
static Factor *
factor_new(CtSolver *solver, guint n, guint *variables, gdouble *table)
{
    Factor *factor = g_new0(Factor, 1);
    factor->n = n;
    factor->variables = variables;
    factor->strides = g_new(gsize, n + 1);
    factor->table = table;
    gsize stride = 1;
    for (guint i = n; i-- > 0;) {
        factor->strides[i] = stride;
        stride *= variable_at(solver, variables[i])->n_choices;
        g_ptr_array_add(variable_at(solver, variables[i])->factors, factor);
    }
    g_ptr_array_add(solver->factors, factor);
    return factor;
}

guint
ct_solver_add_variable(CtSolver *solver, guint n_choices, const gdouble *costs)
{
    g_assert(n_choices > 0);
    const guint index = solver->variables->len;
    Variable *variable = g_new0(Variable, 1);
    variable->n_choices = n_choices;
    variable->factors = g_ptr_array_new();
    g_ptr_array_add(solver->variables, variable);
    Factor *factor = factor_new(solver, 1, g_memdup2(&index, sizeof(index)),
                                g_memdup2(costs, n_choices * sizeof(*costs)));
    g_ptr_array_add(solver->given, factor);
    return index;
}

void
ct_solver_add_pair(CtSolver *solver, guint a, guint b, gdouble *costs)
{
    g_assert(a != b && MAX(a, b) < solver->variables->len);
    const guint pair[2] = {a, b};
    Factor *factor = factor_new(solver, 2, g_memdup2(pair, sizeof(pair)), costs);
    if (a > b) {
        factor->variables[0] = b;
        factor->variables[1] = a;
        const gsize stride = factor->strides[0];
        factor->strides[0] = factor->strides[1];
        factor->strides[1] = stride;
    }
    g_ptr_array_add(solver->given, factor);
}

/* Stride of variable `v` in `factor`, 0 where it does not know it. */
static gsize
stride_of(const Factor *factor, guint v)
{
    for (guint i = 0; i < factor->n; i++) {
        if (factor->variables[i] == v)
            return factor->strides[i];
    }
    return 0;
}

static int
compare_index(const void *a, const void *b)
{
    const guint x = *(const guint *)a, y = *(const guint *)b;
    return (x > y) - (x < y);
}

/* The other variables in the factors of `v`, ascending, once each. */
static GArray *
neighbours_of(const CtSolver *solver, guint v)
{
    const Variable *variable = variable_at(solver, v);
    GArray *neighbours = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint f = 0; f < variable->factors->len; f++) {
        const Factor *factor = g_ptr_array_index(variable->factors, f);
        for (guint i = 0; i < factor->n; i++) {
            if (factor->variables[i] != v)
                g_array_append_val(neighbours, factor->variables[i]);
        }
    }
    if (neighbours->len > 0)
        qsort(neighbours->data, neighbours->len, sizeof(guint), compare_index);
    guint n = 0;
    for (guint i = 0; i < neighbours->len; i++) {
        const guint neighbour = g_array_index(neighbours, guint, i);
        if (n == 0 || g_array_index(neighbours, guint, n - 1) != neighbour)
            g_array_index(neighbours, guint, n++) = neighbour;
    }
    return g_array_set_size(neighbours, n);
}

/* Combinations that eliminating `v` looks at, and (of those) entries of the table that it leaves.
 */
static gdouble
entries_without(const CtSolver *solver, guint v)
{
    g_autoptr(GArray) neighbours = neighbours_of(solver, v);
    gdouble entries = 1;
    for (guint i = 0; i < neighbours->len; i++)
        entries *= variable_at(solver, g_array_index(neighbours, guint, i))->n_choices;
    return entries;
}

/* Takes the factors of `v` out of the other variables' lists. */
static void
absorb_factors(CtSolver *solver, guint v)
{
    Variable *variable = variable_at(solver, v);
    for (guint f = 0; f < variable->factors->len; f++) {
        const Factor *factor = g_ptr_array_index(variable->factors, f);
        for (guint i = 0; i < factor->n; i++) {
            if (factor->variables[i] != v)
                g_ptr_array_remove_fast(variable_at(solver, factor->variables[i])->factors,
                                        (gpointer)factor);
        }
    }
    variable->gone = TRUE;
}

/* Where an entry's combination stands in each factor: an odometer over the choices of `others`. */
typedef struct {
    const CtSolver *solver;
    const GArray *others;
    guint *choice; /* [others] */
    guint n_factors;
    gsize *offsets; /* [factor] */
    gsize *strides; /* [factor][others] */
} Odometer;

static void
odometer_step(Odometer *odometer)
{
    const guint n = odometer->others->len;
    for (guint i = n; i-- > 0;) {
        const guint n_choices =
            variable_at(odometer->solver, g_array_index(odometer->others, guint, i))->n_choices;
        const gboolean wraps = ++odometer->choice[i] == n_choices;
        for (guint f = 0; f < odometer->n_factors; f++) {
            const gsize stride = odometer->strides[f * n + i];
            odometer->offsets[f] += wraps ? -stride * (n_choices - 1) : stride;
        }
        if (!wraps)
            return;
        odometer->choice[i] = 0;
    }
}

/* Replaces what `v` knows by a factor over its neighbours. With `fixed` ≥ 0 only that choice
 * counts.
 */
static void
eliminate(CtSolver *solver, guint v)
{
    Variable *variable = variable_at(solver, v);
    g_autoptr(GArray) others = neighbours_of(solver, v);
    const guint n = others->len, n_factors = variable->factors->len;
    g_autofree guint *choice = g_new0(guint, n + 1);
    g_autofree gsize *offsets = g_new0(gsize, n_factors + 1);
    g_autofree gsize *strides = g_new(gsize, (gsize)n_factors * n + 1);
    g_autofree gsize *own = g_new(gsize, n_factors + 1);
    for (guint f = 0; f < n_factors; f++) {
        const Factor *factor = g_ptr_array_index(variable->factors, f);
        own[f] = stride_of(factor, v);
        for (guint i = 0; i < n; i++)
            strides[f * n + i] = stride_of(factor, g_array_index(others, guint, i));
    }
    Odometer odometer = {solver, others, choice, n_factors, offsets, strides};

    const gsize n_entries = (gsize)entries_without(solver, v);
    gdouble *table = g_new(gdouble, n_entries);
    variable->best = g_new(guint, n_entries);
    g_autofree gdouble *sums = g_new(gdouble, variable->n_choices);
    for (gsize e = 0; e < n_entries; e++) {
        memset(sums, 0, variable->n_choices * sizeof(*sums));
        for (guint f = 0; f < n_factors; f++) {
            const Factor *factor = g_ptr_array_index(variable->factors, f);
            const gdouble *costs = factor->table + offsets[f];
            for (guint k = 0; k < variable->n_choices; k++)
                sums[k] += costs[k * own[f]];
        }
        guint best = 0;
        for (guint k = 1; k < variable->n_choices; k++) {
            if (sums[k] < sums[best])
                best = k;
        }
        table[e] = sums[best];
        variable->best[e] = best;
        odometer_step(&odometer);
    }
    absorb_factors(solver, v);
    variable->rest = factor_new(solver, n, g_memdup2(others->data, n * sizeof(guint)), table);
}

/* The choice of `v` for which its factors, each at its own best, sum to the least. */
static guint
likely_choice(const CtSolver *solver, guint v)
{
    const Variable *variable = variable_at(solver, v);
    g_autofree gdouble *sums = g_new0(gdouble, variable->n_choices);
    g_autofree gdouble *least = g_new(gdouble, variable->n_choices);
    for (guint f = 0; f < variable->factors->len; f++) {
        const Factor *factor = g_ptr_array_index(variable->factors, f);
        const gsize stride = stride_of(factor, v);
        gsize n_entries = 1;
        for (guint i = 0; i < factor->n; i++)
            n_entries *= variable_at(solver, factor->variables[i])->n_choices;
        for (guint k = 0; k < variable->n_choices; k++)
            least[k] = HUGE_VAL;
        for (gsize e = 0; e < n_entries; e++) {
            const guint k = e / stride % variable->n_choices;
            least[k] = MIN(least[k], factor->table[e]);
        }
        for (guint k = 0; k < variable->n_choices; k++)
            sums[k] += least[k];
    }
    guint best = 0;
    for (guint k = 1; k < variable->n_choices; k++) {
        if (sums[k] < sums[best])
            best = k;
    }
    return best;
}

/* Fixes `v` at one choice: its factors shrink to those of its neighbours alone. */
static void
fix(CtSolver *solver, guint v, guint choice)
{
    Variable *variable = variable_at(solver, v);
    g_autoptr(GPtrArray) factors = g_ptr_array_copy(variable->factors, NULL, NULL);
    absorb_factors(solver, v);
    for (guint f = 0; f < factors->len; f++) {
        const Factor *factor = g_ptr_array_index(factors, f);
        guint *others = g_new(guint, factor->n);
        guint n = 0;
        gsize n_entries = 1;
        for (guint i = 0; i < factor->n; i++) {
            if (factor->variables[i] == v)
                continue;
            others[n++] = factor->variables[i];
            n_entries *= variable_at(solver, factor->variables[i])->n_choices;
        }
        gdouble *table = g_new(gdouble, n_entries);
        for (gsize e = 0; e < n_entries; e++) {
            gsize rest = e, offset = choice * stride_of(factor, v);
            for (guint i = n; i-- > 0;) {
                const guint n_choices = variable_at(solver, others[i])->n_choices;
                offset += rest % n_choices * stride_of(factor, others[i]);
                rest /= n_choices;
            }
            table[e] = factor->table[offset];
        }
        factor_new(solver, n, others, table);
    }
    variable->best = g_memdup2(&choice, sizeof(choice));
}

/* The sum of what was given, at these choices. */
static gdouble
sum_at(const CtSolver *solver, const guint *choices)
{
    gdouble sum = 0;
    for (guint f = 0; f < solver->given->len; f++) {
        const Factor *factor = g_ptr_array_index(solver->given, f);
        gsize offset = 0;
        for (guint i = 0; i < factor->n; i++)
            offset += factor->strides[i] * choices[factor->variables[i]];
        sum += factor->table[offset];
    }
    return sum;
}

/* Changes one choice at a time while that lowers the sum. */
static gdouble
improve(const CtSolver *solver, guint *choices)
{
    gdouble least = sum_at(solver, choices);
    for (gboolean improved = TRUE; improved;) {
        improved = FALSE;
        for (guint v = 0; v < solver->variables->len; v++) {
            guint best = choices[v];
            for (guint k = 0; k < variable_at(solver, v)->n_choices; k++) {
                choices[v] = k;
                const gdouble sum = sum_at(solver, choices);
                if (sum < least) {
                    least = sum;
                    best = k;
                    improved = TRUE;
                }
            }
            choices[v] = best;
        }
    }
    return least;
}

gdouble
ct_solver_run(CtSolver *solver, guint max_entries, guint *choices, gboolean *exact)
{
    const guint n = solver->variables->len;
    g_autofree guint *order = g_new(guint, n + 1);
    g_autofree gdouble *entries = g_new(gdouble, n + 1);
    for (guint v = 0; v < n; v++)
        entries[v] = entries_without(solver, v);
    *exact = TRUE;
    for (guint step = 0; step < n; step++) {
        guint next = n, widest = n;
        for (guint v = 0; v < n; v++) {
            const Variable *variable = variable_at(solver, v);
            if (variable->gone)
                continue;
            if (next == n || entries[v] < entries[next])
                next = v;
            if (widest == n || variable->factors->len > variable_at(solver, widest)->factors->len)
                widest = v;
        }
        const gboolean fits = entries[next] <= max_entries;
        const guint v = fits ? next : widest;
        g_autoptr(GArray) neighbours = neighbours_of(solver, v);
        if (fits) {
            eliminate(solver, v);
        } else {
            fix(solver, v, likely_choice(solver, v));
            *exact = FALSE;
        }
        order[step] = v;
        for (guint i = 0; i < neighbours->len; i++) {
            const guint neighbour = g_array_index(neighbours, guint, i);
            entries[neighbour] = entries_without(solver, neighbour);
        }
    }

    g_autofree guint *found = g_new0(guint, n + 1);
    for (guint step = n; step-- > 0;) {
        const Variable *variable = variable_at(solver, order[step]);
        gsize offset = 0;
        for (guint i = 0; variable->rest && i < variable->rest->n; i++)
            offset += variable->rest->strides[i] * found[variable->rest->variables[i]];
        found[order[step]] = variable->best[offset];
    }
    const gdouble sum = *exact ? sum_at(solver, found) : improve(solver, found);
    if (sum < HUGE_VAL)
        memcpy(choices, found, n * sizeof(*choices));
    return sum;
}
