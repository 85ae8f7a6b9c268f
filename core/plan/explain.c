/* SPDX-License-Identifier: BSD-3-Clause */
/* The alternatives to a plan. The whole plan is chosen again with one part forced: a variant in
 * certain layouts, or the placements at both ends of a link. */
#include "explain.h"

#include "planner-variants.h"

#include <cornerturn/kit/epilogue.h>
#include <math.h>

/* The number of pairs of placements on a link for which plans are made: those with the least lower
 * bounds. */
enum { MAX_CROSSINGS = 24 };

/* ---- the plan with something forced ---- */

/* The candidates of a graph, with fewer of them for some nodes. */
typedef struct {
    CtCandidates candidates;
    GPtrArray **lists; /* [node] the replaced lists; NULL: unchanged */
} Narrowed;

static void
narrowed_init(Narrowed *narrowed, const CtCandidates *all)
{
    narrowed->lists = g_new0(GPtrArray *, all->n_nodes + 1);
    narrowed->candidates = *all;
    narrowed->candidates.nodes = g_memdup2(all->nodes, (all->n_nodes + 1) * sizeof(GPtrArray *));
}

static void
narrowed_clear(Narrowed *narrowed)
{
    for (guint n = 0; n < narrowed->candidates.n_nodes; n++) {
        if (narrowed->lists[n])
            g_ptr_array_unref(narrowed->lists[n]);
    }
    g_free(narrowed->lists);
    g_free(narrowed->candidates.nodes);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Narrowed, narrowed_clear)

/* Gives node `n` an empty list. */
static GPtrArray *
empty_list(Narrowed *narrowed, guint n)
{
    if (narrowed->lists[n])
        g_ptr_array_unref(narrowed->lists[n]);
    return narrowed->lists[n] = narrowed->candidates.nodes[n] = g_ptr_array_new();
}

static CtChoice *
choose_among(CtExplanation *explanation, const Narrowed *narrowed)
{
    return ct_planner_choose(&explanation->planner, &narrowed->candidates, explanation->fan_outs,
                             NULL);
}

/* The seconds of the best plan with this candidate and implementation. */
static gdouble
seconds_with(CtExplanation *explanation, const CtCandidate *candidate,
             const CtImplementation *implementation)
{
    g_auto(Narrowed) narrowed;
    narrowed_init(&narrowed, explanation->candidates);
    CtCandidate forced = *candidate;
    g_autoptr(GArray) implementations = g_array_new(FALSE, FALSE, sizeof(CtImplementation));
    g_array_append_val(implementations, *implementation);
    forced.implementations = implementations;
    for (guint k = 0; k < forced.n_nodes; k++)
        g_ptr_array_add(empty_list(&narrowed, forced.nodes[k]), &forced);
    g_autoptr(CtChoice) choice = choose_among(explanation, &narrowed);
    return choice ? choice->seconds : HUGE_VAL;
}

/* ---- nodes ---- */

static gint
compare_alternatives(gconstpointer a, gconstpointer b)
{
    const CtAlternative *x = a, *y = b;
    if (x->is_chosen != y->is_chosen)
        return x->is_chosen ? -1 : 1;
    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? -1 : 1;
    return (x->implementation->estimate.seconds > y->implementation->estimate.seconds) -
           (x->implementation->estimate.seconds < y->implementation->estimate.seconds);
}

static GArray *
explain_node(CtExplanation *explanation, guint n)
{
    GArray *alternatives = g_array_new(FALSE, FALSE, sizeof(CtAlternative));
    const GPtrArray *own = explanation->candidates->nodes[n];
    for (guint i = 0; i < own->len; i++) {
        const CtCandidate *candidate = g_ptr_array_index(own, i);
        if (candidate->nodes[0] != n)
            continue;
        for (guint k = 0; k < candidate->implementations->len; k++) {
            const CtImplementation *implementation =
                &g_array_index(candidate->implementations, CtImplementation, k);
            const gboolean is_chosen = explanation->choice->candidates[n] == candidate &&
                                       explanation->choice->implementations[n] == implementation;
            const CtAlternative alternative = {
                .candidate = candidate,
                .implementation = implementation,
                .seconds = is_chosen ? explanation->choice->seconds
                                     : seconds_with(explanation, candidate, implementation),
                .is_chosen = is_chosen,
            };
            g_array_append_val(alternatives, alternative);
        }
    }
    g_array_sort(alternatives, compare_alternatives);
    return alternatives;
}

