/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a graph of twins, and compares the outputs of each pair during the run. */
#include "model/thread.h"
#include "verify-private.h"

#include <string.h>

/* The current block of a tap. */
typedef struct {
    guint tap; /* index in the plan */
    const CtLayout *layout;
    CtBlock block;
    gint64 used; /* samples of the block that are compared */
    gboolean has_block, ended;
} Side;

typedef struct {
    CtVerifyPair *pair;
    CtScheduler *scheduler;
    const CtStream *stream;
    guint n_sides; /* the last n_sides of: tested, reference */
    Side sides[2];
    gint64 sample; /* number of samples compared */
    GThread *thread;
} Job;

/* The plan's node that runs `name`. */
static guint
find_node(const CtPlan *plan, const char *name)
{
    for (guint i = 0; i < plan->nodes->len; i++) {
        const CtPlanNode *node = plan->nodes->pdata[i];
        for (guint k = 0; k < node->n_nodes && !node->inserted; k++)
            if (g_str_equal(node->nodes[k].name, name))
                return i;
    }
    g_assert_not_reached();
}

/* ---- comparing ---- */

/* Takes the next block where the current one is used up, unless the stream has ended; FALSE after a
 * failure of the run. */
static gboolean
take(const Job *job, Side *side)
{
    while (!side->ended && (!side->has_block || side->used == side->block.n_samples)) {
        if (side->has_block)
            ct_scheduler_give_back(job->scheduler, side->tap);
        side->has_block = FALSE;
        side->used = 0;
        if (!ct_scheduler_take(job->scheduler, side->tap, -1, &side->block, NULL))
            return FALSE;
        side->has_block = side->block.n_samples > 0;
        side->ended = !side->has_block;
    }
    return TRUE;
}

/* The next `n` samples of the block. */
static CtBlock
cut(const Side *side, gint64 n)
{
    const gint time = ct_layout_axis(side->layout, "time");
    CtBlock block = side->block;
    block.n_samples = n;
    if (time < 0)
        return block;
    block.data += side->used * block.stride[time];
    block.length[time] = n;
    if (block.validity)
        block.validity += side->used;
    return block;
}

static gint64
tick_of(const Job *job, const Side *side)
{
    return side->block.start + side->used * job->stream->ticks_per_sample;
}

/* Compares the next `n` samples of both blocks. */
static void
compare(Job *job, gint64 n)
{
    CtBlock blocks[2];
    Side *first = &job->sides[2 - job->n_sides], *second = &job->sides[1];
    if (tick_of(job, first) != tick_of(job, second) && !job->pair->problem)
        job->pair->problem =
            g_strdup_printf("sample %" G_GINT64_FORMAT " is at tick %" G_GINT64_FORMAT
                            ", against %" G_GINT64_FORMAT,
                            job->sample, tick_of(job, first), tick_of(job, second));
    blocks[0] = cut(first, n);
    blocks[1] = cut(second, n);
    const CtLayout *const layouts[2] = {first->layout, second->layout};
    const CtBlock *const pointers[2] = {&blocks[0], &blocks[1]};
    ct_comparison_add(&job->pair->comparison, job->stream, layouts, pointers, job->sample);
    job->sample += n;
}

static gpointer
run_job(gpointer data)
{
    Job *job = data;
    Side *first = &job->sides[2 - job->n_sides], *second = &job->sides[1];
    while (take(job, first) && take(job, second)) {
        if (first->ended != second->ended && !job->pair->problem)
            job->pair->problem =
                g_strdup_printf("ends after %" G_GINT64_FORMAT " samples, %s does", job->sample,
                                first->ended ? "before the other" : "later than the other");
        if (first->ended && second->ended)
            break;
        /* The rest of the longer stream must still be taken. */
        if (first->ended || second->ended) {
            Side *longer = first->ended ? second : first;
            longer->used = longer->block.n_samples;
            continue;
        }
        const gint64 n =
            MIN(first->block.n_samples - first->used, second->block.n_samples - second->used);
        compare(job, n);
        first->used += n;
        if (second != first)
            second->used += n;
    }
    return NULL;
}

/* ---- the run ---- */

/* Keeps the warnings of the run, except those of twins: the nodes beside them have the same. */
static void
keep_warnings(const CtVerifyOptions *options, CtScheduler *scheduler)
{
    g_autoptr(GPtrArray) said = ct_warnings_new();
    ct_scheduler_join_warnings(scheduler, said);
    for (guint i = said->len; i-- > 0;) {
        const CtWarning *warning = said->pdata[i];
        if (warning->node && g_str_has_suffix(warning->node, "'"))
            g_ptr_array_remove_index(said, i);
    }
    ct_warnings_join(options->warnings, said);
}

static void
job_init(Job *job, CtVerifyPair *pair, const CtPlan *plan, CtScheduler *scheduler)
{
    *job = (Job){.pair = pair, .scheduler = scheduler};
    for (guint k = 0; k < 2; k++) {
        if (!pair->taps[k])
            continue;
        job->n_sides++;
        Side *side = &job->sides[k];
        side->tap = find_node(plan, pair->taps[k]);
        const CtPlanNode *tap = plan->nodes->pdata[side->tap];
        side->layout = &tap->input_bindings[0].layout;
        job->stream = tap->input_bindings[0].stream;
    }
}

/* The elements that the node has made per second of its work, or, with `together`, of the work of
 * its whole chain. */
