/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the combination of choices whose largest cost component is the least: variables with costs
 * per choice, and costs per pair of choices. */
#pragma once

#include <glib.h>

typedef struct CtSolver CtSolver;

/* A cost is a vector [n_sums + 1]: the first `n_sums` components add up over all choices made; of
 * the last component, the largest value counts. No component is negative. */
CtSolver *ct_solver_new(guint n_sums);
void ct_solver_free(CtSolver *solver);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtSolver, ct_solver_free)

/* Whether no component of cost `a` is above that of `b`. */
gboolean ct_solver_within(const gdouble *a, const gdouble *b, guint n_components);

/* A *cell* is a list of cost vectors: the alternatives among which a choice, or a pair of choices,
 * takes one. A cell without vectors forbids the choice. */
enum { CT_CELL_FORBIDDEN, CT_CELL_FREE };
guint ct_solver_add_cell(CtSolver *solver);
/* Adds a vector, copied, to the cell that was added last. */
void ct_solver_add_vector(CtSolver *solver, const gdouble *vector);

/* Adds a variable and returns its index; `cells` [n_choices] are copied. */
guint ct_solver_add_variable(CtSolver *solver, guint n_choices, const guint *cells);
/* Adds the cells [choices of a][choices of b] of a pair of different variables, and returns the
 * pair's index; takes `cells`. */
guint ct_solver_add_pair(CtSolver *solver, guint a, guint b, guint *cells);

/* The limits of the search: the most costs that one elimination of all variables looks up, the most
 * that all optional eliminations look up together, and the most comparisons of labels. */
typedef struct {
    gsize max_look_ups;
    gsize max_look_ups_in_all;
    gsize max_comparisons;
} CtSolverLimits;

#define CT_SOLVER_LIMITS ((CtSolverLimits){10 * 1000 * 1000, 300 * 1000 * 1000, 10 * 1000 * 1000})

typedef struct {
    gdouble busiest;  /* the largest component; HUGE_VAL: every combination is forbidden, and
                         nothing else is set */
    gdouble sum;      /* of the first n_sums components */
    gdouble least;    /* lower bound of every combination's largest component; equals `busiest`
                         unless a limit was met */
    gdouble *vector;  /* [n_sums + 1] */
    guint *choices;   /* [variable] */
    guint *ways;      /* [variable] index of the vector taken from its cell */
    guint *pair_ways; /* [pair] the same of the pair's cell */
} CtSolution;

/* Finds the combination whose largest component is the least and, of several such, the one with the
 * least sum of components. May be called once only. */
CtSolution *ct_solver_run(CtSolver *solver, CtSolverLimits limits);
void ct_solution_free(CtSolution *solution);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtSolution, ct_solution_free)
