/* SPDX-License-Identifier: BSD-3-Clause */
/* What the database knows, parsed, and the search for the nearest candidate. */
#include "estimate-private.h"
#include "graph/tuning.h"

#include <math.h>
#include <string.h>

/* Candidates farther than this are not near: about a factor of 50 in all lengths together. */
static const gdouble farthest = 4;

/* Added to the logarithms of the ratios of lengths. */
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
    g_free(known->layouts);
    g_free(known->lengths);
    g_free(known->parameters);
    g_array_unref(known->tried);
    g_free(known);
}

/* Parses the ports of one side. FALSE if the texts are not as ct_estimate_key writes them. */
static gboolean
parse_side(CtKnown *known, const char *layouts, const char *lengths)
{
    g_auto(GStrv) all_layouts = g_strsplit(layouts, ", ", -1);
    g_auto(GStrv) all_lengths = g_strsplit(lengths, ", ", -1);
    const guint n = g_strv_length(all_layouts);
    if (g_strv_length(all_lengths) != n)
        return FALSE;
    known->layouts = g_renew(CtLayout, known->layouts, known->n_ports + n);
    known->lengths = g_realloc_n(known->lengths, known->n_ports + n, sizeof(*known->lengths));
    for (guint i = 0; i < n; i++) {
        CtLayout *layout = &known->layouts[known->n_ports];
        gint64 *length = known->lengths[known->n_ports];
        char *at = all_lengths[i];
        *layout = (CtLayout){0};
        known->n_ports++;
        if (!g_str_equal(all_layouts[i], "-") && !ct_layout_parse(layout, all_layouts[i], NULL))
            return FALSE;
        for (guint a = 0; a < layout->n_axes; a++)
            length[a] = g_ascii_strtoll(at, &at, 10);
    }
    return TRUE;
}