/* ---- variants that are left out ---- */

static void
left_out_clear(gpointer data)
{
    g_free(((CtLeftOut *)data)->reason);
}

static gboolean
is_offered(const GArray *alternatives, const CtVariant *variant)
{
    for (guint a = 0; a < alternatives->len; a++) {
        if (g_array_index(alternatives, CtAlternative, a).implementation->variant == variant)
            return TRUE;
    }
    return FALSE;
}

static GArray *
find_left_out(const CtExplanation *explanation, guint n)
{
    const CtPlanner *planner = &explanation->planner;
    const CtGraphNode *node = ct_graph_node(planner->graph, n);
    const GPtrArray *variants = ct_registry_variants(planner->registry, node->node.stage->name);
    GArray *left_out = g_array_new(FALSE, FALSE, sizeof(CtLeftOut));
    g_array_set_clear_func(left_out, left_out_clear);
    for (guint v = 0; v < variants->len; v++) {
        const CtVariant *variant = g_ptr_array_index(variants, v);
        guint n_nodes;
        g_autofree guint *nodes =
            ct_planner_covers(planner->graph, explanation->fan_outs, n, variant, &n_nodes);
        CtLeftOut one = {.variant = variant};
        if (!nodes || is_offered(explanation->nodes[n], variant) ||
            !ct_planner_can_run(planner, variant, NULL))
            continue;
        if (ct_planner_fits(planner, variant, nodes, n_nodes, &one.reason))
            one.reason = g_strdup("its layouts do not fit, or take far longer than others");
        else if (!one.reason)
            one.reason = g_strdup("it does not take these parameters");
        g_array_append_val(left_out, one);
    }
    return left_out;
}

/* ---- links ---- */

static gboolean
same_placement(const CtPlacement *a, const CtPlacement *b)
{
    return a->place == b->place && ct_layout_equal(&a->layout, &b->layout);
}

/* The placement of a candidate at the port; FALSE where the port is inside the candidate. */
static gboolean
placement_of(const CtCandidate *candidate, guint node, guint port, gboolean writes,
             CtPlacement *placement)
{
    const guint end = writes ? candidate->nodes[candidate->n_nodes - 1] : candidate->nodes[0];
    if (end != node)
        return FALSE;
    *placement = writes ? (CtPlacement){candidate->outputs[port], candidate->place}
                        : ct_candidate_reads(candidate, port);
    return TRUE;
}

/* A placement at one end of a link, and the best plan that has it there. */
typedef struct {
    CtPlacement placement;
    gdouble seconds;
} End;

/* The seconds of the best plan with this candidate, with any of its implementations. */
static gdouble
best_with(const CtExplanation *explanation, const CtCandidate *candidate)
{
    const GArray *alternatives = explanation->nodes[candidate->nodes[0]];
    gdouble best = HUGE_VAL;
    for (guint a = 0; a < alternatives->len; a++) {
        const CtAlternative *one = &g_array_index(alternatives, CtAlternative, a);
        best = one->candidate == candidate ? MIN(best, one->seconds) : best;
    }
    return best;
}

/* The different placements at a port, of End. */
static GArray *
ends_new(const CtExplanation *explanation, guint node, guint port, gboolean writes)
{
    GArray *ends = g_array_new(FALSE, FALSE, sizeof(End));
    const GPtrArray *own = explanation->candidates->nodes[node];
    for (guint i = 0; i < own->len; i++) {
        const CtCandidate *candidate = g_ptr_array_index(own, i);
        End end;
        if (!placement_of(candidate, node, port, writes, &end.placement))
            continue;
        end.seconds = best_with(explanation, candidate);
        End *known = NULL;
        for (guint k = 0; k < ends->len && !known; k++) {
            End *other = &g_array_index(ends, End, k);
            known = same_placement(&other->placement, &end.placement) ? other : NULL;
        }
        if (known)
            known->seconds = MIN(known->seconds, end.seconds);
        else
            g_array_append_val(ends, end);
    }
    return ends;
}

