/* SPDX-License-Identifier: BSD-3-Clause */
/* Items: one candidate with one tuning, and its measurements. */
#include "graph/tuning.h"
#include "tune-private.h"

#include <math.h>
#include <string.h>

/* The standard error of a median over that of a mean; the deviation over the median of the absolute
 * deviations: both of normal distributions. */
static const gdouble error_of_median = 1.2533;
static const gdouble of_absolute = 1.4826;

/* The load by others on a shared machine changes: a measurement older than this, in seconds, counts
 * as one repetition only. */
static const gint64 fresh = 3600;

/* The least repetitions from which an item has a deviation of its own. */
enum { ENOUGH_TO_DEVIATE = 4 };

/* ---- statistics ---- */

static gint
compare(gconstpointer a, gconstpointer b)
{
    const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;
    return (x > y) - (x < y);
}

gdouble
ct_tune_median(const GArray *values)
{
    if (values->len == 0)
        return NAN;
    g_autoptr(GArray) sorted = g_array_copy((GArray *)values);
    g_array_sort(sorted, compare);
    const guint n = sorted->len;
    return (g_array_index(sorted, gdouble, (n - 1) / 2) + g_array_index(sorted, gdouble, n / 2)) /
           2;
}

gdouble
ct_tune_deviation(const GArray *values)
{
    const gdouble middle = ct_tune_median(values);
    g_autoptr(GArray) distances = g_array_new(FALSE, FALSE, sizeof(gdouble));
    for (guint i = 0; i < values->len; i++) {
        const gdouble distance = fabs(g_array_index(values, gdouble, i) - middle);
        g_array_append_val(distances, distance);
    }
    return of_absolute * ct_tune_median(distances);
}

gdouble
ct_tune_item_deviation(const CtTuneItem *item)
{
    const gdouble middle = ct_tune_median(item->samples);
    if (item->samples->len < ENOUGH_TO_DEVIATE || middle <= 0)
        return NAN;
    return ct_tune_deviation(item->samples) / middle;
}

/* Brings the measurement up to date. */
static void
sum_up(CtTuneItem *item, gdouble usual)
{
    CtMeasurement *measurement = &item->measurement;
    const gdouble own = ct_tune_item_deviation(item);
    /* A few repetitions may agree by chance. */
    const gdouble deviation = isnan(own) ? usual : MAX(own, usual / 2);
    measurement->seconds = ct_tune_median(item->samples);
    measurement->n_repetitions = item->samples->len;
    measurement->spread = error_of_median * deviation / sqrt(MAX(item->samples->len, 1));
    measurement->time = g_get_real_time() / G_USEC_PER_SEC;
}

void
ct_tune_item_add(CtTuneItem *item, gdouble seconds, gdouble usual)
{
    g_array_append_val(item->samples, seconds);
    sum_up(item, usual);
}

gboolean
ct_tune_is_fresh(gint64 time)
{
    return g_get_real_time() / G_USEC_PER_SEC - time <= fresh;
}

void
ct_tune_item_keep(CtTuneItem *item, const CtMeasurement *stored)
{
    CtMeasurement *measurement = &item->measurement;
    const gint64 n = ct_tune_is_fresh(stored->time) ? CLAMP(stored->n_repetitions, 1, 64) : 1;
    const gdouble deviation = stored->spread * sqrt((gdouble)n) / error_of_median;
    g_free(measurement->failure);
    measurement->failure = g_strdup(stored->failure);
    measurement->seconds = stored->seconds;
    measurement->spread = stored->spread;
    measurement->n_repetitions = stored->n_repetitions;
    measurement->time = stored->time;
    g_array_set_size(item->samples, 0);
    /* Makes up repetitions with this median and deviation. */
    for (gint64 i = 0; i < n && !stored->failure; i++) {
        const gdouble side = n % 2 && i == n - 1 ? 0 : i % 2 ? 1 : -1;
        const gdouble sample = stored->seconds * (1 + side * deviation / of_absolute);
        g_array_append_val(item->samples, sample);
    }
}

static void
set_names(CtTuneItem *item, CtEstimates *estimates)
{
    CtMeasurement *measurement = &item->measurement;
    ct_estimate_key(estimates, &item->what, item->tuning, &measurement->key);
    measurement->operations = item->load.operations;
    measurement->bytes = item->load.bytes;
    g_autofree char *variant = ct_tuning_name(item->what.variant, item->tuning);
    g_autoptr(GString) nodes = g_string_new(NULL);
    for (guint k = 0; k < item->what.n_nodes; k++)
        g_string_append_printf(nodes, "%s%s", k ? "+" : "", item->nodes[k].name);
    const char *way = measurement->key.way;
    g_autofree char *layouts = ct_cost_key_print(&measurement->key, CT_KEY_LAYOUTS);
    item->name =
        g_strdup_printf("%s %s%s%s %s", nodes->str, variant, *way ? " " : "", way, layouts);
}

/* ---- from plans ---- */

