/* SPDX-License-Identifier: BSD-3-Clause */
/* The least that keeps anything busy, over choices: variables with costs per choice, and costs of
 * pairs. */
#pragma once

#include <glib.h>

typedef struct CtSolver CtSolver;

/* A cost is a vector [n_sums + 1]: `n_sums` components, each of which adds up over all that is
 * chosen, and one more of which the largest counts. None is negative. */
CtSolver *ct_solver_new(guint n_sums);
void ct_solver_free(CtSolver *solver);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtSolver, ct_solver_free)

/* Whether no component of cost `a` is above that of `b`. */
gboolean ct_solver_within(const gdouble *a, const gdouble *b, guint n_components);

/* What a choice, or a pair of choices, may cost is a *cell*: any one of its vectors will do; there
 * may be ways to have something that keep different things busy. Without any, it is forbidden. */
enum { CT_CELL_FORBIDDEN, CT_CELL_FREE };
guint ct_solver_add_cell(CtSolver *solver);
/* To the cell that was added last; copied. */
void ct_solver_add_vector(CtSolver *solver, const gdouble *vector);

/* Adds a variable and returns its index; `cells` [n_choices] are copied. */
guint ct_solver_add_variable(CtSolver *solver, guint n_choices, const guint *cells);
/* Adds the cells [choices of a][choices of b] of a pair of different variables, and returns the
 * pair's index; takes `cells`. */
guint ct_solver_add_pair(CtSolver *solver, guint a, guint b, guint *cells);

/* How far the search goes: no elimination of all variables looks up more costs than this, all that
 * are not necessary together not more than that; and labels are not compared more often. */
typedef struct {
    gsize max_look_ups;
    gsize max_look_ups_in_all;
    gsize max_comparisons;
} CtSolverLimits;

#define CT_SOLVER_LIMITS ((CtSolverLimits){10 * 1000 * 1000, 300 * 1000 * 1000, 10 * 1000 * 1000})

typedef struct {
    gdouble busiest;  /* the largest component; HUGE_VAL: every combination is forbidden, and
                         nothing else is set */
    gdouble sum;      /* of the components that add up */
    gdouble least;    /* no combination's largest component is less: `busiest`, unless a limit was
                         met */
    gdouble *vector;  /* [n_sums + 1] */
    guint *choices;   /* [variable] */
    guint *ways;      /* [variable] which of its cell's vectors */
    guint *pair_ways; /* [pair] the same */
} CtSolution;

/* The combination whose largest component is the least and, of several, that whose components sum
 * to the least. Runs once. */
CtSolution *ct_solver_run(CtSolver *solver, CtSolverLimits limits);
void ct_solution_free(CtSolution *solution);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtSolution, ct_solution_free)
