/* SPDX-License-Identifier: BSD-3-Clause */
/* The search for a variant's best tuning in given layouts: each tunable by itself first, then those
 * that mattered together. Later layouts begin with the tunings that were good in the first. */
#include "graph/plugin-call.h"
#include "graph/tuning.h"
#include "tune-private.h"

#include <string.h>

/* A tunable matters if its best value gains this share over the default. */
static const gdouble matters = 0.02;

/* The number of the best tunings of the variant in other layouts that are tried; the most tunables
 * that are combined, and the most combinations; and the repetitions of the best tunings. */
enum { TAKEN_OVER = 3, MAX_COMBINED = 4, MAX_COMBINATIONS = 16, REPEATED = 3 };

static gint
compare_items(gconstpointer a, gconstpointer b)
{
    const CtTuneItem *x = *(CtTuneItem *const *)a, *y = *(CtTuneItem *const *)b;
    const gdouble p = x->measurement.seconds, q = y->measurement.seconds;
    return p < q ? -1 : p > q;
}

/* Measures the item's candidate with this tuning once, and adds it to `tried`. */
static gboolean
try_tuning(CtTune *tune, const CtTuneItem *item, const gint64 *tuning, GPtrArray *tried,
           GError **error)
{
    const gboolean differs = ct_tuning_differs(item->what.variant, item->nodes, tuning);
    if (!ct_graph_check_kept(tune->options->graph, error))
        return FALSE;
    if (!differs)
        return TRUE;
    CtTuneItem *other = ct_tune_retuned(tune, item, tuning);
    if (g_ptr_array_find(tried, other, NULL))
        return TRUE;
    if (other->samples->len == 0 && !ct_tune_is_over(tune) && !ct_tune_measure(tune, other, error))
        return FALSE;
    if (other->samples->len > 0)
        g_ptr_array_add(tried, other);
    return TRUE;
}

/* Repeats the best tunings until each of them has enough repetitions. */
static gboolean
repeat_best(CtTune *tune, GPtrArray *tried, GError **error)
{
    for (guint k = 0; k < 3 * REPEATED && !ct_tune_is_over(tune); k++) {
        g_ptr_array_sort(tried, compare_items);
        CtTuneItem *wanting = NULL;
        for (guint i = 0; i < MIN(tried->len, 3) && !wanting; i++) {
            CtTuneItem *item = g_ptr_array_index(tried, i);
            if (item->samples->len < REPEATED)
                wanting = item;
        }
        if (!wanting)
            break;
        if (!ct_tune_measure(tune, wanting, error))
            return FALSE;
    }
    g_ptr_array_sort(tried, compare_items);
    return TRUE;
}

/* The effect of a tunable by itself. */
typedef struct {
    guint index;
    gint64 best, next; /* values: the two best */
    gdouble gain;      /* of the best value over the default */
} Effect;

static gint
compare_effects(gconstpointer a, gconstpointer b)
{
    const gdouble x = ((const Effect *)a)->gain, y = ((const Effect *)b)->gain;
    return x > y ? -1 : x < y;
}

/* Tries each value of each tunable, with defaults for the others. */
static gboolean
try_alone(CtTune *tune, const CtTuneItem *usual, GPtrArray *tried, GArray *effects, GError **error)
{
    const CtTunable *tunables = usual->what.variant->tunables;
    for (guint t = 0; tunables[t].name; t++) {
        Effect effect = {.index = t, .best = usual->tuning[t], .next = usual->tuning[t]};
        gdouble best = usual->measurement.seconds, next = G_MAXDOUBLE;
        for (guint v = 0; v < tunables[t].n_values; v++) {
            gint64 tuning[CT_MAX_TUNABLES];
            memcpy(tuning, usual->tuning, sizeof(tuning));
            tuning[t] = tunables[t].values[v];
            const guint n = tried->len;
            if (!try_tuning(tune, usual, tuning, tried, error))
                return FALSE;
            if (tried->len == n)
                continue;
            const CtTuneItem *item = g_ptr_array_index(tried, n);
            const gdouble seconds = item->measurement.seconds;
            if (seconds < best) {
                next = best;
                effect.next = effect.best;
                best = seconds;
                effect.best = tuning[t];
            } else if (seconds < next) {
                next = seconds;
                effect.next = tuning[t];
            }
        }
        effect.gain = 1 - best / usual->measurement.seconds;
        g_array_append_val(effects, effect);
    }
    return TRUE;
}

/* Tries all combinations of the two best values of the tunables that matter. */
static gboolean
try_together(CtTune *tune, const CtTuneItem *usual, GPtrArray *tried, GArray *effects,
             GError **error)
{
    g_array_sort(effects, compare_effects);
    guint n = 0;
    while (n < MIN(effects->len, MAX_COMBINED) && g_array_index(effects, Effect, n).gain > matters)
        n++;
    for (guint c = 0; n > 1 && c < MIN(1u << n, MAX_COMBINATIONS); c++) {
        gint64 tuning[CT_MAX_TUNABLES];
        memcpy(tuning, usual->tuning, sizeof(tuning));
        for (guint k = 0; k < n; k++) {
            const Effect *effect = &g_array_index(effects, Effect, k);
            tuning[effect->index] = c >> k & 1 ? effect->next : effect->best;
        }
        if (!try_tuning(tune, usual, tuning, tried, error))
            return FALSE;
    }
    return TRUE;
}

/* Finds the best tunings of this variant over these nodes in other layouts. */
static GPtrArray *
find_elsewhere(const CtTune *tune, const CtTuneItem *item)
{
    GPtrArray *found = g_ptr_array_new();
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, tune->items);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const CtTuneItem *other = value;
        if (other->is_best && other->what.variant == item->what.variant &&
            g_str_equal(other->nodes[0].name, item->nodes[0].name))
            g_ptr_array_add(found, value);
    }
    g_ptr_array_sort(found, compare_items);
    return found;
}

gboolean
ct_tune_tunables(CtTune *tune, CtTuneItem *item, GError **error)
{
    const CtVariant *variant = item->what.variant;
    gint64 tuning[CT_MAX_TUNABLES];
    ct_tuning_defaults(variant, tuning);
    CtTuneItem *usual = ct_tune_retuned(tune, item, tuning);
    g_autoptr(GPtrArray) elsewhere = find_elsewhere(tune, item);
    g_autoptr(GPtrArray) tried = g_ptr_array_new();
    if (!try_tuning(tune, usual, usual->tuning, tried, error))
        return FALSE;
    if (elsewhere->len > 0) {
        for (guint i = 0; i < MIN(elsewhere->len, TAKEN_OVER); i++)
            if (!try_tuning(tune, usual, ((CtTuneItem *)elsewhere->pdata[i])->tuning, tried, error))
                return FALSE;
    } else if (usual->samples->len > 0) {
        g_autoptr(GArray) effects = g_array_new(FALSE, FALSE, sizeof(Effect));
        if (!try_alone(tune, usual, tried, effects, error) ||
            !try_together(tune, usual, tried, effects, error))
            return FALSE;
    }
    if (!repeat_best(tune, tried, error))
        return FALSE;
    if (ct_tune_is_over(tune))
        return TRUE;
    for (guint i = 0; i < MIN(tried->len, TAKEN_OVER); i++)
        ((CtTuneItem *)tried->pdata[i])->is_best = TRUE;
    ct_tune_set_tuned(tune, item);
    return TRUE;
}
