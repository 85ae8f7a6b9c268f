/* SPDX-License-Identifier: BSD-3-Clause */
/* The explanation of a plan: its alternatives, their costs, and the cost of the whole plan with
 * each of them. */
#pragma once

#include "candidates.h"
#include "choose.h"
#include "conversion.h"
#include "placement.h"
#include "planner.h"

/* One way to run a node, or a chain of nodes that begins with it. */
typedef struct {
    const CtCandidate *candidate;
    const CtImplementation *implementation; /* one of the candidate's */
    gdouble seconds; /* of the best plan with this choice; HUGE_VAL: there is none */
    gboolean is_chosen;
} CtAlternative;

/* A pair of placements at the two ends of a link. */
typedef struct {
    CtPlacement from, to;    /* the placement that is written, and the one that is read */
    CtConversion conversion; /* in the best plan with both placements */
    gdouble seconds;         /* of that plan; HUGE_VAL: there is none */
    gboolean is_chosen;
} CtCrossing;

typedef struct {
    guint writer, port, reader, input; /* indices of the graph's nodes, and their ports */
    guint n_crossings; /* number of pairs of placements; no plan was made for those that cannot be
                          among the best */
    GArray *crossings; /* of CtCrossing, the chosen first, then by cost; none is chosen where one
                          variant covers both ends */
} CtExplainedLink;

/* A variant that covers a node, and perhaps nodes after it, but is not among the ways to run it. */
typedef struct {
    const CtVariant *variant;
    char *reason;
} CtLeftOut;

typedef struct {
    CtPlanner planner;
    CtCandidates *candidates;
    GPtrArray *fan_outs; /* of CtFanOut */
    CtChoice *choice;
    GArray **nodes;    /* [graph nodes] of CtAlternative, the chosen first, then by cost */
    GArray **left_out; /* [graph nodes] of CtLeftOut, without variants that want a device or
                          instructions that the machine lacks */
    GPtrArray *links;  /* of CtExplainedLink */
    CtPlan *unfused;   /* the best plan in which no stage is attached to another; NULL: none is in
                          this one */
    gdouble n_candidates; /* number of plans with any combination of candidates … */
    gdouble n_variants;   /* … and of variants */
} CtExplanation;

/* Compares `plan` with all its alternatives. The arguments must outlive the explanation. */
CtExplanation *ct_explanation_new(const CtPlan *plan, CtRegistry *registry,
                                  const CtPlanOptions *options, GError **error);
void ct_explanation_free(CtExplanation *explanation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtExplanation, ct_explanation_free)

/* The output of `cornerturn plan --explain`: explain-print.c, explain-json.c. */
char *ct_explain_to_text(const CtPlan *plan, CtRegistry *registry, const CtPlanOptions *options,
                         GError **error);
char *ct_explain_to_json(const CtPlan *plan, CtRegistry *registry, const CtPlanOptions *options,
                         GError **error);
