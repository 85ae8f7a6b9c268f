/* SPDX-License-Identifier: BSD-3-Clause */
/* The best that estimates may turn out to be: the optimism by which the tuning decides what to
 * measure. */
#include "graph/tuning.h"
#include "model/isa.h"
#include "tune-private.h"

#include <math.h>
#include <string.h>

/* A measurement may turn out better by this many standard errors. */
static const gdouble errors_of_luck = 2;

/* Tuning is assumed to bring a variant's time down to this share at best. It is tried only if that
 * gain would matter for the whole plan. */
static const gdouble by_tuning = 0.9;

/* A variant of a smaller instruction set is assumed to need at least this share of the time of one
 * of a larger set in the same layouts. */
static const gdouble by_smaller_set = 0.97;

/* With this many measurements of a row with the same innermost axes, their ratio is used. */
static const guint enough_of_row = 2;

/* ---- estimates ---- */

gdouble
ct_tune_as_estimate(const CtTune *tune, const CtEstimated *what, gdouble seconds)
{
    const gboolean is_split = what->from == CT_HOST && what->to == CT_HOST && what->variant->split;
    return seconds * what->load->rate / (is_split ? tune->planner.machine.n_workers : 1);
}

gdouble
ct_tune_whole(const CtPlan *plan)
{
    gdouble whole = 0;
    for (guint r = 0; r < plan->n_resources; r++)
        whole = MAX(whole, plan->busy[r]);
    for (guint i = 0; i < plan->nodes->len; i++) {
        const CtPlanNode *node = ct_plan_node(plan, i);
        if (!node->variant->waits)
            whole = MAX(whole, node->cost.alone);
    }
    return whole > 0 ? whole : plan->seconds;
}

gboolean
ct_tune_is_sure(const CtTune *tune, gdouble seconds, gdouble spread)
{
    return errors_of_luck * spread * seconds < tune->small * tune->total;
}

gboolean
ct_tune_is_tuned(const CtTune *tune, const CtEstimated *what)
{
    gint64 tuning[CT_MAX_TUNABLES];
    g_auto(CtCostKey) key = {0};
    if (ct_tuning_count(what->variant) == 0)
        return TRUE;
    ct_tuning_defaults(what->variant, tuning);
    ct_estimate_key(tune->planner.estimates, what, tuning, &key);
    return g_hash_table_contains(tune->tuned, &key);
}

void
ct_tune_set_tuned(CtTune *tune, CtTuneItem *item)
{
    g_hash_table_add(tune->tuned, &item->measurement.key);
}

gboolean
ct_tune_is_worth_tuning(const CtTune *tune, const CtEstimated *what, gdouble seconds)
{
    return (1 - by_tuning) * seconds > tune->small * tune->total && !ct_tune_is_tuned(tune, what);
}

/* ---- what is learned ---- */

void
ct_tune_best_free(CtTuneBest *best)
{
    ct_cost_key_clear(&best->key);
    g_free(best);
}

void
ct_tune_note_best(CtTune *tune, const CtVariant *variant, const CtMeasurement *measurement)
{
    if (variant->backend != CT_CPU)
        return;
    CtTuneBest *best = g_hash_table_lookup(tune->bests, &measurement->key);
    if (!best) {
        best = g_new(CtTuneBest, 1);
        ct_cost_key_copy(&best->key, &measurement->key);
        for (guint isa = 0; isa < CT_N_ISAS; isa++)
            best->seconds[isa] = HUGE_VAL;
        g_hash_table_insert(tune->bests, &best->key, best);
    }
    gdouble *seconds = &best->seconds[variant->isa];
    *seconds = MIN(*seconds, measurement->seconds);
}

static const char *
innermost(const CtLayout *layouts, guint n)
{
    return n > 0 && layouts[0].n_axes > 0 ? layouts[0].axes[layouts[0].n_axes - 1].name : NULL;
}

/* The key of a ratio: the variant, row, and innermost axes, on which speed depends most; where
 * `row` is NULL, the variant alone. */
static gint64
ratio_key(const CtVariant *variant, const CtRow *row, const char *in, const char *out)
{
    guint64 hash = (guint64)(gsize)variant;
    const gconstpointer further[] = {row, row ? in : NULL, row ? out : NULL};
    for (guint i = 0; i < G_N_ELEMENTS(further); i++)
        hash = (hash ^ (guint64)(gsize)further[i]) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
    return (gint64)hash;
}

static gint64
ratio_key_of(const CtEstimated *what)
{
    return ratio_key(what->variant, what->row, innermost(what->inputs, what->nodes[0].n_inputs),
                     innermost(what->outputs, what->nodes[what->n_nodes - 1].n_outputs));
}

static const CtTuneRatio *
find_ratio(const CtTune *tune, gint64 key)
{
    return g_hash_table_lookup(tune->ratios, &key);
}