static gdouble
rate_of(CtScheduler *scheduler, const CtPlan *plan, const CtVerifyPair *pair, guint side,
        gboolean together)
{
    const guint end = find_node(plan, pair->nodes[side]);
    const gboolean is_twin = side == 0;
    gdouble seconds = 0;
    for (guint i = 0; i < plan->nodes->len; i++) {
        const CtPlanNode *node = plan->nodes->pdata[i];
        CtNodeStats stats;
        if (i != end &&
            (!together || node->inserted || g_str_has_suffix(node->nodes[0].name, "'") != is_twin))
            continue;
        ct_scheduler_stats(scheduler, i, &stats);
        const gboolean is_shared = !node->variant->waits && node->place == CT_HOST;
        seconds += stats.work_seconds / (is_shared ? MAX(plan->n_workers, 1) : 1);
    }
    return seconds > 0 ? (gdouble)pair->comparison.n / seconds : 0;
}

static gboolean
run_jobs(const CtVerifyTwins *twins, const CtPlan *plan, CtScheduler *scheduler, GError **error)
{
    g_autofree Job *jobs = g_new0(Job, twins->pairs->len + 1);
    if (!ct_scheduler_start(scheduler, error))
        return FALSE;
    GError *cause = NULL;
    for (guint i = 0; i < twins->pairs->len && !cause; i++) {
        job_init(&jobs[i], twins->pairs->pdata[i], plan, scheduler);
        jobs[i].thread = ct_thread_start("verify", run_job, &jobs[i], &cause);
    }
    if (cause)
        ct_scheduler_stop(scheduler, cause);
    ct_scheduler_wait(scheduler, -1);
    for (guint i = 0; i < twins->pairs->len; i++)
        if (jobs[i].thread)
            g_thread_join(jobs[i].thread);
    for (guint i = 0; i < twins->pairs->len; i++) {
        CtVerifyPair *pair = twins->pairs->pdata[i];
        for (guint k = 0; k < 2; k++)
            if (pair->taps[k])
                pair->rates[k] = rate_of(scheduler, plan, pair, k, twins->together);
    }
    return ct_scheduler_result(scheduler, error);
}

static gboolean
is_same(const CtVerifyPair *pair)
{
    return pair->taps[0] && g_str_equal(pair->variants[0], pair->variants[1]) &&
           pair->places[0] == pair->places[1];
}

/* Notes the variants of all pairs; TRUE where both nodes of a pair would run with the same variant
 * at the same place. */
static gboolean
find_variants(const CtVerifyTwins *twins, const CtPlan *plan)
{
    gboolean any_same = FALSE;
    for (guint i = 0; i < twins->pairs->len; i++) {
        CtVerifyPair *pair = twins->pairs->pdata[i];
        for (guint k = 0; k < 2 && pair->taps[0]; k++) {
            const CtPlanNode *node = plan->nodes->pdata[find_node(plan, pair->nodes[k])];
            g_free(pair->variants[k]);
            pair->variants[k] = g_strdup(node->variant->name);
            pair->places[k] = node->place;
        }
        any_same |= !twins->together && is_same(pair);
    }
    return any_same;
}

static void
drop_stage(CtVerifyTwins *twins, const char *name)
{
    GPtrArray *stages = twins->config->stages;
    for (guint i = stages->len; i-- > 0;)
        if (g_str_equal(((const CtConfigStage *)stages->pdata[i])->name, name))
            g_ptr_array_remove_index(stages, i);
    g_hash_table_remove(twins->backends, name);
    g_hash_table_remove(twins->variants, name);
}

/* Removes one node of each such pair. */
static void
drop_same(CtVerifyTwins *twins)
{
    for (guint i = 0; i < twins->pairs->len; i++) {
        CtVerifyPair *pair = twins->pairs->pdata[i];
        if (!is_same(pair))
            continue;
        drop_stage(twins, pair->taps[0]);
        drop_stage(twins, pair->nodes[0]);
        g_clear_pointer(&pair->taps[0], g_free);
    }
}

/* The twins, and whether a plan runs some of them by the same variant. */
typedef struct {
    const CtVerifyTwins *twins;
    gboolean any_same;
} Taken;

/* A CtPlanTaken. */
static gboolean
take_plan(const CtPlan *plan, gpointer data)
{
    Taken *taken = data;
    taken->any_same = find_variants(taken->twins, plan);
    return !taken->any_same;
}

static gboolean
plan_and_run(const CtVerifyTwins *twins, const CtVerifyOptions *options, gboolean *any_same,
             GError **error)
{
    CtPlanOptions how = *options->plan;
    how.backends = twins->backends;
    how.variants = twins->variants;
    how.fixed = twins->fixed;
    g_autoptr(CtGraph) graph = ct_graph_new(twins->config, options->registry, FALSE, error);
    if (!graph)
        return FALSE;
    g_autoptr(CtPlan) plan = ct_plan_new(graph, options->registry, &how, error);
    if (!plan)
        return FALSE;
    CtRunOptions run = *options->run;
    run.memory = NULL;
    run.strict = FALSE; /* for it would name twins */
    Taken taken = {.twins = twins};
    g_autoptr(GError) cause = NULL;
    g_autoptr(CtScheduler) scheduler = NULL;
    if (take_plan(plan, &taken))
        scheduler = ct_scheduler_new_that_fits(&plan, options->registry, &how, &run, take_plan,
                                               &taken, &cause);
    *any_same = taken.any_same;
    if (*any_same)
        return TRUE;
    if (!scheduler) {
        g_propagate_error(error, g_steal_pointer(&cause));
        return FALSE;
    }
    const gboolean good = run_jobs(twins, plan, scheduler, error);
    keep_warnings(options, scheduler);
    return good;
}

gboolean
ct_verify_twins_run(CtVerifyTwins *twins, const CtVerifyOptions *options, GError **error)
{
    for (;;) {
        gboolean any_same;
        if (!plan_and_run(twins, options, &any_same, error))
            return FALSE;
        if (!any_same)
            return TRUE;
        drop_same(twins);
    }
}
