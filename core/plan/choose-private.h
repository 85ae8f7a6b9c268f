/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice as a problem for the solver: what its two files share. */
#pragma once

#include "candidates.h"
#include "choose.h"
#include "conversion.h"
#include "planner.h"
#include "solve.h"

/* Beyond so many placements of a fan-out, its readers are looked at one by one. */
enum { CT_MAX_PLACEMENTS = 64 };

/* A fan-out whose placements are known: where its writer can put it, and where its readers want
 * it. */
typedef struct {
    const CtFanOut *fan_out;
    const CtStream *stream;
    GArray *from, *to;    /* of CtPlacement */
    gint *writes;         /* [candidate of the writer] in `from`; −1: it stays inside */
    GPtrArray *reads;     /* [reader][candidate] in `to`, gint */
    GArray **conversions; /* [from][to] of CtConversion */
    guint first_pair;     /* of the solver: that of the set, else of the first reader, in order */
    GArray *sets;   /* of guint64: placements that are made, as bits; NULL: each reader by itself */
    guint variable; /* that chooses the set */
    gboolean is_whole; /* whether all that could be the best is looked at */
} CtJunction;

typedef struct {
    CtPlanner *planner;
    const CtCandidates *candidates;
    CtSolver *solver; /* its first variables are the graph's nodes */
    guint n_sums;
    gint *components;     /* [resource] of a solver's vector; −1: none asks for it */
    GPtrArray *junctions; /* of CtJunction, in the order of the fan-outs */
} CtProblem;

guint ct_problem_n_choices(const CtProblem *problem, guint node);
/* Adds a cost to a vector of the solver's. */
void ct_problem_add(const CtProblem *problem, gdouble *vector, const CtCost *cost);

/* Adds a fan-out with several readers, by the sets of placements that are made. */
void ct_problem_add_fan_out(CtProblem *problem, CtJunction *junction);
/* The conversions [to] of a set from a placement of the writer's, those not in the set NULL, of the
 * `way`th vector of its cell. */
void ct_problem_conversions_of_set(const CtProblem *problem, const CtJunction *junction, guint from,
                                   guint64 set, guint way,
                                   const CtConversion *conversions[CT_MAX_PLACEMENTS]);
