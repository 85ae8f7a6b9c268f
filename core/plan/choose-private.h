/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice as a problem for the solver: declarations shared by choose.c and choose-fan-out.c. */
#pragma once

#include "candidates.h"
#include "choose.h"
#include "conversion.h"
#include "planner.h"
#include "solve.h"

/* The most placements of a fan-out; the readers of a fan-out with more are treated one by one. */
enum { CT_MAX_PLACEMENTS = 64 };

/* A fan-out with its placements: those that its writer can write, and those that its readers
 * want. */
typedef struct {
    const CtFanOut *fan_out;
    const CtStream *stream;
    GArray *from, *to; /* of CtPlacement */
    gint *writes; /* [candidate of the writer] index in `from`; −1: the output stays inside the
                     candidate */
    GPtrArray *reads; /* [reader][candidate] index in `to`, gint; −1: the input stays inside the
                         candidate */
    GArray **conversions; /* [from][to] of CtConversion */
    guint first_pair; /* index in the solver of the pair of writer and set, or, without sets, of the
                         first reader's pair; the other readers' follow in order */
    GArray *sets;     /* of guint64: sets of placements that are made, as bits; NULL: each reader is
                         treated by itself */
    guint variable;   /* the solver's variable that chooses the set */
    gboolean is_whole; /* whether every set and way that could be the best is in the problem */
} CtJunction;

typedef struct {
    CtPlanner *planner;
    const CtCandidates *candidates;
    CtSolver *solver; /* its first variables are those of the graph's nodes */
    guint n_sums;
    gint *components;     /* [resource] index in the solver's vectors; −1: not in use */
    GPtrArray *junctions; /* of CtJunction, in the order of the fan-outs */
} CtProblem;

guint ct_problem_n_choices(const CtProblem *problem, guint node);
/* Adds a cost to a vector of the solver. */
void ct_problem_add(const CtProblem *problem, gdouble *vector, const CtCost *cost);

/* Adds a fan-out with several readers, with a variable that chooses the set of placements that are
 * made. */
void ct_problem_add_fan_out(CtProblem *problem, CtJunction *junction);
/* Finds the conversions [to] from placement `from` of the writer to those in `set`, NULL for those
 * not in the set, that belong to the `way`th vector of the set's cell. */
void ct_problem_conversions_of_set(const CtProblem *problem, const CtJunction *junction, guint from,
                                   guint64 set, guint way,
                                   const CtConversion *conversions[CT_MAX_PLACEMENTS]);
