/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs all combinations that could be the best plan of a graph: it ends when, by their bounds, the
 * others cannot be. */
#include "exhaust.h"

#include "report.h"

#include <math.h>
#include <stdio.h>

/* The number of combinations searched at once; of the fastest ones that are repeated meanwhile, and
 * of their runs; of those near the fastest that are repeated; and of those in the last round. */
enum { BATCH = 16, N_LEADERS = 8, LEADER_RUNS = 3, MAX_NEAR = 64, N_FINALISTS = 5 };

/* The length of a first run and of one in the last round, as a share of a full one; the factor of
 * its due after which a run ends; and the share of the budget for the first runs. */
static const gdouble share_of_first = 0.03, share_of_last = 0.5, patience = 20;
static const gdouble share_of_budget = 0.6;

/* A combination that takes at most this many times the time of the fastest, in one run, may still
 * be the fastest. */
static const gdouble near = 1.15;

/* A smaller share of the fastest's time makes no difference. */
static const gdouble negligible = 0.001;

/* Combinations may take less than their bounds, by the largest factor seen so far, and at least by
 * this. */
static const gdouble usual_share = 0.97;

typedef struct {
    const ExhaustOptions *options;
    CtPlanner planner;
    CtSpace space;
    GPtrArray *wholes; /* of CtWhole: those that have run */
    CtWhole *planned;
    gdouble stream_seconds; /* seconds of stream of a run of one second */
    gint64 started;
    CtExhaustion found;
} Exhaust;

static gdouble
elapsed(const Exhaust *exhaust)
{
    return (gdouble)(g_get_monotonic_time() - exhaust->started) * 1e-6;
}

/* Whether no more combinations should be tried. */
static gboolean
is_over(const Exhaust *exhaust)
{
    const gdouble budget = exhaust->options->budget;
    return budget > 0 && elapsed(exhaust) > share_of_budget * budget;
}

static void
tell(const Exhaust *exhaust, const char *what)
{
    if (exhaust->options->shows_progress)
        g_printerr("\r\033[K%.0f s: %u combinations run, the fastest in %.4g ms; %s",
                   elapsed(exhaust), exhaust->found.n_run, 1e3 * exhaust->found.fastest, what);
}

/* ---- running ---- */

static gboolean
run(Exhaust *exhaust, CtWhole *whole, gdouble share, GError **error)
{
    const ExhaustOptions *options = exhaust->options;
    return ct_whole_run(whole, &exhaust->space, share * exhaust->stream_seconds,
                        patience * share * options->seconds, error);
}

/* Notes a failure, for which the ways that never ran may be the reason. */
static void
note_failure(Exhaust *exhaust, const CtWhole *whole, const GError *cause)
{
    gboolean is_known = TRUE;
    for (guint n = 0; n < exhaust->space.n_nodes; n++) {
        if (whole->chosen[n] == CT_COVERED)
            continue;
        CtWay *way = ct_space_way(&exhaust->space, n, whole->chosen[n]);
        if (way->part.n > 0)
            continue;
        is_known = FALSE;
        g_free(way->refusal);
        way->refusal = g_strdup(cause->message);
    }
    if (!is_known)
        return;
    exhaust->found.n_failed++;
    g_free(exhaust->found.failure);
    exhaust->found.failure = g_strdup(cause->message);
}

/* Runs a combination for the first time; NULL: it fails. */
static CtWhole *
try_one(Exhaust *exhaust, const guint16 *chosen, gdouble bound, GError **error)
{
    CtExhaustion *found = &exhaust->found;
    CtWhole *whole = ct_whole_new(chosen, exhaust->space.n_nodes, bound);
    g_autoptr(GError) cause = NULL;
    ct_space_set_tried(&exhaust->space, chosen);
    if (!run(exhaust, whole, share_of_first, &cause)) {
        note_failure(exhaust, whole, cause);
        ct_whole_free(whole);
        g_propagate_error(error, g_steal_pointer(&cause));
        return NULL;
    }
    ct_whole_rest(whole);
    g_ptr_array_add(exhaust->wholes, whole);
    const gdouble seconds = g_array_index(whole->seconds, gdouble, 0);
    found->n_run++;
    found->fastest = found->n_run == 1 ? seconds : MIN(found->fastest, seconds);
    found->slowest = MAX(found->slowest, seconds);
    return whole;
}

/* ---- every way in some combination ---- */

static void
try_with(Exhaust *exhaust, CtWay *way, gboolean is_known)
{
    const CtQuery query = {.limit = HUGE_VAL, .most = 1, .with = way, .is_known = is_known};
    g_autoptr(GArray) found = ct_space_find(&exhaust->space, &query);
    if (found->len > 0) {
        const CtFound *one = &g_array_index(found, CtFound, 0);
        try_one(exhaust, one->chosen, one->bound, NULL);
    }
    way->fails = is_known && way->part.n == 0 && way->refusal;
    tell(exhaust, "each stage in every way");
}

