/* SPDX-License-Identifier: BSD-3-Clause */
/* What the solver's files share: the order of elimination, sums under weights, labels. */
#pragma once

#include "solve.h"

/* A table over the choices of a few variables: cells that were given, or the message of a bucket,
 * whose tables its users keep. */
typedef struct {
    guint n; /* variables, in ascending order */
    guint *variables;
    gsize *strides; /* of a variable's choice in the table; the last is 1 */
    gsize n_entries;
    guint *cells; /* [entry]; NULL of a message */
    gint bucket;  /* that the message is of; −1: given */
    guint index;  /* of those given */
} CtFactor;

/* A factor as a bucket sees it. */
typedef struct {
    const CtFactor *factor;
    gsize own;      /* stride of the bucket's variable */
    gsize *strides; /* [others] */
} CtPart;

/* A variable when its turn has come, with all that still knows it. Its *message* tells for each
 * choice of the *others* what it can do. The last bucket has no variable: it adds up what is left.
 */
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
    guint factor; /* index of its own cells */
    gint fixed;   /* the one choice that is looked at; −1: all are */
} CtVariable;

struct CtSolver {
    guint n_sums;
    GArray *vectors;   /* of gdouble, n_sums + 1 each */
    GArray *starts;    /* [cell] of the first vector; where the last ends follows from `vectors` */
    GArray *variables; /* of CtVariable */
    GPtrArray *given;  /* of CtFactor */
    GArray *pairs;     /* [pair] index of the factor */
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

/* Vectors of a cell: [*begin, *end). */
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

/* Makes the buckets, and returns how many costs an elimination looks up: no more than
 * `max_look_ups`, else variables are fixed, at no choice in particular. */
gsize ct_solver_order(CtSolver *solver, gsize max_look_ups);
void ct_bucket_free(gpointer bucket);
void ct_factor_free(gpointer factor);

/* Goes through the entries of a bucket's message: where each part's table stands for the bucket's
 * first choice. */
typedef struct {
    const CtSolver *solver;
    const CtBucket *bucket;
    guint *choice;  /* [others] */
    gsize *offsets; /* [part] */
} CtOdometer;

/* Fixed variables stand at their choice or, with `at_first`, at the first. */
void ct_odometer_init(CtOdometer *odometer, const CtSolver *solver, const CtBucket *bucket,
                      gboolean at_first);
void ct_odometer_step(CtOdometer *odometer);
void ct_odometer_clear(CtOdometer *odometer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtOdometer, ct_odometer_clear)

/* ---- sums under weights: solve-pass.c ---- */

/* The least sum of weighted components, without vectors whose last component is above a limit. It
 * bounds from below what the largest component can be, if the weights sum to one. */
typedef struct {
    const CtSolver *solver;
    gdouble *weights; /* [n_sums] */
    gdouble limit;
    guint free_from;  /* of fixed variables from this one on, each factor takes its own best: a
                         lower bound */
    gdouble *scalars; /* [cell] */
    gdouble *
        *reduced; /* [given] of those that know fixed variables, unless all keep to their choice */
    gdouble **up; /* [bucket][entry] the best of all below */
    gdouble **down; /* [bucket][entry] the best of all else; NULL until asked for */
    gdouble least;  /* HUGE_VAL: there is none */
} CtPass;

#define CT_NONE_FREE G_MAXUINT
CtPass *ct_pass_new(const CtSolver *solver, const gdouble *weights, gdouble limit, guint free_from);
void ct_pass_free(CtPass *pass);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtPass, ct_pass_free)
/* Sets what stands in `down`. */
void ct_pass_complete(CtPass *pass);
/* The weighted sum of a part at a bucket's entry and choice. */
gdouble ct_pass_part(const CtPass *pass, const CtPart *part, gsize offset);
/* The choices [variable] of the least sum, and the vectors that each given factor takes [given]. */
void ct_pass_choices(const CtPass *pass, guint *choices, guint *ways);

/* ---- labels: solve-labels.c ---- */

/* The best combination that is known. */
typedef struct {
    gdouble busiest, sum;
    guint *choices; /* [variable] */
    guint *ways;    /* [given] */
} CtIncumbent;

/* Whether (busiest, sum) is better than the incumbent, by more than rounding. */
gboolean ct_incumbent_beaten(const CtIncumbent *incumbent, gdouble busiest, gdouble sum);

/* Looks for a better combination by undominated vectors, `most` for each entry of a table; what
 * none of the bounds of `passes` [n_passes] (complete, the first that of equal weights one) lets
 * beat the incumbent is left out. Returns below what no combination with these fixed variables is
 * better than the incumbent, which is thus proven where the return value is its own. Takes what it
 * compares from *comparisons, and gives up with 0 where none are left. *is_all tells whether no
 * label had to be left out for want of room: then the incumbent's sum is the least, too. */
gdouble ct_solver_label(const CtSolver *solver, CtPass *const *passes, guint n_passes,
                        gdouble least, guint most, CtIncumbent *incumbent, gsize *comparisons,
                        gboolean *is_all);
