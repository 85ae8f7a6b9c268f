/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures what decides a graph's plan, until its plan cannot change any more. */
#include "roofs.h"
#include "tune-private.h"
#include "tuning.h"

#include <math.h>
#include <string.h>

/* The relative deviation of a repetition before any is known, and what it is taken to be at least
 * and at most. */
static const gdouble first_usual = 0.06, least_usual = 0.01, most_usual = 0.2;

/* What was measured may come out better by so many standard errors. */
static const gdouble errors_of_luck = 2;

/* A variant may gain so much by tunings that were not tried yet; one of fewer instructions is not
 * better than so many times one of more in the same layouts. */
static const gdouble by_tuning = 0.85, by_fewer_instructions = 0.9;

/* It is settled with so many repetitions if its standard error is below this. */
static const guint enough = 5;
static const gdouble sure = 0.005;

/* Trials that stay at hand, with their threads and memory, and the bytes that they hold together.
 */
enum { MAX_ALIVE = 24 };
static const gsize max_bytes = (gsize)2 << 30;

/* Plans between two looks at how much there is left. */
enum { LOOK_AHEAD = 8 };

void
ct_tune_report_clear(CtTuneReport *report)
{
    g_clear_pointer(&report->failures, g_ptr_array_unref);
}

gboolean
ct_tune_is_over(CtTune *tune)
{
    const CtTuneOptions *options = tune->options;
    CtTuneProgress *progress = &tune->report->progress;
    progress->elapsed = (gdouble)(g_get_monotonic_time() - tune->started) * 1e-6;
    return (options->budget > 0 && progress->elapsed >= options->budget) ||
           (options->is_over && options->is_over(options->data));
}

static void
tell(CtTune *tune, const char *what)
{
    const CtTuneOptions *options = tune->options;
    CtTuneProgress *progress = &tune->report->progress;
    progress->what = what;
    progress->elapsed = (gdouble)(g_get_monotonic_time() - tune->started) * 1e-6;
    if (options->progress)
        options->progress(progress, options->data);
}

/* ---- items ---- */

static gboolean
is_measured(const CtTuneItem *item)
{
    return item->samples->len > 0;
}

static gboolean
is_settled(const CtTune *tune, const CtTuneItem *item)
{
    const guint n = item->samples->len;
    return item->refusal || item->measurement.failure || n >= tune->most ||
           (n >= enough && item->measurement.spread < sure);
}

/* Remembers how fast a variant is, for those of fewer instructions. */
static void
note_best(CtTune *tune, const CtVariant *variant, const CtMeasurement *measurement)
{
    if (variant->backend != CT_CPU)
        return;
    g_autofree char *setting = ct_tune_setting_of(measurement);
    CtTuneBest *best = g_hash_table_lookup(tune->bests, setting);
    if (!best) {
        best = g_new(CtTuneBest, 1);
        for (guint isa = 0; isa < CT_N_ISAS; isa++)
            best->seconds[isa] = HUGE_VAL;
        g_hash_table_insert(tune->bests, g_steal_pointer(&setting), best);
    }
    gdouble *seconds = &best->seconds[variant->isa];
    *seconds = MIN(*seconds, measurement->seconds);
}

/* Of the measurement's stages; NULL: there is no such one any more. */
static const CtVariant *
find_variant(const CtTune *tune, const CtMeasurement *measurement)
{
    g_autofree char *first = g_strndup(measurement->stages, strcspn(measurement->stages, "+"));
    const GPtrArray *variants = ct_registry_variants(tune->options->registry, first);
    for (guint i = 0; i < variants->len; i++) {
        const CtVariant *variant = g_ptr_array_index(variants, i);
        g_autofree char *stages = g_strjoinv("+", (char **)variant->covers);
        if (g_str_equal(variant->name, measurement->variant) &&
            g_str_equal(stages, measurement->stages))
            return variant;
    }
    return NULL;
}

/* What this machine can do at most is measured once. */
static gboolean
measure_roofs(CtTune *tune, GError **error)
{
    CtMachine machine = tune->planner.machine;
    g_autoptr(GPtrArray) known = ct_store_list_roofs(tune->store, error);
    if (!known)
        return FALSE;
    if (ct_roofs_apply(&machine, known))
        return TRUE;
    tell(tune, "the roofs of the machine");
    g_autoptr(GPtrArray) roofs = ct_roofs_measure(&machine, error);
    for (guint i = 0; roofs && i < roofs->len; i++)
        if (!ct_store_put_roof(tune->store, g_ptr_array_index(roofs, i), error))
            return FALSE;
    if (roofs)
        ct_roofs_apply(&tune->planner.machine, roofs);
    return roofs != NULL;
}