/* Tries each way in the combination with the least bound, then those that failed among ways that
 * have run. */
static void
try_all_ways(Exhaust *exhaust)
{
    CtSpace *space = &exhaust->space;
    for (guint is_known = FALSE; is_known <= TRUE; is_known++)
        for (guint n = 0; n < space->n_nodes; n++)
            for (guint i = 0; i < space->ways[n]->len && !is_over(exhaust); i++) {
                CtWay *way = ct_space_way(space, n, i);
                if (!way->is_double && way->part.n == 0)
                    try_with(exhaust, way, is_known);
            }
}

static void
count_ways(Exhaust *exhaust)
{
    CtExhaustion *found = &exhaust->found;
    for (guint n = 0; n < exhaust->space.n_nodes; n++)
        for (guint i = 0; i < exhaust->space.ways[n]->len; i++) {
            const CtWay *way = ct_space_way(&exhaust->space, n, i);
            if (way->is_double)
                continue;
            found->n_ways++;
            found->n_unknown += way->part.n == 0 && !way->fails;
            if (way->fails) {
                const CtGraphNode *node = ct_graph_node(exhaust->planner.graph, n);
                g_ptr_array_add(found->failures,
                                g_strdup_printf("%s %s: %s", node->config->name,
                                                way->implementation->variant->name, way->refusal));
            }
        }
    found->n_failing = ct_space_count(&exhaust->space, CT_COUNT_DIFFERENT) -
                       ct_space_count(&exhaust->space, CT_COUNT_RUNNING);
}

/* ---- all combinations that could be the best ---- */

static gint
compare_wholes(gconstpointer a, gconstpointer b)
{
    const gdouble x = ct_whole_median(*(CtWhole *const *)a);
    const gdouble y = ct_whole_median(*(CtWhole *const *)b);
    return (x > y) - (x < y);
}

/* Repeats the fastest combinations so far; returns the seconds of the fastest of these. */
static gdouble
repeat_leaders(Exhaust *exhaust)
{
    gdouble least = HUGE_VAL;
    g_ptr_array_sort(exhaust->wholes, compare_wholes);
    for (guint i = 0; i < MIN(exhaust->wholes->len, N_LEADERS); i++) {
        CtWhole *whole = g_ptr_array_index(exhaust->wholes, i);
        gboolean good = TRUE;
        while (good && whole->seconds->len < LEADER_RUNS)
            good = run(exhaust, whole, share_of_first, NULL);
        ct_whole_rest(whole);
        least = MIN(least, ct_whole_median(whole));
    }
    return least;
}

static void
note_share(CtExhaustion *found, const CtWhole *whole)
{
    const gdouble share = g_array_index(whole->seconds, gdouble, 0) / whole->bound;
    found->n_undercut += share < 1;
    found->least_share = MIN(found->least_share, share);
}

static gdouble
limit_of_bounds(Exhaust *exhaust)
{
    return repeat_leaders(exhaust) / MIN(exhaust->found.least_share, usual_share);
}

static void
try_all_below(Exhaust *exhaust)
{
    CtExhaustion *found = &exhaust->found;
    found->limit = limit_of_bounds(exhaust);
    while (!is_over(exhaust)) {
        const CtQuery query = {.limit = found->limit, .most = BATCH};
        g_autoptr(GArray) batch = ct_space_find(&exhaust->space, &query);
        for (guint i = 0; i < batch->len && !is_over(exhaust); i++) {
            const CtFound *one = &g_array_index(batch, CtFound, i);
            const CtWhole *whole = try_one(exhaust, one->chosen, one->bound, NULL);
            if (whole)
                note_share(found, whole);
            g_autofree char *text = g_strdup_printf("parts from %.4g ms on, to %.4g",
                                                    1e3 * one->bound, 1e3 * found->limit);
            tell(exhaust, text);
        }
        if (batch->len == 0)
            break;
        found->limit = limit_of_bounds(exhaust);
    }
    found->n_left = ct_space_count_below(&exhaust->space, found->limit, &found->is_all_left);
    const CtQuery query = {.limit = HUGE_VAL, .most = 1};
    g_autoptr(GArray) next = ct_space_find(&exhaust->space, &query);
    found->least_left = next->len > 0 ? g_array_index(next, CtFound, 0).bound : HUGE_VAL;
}

/* ---- the fastest by turns ---- */

/* Repeats the combinations near the fastest, and drops the slower half each time, until few are
 * left. */
