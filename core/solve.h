/* SPDX-License-Identifier: BSD-3-Clause */
/* The least sum of costs over choices: variables with a cost per choice, and costs of pairs. */
#pragma once

#include <glib.h>

typedef struct CtSolver CtSolver;

CtSolver *ct_solver_new(void);
void ct_solver_free(CtSolver *solver);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtSolver, ct_solver_free)

/* Adds a variable and returns its index; `costs` [n_choices] are copied. A cost of HUGE_VAL forbids
 * a choice. */
guint ct_solver_add_variable(CtSolver *solver, guint n_choices, const gdouble *costs);
/* Adds the costs [choices of a][choices of b] of a pair of different variables; takes `costs`. */
void ct_solver_add_pair(CtSolver *solver, guint a, guint b, gdouble *costs);

/* No table made on the way has more entries than this; beyond, the answer may miss the minimum. */
#define CT_SOLVER_ENTRIES (1u << 20)

/* Writes the choice of every variable and returns the sum, HUGE_VAL where every combination is
 * forbidden (the choices are then not set). *exact tells whether it is the minimum: it is, unless
 * so many branches meet that a table would exceed `max_entries`. Runs once. */
gdouble ct_solver_run(CtSolver *solver, guint max_entries, guint *choices, gboolean *exact);