/* Leaves node `n` the candidates that have the placement at the port. */
static void
narrow_to_placement(Narrowed *narrowed, const CtCandidates *all, guint n, guint port,
                    gboolean writes, const CtPlacement *placement)
{
    GPtrArray *list = empty_list(narrowed, n);
    for (guint i = 0; i < all->nodes[n]->len; i++) {
        CtCandidate *candidate = g_ptr_array_index(all->nodes[n], i);
        CtPlacement own;
        if (placement_of(candidate, n, port, writes, &own) && same_placement(&own, placement))
            g_ptr_array_add(list, candidate);
    }
}

/* Makes the best plan that has both placements of the crossing. */
static void
cross(CtExplanation *explanation, guint fan_out, guint r, CtCrossing *crossing)
{
    const CtFanOut *given = g_ptr_array_index(explanation->fan_outs, fan_out);
    const CtPlanReader *reader = &g_array_index(given->readers, CtPlanReader, r);
    g_auto(Narrowed) narrowed;
    narrowed_init(&narrowed, explanation->candidates);
    narrow_to_placement(&narrowed, explanation->candidates, given->node, given->port, TRUE,
                        &crossing->from);
    narrow_to_placement(&narrowed, explanation->candidates, reader->node, reader->port, FALSE,
                        &crossing->to);
    g_autoptr(CtChoice) choice = choose_among(explanation, &narrowed);
    crossing->seconds = choice ? choice->seconds : HUGE_VAL;
    if (choice)
        crossing->conversion = choice->conversions[fan_out][r];
}

