/* SPDX-License-Identifier: BSD-3-Clause */
/* The measurements of the database, and the search for the one that is nearest to a candidate. */
#include "estimate-private.h"
#include "graph/tuning.h"

#include <math.h>

/* Candidates farther than this are not near: about a factor of 50 in all lengths together. */
static const gdouble farthest = 4;

/* A distance is a sum of logarithms of ratios of lengths, plus these constants for what else
 * differs. */
#define DISTANCE_OF_VARIANT      1.0
#define DISTANCE_OF_OUTER_ORDERS 1.25 /* the innermost axes are the same */
#define DISTANCE_OF_ORDERS       2.0
static const gdouble share_of_workers = 0.2; /* of the logarithm of the ratio */
static const gdouble share_of_aim = 0.2;

/* ---- one candidate ---- */

void
ct_known_free(CtKnown *known)
{
    if (!known)
        return;
    ct_cost_key_clear(&known->key);
    g_array_unref(known->tried);
    g_free(known);
}

static const CtRow *
find_row(const CtVariant *variant, const char *layouts)
{
    for (const CtRow *row = variant->rows; row && row->layouts; row++) {
        if (g_str_equal(row->layouts, layouts))
            return row;
    }
    return NULL;
}

CtKnown *
ct_known_new(const CtVariant *variant, const CtMeasurement *measurement, gboolean is_shipped,
             gboolean is_code)
{
    const CtRow *row = find_row(variant, measurement->key.row);
    if (!row)
        return NULL;
    CtKnown *known = g_new0(CtKnown, 1);
    known->variant = variant;
    known->row = row;
    ct_cost_key_copy(&known->key, &measurement->key);
    known->is_shipped = is_shipped;
    known->is_code = is_code;
    known->load = (CtLoad){measurement->operations, measurement->bytes, 1};
    known->tried = g_array_new(FALSE, FALSE, sizeof(CtTried));
    return known;
}

/* FALSE if the variant no longer has a tunable, or this value of it. */
static gboolean
read_tuning(const CtVariant *variant, const GArray *values, gint64 *tuning)
{
    ct_tuning_defaults(variant, tuning);
    for (guint i = 0; i < values->len; i++) {
        const CtNamedValue *value = &g_array_index(values, CtNamedValue, i);
        if (value->word || !ct_tuning_set(variant, value->name, value->number, tuning))
            return FALSE;
    }
    return TRUE;
}

static gint
compare_tried(gconstpointer a, gconstpointer b)
{
    const gdouble x = ((const CtTried *)a)->seconds, y = ((const CtTried *)b)->seconds;
    return x < y ? -1 : x > y;
}

void
ct_known_add(CtKnown *known, const CtMeasurement *measurement)
{
    CtTried tried = {.seconds = measurement->seconds, .spread = measurement->spread};
    if (!read_tuning(known->variant, measurement->key.tuning, tried.tuning))
        return;
    if (measurement->failure) {
        known->failure = g_intern_string(measurement->failure);
    } else if (measurement->seconds > 0 && isfinite(measurement->seconds)) {
        g_array_append_val(known->tried, tried);
        g_array_sort(known->tried, compare_tried);
    }
}

const CtTried *
ct_known_find(const CtKnown *known, const gint64 *tuning)
{
    for (guint i = 0; i < known->tried->len; i++) {
        const CtTried *tried = &g_array_index(known->tried, CtTried, i);
        if (!tuning || ct_tuning_equal(known->variant, tried->tuning, tuning))
            return tried;
    }
    return NULL;
}

gdouble
ct_known_over_ceiling(const CtKnown *known, const CtTried *tried, const CtMachine *machine,
                      gint place)
{
    const gdouble ceiling =
        ct_cost_ceiling_seconds(machine, known->variant, known->row, &known->load, place);
    return ceiling > 0 ? tried->seconds / ceiling : 0;
}

/* ---- distances ---- */

/* The axis of the same name and block; −1: there is none. */
static gint
same_axis(const CtLayout *layout, const CtLayoutAxis *axis)
{
    for (guint a = 0; a < layout->n_axes; a++) {
        if (layout->axes[a].name == axis->name && layout->axes[a].count == axis->count)
            return (gint)a;
    }
    return -1;
}

static gdouble
ratio_distance(gint64 a, gint64 b)
{
    return a == b ? 0 : a <= 0 || b <= 0 ? HUGE_VAL : fabs(log((gdouble)a / (gdouble)b));
}