static gboolean
halve(Exhaust *exhaust, GPtrArray *left, GError **error)
{
    CtExhaustion *found = &exhaust->found;
    g_ptr_array_sort(exhaust->wholes, compare_wholes);
    for (guint i = 0; i < exhaust->wholes->len; i++) {
        CtWhole *whole = g_ptr_array_index(exhaust->wholes, i);
        const CtWhole *first = g_ptr_array_index(exhaust->wholes, 0);
        const gboolean is_near = ct_whole_median(whole) <= near * ct_whole_median(first);
        found->n_near += is_near;
        if (is_near ? left->len < MAX_NEAR : left->len < N_FINALISTS)
            g_ptr_array_add(left, whole);
    }
    found->n_again = left->len;
    while (left->len > N_FINALISTS) {
        for (guint k = 0; k < 2; k++)
            for (guint i = 0; i < left->len; i++) {
                CtWhole *whole = g_ptr_array_index(left, i);
                if (!run(exhaust, whole, share_of_first, error))
                    return FALSE;
                ct_whole_rest(whole);
                tell(exhaust, "the fastest by turns");
            }
        g_ptr_array_sort(left, compare_wholes);
        const guint n = MAX(left->len / 2, N_FINALISTS);
        g_ptr_array_set_size(left, (gint)n);
    }
    return TRUE;
}

/* Runs the combinations in turn, without earlier results, and prepares each run anew, because the
 * place of its memory may make a difference. */
static gboolean
run_by_turns(Exhaust *exhaust, const GPtrArray *wholes, guint n_repetitions, GError **error)
{
    for (guint i = 0; i < wholes->len; i++) {
        CtWhole *whole = g_ptr_array_index(wholes, i);
        g_array_set_size(whole->seconds, 0);
        g_array_set_size(whole->behind, 0);
    }
    for (guint k = 0; k < n_repetitions; k++)
        for (guint i = 0; i < wholes->len; i++) {
            CtWhole *whole = g_ptr_array_index(wholes, i);
            if (!run(exhaust, whole, share_of_last, error))
                return FALSE;
            ct_whole_rest(whole);
            tell(exhaust, "the last by turns");
        }
    return TRUE;
}

/* The last round finds the fastest beside the planner's. The two then run again, because the
 * fastest of several looks faster than it is. */
static char *
run_finalists(Exhaust *exhaust, GError **error)
{
    const guint n_repetitions = exhaust->options->n_repetitions;
    CtExhaustion *found = &exhaust->found;
    g_autoptr(GPtrArray) left = g_ptr_array_new(), pair = g_ptr_array_new();
    if (!halve(exhaust, left, error))
        return NULL;
    if (!g_ptr_array_find(left, exhaust->planned, NULL))
        g_ptr_array_add(left, exhaust->planned);
    if (!run_by_turns(exhaust, left, n_repetitions, error))
        return NULL;
    g_ptr_array_sort(left, compare_wholes);
    CtWhole *rival = NULL;
    for (guint i = 0; i < left->len && !rival; i++)
        if (g_ptr_array_index(left, i) != exhaust->planned)
            rival = g_ptr_array_index(left, i);
    found->finalists = left;
    found->planned = exhaust->planned;
    g_autofree char *text = ct_exhaustion_report(found, &exhaust->space);
    if (!rival)
        return g_steal_pointer(&text);
    g_ptr_array_add(pair, exhaust->planned);
    g_ptr_array_add(pair, rival);
    if (!run_by_turns(exhaust, pair, 2 * n_repetitions, error))
        return NULL;
    g_autofree char *duel = ct_exhaustion_duel(exhaust->planned, rival);
    return g_strconcat(text, duel, NULL);
}

static char *
run_all(Exhaust *exhaust, GError **error)
{
    const ExhaustOptions *options = exhaust->options;
    CtExhaustion *found = &exhaust->found;
    if (!ct_space_init(&exhaust->space, &exhaust->planner, error))
        return NULL;
    const gdouble seconds = exhaust->space.choice->seconds;
    exhaust->stream_seconds = seconds > 0 ? options->seconds / seconds : 0;
    g_autofree char *head = ct_exhaustion_head(&exhaust->space);
    printf("%s\n", head);
    g_autofree guint16 *planned = ct_space_planned(&exhaust->space);
    exhaust->planned = try_one(exhaust, planned, seconds, error);
    if (!exhaust->planned)
        return NULL;
    try_all_ways(exhaust);
    count_ways(exhaust);
    ct_space_leave_out(&exhaust->space, negligible * found->fastest);
    try_all_below(exhaust);
    found->elapsed = elapsed(exhaust);
    return run_finalists(exhaust, error);
}

char *
exhaust_run(const ExhaustOptions *options, GError **error)
{
    Exhaust exhaust = {
        .options = options,
        .wholes = g_ptr_array_new_with_free_func((GDestroyNotify)ct_whole_free),
        .started = g_get_monotonic_time(),
        .found = {.least_share = 1,
                  .near = near,
                  .failures = g_ptr_array_new_with_free_func(g_free)},
    };
    ct_planner_init(&exhaust.planner, options->graph, options->registry, options->plan);
    char *text = run_all(&exhaust, error);
    g_ptr_array_unref(exhaust.wholes);
    g_ptr_array_unref(exhaust.found.failures);
    g_free(exhaust.found.failure);
    ct_space_clear(&exhaust.space);
    ct_planner_clear(&exhaust.planner);
    return text;
}
