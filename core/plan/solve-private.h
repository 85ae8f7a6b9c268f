/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the files of the solver: the order of elimination, weighted sums,
 * labels. */
#pragma once

#include "solve.h"

/* A table over the choices of a few variables: either cells that were given, or the message of a
 * bucket, whose values are kept by its users. */
typedef struct {
    guint n; /* variables, in ascending order */
    guint *variables;
    gsize *strides; /* [n] step in the table from one choice to the next; the last is 1 */
    gsize n_entries;
    guint *cells; /* [entry]; NULL: it is a message */
    gint bucket;  /* whose message it is; −1: it was given */
    guint index;  /* index in `given` */
} CtFactor;

/* A factor with its strides for the variables of a bucket. */
typedef struct {
    const CtFactor *factor;
    gsize own;      /* stride of the bucket's variable */
    gsize *strides; /* [others] */
} CtPart;

/* A variable at its turn in the elimination, with all factors that contain it. Its *message* has,
 * for each combination of choices of the *others*, the best that the variable and all before it can
 * reach. The last bucket has no variable and adds up the remaining factors. */
typedef struct {
    gint variable;
    guint n_choices;
    guint n_others;
    guint *others;
    gsize n_entries; /* of the message */
    guint n_parts;
    CtPart *parts;
    CtFactor *message;
} CtBucket;

typedef struct {
    guint n_choices;
    guint factor; /* index of the factor with its own cells */
    gint fixed;   /* the only choice that is tried; −1: all are tried */
} CtVariable;

struct CtSolver {
    guint n_sums;
    GArray *vectors;   /* of gdouble, n_sums + 1 each */
    GArray *starts;    /* [cell] its first vector; its end is the next cell's start or the end of
                          `vectors` */
    GArray *variables; /* of CtVariable */
    GPtrArray *given;  /* of CtFactor */
    GArray *pairs;     /* [pair] index of its factor */
    GPtrArray *messages;
    GPtrArray *buckets; /* of CtBucket, in the order of elimination */
};

static inline CtVariable *
ct_solver_variable(const CtSolver *solver, guint v)
{
    return &g_array_index(solver->variables, CtVariable, v);
}

static inline const CtBucket *
ct_solver_bucket(const CtSolver *solver, guint b)
{
    return g_ptr_array_index(solver->buckets, b);
}

static inline guint
ct_solver_n_vectors(const CtSolver *solver)
{
    return solver->vectors->len / (solver->n_sums + 1);
}

/* Finds the range of vectors of a cell: [*begin, *end). */
static inline void
ct_solver_cell(const CtSolver *solver, guint cell, guint *begin, guint *end)
{
    *begin = g_array_index(solver->starts, guint, cell);
    *end = cell + 1 < solver->starts->len ? g_array_index(solver->starts, guint, cell + 1)
                                          : ct_solver_n_vectors(solver);
}

static inline const gdouble *
ct_solver_vector(const CtSolver *solver, guint vector)
{
    return &g_array_index(solver->vectors, gdouble, (gsize)vector * (solver->n_sums + 1));
}

/* ---- the order: solve-order.c ---- */

/* Makes the buckets, and returns how many costs an elimination looks up. If these would be more
 * than `max_unfixed`, fixes variables, at their first choice, until they are at most
 * `max_look_ups`: each choice of a fixed variable takes eliminations of its own. */
gsize ct_solver_order(CtSolver *solver, gsize max_look_ups, gsize max_unfixed);
gboolean ct_solver_any_fixed(const CtSolver *solver);
void ct_bucket_free(gpointer bucket);
void ct_factor_free(gpointer factor);

/* Steps through the entries of a bucket's message. `offsets` are the positions in each part's table
 * for the bucket's first choice. */
typedef struct {
    const CtSolver *solver;
    const CtBucket *bucket;
    guint *choice;  /* [others] */
    gsize *offsets; /* [part] */
} CtOdometer;

/* Fixed variables have their fixed choice or, with `at_first`, their first. */
void ct_odometer_init(CtOdometer *odometer, const CtSolver *solver, const CtBucket *bucket,
                      gboolean at_first);
void ct_odometer_step(CtOdometer *odometer);
void ct_odometer_clear(CtOdometer *odometer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtOdometer, ct_odometer_clear)

/* ---- sums under weights: solve-pass.c ---- */

/* The least weighted sum of components, over combinations in which no vector's last component is
 * above a limit. If the weights sum to one, it is a lower bound of the largest component. */
typedef struct {
    const CtSolver *solver;
    gdouble *weights; /* [n_sums] */
    gdouble limit;
    guint free_from;   /* each factor takes its own best choice of the fixed variables from this one
                          on, which gives a lower bound */
    gdouble *scalars;  /* [cell] */
    gdouble **reduced; /* [given] tables of the factors with fixed variables; NULL where all
                          variables keep to their choice */
    gdouble **up;      /* [bucket][entry] the least of the bucket and all before it */
    gdouble **down;    /* [bucket][entry] the least of the rest; NULL until completed */
    gdouble least;     /* HUGE_VAL: there is none */
} CtPass;

#define CT_NONE_FREE G_MAXUINT
CtPass *ct_pass_new(const CtSolver *solver, const gdouble *weights, gdouble limit, guint free_from);
void ct_pass_free(CtPass *pass);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtPass, ct_pass_free)
/* Sets `down`. */
void ct_pass_complete(CtPass *pass);
/* The weighted sum of a part at a bucket's entry and choice. */
gdouble ct_pass_part(const CtPass *pass, const CtPart *part, gsize offset);
/* Sets the choices [variable] of the least sum, and the index of the vector that each given factor
 * takes from its cell [given]. */
void ct_pass_choices(const CtPass *pass, guint *choices, guint *ways);

/* ---- labels: solve-labels.c ---- */

/* The best combination found so far. */
typedef struct {
    gdouble busiest, sum;
    guint *choices; /* [variable] */
    guint *ways;    /* [given] */
} CtIncumbent;

/* Whether (busiest, sum) is better than the incumbent, by more than rounding. */
gboolean ct_incumbent_beaten(const CtIncumbent *incumbent, gdouble busiest, gdouble sum);

/* Searches for a better combination with undominated vectors, at most `most` for each entry of a
 * table. Leaves out vectors that cannot beat the incumbent according to the bounds of `passes`
 * [n_passes], which must be complete; the first must have all weights one. Returns a lower bound of
 * every combination with these fixed variables; the incumbent is proven to be the best of them
 * where it meets that bound. Subtracts the comparisons made from *comparisons, and returns 0 when
 * none are left. *is_all is set to whether no label was left out for lack of room; the incumbent's
 * sum is then the least, too. */
gdouble ct_solver_label(const CtSolver *solver, CtPass *const *passes, guint n_passes,
                        gdouble least, guint most, CtIncumbent *incumbent, gsize *comparisons,
                        gboolean *is_all);
