/* SPDX-License-Identifier: BSD-3-Clause */
/* A test of whether the costs of reading and of writing are independent: whether a node that reads
 * and writes in any order takes a(in) + b(out). The study that this experiment repeats relies on
 * it; plans do not, as each pair is estimated by itself. */
#include "exhaust.h"
#include "graph/tuning.h"
#include "measure/tune-private.h"
#include "plan/candidates.h"

#include <math.h>
#include <string.h>

/* The most layouts for reading and for writing, and the repetitions of each pair. */
enum { MAX_SIDE = 8, REPETITIONS = 5 };

/* The test fails where a pair is off by more than this share, and by more than this many standard
 * errors. */
static const gdouble fails = 0.1, apart = 3;

typedef struct {
    const CtCandidate *pairs[MAX_SIDE][MAX_SIDE];
    CtTuneItem *items[MAX_SIDE][MAX_SIDE];
    guint n_in, n_out;
} Matrix;

static gboolean
same_side(const CtLayout *a, const CtLayout *b, guint n)
{
    for (guint i = 0; i < n; i++)
        if (!ct_layout_equal(&a[i], &b[i]))
            return FALSE;
    return TRUE;
}

/* The index of a candidate's input or output layouts among the known ones, to which new ones are
 * added while there is room. */
static gint
find_side(const CtLayout **sides, guint *n_sides, const CtLayout *layouts, guint n)
{
    for (guint i = 0; i < *n_sides; i++)
        if (same_side(sides[i], layouts, n))
            return (gint)i;
    if (*n_sides == MAX_SIDE)
        return -1;
    sides[*n_sides] = layouts;
    return (gint)(*n_sides)++;
}

static gboolean
has_variant(const CtCandidate *candidate, const CtVariant *variant)
{
    for (guint i = 0; i < candidate->implementations->len; i++)
        if (g_array_index(candidate->implementations, CtImplementation, i).variant == variant)
            return TRUE;
    return FALSE;
}

/* Finds all pairs of layouts that the variant can read and write, over this node alone. */
static void
find_pairs(Matrix *matrix, const CtCandidates *candidates, guint n, const CtPlanNode *node)
{
    const CtLayout *ins[MAX_SIDE], *outs[MAX_SIDE];
    *matrix = (Matrix){0};
    for (guint i = 0; i < candidates->nodes[n]->len; i++) {
        const CtCandidate *candidate = g_ptr_array_index(candidates->nodes[n], i);
        if (candidate->n_nodes > 1 || candidate->place != node->place ||
            !has_variant(candidate, node->variant))
            continue;
        const gint in = find_side(ins, &matrix->n_in, candidate->inputs, node->n_inputs);
        const gint out = find_side(outs, &matrix->n_out, candidate->outputs, node->n_outputs);
        if (in >= 0 && out >= 0)
            matrix->pairs[in][out] = candidate;
    }
}

/* The item of this candidate with the plan's variant and tuning. */
static CtTuneItem *
item_of(CtTune *tune, guint n, const CtPlanNode *node, const CtCandidate *candidate, GError **error)
{
    const CtGraphNode *of = ct_graph_node(tune->options->graph, n);
    g_autoptr(GHashTable) fixed =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)ct_fixed_free);
    CtPlanOptions options = *tune->options->plan;
    options.fixed = fixed;
    g_hash_table_insert(fixed, of->config->name,
                        ct_fixed_new(node->variant, node->row, node->tuning, node->place,
                                     node->n_inputs, candidate->inputs, node->n_outputs,
                                     candidate->outputs));
    g_autoptr(CtPlan) plan =
        ct_plan_new(tune->options->graph, tune->options->registry, &options, error);
    for (guint i = 0; plan && i < plan->nodes->len; i++) {
        const CtPlanNode *other = ct_plan_node(plan, i);
        if (!other->inserted && other->nodes[0].name == of->node.name)
            return ct_tune_item(tune, plan, other);
    }
    return NULL;
}

/* Measures all pairs in turn. */
static gboolean
measure(CtTune *tune, Matrix *matrix, guint n, const CtPlanNode *node, GError **error)
{
    for (guint k = 0; k < REPETITIONS; k++)
        for (guint i = 0; i < matrix->n_in; i++)
            for (guint o = 0; o < matrix->n_out; o++) {
                CtTuneItem **item = &matrix->items[i][o];
                if (!matrix->pairs[i][o])
                    continue;
                if (!*item)
                    *item = item_of(tune, n, node, matrix->pairs[i][o], error);
                if (!*item ||
                    ((*item)->samples->len < REPETITIONS && !ct_tune_measure(tune, *item, error)))
                    return FALSE;
            }
    return TRUE;
}