static gint
compare_crossings(gconstpointer a, gconstpointer b)
{
    const CtCrossing *x = a, *y = b;
    if (x->is_chosen != y->is_chosen)
        return x->is_chosen ? -1 : 1;
    return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

static void
link_free(gpointer data)
{
    CtExplainedLink *link = data;
    g_array_unref(link->crossings);
    g_free(link);
}

static CtExplainedLink *
explain_link(CtExplanation *explanation, guint fan_out, guint r)
{
    const CtFanOut *given = g_ptr_array_index(explanation->fan_outs, fan_out);
    const CtPlanReader *reader = &g_array_index(given->readers, CtPlanReader, r);
    const CtChoice *choice = explanation->choice;
    CtPlacement written, wanted;
    const gboolean is_between =
        placement_of(choice->candidates[given->node], given->node, given->port, TRUE, &written) &&
        placement_of(choice->candidates[reader->node], reader->node, reader->port, FALSE, &wanted);
    g_autoptr(GArray) from = ends_new(explanation, given->node, given->port, TRUE);
    g_autoptr(GArray) to = ends_new(explanation, reader->node, reader->port, FALSE);

    CtExplainedLink *link = g_new0(CtExplainedLink, 1);
    *link = (CtExplainedLink){
        .writer = given->node,
        .port = given->port,
        .reader = reader->node,
        .input = reader->port,
        .n_crossings = from->len * to->len,
        .crossings = g_array_new(FALSE, FALSE, sizeof(CtCrossing)),
    };
    /* No plan with both placements is better than the best one with either. */
    for (guint f = 0; f < from->len; f++) {
        for (guint t = 0; t < to->len; t++) {
            const End *a = &g_array_index(from, End, f), *b = &g_array_index(to, End, t);
            CtCrossing crossing = {
                .from = a->placement, .to = b->placement, .seconds = MAX(a->seconds, b->seconds)};
            crossing.is_chosen = is_between && same_placement(&crossing.from, &written) &&
                                 same_placement(&crossing.to, &wanted);
            g_array_append_val(link->crossings, crossing);
        }
    }
    g_array_sort(link->crossings, compare_crossings);
    g_array_set_size(link->crossings, MIN(link->crossings->len, MAX_CROSSINGS));
    for (guint c = 0; c < link->crossings->len; c++) {
        CtCrossing *crossing = &g_array_index(link->crossings, CtCrossing, c);
        cross(explanation, fan_out, r, crossing);
        if (crossing->is_chosen) {
            crossing->seconds = choice->seconds;
            crossing->conversion = choice->conversions[fan_out][r];
        }
    }
    g_array_sort(link->crossings, compare_crossings);
    return link;
}

/* ---- number of plans ---- */

/* The number of combinations of candidates, or (`each`) of variants. */
static gdouble
count(const CtCandidates *candidates, gboolean each)
{
    g_autofree gdouble *n_ways = g_new(gdouble, candidates->all->len + 1);
    for (guint i = 0; i < candidates->all->len; i++) {
        const CtCandidate *candidate = g_ptr_array_index(candidates->all, i);
        n_ways[i] = each ? candidate->implementations->len : 1;
    }
    return ct_candidates_count(candidates, n_ways);
}

/* ---- the whole explanation ---- */

static gboolean
explain(CtExplanation *explanation, GError **error)
{
    const guint n = explanation->planner.graph->nodes->len;
    explanation->candidates = ct_candidates_new(&explanation->planner, error);
    if (!explanation->candidates)
        return FALSE;
    explanation->fan_outs = ct_fan_outs_new(explanation->planner.graph);
    explanation->choice = ct_planner_choose(&explanation->planner, explanation->candidates,
                                            explanation->fan_outs, error);
    if (!explanation->choice)
        return FALSE;
    explanation->nodes = g_new0(GArray *, n + 1);
    explanation->left_out = g_new0(GArray *, n + 1);
    for (guint i = 0; i < n; i++) {
        explanation->nodes[i] = explain_node(explanation, i);
        explanation->left_out[i] = find_left_out(explanation, i);
    }
    for (guint o = 0; o < explanation->fan_outs->len; o++) {
        const CtFanOut *fan_out = g_ptr_array_index(explanation->fan_outs, o);
        for (guint r = 0; r < fan_out->readers->len; r++)
            g_ptr_array_add(explanation->links, explain_link(explanation, o, r));
    }
    explanation->n_candidates = count(explanation->candidates, FALSE);
    explanation->n_variants = count(explanation->candidates, TRUE);
    return TRUE;
}

static gboolean
has_attached(const CtPlan *plan)
{
    for (guint n = 0; n < plan->nodes->len; n++) {
        const CtVariant *variant = ct_plan_node(plan, n)->variant;
        if (ct_epilogue_variant_base(variant) != variant)
            return TRUE;
    }
    return FALSE;
}

/* Plans again without fusion. The plan whose stages are fused does not prove that there is such a
 * plan: memory may be too small. */
static CtPlan *
plan_unfused(const CtPlan *plan, CtRegistry *registry, const CtPlanOptions *options)
{
    CtPlanOptions unfused = *options;
    unfused.no_fusion = TRUE;
    return has_attached(plan) ? ct_plan_new(plan->graph, registry, &unfused, NULL) : NULL;
}

CtExplanation *
ct_explanation_new(const CtPlan *plan, CtRegistry *registry, const CtPlanOptions *options,
                   GError **error)
{
    g_autoptr(CtExplanation) explanation = g_new0(CtExplanation, 1);
    ct_planner_init(&explanation->planner, plan->graph, registry, options);
    ct_planner_resume(&explanation->planner, plan);
    ct_planner_keep_conversions(&explanation->planner);
    explanation->links = g_ptr_array_new_with_free_func(link_free);
    explanation->unfused = plan_unfused(plan, registry, options);
    return explain(explanation, error) ? g_steal_pointer(&explanation) : NULL;
}

void
ct_explanation_free(CtExplanation *explanation)
{
    if (!explanation)
        return;
    for (guint i = 0; explanation->nodes && explanation->nodes[i]; i++)
        g_array_unref(explanation->nodes[i]);
    g_free(explanation->nodes);
    for (guint i = 0; explanation->left_out && explanation->left_out[i]; i++)
        g_array_unref(explanation->left_out[i]);
    g_free(explanation->left_out);
    g_ptr_array_unref(explanation->links);
    g_clear_pointer(&explanation->choice, ct_choice_free);
    g_clear_pointer(&explanation->fan_outs, g_ptr_array_unref);
    g_clear_pointer(&explanation->candidates, ct_candidates_free);
    ct_planner_clear(&explanation->planner);
    ct_plan_free(explanation->unfused);
    g_free(explanation);
}