static CtStream *
copy_streams(const CtStream *streams, guint n)
{
    CtStream *copies = g_new0(CtStream, n + 1);
    for (guint i = 0; i < n; i++)
        ct_stream_copy(&copies[i], &streams[i]);
    return copies;
}

static void
free_streams(CtStream *streams, guint n)
{
    for (guint i = 0; streams && i < n; i++)
        ct_stream_clear(&streams[i]);
    g_free(streams);
}

/* Points `what` to the item's own data, and finds out whether it can be tried. */
static void
finish(CtTuneItem *item, const CtVariant *variant, const CtRow *row, guint n_nodes, gint64 block,
       gint64 held, gint from, gint to, CtEstimates *estimates)
{
    const CtNode *first = &item->nodes[0];
    ct_load_init(&item->load, item->nodes, n_nodes, item->layouts, &item->layouts[first->n_inputs]);
    item->load.block = block;
    item->load.held = held;
    item->what = (CtEstimated){
        .variant = variant,
        .row = row,
        .nodes = item->nodes,
        .n_nodes = n_nodes,
        .inputs = item->layouts,
        .outputs = &item->layouts[first->n_inputs],
        .load = &item->load,
        .tuning = item->tuning,
        .from = from,
        .to = to,
    };
    item->samples = g_array_new(FALSE, FALSE, sizeof(gdouble));
    item->refusal = ct_trial_refusal(&item->what);
    set_names(item, estimates);
}

static gint
place_of_link(const CtPlan *plan, gint link, gint otherwise)
{
    return link < 0 ? otherwise : ((const CtPlanLink *)ct_plan_link(plan, link))->place;
}

CtTuneItem *
ct_tune_item_new(const CtPlan *plan, const CtPlanNode *node, CtEstimates *estimates)
{
    const guint n_in = node->n_inputs, n_out = node->n_outputs;
    CtTuneItem *item = g_new0(CtTuneItem, 1);
    item->nodes = g_memdup2(node->nodes, node->n_nodes * sizeof(CtNode));
    item->inputs = copy_streams(node->streams, n_in);
    item->nodes[0].inputs = item->inputs;
    item->layouts = g_new0(CtLayout, n_in + n_out + 1);
    for (guint i = 0; i < n_in; i++)
        item->layouts[i] = node->input_bindings[i].layout;
    for (guint o = 0; o < n_out; o++) {
        item->layouts[n_in + o] = node->output_bindings[o].layout;
        item->reads |= node->outputs[o] >= 0 ? G_GUINT64_CONSTANT(1) << o : 0;
    }
    memcpy(item->tuning, node->tuning, sizeof(item->tuning));
    gint from = node->place, to = node->place;
    if (node->inserted) {
        /* The plan's node has parameters and streams; the estimate is of a node without. */
        item->outputs = copy_streams(node->nodes[0].outputs, n_out);
        item->nodes[0].outputs = item->outputs;
        item->nodes[0].params = NULL;
        item->nodes[0].input_layouts = item->nodes[0].output_layouts = NULL;
        item->nodes[0].name = node->nodes[0].stage->name;
        from = place_of_link(plan, node->inputs[0], from);
        to = place_of_link(plan, node->outputs[0], to);
    }
    finish(item, node->variant, node->row, node->n_nodes, node->block, node->held, from, to,
           estimates);
    return item;
}

CtTuneItem *
ct_tune_item_retuned(const CtTuneItem *item, const gint64 *tuning, CtEstimates *estimates)
{
    const CtEstimated *what = &item->what;
    const guint n_in = item->nodes[0].n_inputs, n_out = item->nodes[what->n_nodes - 1].n_outputs;
    CtTuneItem *other = g_new0(CtTuneItem, 1);
    other->nodes = g_memdup2(item->nodes, what->n_nodes * sizeof(CtNode));
    other->inputs = copy_streams(item->inputs, n_in);
    other->nodes[0].inputs = other->inputs;
    if (item->outputs) {
        other->outputs = copy_streams(item->outputs, n_out);
        other->nodes[0].outputs = other->outputs;
    }
    other->layouts = g_memdup2(item->layouts, (n_in + n_out + 1) * sizeof(CtLayout));
    other->reads = item->reads;
    memcpy(other->tuning, tuning, sizeof(other->tuning));
    finish(other, what->variant, what->row, what->n_nodes, what->load->block, what->load->held,
           what->from, what->to, estimates);
    return other;
}

void
ct_tune_item_free(CtTuneItem *item)
{
    if (!item)
        return;
    ct_trial_free(item->trial);
    free_streams(item->inputs, item->nodes[0].n_inputs);
    free_streams(item->outputs, item->nodes[item->what.n_nodes - 1].n_outputs);
    g_free(item->nodes);
    g_free(item->layouts);
    g_array_unref(item->samples);
    ct_measurement_clear(&item->measurement);
    g_free(item->refusal);
    g_free(item->name);
    g_free(item);
}