static gboolean
note_known(CtTune *tune, GError **error)
{
    g_autoptr(GPtrArray) all = ct_store_list(tune->store, NULL, error);
    for (guint i = 0; all && i < all->len; i++) {
        const CtMeasurement *measurement = g_ptr_array_index(all, i);
        const CtVariant *variant = find_variant(tune, measurement);
        if (variant && !measurement->failure)
            note_best(tune, variant, measurement);
    }
    return all != NULL;
}

static void
note_failure(CtTune *tune, const CtTuneItem *item)
{
    tune->report->progress.n_failed++;
    g_ptr_array_add(tune->report->failures,
                    g_strdup_printf("%s: %s", item->name, item->measurement.failure));
}

/* The one that is known, or this one, which the run then owns. */
static CtTuneItem *
adopt(CtTune *tune, CtTuneItem *item)
{
    g_autofree char *key = ct_tune_item_key(item);
    CtTuneItem *known = g_hash_table_lookup(tune->items, key);
    if (known) {
        ct_tune_item_free(item);
        return known;
    }
    g_autoptr(CtMeasurement) stored = ct_store_get(tune->store, &item->measurement, NULL);
    if (stored) {
        ct_tune_item_keep(item, stored);
        tune->report->progress.n_kept++;
        if (stored->failure)
            note_failure(tune, item);
    }
    g_hash_table_insert(tune->items, g_steal_pointer(&key), item);
    return item;
}

CtTuneItem *
ct_tune_item(CtTune *tune, const CtPlan *plan, const CtPlanNode *node)
{
    return adopt(tune, ct_tune_item_new(plan, node, tune->planner.prices));
}

CtTuneItem *
ct_tune_retuned(CtTune *tune, const CtTuneItem *item, const gint64 *tuning)
{
    return adopt(tune, ct_tune_item_retuned(item, tuning, tune->planner.prices));
}

/* ---- measuring ---- */

static void
let_go(CtTune *tune, CtTuneItem *item)
{
    g_clear_pointer(&item->trial, ct_trial_free);
    g_ptr_array_remove_fast(tune->alive, item);
}

/* Makes room for one more trial: those that were used longest ago go. */
static void
make_room(CtTune *tune)
{
    for (;;) {
        CtTuneItem *oldest = NULL;
        gsize bytes = 0;
        for (guint i = 0; i < tune->alive->len; i++) {
            CtTuneItem *item = g_ptr_array_index(tune->alive, i);
            bytes += ct_trial_bytes(item->trial);
            if (!oldest || item->used < oldest->used)
                oldest = item;
        }
        if (!oldest || (tune->alive->len < MAX_ALIVE && bytes < max_bytes))
            return;
        let_go(tune, oldest);
    }
}

/* FALSE where the trial fails. */
static gboolean
run(CtTune *tune, CtTuneItem *item, gdouble *seconds, GError **error)
{
    CtTrialResult result;
    if (!item->trial) {
        make_room(tune);
        item->trial = ct_trial_new(&item->what, item->reads, tune->options->registry,
                                   tune->options->plan, error);
        if (!item->trial)
            return FALSE;
        g_ptr_array_add(tune->alive, item);
    }
    item->used = ++tune->clock;
    if (!ct_trial_run(item->trial, tune->slice, &result, error))
        return FALSE;
    *seconds = result.seconds;
    if (result.samples > 0 && result.seconds > 0)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_DATA, "its stream ends before it can be measured");
    return FALSE;
}

/* Of all items that know theirs, the middle one. */
static void
find_usual(CtTune *tune)
{
    g_autoptr(GArray) deviations = g_array_new(FALSE, FALSE, sizeof(gdouble));
    GHashTableIter iter;
    gpointer item;
    g_hash_table_iter_init(&iter, tune->items);
    while (g_hash_table_iter_next(&iter, NULL, &item)) {
        const gdouble deviation = ct_tune_item_deviation(item);
        if (!isnan(deviation))
            g_array_append_val(deviations, deviation);
    }
    if (deviations->len > 2)
        tune->usual = CLAMP(ct_tune_median(deviations), least_usual, most_usual);
}