/* HUGE_VAL if the two differ in their axes or types. */
static gdouble
port_distance(const CtCostPort *there, const CtCostPort *here, gdouble *orders)
{
    const CtLayout *layout = &here->layout;
    gdouble sum = 0;
    if (there->layout.n_axes != layout->n_axes || there->layout.types != layout->types)
        return HUGE_VAL;
    for (guint a = 0; a < layout->n_axes; a++) {
        const gint k = same_axis(&there->layout, &layout->axes[a]);
        if (k < 0)
            return HUGE_VAL;
        if (k != (gint)a)
            *orders = MAX(*orders,
                          a + 1 < layout->n_axes ? DISTANCE_OF_OUTER_ORDERS : DISTANCE_OF_ORDERS);
        sum += ratio_distance(there->lengths[k], here->lengths[a]);
    }
    return sum;
}

static gdouble
ports_distance(const GArray *there, const GArray *here)
{
    gdouble sum = 0, orders = 0;
    if (there->len != here->len)
        return HUGE_VAL;
    for (guint p = 0; p < here->len; p++)
        sum += port_distance(&g_array_index(there, CtCostPort, p),
                             &g_array_index(here, CtCostPort, p), &orders);
    return sum + orders;
}

/* Parameters whose distance counts less than fully. */
static gdouble
share_of(const CtNamedValue *value)
{
    return g_str_equal(value->name, "block") ? 0.2 : g_str_equal(value->name, "held") ? 0.5 : 1;
}

static const CtNamedValue *
find_value(const GArray *values, const char *name)
{
    for (guint i = 0; i < values->len; i++) {
        const CtNamedValue *value = &g_array_index(values, CtNamedValue, i);
        if (value->name == name)
            return value;
    }
    return NULL;
}

/* `b` NULL: only one of the two has the parameter. */
static gdouble
value_distance(const CtNamedValue *a, const CtNamedValue *b)
{
    if (b && a->word == b->word && a->number == b->number)
        return 0;
    return b && a->number > 0 && b->number > 0 ? ratio_distance(a->number, b->number) : 1;
}

gdouble
ct_parameters_distance(const GArray *a, const GArray *b)
{
    gdouble sum = 0;
    /* A name may occur twice (the window of a footprint, and a parameter), and find_value finds
     * only the first: equal lists are compared as a whole. */
    if (ct_named_values_equal(a, b))
        return 0;
    for (guint i = 0; i < a->len; i++) {
        const CtNamedValue *value = &g_array_index(a, CtNamedValue, i);
        sum += share_of(value) * value_distance(value, find_value(b, value->name));
    }
    for (guint i = 0; i < b->len; i++) {
        const CtNamedValue *value = &g_array_index(b, CtNamedValue, i);
        if (!find_value(a, value->name))
            sum += share_of(value);
    }
    return sum;
}

static gdouble
distance_of(const CtKnown *known, const CtEstimated *what, const CtCostKey *setting)
{
    const CtCostKey *key = &known->key;
    if (key->way != setting->way || key->machine != setting->machine ||
        known->variant->backend != what->variant->backend ||
        (known->row != what->row && !g_str_equal(known->row->layouts, what->row->layouts)))
        return HUGE_VAL;
    const gdouble ports = ports_distance(key->ports, setting->ports);
    if (ports > farthest)
        return HUGE_VAL;
    return ports + (known->variant != what->variant ? DISTANCE_OF_VARIANT : 0) +
           ct_parameters_distance(key->parameters, setting->parameters) +
           share_of_workers * ratio_distance(key->n_workers, setting->n_workers) +
           share_of_aim * ratio_distance(key->aim, setting->aim) +
           (known->is_code ? 0 : CT_DISTANCE_CODE) + (known->is_shipped ? CT_DISTANCE_SHIPPED : 0);
}

/* ---- all candidates ---- */

/* Known candidates are indexed at four levels of similarity to the candidate asked about, the
 * circles; each contains the one before. The index is a hash of what the candidates of a circle
 * have in common: always the way, the types and the set of axes; in OWN also the variant, the row
 * and the order of the axes; in SAME_ORDERS the row's text and the order; in SAME_INNERMOST the
 * row's text and the innermost axes; in ANY_ORDERS the row's text. A collision of hashes only costs
 * time. */
typedef enum { OWN, SAME_ORDERS, SAME_INNERMOST, ANY_ORDERS, N_CIRCLES } Circle;

/* The least distance of a candidate that is in this circle and in no narrower one. */
static const gdouble least_distance[N_CIRCLES] = {
    [OWN] = 0, /* of this variant, with these orders */
    [SAME_ORDERS] = DISTANCE_OF_VARIANT,
    [SAME_INNERMOST] = DISTANCE_OF_OUTER_ORDERS,
    [ANY_ORDERS] = DISTANCE_OF_ORDERS,
};

struct CtKnowledge {
    GPtrArray *all;                 /* of CtKnown */
    GHashTable *stages;             /* the first stages of all known variants */
    GHashTable *circles[N_CIRCLES]; /* hash → GPtrArray of CtKnown, borrowed */
};

