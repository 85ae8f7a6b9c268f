/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a plan is as it is: what else there was, what that costs, and what the whole plan would cost
 * with it. */
#pragma once

#include "candidates.h"
#include "choose.h"
#include "conversion.h"
#include "placement.h"
#include "planner.h"

/* A way of running a node, or a row of nodes that begins with it. */
typedef struct {
    const CtCandidate *candidate;
    const CtImplementation *implementation; /* of the candidate's */
    gdouble seconds; /* of the whole plan, where this is chosen; HUGE_VAL: there is none */
    gboolean is_chosen;
} CtAlternative;

/* A way over a link. */
typedef struct {
    CtPlacement from, to;    /* what is written, and what is wanted */
    CtConversion conversion; /* in the best plan that has both */
    gdouble seconds;         /* of that plan; HUGE_VAL: there is none */
    gboolean is_chosen;
} CtCrossing;

typedef struct {
    guint writer, port, reader, input; /* nodes of the graph, and their ports */
    guint n_crossings; /* pairs of placements; of those that cannot be among the best no plan was
                          made */
    GArray
        *crossings; /* of CtCrossing, the best first; none chosen: both ends are in one variant */
} CtExplainedLink;

/* A variant that begins with a node, and is not among the ways to run it. */
typedef struct {
    const CtVariant *variant;
    char *reason;
} CtLeftOut;

typedef struct {
    CtPlanner planner;
    CtCandidates *candidates;
    GPtrArray *fan_outs; /* of CtFanOut */
    CtChoice *choice;
    GArray **nodes;       /* [graph nodes] of CtAlternative, the best first */
    GArray **left_out;    /* [graph nodes] of CtLeftOut, but for want of a device or instructions */
    GPtrArray *links;     /* of CtExplainedLink */
    gdouble n_candidates; /* of all nodes together: plans that exhaustion would run … */
    gdouble n_variants;   /* … with each variant by itself */
} CtExplanation;

/* Looks at everything that `plan` could have been made of. The arguments must outlive what is
 * returned. */
CtExplanation *ct_explanation_new(const CtPlan *plan, CtRegistry *registry,
                                  const CtPlanOptions *options, GError **error);
void ct_explanation_free(CtExplanation *explanation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtExplanation, ct_explanation_free)

/* What `cornerturn plan --explain` prints: explain-print.c, explain-json.c. */
char *ct_explain_to_text(const CtPlan *plan, CtRegistry *registry, const CtPlanOptions *options,
                         GError **error);
char *ct_explain_to_json(const CtPlan *plan, CtRegistry *registry, const CtPlanOptions *options,
                         GError **error);