gboolean
ct_tune_measure(CtTune *tune, CtTuneItem *item, GError **error)
{
    CtTuneProgress *progress = &tune->report->progress;
    if (item->refusal || item->measurement.failure)
        return TRUE;
    g_autoptr(GError) cause = NULL;
    const gint64 from = g_get_monotonic_time();
    const gboolean is_new = !is_measured(item);
    gdouble seconds = 0;
    tell(tune, item->name);
    if (run(tune, item, &seconds, &cause)) {
        ct_tune_item_add(item, seconds, tune->usual);
        note_best(tune, item->what.variant, &item->measurement);
    } else {
        if (item->trial)
            let_go(tune, item);
        item->measurement.failure = g_strdup(cause->message);
        item->measurement.time = g_get_real_time() / G_USEC_PER_SEC;
        note_failure(tune, item);
    }
    progress->n_measured += is_new;
    progress->n_repetitions++;
    if (is_new) {
        const gdouble took = (gdouble)(g_get_monotonic_time() - from) * 1e-6;
        tune->seconds_per_item += (took - tune->seconds_per_item) / MIN(progress->n_measured, 20);
    }
    find_usual(tune);
    return ct_store_put(tune->store, &item->measurement, error);
}

/* ---- what could at best come out ---- */

/* The best of those variants that were measured in the same layouts and have more instructions. */
static gdouble
best_of_more(const CtTune *tune, const CtPriced *what)
{
    gdouble seconds = HUGE_VAL;
    g_autofree char *setting = ct_tune_setting(tune->planner.prices, what);
    const CtTuneBest *best = g_hash_table_lookup(tune->bests, setting);
    for (guint isa = what->variant->isa + 1; best && isa < CT_N_ISAS; isa++)
        seconds = MIN(seconds, best->seconds[isa]);
    const gboolean is_split = what->from == CT_HOST && what->variant->split;
    return seconds * what->load->rate / (is_split ? tune->planner.machine.n_workers : 1);
}

static char *
tuned_key(const CtTune *tune, const CtPriced *what)
{
    g_autofree char *setting = ct_tune_setting(tune->planner.prices, what);
    return g_strjoin("|", setting, what->variant->name, NULL);
}

gboolean
ct_tune_is_tuned(const CtTune *tune, const CtPriced *what)
{
    if (ct_tuning_count(what->variant) == 0)
        return TRUE;
    g_autofree char *key = tuned_key(tune, what);
    return g_hash_table_contains(tune->tuned, key);
}

void
ct_tune_set_tuned(CtTune *tune, const CtPriced *what)
{
    g_hash_table_add(tune->tuned, tuned_key(tune, what));
}

static gdouble
judge(const CtPriced *what, const CtPrice *price, gpointer data)
{
    const CtTune *tune = data;
    const CtMachine *machine = &tune->planner.machine;
    g_autofree char *refusal = ct_trial_refusal(what);
    if (price->failure || refusal)
        return price->seconds;
    if (price->origin == CT_ORIGIN_MEASURED)
        return price->seconds * MAX(0.3, 1 - errors_of_luck * price->spread) *
               (ct_tune_is_tuned(tune, what) ? 1 : by_tuning);
    /* What is obviously right is never the fastest. */
    if (what->variant->backend == CT_REFERENCE)
        return price->seconds;
    const gdouble model =
        what->from == what->to
            ? ct_cost_seconds(machine, what->variant, what->row, what->load, what->from)
            : ct_cost_copy_seconds(machine, what->load, what->from, what->to);
    const gdouble expected = tune->optimism * MIN(model, price->seconds);
    if (what->variant->isa == CT_N_ISAS - 1 || what->variant->backend != CT_CPU)
        return expected;
    const gdouble more = best_of_more(tune, what);
    return more == HUGE_VAL ? expected : MAX(expected, by_fewer_instructions * more);
}

static CtPlan *
plan_at_best(CtTune *tune, GError **error)
{
    CtPlanOptions options = *tune->options->plan;
    options.judge = judge;
    options.judge_data = tune;
    return ct_plan_new(tune->options->graph, tune->options->registry, &options, error);
}

/* About how many seconds are left: what is not measured and looks better than what is, and the
 * repetitions that the plan at hand still wants. */