static void
add_ratio(CtTune *tune, gint64 key, gdouble ratio)
{
    CtTuneRatio *known = g_hash_table_lookup(tune->ratios, &key);
    if (!known) {
        known = g_new(CtTuneRatio, 1);
        *known = (CtTuneRatio){.least = ratio};
        g_hash_table_insert(tune->ratios, g_memdup2(&key, sizeof(key)), known);
    }
    known->n++;
    known->least = MIN(known->least, ratio);
}

void
ct_tune_note_ratio(CtTune *tune, const CtTuneItem *item)
{
    const gdouble model = ct_estimated_model(&item->what, &tune->planner.machine);
    const gdouble seconds = ct_tune_as_estimate(tune, &item->what, item->measurement.seconds);
    if (!(model > 0) || !(seconds > 0))
        return;
    add_ratio(tune, ratio_key_of(&item->what), seconds / model);
    add_ratio(tune, ratio_key(item->what.variant, NULL, NULL, NULL), seconds / model);
}

/* The innermost axis of a port of the key; NULL: there is none. */
static const char *
innermost_of_port(const CtCostKey *key, guint port)
{
    return port < key->ports->len
               ? innermost(&g_array_index(key->ports, CtCostPort, port).layout, 1)
               : NULL;
}

void
ct_tune_note_stored_ratio(CtTune *tune, const CtVariant *variant, const CtMeasurement *measurement)
{
    const CtMachine *machine = &tune->planner.machine;
    const CtCostKey *key = &measurement->key;
    const gint place = variant->backend == CT_CUDA ? 0 : CT_HOST;
    const CtRow *row = variant->rows;
    while (row->layouts && !g_str_equal(row->layouts, key->row))
        row++;
    if (!row->layouts || *key->way || place >= (gint)machine->n_devices)
        return;
    const CtLoad load = {measurement->operations, measurement->bytes, 1};
    const gdouble model = ct_cost_seconds(machine, variant, row, &load, place) *
                          (place == CT_HOST && variant->split ? machine->n_workers : 1);
    if (!(model > 0))
        return;
    const gdouble ratio = measurement->seconds / model;
    add_ratio(tune,
              ratio_key(variant, row, key->n_inputs > 0 ? innermost_of_port(key, 0) : NULL,
                        innermost_of_port(key, key->n_inputs)),
              ratio);
    add_ratio(tune, ratio_key(variant, NULL, NULL, NULL), ratio);
}

/* ---- what is expected ---- */

/* The seconds of the best measured variant of a larger instruction set in the same layouts. Sets
 * that have the vectors of another one have kernels of their own, which tell nothing of others. */
static gdouble
best_of_larger(const CtTune *tune, const CtEstimated *what)
{
    const CtIsa own = what->variant->isa;
    gdouble seconds = HUGE_VAL;
    g_auto(CtCostKey) setting;
    ct_estimate_setting(tune->planner.estimates, what, &setting);
    const CtTuneBest *best = g_hash_table_lookup(tune->bests, &setting);
    for (CtIsa isa = 0; best && isa < CT_N_ISAS; isa++)
        if (isa == ct_isa_vectors(isa) && isa != own && ct_isa_contains(isa, own))
            seconds = MIN(seconds, best->seconds[isa]);
    return ct_tune_as_estimate(tune, what, seconds);
}

/* The expectation for a candidate that is not measured: as good, compared with the model, as its
 * row ever was, or its variant, or else as an optimist would guess. */
static gdouble
expect(const CtTune *tune, const CtEstimated *what, const CtEstimate *estimate)
{
    const gdouble model = ct_estimated_model(what, &tune->planner.machine);
    const CtTuneRatio *row = find_ratio(tune, ratio_key_of(what));
    const CtTuneRatio *variant = find_ratio(tune, ratio_key(what->variant, NULL, NULL, NULL));
    if (row && row->n >= enough_of_row)
        return tune->slack * row->least * model;
    if (variant)
        return tune->optimism * variant->least * model;
    return tune->optimism * MIN(model, estimate->seconds);
}

gdouble
ct_tune_judge(const CtEstimated *what, const CtEstimate *estimate, gpointer data)
{
    const CtTune *tune = data;
    g_autofree char *refusal = ct_trial_refusal(what);
    if (estimate->failure || refusal)
        return estimate->seconds;
    if (estimate->origin == CT_ORIGIN_MEASURED) {
        const gdouble luck = ct_tune_is_sure(tune, estimate->seconds, estimate->spread)
                                 ? 0
                                 : errors_of_luck * estimate->spread;
        return estimate->seconds * MAX(0.3, 1 - luck) *
               (ct_tune_is_worth_tuning(tune, what, estimate->seconds) ? by_tuning : 1);
    }
    /* Reference variants are never the fastest. */
    if (what->variant->backend == CT_REFERENCE)
        return estimate->seconds;
    const gdouble expected = expect(tune, what, estimate);
    if (what->variant->backend != CT_CPU)
        return expected;
    const gdouble larger = best_of_larger(tune, what);
    return larger == HUGE_VAL ? expected : MAX(expected, by_smaller_set * larger);
}
