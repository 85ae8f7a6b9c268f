/* SPDX-License-Identifier: BSD-3-Clause */
/* Tuning: measures the candidates that decide a graph's plan until the plan cannot change any
 * more. */
#include "cost/ceilings.h"
#include "plan/candidates.h"
#include "plan/planner-variants.h"
#include "tune-private.h"

#include <math.h>
#include <string.h>

/* The relative deviation of a repetition: the first guess, and the least and largest value used. */
static const gdouble first_usual = 0.06, least_usual = 0.01, most_usual = 0.2;

/* The most trials that stay prepared, with their threads and memory, and the most bytes that these
 * hold together: a number, plus a part of a device's memory. */
enum { MAX_ALIVE = 24, PARTS_OF_DEVICE = 8 };
static const gsize max_bytes = (gsize)2 << 30;

/* Plans between two estimates of the remaining time. */
enum { LOOK_AHEAD = 8 };

void
ct_tune_report_clear(CtTuneReport *report)
{
    g_clear_pointer(&report->failures, g_ptr_array_unref);
    g_clear_pointer(&report->blocks, g_free);
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

void
ct_tune_tell(CtTune *tune, const char *what)
{
    const CtTuneOptions *options = tune->options;
    CtTuneProgress *progress = &tune->report->progress;
    progress->what = what;
    progress->elapsed = (gdouble)(g_get_monotonic_time() - tune->started) * 1e-6;
    progress->left = MAX(tune->end - progress->elapsed, 0);
    if (options->budget > 0)
        progress->left = MIN(progress->left, MAX(options->budget - progress->elapsed, 0));
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
is_decided(const CtTune *tune, const CtTuneItem *item)
{
    const CtMeasurement *measurement = &item->measurement;
    const guint n = item->samples->len;
    return item->refusal || measurement->failure || n >= tune->most ||
           (n >= 2 &&
            ct_tune_is_sure(tune, ct_tune_as_estimate(tune, &item->what, measurement->seconds),
                            measurement->spread));
}

/* The variant of a measurement; NULL: it does not exist any more. */
static const CtVariant *
find_variant(const CtTune *tune, const CtMeasurement *measurement)
{
    g_autofree char *first =
        g_strndup(measurement->key.stages, strcspn(measurement->key.stages, "+"));
    const GPtrArray *variants = ct_registry_variants(tune->options->registry, first);
    for (guint i = 0; i < variants->len; i++) {
        const CtVariant *variant = g_ptr_array_index(variants, i);
        g_autofree char *stages = g_strjoinv("+", (char **)variant->covers);
        if (g_str_equal(variant->name, measurement->key.variant) &&
            g_str_equal(stages, measurement->key.stages))
            return variant;
    }
    return NULL;
}

/* Measures the ceilings of this machine, once. */
static gboolean
measure_ceilings(CtTune *tune, GError **error)
{
    CtMachine machine = tune->planner.machine;
    g_autoptr(GPtrArray) known = ct_database_list_ceilings(tune->database, error);
    if (!known)
        return FALSE;
    if (ct_ceilings_apply(&machine, known))
        return TRUE;
    ct_tune_tell(tune, "the ceilings of the machine");
    g_autoptr(GPtrArray) ceilings = ct_ceilings_measure(&machine, error);
    for (guint i = 0; ceilings && i < ceilings->len; i++)
        if (!ct_database_put_ceiling(tune->database, g_ptr_array_index(ceilings, i), error))
            return FALSE;
    if (ceilings)
        ct_ceilings_apply(&tune->planner.machine, ceilings);
    return ceilings != NULL;
}

static gboolean
note_known(CtTune *tune, GError **error)
{
    g_autoptr(GPtrArray) all = ct_database_list(tune->database, NULL, error);
    for (guint i = 0; all && i < all->len; i++) {
        const CtMeasurement *measurement = g_ptr_array_index(all, i);
        const CtVariant *variant = find_variant(tune, measurement);
        if (!variant || measurement->failure)
            continue;
        ct_tune_note_best(tune, variant, measurement);
        ct_tune_note_stored_ratio(tune, variant, measurement);
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

/* Returns the known item that equals `item`, or `item`, which the run then owns. */
static CtTuneItem *
adopt(CtTune *tune, CtTuneItem *item)
{
    const CtCostKey *key = &item->measurement.key;
    CtTuneItem *known = g_hash_table_lookup(tune->items, key);
    if (known) {
        ct_tune_item_free(item);
        return known;
    }
    g_autoptr(CtMeasurement) stored = ct_database_get(tune->database, key, NULL);
    if (stored) {
        ct_tune_item_keep(item, stored);
        tune->report->progress.n_kept++;
        if (stored->failure)
            note_failure(tune, item);
        else
            ct_tune_note_ratio(tune, item);
    }
    g_hash_table_insert(tune->items, &item->measurement.key, item);
    return item;
}

CtTuneItem *
ct_tune_item(CtTune *tune, const CtPlan *plan, const CtPlanNode *node)
{
    return adopt(tune, ct_tune_item_new(plan, node, tune->planner.estimates));
}

CtTuneItem *
ct_tune_retuned(CtTune *tune, const CtTuneItem *item, const gint64 *tuning)
{
    return adopt(tune, ct_tune_item_retuned(item, tuning, tune->planner.estimates));
}

/* ---- measuring ---- */

static void
let_go(CtTune *tune, CtTuneItem *item)
{
    g_clear_pointer(&item->trial, ct_trial_free);
    g_ptr_array_remove_fast(tune->alive, item);
}

/* Makes room for one more trial by releasing the least recently used ones. */
static void
make_room(CtTune *tune)
{
    const CtMachine *machine = &tune->planner.machine;
    const gsize most =
        max_bytes +
        (machine->n_devices > 0 ? machine->devices[0].memory_bytes / PARTS_OF_DEVICE : 0);
    for (;;) {
        CtTuneItem *oldest = NULL;
        gsize bytes = 0;
        for (guint i = 0; i < tune->alive->len; i++) {
            CtTuneItem *item = g_ptr_array_index(tune->alive, i);
            bytes += ct_trial_bytes(item->trial);
            if (!oldest || item->used < oldest->used)
                oldest = item;
        }
        if (!oldest || (tune->alive->len < MAX_ALIVE && bytes < most))
            return;
        let_go(tune, oldest);
    }
}

/* Runs the item's trial for one repetition; FALSE where it fails. */
static gboolean
run(CtTune *tune, CtTuneItem *item, gdouble *seconds, GError **error)
{
    CtTrialResult result;
    if (!item->trial) {
        CtPlanOptions options = *tune->options->plan;
        options.device_bytes = tune->planner.machine.device_bytes;
        make_room(tune);
        item->trial =
            ct_trial_new(&item->what, item->reads, tune->options->registry, &options, error);
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

/* Sets the usual deviation to the median over the items that have one. */
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
    ct_tune_tell(tune, item->name);
    if (run(tune, item, &seconds, &cause)) {
        ct_tune_item_add(item, seconds, tune->usual);
        ct_tune_note_best(tune, item->what.variant, &item->measurement);
        if (is_new)
            ct_tune_note_ratio(tune, item);
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
    return ct_database_put(tune->database, &item->measurement, error);
}

/* The plan if each uncertain estimate came out as well as it could. */
static CtPlan *
plan_at_best(CtTune *tune, GError **error)
{
    CtPlanOptions options = *tune->options->plan;
    options.judge = ct_tune_judge;
    options.judge_data = tune;
    return ct_plan_new(tune->options->graph, tune->options->registry, &options, error);
}

/* The plan from the measurements so far. */
static CtPlan *
plan_as_known(CtTune *tune, GError **error)
{
    return ct_plan_new(tune->options->graph, tune->options->registry, tune->options->plan, error);
}

/* Estimates the remaining seconds: for the unmeasured candidates that look better than measured
 * ones, and for the repetitions that the current plan still wants. */
static gdouble
look_ahead(CtTune *tune, guint n_repetitions)
{
    CtPlanOptions options = *tune->options->plan;
    options.judge = ct_tune_judge;
    options.judge_data = tune;
    g_auto(CtPlanner) planner;
    ct_planner_init(&planner, tune->options->graph, tune->options->registry, &options);
    g_autoptr(CtCandidates) candidates = ct_candidates_new(&planner, NULL);
    guint n = 0;
    for (guint i = 0; candidates && i < candidates->all->len; i++) {
        const CtCandidate *candidate = g_ptr_array_index(candidates->all, i);
        const GPtrArray *all = candidates->nodes[candidate->nodes[0]];
        gdouble best = HUGE_VAL;
        for (guint k = 0; k < all->len; k++) {
            const CtCandidate *other = g_ptr_array_index(all, k);
            for (guint o = 0; o < other->implementations->len; o++) {
                const CtEstimate *estimate =
                    &g_array_index(other->implementations, CtImplementation, o).estimate;
                if (estimate->origin == CT_ORIGIN_MEASURED && !estimate->failure &&
                    other->place == candidate->place)
                    best = MIN(best, estimate->seconds);
            }
        }
        for (guint o = 0; o < candidate->implementations->len; o++) {
            const CtImplementation *implementation =
                &g_array_index(candidate->implementations, CtImplementation, o);
            n += implementation->estimate.origin != CT_ORIGIN_MEASURED &&
                 implementation->estimate.seconds < best &&
                 implementation->variant->backend != CT_REFERENCE &&
                 !implementation->variant->waits;
        }
    }
    return n * tune->seconds_per_item + 3 * n_repetitions * tune->slice;
}

/* ---- the run ---- */

/* Measures the uncertain candidates of the plan; *n is set to their number. */
static gboolean
measure_plan(CtTune *tune, const CtPlan *plan, guint *n, guint *n_repetitions, GError **error)
{
    g_autoptr(GPtrArray) items = g_ptr_array_new();
    *n = *n_repetitions = 0;
    tune->total = ct_tune_whole(plan);
    for (guint i = 0; i < plan->nodes->len; i++) {
        CtTuneItem *item = ct_tune_item(tune, plan, ct_plan_node(plan, i));
        if (!g_ptr_array_find(items, item, NULL))
            g_ptr_array_add(items, item);
    }
    for (guint i = 0; i < items->len && !ct_tune_is_over(tune); i++) {
        CtTuneItem *item = g_ptr_array_index(items, i);
        const gboolean is_open = !is_decided(tune, item);
        *n_repetitions += is_open ? tune->most - item->samples->len : 0;
        *n += is_open;
        if (is_open && !ct_tune_measure(tune, item, error))
            return FALSE;
        const gdouble seconds = ct_tune_as_estimate(tune, &item->what, item->measurement.seconds);
        if (item->refusal || !ct_tune_is_worth_tuning(tune, &item->what, seconds))
            continue;
        *n += !is_open;
        if (!ct_tune_tunables(tune, item, error))
            return FALSE;
    }
    return TRUE;
}

/* Measures until nothing is left that could change the plan, or the run is over. */
static gboolean
decide(CtTune *tune, GError **error)
{
    tune->report->is_decided = FALSE;
    for (guint round = 0; !ct_tune_is_over(tune); round++) {
        g_autoptr(CtPlan) plan = plan_at_best(tune, error);
        guint n = 0, n_repetitions = 0;
        if (!plan || !measure_plan(tune, plan, &n, &n_repetitions, error))
            return FALSE;
        if (n == 0 && !ct_tune_is_over(tune)) {
            /* An estimate derived from a near measurement may be too good. */
            g_autoptr(CtPlan) known = plan_as_known(tune, error);
            if (!known || !measure_plan(tune, known, &n, &n_repetitions, error))
                return FALSE;
        }
        if (n == 0 && !ct_tune_is_over(tune)) {
            tune->report->is_decided = TRUE;
            break;
        }
        const CtTuneProgress *progress = &tune->report->progress;
        if (round % LOOK_AHEAD == 0 || progress->elapsed > tune->end)
            tune->end = progress->elapsed + look_ahead(tune, n_repetitions);
    }
    return TRUE;
}

/* Begins again with another size of blocks, which changes all estimates. */
static void
start_again(CtTune *tune)
{
    while (tune->alive->len > 0)
        let_go(tune, g_ptr_array_index(tune->alive, 0));
    ct_planner_clear(&tune->planner);
    ct_planner_init(&tune->planner, tune->options->graph, tune->options->registry,
                    tune->options->plan);
}

static gboolean
run_all(CtTune *tune, GError **error)
{
    gboolean is_changed = FALSE;
    if (!decide(tune, error))
        return FALSE;
    if (!ct_tune_is_over(tune) && !ct_tune_blocks(tune, &is_changed, error))
        return FALSE;
    if (is_changed) {
        start_again(tune);
        if (!decide(tune, error))
            return FALSE;
    }
    tune->end = 0;
    ct_tune_tell(tune, NULL);
    return TRUE;
}

void
ct_tune_close(CtTune *tune)
{
    g_clear_pointer(&tune->alive, g_ptr_array_unref);
    g_clear_pointer(&tune->ratios, g_hash_table_unref);
    g_clear_pointer(&tune->tuned, g_hash_table_unref);
    g_clear_pointer(&tune->bests, g_hash_table_unref);
    g_clear_pointer(&tune->items, g_hash_table_unref);
    g_clear_pointer(&tune->database, ct_database_close);
    ct_planner_clear(&tune->planner);
}

gboolean
ct_tune_open(CtTune *tune, const CtTuneOptions *options, CtTuneReport *report, GError **error)
{
    *tune = (CtTune){0};
    *report = (CtTuneReport){.failures = g_ptr_array_new_with_free_func(g_free)};
    g_autofree char *path = ct_database_path(options->plan->costs);
    if (!path) {
        g_set_error(error, CT_ERROR, CT_ERROR_CONFIG,
                    "tuning wants a file for what it measures, but costs are off");
        return FALSE;
    }
    CtDatabase *database = ct_database_open(path, TRUE, error);
    if (!database)
        return FALSE;
    *tune = (CtTune){
        .options = options,
        .database = database,
        .items = g_hash_table_new_full(ct_cost_key_hash, ct_cost_key_equal, NULL,
                                       (GDestroyNotify)ct_tune_item_free),
        .bests = g_hash_table_new_full(ct_cost_key_hash, ct_cost_key_equal_setting, NULL,
                                       (GDestroyNotify)ct_tune_best_free),
        .ratios = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free),
        .tuned = g_hash_table_new(ct_cost_key_hash, ct_cost_key_equal_candidate),
        .alive = g_ptr_array_new(),
        .usual = first_usual,
        .slice = options->is_quick ? 0.01 : 0.025,
        .most = options->is_quick ? 3 : 9,
        .optimism = options->is_quick ? 0.6 : 0.4,
        .small = options->is_quick ? 0.02 : 0.005,
        .slack = options->is_quick ? 1 : 0.8,
        .started = g_get_monotonic_time(),
        .report = report,
    };
    ct_planner_init(&tune->planner, options->graph, options->registry, options->plan);
    return ct_planner_check_options(&tune->planner, error) && measure_ceilings(tune, error) &&
           note_known(tune, error);
}

gboolean
ct_tune(const CtTuneOptions *options, CtTuneReport *report, GError **error)
{
    CtTune tune;
    const gboolean good = ct_tune_open(&tune, options, report, error) && run_all(&tune, error);
    ct_tune_close(&tune);
    return good;
}