static gboolean
is_measured(const Matrix *matrix, guint i, guint o)
{
    return matrix->items[i][o] && matrix->items[i][o]->samples->len > 0;
}

/* Fits a and b in turn by least squares of the relative differences; some pairs may be missing. */
static void
fit(const Matrix *matrix, gdouble a[MAX_SIDE], gdouble b[MAX_SIDE])
{
    for (guint i = 0; i < MAX_SIDE; i++)
        a[i] = b[i] = 0;
    for (guint round = 0; round < 200; round++)
        for (guint side = 0; side < 2; side++)
            for (guint k = 0; k < (side ? matrix->n_out : matrix->n_in); k++) {
                gdouble sum = 0, weight = 0;
                for (guint l = 0; l < (side ? matrix->n_in : matrix->n_out); l++) {
                    const guint i = side ? l : k, o = side ? k : l;
                    if (!is_measured(matrix, i, o))
                        continue;
                    const gdouble seconds = matrix->items[i][o]->measurement.seconds;
                    const gdouble w = 1 / (seconds * seconds);
                    sum += w * (seconds - (side ? a[i] : b[o]));
                    weight += w;
                }
                if (weight > 0)
                    *(side ? &b[k] : &a[k]) = sum / weight;
            }
}

static void
describe(GString *text, const Matrix *matrix, const CtPlanNode *node)
{
    gdouble a[MAX_SIDE], b[MAX_SIDE], squares = 0, noise = 0, worst = 0;
    const CtTuneItem *at = NULL;
    guint n = 0, n_failed = 0;
    fit(matrix, a, b);
    for (guint i = 0; i < matrix->n_in; i++)
        for (guint o = 0; o < matrix->n_out; o++) {
            if (!is_measured(matrix, i, o))
                continue;
            const CtMeasurement *measured = &matrix->items[i][o]->measurement;
            const gdouble off = measured->seconds / (a[i] + b[o]) - 1;
            squares += off * off;
            noise += measured->spread * measured->spread;
            n++;
            n_failed += fabs(off) > MAX(fails, apart * measured->spread);
            if (fabs(off) > fabs(worst)) {
                worst = off;
                at = matrix->items[i][o];
            }
        }
    if (n < 4)
        return;
    g_autofree char *variant = ct_tuning_name(node->variant, node->tuning);
    g_autofree char *layouts = ct_cost_key_print(&at->measurement.key, CT_KEY_LAYOUTS);
    g_string_append_printf(text,
                           "%s %s: %u pairs of %u ways to read and %u to write; a(in) + b(out) is "
                           "off by %.1f%% in the mean square, by %+.1f%% at most (%s); measured to "
                           "%.1f%%: %s",
                           node->name, variant, n, matrix->n_in, matrix->n_out,
                           100 * sqrt(squares / n), 100 * worst, layouts, 100 * sqrt(noise / n),
                           n_failed ? "fails" : "holds");
    if (n_failed)
        g_string_append_printf(text, " for %u pairs", n_failed);
    g_string_append_c(text, '\n');
}

static guint
find_node(const CtTune *tune, const CtPlanNode *node)
{
    const GPtrArray *nodes = tune->options->graph->nodes;
    for (guint n = 0; n < nodes->len; n++)
        if (((const CtGraphNode *)g_ptr_array_index(nodes, n))->node.name == node->nodes[0].name)
            return n;
    g_assert_not_reached();
}

static char *
measure_all(CtTune *tune, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(CtPlan) plan =
        ct_plan_new(tune->options->graph, tune->options->registry, tune->options->plan, error);
    g_autoptr(CtCandidates) candidates = plan ? ct_candidates_new(&tune->planner, error) : NULL;
    if (!candidates)
        return NULL;
    for (guint i = 0; i < plan->nodes->len; i++) {
        const CtPlanNode *node = ct_plan_node(plan, i);
        const CtRowPatterns *row = ct_planner_row(&tune->planner, node->row);
        Matrix matrix;
        if (node->inserted || node->n_nodes > 1 || !row->any)
            continue;
        const guint n = find_node(tune, node);
        find_pairs(&matrix, candidates, n, node);
        if (matrix.n_in < 2 || matrix.n_out < 2)
            continue;
        if (!measure(tune, &matrix, n, node, error))
            return NULL;
        describe(text, &matrix, node);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

char *
independence_measure(const ExhaustOptions *options, GError **error)
{
    const CtTuneOptions tuning = {
        .graph = options->graph, .registry = options->registry, .plan = options->plan};
    g_auto(CtTuneReport) report = {0};
    CtTune tune;
    char *text = ct_tune_open(&tune, &tuning, &report, error) ? measure_all(&tune, error) : NULL;
    ct_tune_close(&tune);
    return text;
}