static gboolean
parse_ports(CtKnown *known, const CtMeasurement *measurement)
{
    g_auto(GStrv) layouts = g_strsplit(measurement->layouts, " -> ", 2);
    g_auto(GStrv) lengths = g_strsplit(measurement->lengths, " -> ", 2);
    return g_strv_length(layouts) == 2 && g_strv_length(lengths) == 2 &&
           parse_side(known, layouts[0], lengths[0]) && parse_side(known, layouts[1], lengths[1]);
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
    const CtRow *row = find_row(variant, measurement->row);
    const char *way = ct_estimate_way_from_string(measurement->way);
    if (!row || !way)
        return NULL;
    CtKnown *known = g_new0(CtKnown, 1);
    known->variant = variant;
    known->row = row;
    known->way = way;
    known->parameters = g_strdup(measurement->parameters);
    known->machine = g_intern_string(measurement->machine);
    known->n_workers = measurement->n_workers;
    known->aim = measurement->aim;
    known->is_shipped = is_shipped;
    known->is_code = is_code;
    known->load = (CtLoad){measurement->operations, measurement->bytes, 1};
    known->tried = g_array_new(FALSE, FALSE, sizeof(CtTried));
    if (parse_ports(known, measurement))
        return known;
    ct_known_free(known);
    return NULL;
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
    ct_tuning_defaults(known->variant, tried.tuning);
    if (*measurement->tuning &&
        !ct_tuning_parse(known->variant, measurement->tuning, tried.tuning, NULL))
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

/* ---- questions ---- */

void
ct_question_init(CtQuestion *question, const CtEstimated *what, const char *machine,
                 gint64 n_workers, gint64 aim)
{
    const CtNode *first = &what->nodes[0], *last = &what->nodes[what->n_nodes - 1];
    const guint n = first->n_inputs + last->n_outputs;
    *question = (CtQuestion){
        .what = what,
        .way = ct_estimate_way(what->from, what->to),
        .machine = machine,
        .n_workers = n_workers,
        .aim = aim,
        .n_ports = n,
        .layouts = g_new(const CtLayout *, n + 1),
        .lengths = g_malloc0_n(n + 1, sizeof(*question->lengths)),
        .parameters = ct_estimate_parameters(what),
    };
    for (guint p = 0; p < n; p++) {
        const gboolean is_input = p < first->n_inputs;
        const guint i = is_input ? p : p - first->n_inputs;
        const CtStream *stream = is_input ? &first->inputs[i] : &last->outputs[i];
        const CtLayout *layout = is_input ? &what->inputs[i] : &what->outputs[i];
        question->layouts[p] = layout;
        for (guint a = 0; a < layout->n_axes; a++)
            question->lengths[p][a] = ct_estimate_length(stream, &layout->axes[a]);
    }
}

void
ct_question_clear(CtQuestion *question)
{
    g_free(question->layouts);
    g_free(question->lengths);
    g_free(question->parameters);
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
ports_distance(const CtKnown *known, const CtQuestion *question)
{
    gdouble sum = 0, orders = 0;
    if (known->n_ports != question->n_ports)
        return HUGE_VAL;
    for (guint p = 0; p < known->n_ports; p++) {
        const CtLayout *there = &known->layouts[p], *here = question->layouts[p];
        if (there->n_axes != here->n_axes || there->types != here->types)
            return HUGE_VAL;
        for (guint a = 0; a < here->n_axes; a++) {
            const gint k = same_axis(there, &here->axes[a]);
            if (k < 0)
                return HUGE_VAL;
            if (k != (gint)a)
                orders = MAX(orders,
                             a + 1 < here->n_axes ? DISTANCE_OF_OUTER_ORDERS : DISTANCE_OF_ORDERS);
            sum += ratio_distance(known->lengths[p][k], question->lengths[p][a]);
        }
    }
    return sum + orders;
}

static gdouble
distance_of(const CtKnown *known, const CtQuestion *question)
{
    const CtEstimated *what = question->what;
    if (known->way != question->way || known->machine != question->machine ||
        known->variant->backend != what->variant->backend ||
        (known->row != what->row && !g_str_equal(known->row->layouts, what->row->layouts)))
        return HUGE_VAL;
    const gdouble ports = ports_distance(known, question);
    if (ports > farthest)
        return HUGE_VAL;
    return ports + (known->variant != what->variant ? DISTANCE_OF_VARIANT : 0) +
           ct_estimate_parameters_distance(known->parameters, question->parameters) +
           share_of_workers * ratio_distance(known->n_workers, question->n_workers) +
           share_of_aim * ratio_distance(known->aim, question->aim) +
           (known->is_code ? 0 : CT_DISTANCE_CODE) + (known->is_shipped ? CT_DISTANCE_SHIPPED : 0);
}

/* ---- all candidates ---- */

/* Known candidates are indexed by circles around a question; each contains the one before it. A
 * circle has a hash of what its candidates have in common: always the way, the types and the set of
 * axes; in OWN also the variant, the row and the order of the axes; in SAME_ORDERS the row's text
 * and the order; in SAME_INNERMOST the row's text and the innermost axes; in ANY_ORDERS the row's
 * text. A collision of hashes only costs time. */
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
hash_row(const CtVariant *variant, const CtRow *row, const char *way, Circle circle)
{
    const guint64 hash = circle == OWN
                             ? ct_mix(ct_mix(0, (guint64)(gsize)variant), (guint64)(gsize)row)
                             : g_str_hash(row->layouts);
    return ct_mix(hash, (guint64)(gsize)way);
}

static guint64
hash_known(const CtKnown *known, Circle circle)
{
    guint64 hash = hash_row(known->variant, known->row, known->way, circle);
    for (guint p = 0; p < known->n_ports; p++)
        hash = hash_port(hash, &known->layouts[p], circle);
    return hash;
}

static guint64
hash_question(const CtQuestion *question, Circle circle)
{
    const CtEstimated *what = question->what;
    guint64 hash = hash_row(what->variant, what->row, question->way, circle);
    for (guint p = 0; p < question->n_ports; p++)
        hash = hash_port(hash, question->layouts[p], circle);
    return hash;
}

void
ct_knowledge_add(CtKnowledge *knowledge, CtKnown *known)
{
    g_ptr_array_add(knowledge->all, known);
    g_hash_table_add(knowledge->stages, (gpointer)known->variant->covers[0]);
    for (Circle circle = 0; circle < N_CIRCLES; circle++) {
        const guint64 hash = hash_known(known, circle);
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
find_nearest(const GPtrArray *list, const CtQuestion *question, const CtMachine *machine,
             gdouble *nearest)
{
    const CtKnown *best = NULL;
    gdouble slowest = 0;
    *nearest = HUGE_VAL;
    for (guint i = 0; i < list->len; i++) {
        const CtKnown *known = g_ptr_array_index(list, i);
        const gdouble distance = distance_of(known, question);
        const CtTried *tried = ct_known_find(known, NULL);
        /* A failure says nothing about other candidates. */
        if (distance > MIN(*nearest, farthest) || (!tried && !(distance == 0 && known->failure)))
            continue;
        const gdouble over =
            tried ? ct_known_over_ceiling(known, tried, machine, ct_estimate_place(question->what))
                  : 0;
        if (distance == *nearest && over <= slowest)
            continue;
        best = known;
        slowest = over;
        *nearest = distance;
    }
    return best;
}

const CtKnown *
ct_knowledge_nearest(const CtKnowledge *knowledge, const CtQuestion *question,
                     const CtMachine *machine, gdouble *distance)
{
    const CtKnown *best = NULL;
    *distance = HUGE_VAL;
    for (Circle circle = 0; circle < N_CIRCLES && *distance >= least_distance[circle]; circle++) {
        const guint64 hash = hash_question(question, circle);
        const GPtrArray *list = g_hash_table_lookup(knowledge->circles[circle], &hash);
        /* The next circle contains this one. */
        const CtKnown *known = list ? find_nearest(list, question, machine, distance) : NULL;
        best = known ? known : best;
    }
    return best;
}