CtKnowledge *
ct_knowledge_new(void)
{
    CtKnowledge *knowledge = g_new(CtKnowledge, 1);
    knowledge->all = g_ptr_array_new_with_free_func((GDestroyNotify)ct_known_free);
    knowledge->stages = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint circle = 0; circle < N_CIRCLES; circle++)
        knowledge->circles[circle] = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                                           (GDestroyNotify)g_ptr_array_unref);
    return knowledge;
}

void
ct_knowledge_free(CtKnowledge *knowledge)
{
    if (!knowledge)
        return;
    g_hash_table_unref(knowledge->stages);
    for (guint circle = 0; circle < N_CIRCLES; circle++)
        g_hash_table_unref(knowledge->circles[circle]);
    g_ptr_array_unref(knowledge->all);
    g_free(knowledge);
}

static guint64
hash_axis(const CtLayoutAxis *axis)
{
    return ct_mix(ct_mix(0, (guint64)(gsize)axis->name), (guint64)axis->count);
}

static guint64
hash_port(guint64 hash, const CtLayout *layout, Circle circle)
{
    guint64 axes = layout->types;
    for (guint a = 0; a < layout->n_axes; a++) {
        const guint64 axis = hash_axis(&layout->axes[a]);
        axes = circle <= SAME_ORDERS ? ct_mix(axes, axis) : axes + axis;
        if (circle == SAME_INNERMOST && a + 1 == layout->n_axes)
            hash = ct_mix(hash, axis);
    }
    return ct_mix(hash, axes);
}

static guint64
hash_candidate(const CtVariant *variant, const CtRow *row, const CtCostKey *key, Circle circle)
{
    guint64 hash = circle == OWN ? ct_mix(ct_mix(0, (guint64)(gsize)variant), (guint64)(gsize)row)
                                 : g_str_hash(row->layouts);
    hash = ct_mix(hash, (guint64)(gsize)key->way);
    for (guint p = 0; p < key->ports->len; p++)
        hash = hash_port(hash, &g_array_index(key->ports, CtCostPort, p).layout, circle);
    return hash;
}

void
ct_knowledge_add(CtKnowledge *knowledge, CtKnown *known)
{
    g_ptr_array_add(knowledge->all, known);
    g_hash_table_add(knowledge->stages, (gpointer)known->variant->covers[0]);
    for (Circle circle = 0; circle < N_CIRCLES; circle++) {
        const guint64 hash = hash_candidate(known->variant, known->row, &known->key, circle);
        GPtrArray *list = g_hash_table_lookup(knowledge->circles[circle], &hash);
        if (!list) {
            list = g_ptr_array_new();
            g_hash_table_insert(knowledge->circles[circle], g_memdup2(&hash, sizeof(hash)), list);
        }
        g_ptr_array_add(list, known);
    }
}

gboolean
ct_knowledge_has(const CtKnowledge *knowledge, const CtVariant *variant)
{
    return g_hash_table_contains(knowledge->stages, variant->covers[0]);
}

static const CtKnown *
find_nearest(const GPtrArray *list, const CtEstimated *what, const CtCostKey *setting,
             const CtMachine *machine, gdouble *nearest)
{
    const CtKnown *best = NULL;
    gdouble slowest = 0;
    *nearest = HUGE_VAL;
    for (guint i = 0; i < list->len; i++) {
        const CtKnown *known = g_ptr_array_index(list, i);
        const gdouble distance = distance_of(known, what, setting);
        const CtTried *tried = ct_known_find(known, NULL);
        /* A failure says nothing about other candidates. */
        if (distance > MIN(*nearest, farthest) || (!tried && !(distance == 0 && known->failure)))
            continue;
        const gdouble over =
            tried ? ct_known_over_ceiling(known, tried, machine, ct_estimate_place(what)) : 0;
        if (distance == *nearest && over <= slowest)
            continue;
        best = known;
        slowest = over;
        *nearest = distance;
    }
    return best;
}

const CtKnown *
ct_knowledge_nearest(const CtKnowledge *knowledge, const CtEstimated *what,
                     const CtCostKey *setting, const CtMachine *machine, gdouble *distance)
{
    const CtKnown *best = NULL;
    *distance = HUGE_VAL;
    for (Circle circle = 0; circle < N_CIRCLES && *distance >= least_distance[circle]; circle++) {
        const guint64 hash = hash_candidate(what->variant, what->row, setting, circle);
        const GPtrArray *list = g_hash_table_lookup(knowledge->circles[circle], &hash);
        /* The next circle contains this one. */
        const CtKnown *known = list ? find_nearest(list, what, setting, machine, distance) : NULL;
        best = known ? known : best;
    }
    return best;
}