static gdouble
look_ahead(CtTune *tune, guint n_repetitions)
{
    CtPlanOptions options = *tune->options->plan;
    options.judge = judge;
    options.judge_data = tune;
    g_auto(CtPlanner) planner;
    ct_planner_init(&planner, tune->options->graph, tune->options->registry, &options);
    g_autoptr(CtCandidates) candidates = ct_candidates_new(&planner, NULL);
    guint n = 0;
    for (guint i = 0; candidates && i < candidates->all->len; i++) {
        const CtArrangement *arrangement = g_ptr_array_index(candidates->all, i);
        const GPtrArray *all = candidates->nodes[arrangement->nodes[0]];
        gdouble best = HUGE_VAL;
        for (guint k = 0; k < all->len; k++) {
            const CtArrangement *other = g_ptr_array_index(all, k);
            for (guint o = 0; o < other->offers->len; o++) {
                const CtPrice *price = &g_array_index(other->offers, CtOffer, o).price;
                if (price->origin == CT_ORIGIN_MEASURED && !price->failure &&
                    other->place == arrangement->place)
                    best = MIN(best, price->seconds);
            }
        }
        for (guint o = 0; o < arrangement->offers->len; o++) {
            const CtOffer *offer = &g_array_index(arrangement->offers, CtOffer, o);
            n += offer->price.origin != CT_ORIGIN_MEASURED && offer->price.seconds < best &&
                 offer->variant->backend != CT_REFERENCE && !offer->variant->waits;
        }
    }
    return n * tune->seconds_per_item + 3 * n_repetitions * tune->slice;
}

/* ---- the run ---- */

/* Measures what is not sure of the plan; *n says how many that were. */
static gboolean
measure_plan(CtTune *tune, const CtPlan *plan, guint *n, guint *n_repetitions, GError **error)
{
    g_autoptr(GPtrArray) items = g_ptr_array_new();
    *n = *n_repetitions = 0;
    for (guint i = 0; i < plan->nodes->len; i++) {
        CtTuneItem *item = ct_tune_item(tune, plan, g_ptr_array_index(plan->nodes, i));
        if (!g_ptr_array_find(items, item, NULL))
            g_ptr_array_add(items, item);
    }
    for (guint i = 0; i < items->len && !ct_tune_is_over(tune); i++) {
        CtTuneItem *item = g_ptr_array_index(items, i);
        const gboolean wants_tuning = !item->refusal && !ct_tune_is_tuned(tune, &item->what);
        if (is_settled(tune, item) && !wants_tuning)
            continue;
        (*n)++;
        *n_repetitions += is_settled(tune, item) ? 0 : tune->most - item->samples->len;
        if (!is_settled(tune, item) && !ct_tune_measure(tune, item, error))
            return FALSE;
        if (wants_tuning && !ct_tune_tunables(tune, item, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean
run_all(CtTune *tune, GError **error)
{
    for (guint round = 0; !ct_tune_is_over(tune); round++) {
        g_autoptr(CtPlan) plan = plan_at_best(tune, error);
        guint n = 0, n_repetitions = 0;
        if (!plan || !measure_plan(tune, plan, &n, &n_repetitions, error))
            return FALSE;
        if (n == 0 && !ct_tune_is_over(tune)) {
            tune->report->is_settled = TRUE;
            break;
        }
        if (round % LOOK_AHEAD == 0)
            tune->report->progress.left = look_ahead(tune, n_repetitions);
    }
    tune->report->progress.left = 0;
    tell(tune, NULL);
    return TRUE;
}

static void
clear(CtTune *tune)
{
    g_clear_pointer(&tune->alive, g_ptr_array_unref);
    g_clear_pointer(&tune->tuned, g_hash_table_unref);
    g_clear_pointer(&tune->bests, g_hash_table_unref);
    g_clear_pointer(&tune->items, g_hash_table_unref);
    g_clear_pointer(&tune->store, ct_store_close);
    ct_planner_clear(&tune->planner);
}

gboolean
ct_tune(const CtTuneOptions *options, CtTuneReport *report, GError **error)
{
    *report = (CtTuneReport){.failures = g_ptr_array_new_with_free_func(g_free)};
    g_autofree char *path = ct_store_path(options->plan->costs);
    if (!path) {
        g_set_error(error, CT_ERROR, CT_ERROR_CONFIG,
                    "tuning wants a file for what it measures, but costs are off");
        return FALSE;
    }
    CtStore *store = ct_store_open(path, TRUE, error);
    if (!store)
        return FALSE;
    CtTune tune = {
        .options = options,
        .store = store,
        .items = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                       (GDestroyNotify)ct_tune_item_free),
        .bests = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .tuned = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .alive = g_ptr_array_new(),
        .usual = first_usual,
        .slice = options->is_quick ? 0.01 : 0.025,
        .most = options->is_quick ? 3 : 9,
        .optimism = options->is_quick ? 0.6 : 0.4,
        .started = g_get_monotonic_time(),
        .report = report,
    };
    ct_planner_init(&tune.planner, options->graph, options->registry, options->plan);
    const gboolean good = ct_planner_check_options(&tune.planner, error) &&
                          measure_roofs(&tune, error) && note_known(&tune, error) &&
                          run_all(&tune, error);
    clear(&tune);
    return good;
}
