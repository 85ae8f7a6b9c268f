/* SPDX-License-Identifier: BSD-3-Clause */
/* The comparison of two ways to run a graph: the runs, and the differences that are allowed. */
#include "verify.h"

#include "graph/endpoints.h"
#include "graph/plugin-call.h"
#include "verify-private.h"

#include <math.h>
#include <string.h>

/* The accuracy of all outputs of a graph, [node][port]. */
typedef struct {
    const CtGraph *graph;
    CtAccuracy **outputs;
} Accuracies;

static void
accuracies_init(Accuracies *self, const CtGraph *graph)
{
    *self = (Accuracies){graph, g_new0(CtAccuracy *, graph->nodes->len + 1)};
    for (guint i = 0; i < graph->nodes->len; i++)
        self->outputs[i] =
            g_new0(CtAccuracy, ((const CtGraphNode *)graph->nodes->pdata[i])->node.n_outputs + 1);
}

static void
accuracies_clear(Accuracies *self)
{
    for (guint i = 0; self->outputs && self->outputs[i]; i++)
        g_free(self->outputs[i]);
    g_free(self->outputs);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Accuracies, accuracies_clear)

/* Sets the sizes of the elements, from the reference. */
static void
accuracies_measure(Accuracies *self, const CtVerifyTwins *twins)
{
    for (guint i = 0; i < twins->pairs->len; i++) {
        const CtVerifyPair *pair = twins->pairs->pdata[i];
        const CtComparison *found = &pair->comparison;
        CtAccuracy *output = &self->outputs[pair->node][pair->port];
        output->largest = found->value_largest;
        output->n = (guint64)found->n;
        output->rms = found->n > 0 ? sqrt(found->value_squares / (gdouble)found->n) : 0;
    }
}

/* Sets the errors of a node's outputs; `chained`: with those of its inputs. */
static void
accuracies_follow(Accuracies *self, guint i, gboolean chained)
{
    const CtGraphNode *node = self->graph->nodes->pdata[i];
    const CtStage *stage = node->node.stage;
    g_autofree CtAccuracy *inputs = g_new0(CtAccuracy, node->node.n_inputs + 1);
    gdouble rms_error = 0;
    for (guint k = 0; k < node->node.n_inputs; k++) {
        if (!ct_node_input_flows(&node->node, k))
            continue;
        inputs[k] = self->outputs[node->from[k].node][node->from[k].port];
        inputs[k].error = 0;
        if (!chained)
            inputs[k].rms_error = 0;
        rms_error = MAX(rms_error, inputs[k].rms_error);
    }
    CtAccuracy *outputs = self->outputs[i];
    for (guint o = 0; o < node->node.n_outputs; o++) {
        outputs[o].error = 0;
        outputs[o].rms_error = stage->accuracy ? 0 : rms_error;
    }
    ct_call_accuracy(&node->node, inputs, outputs);
}

/* ---- rows ---- */

static void
row_free(gpointer item)
{
    CtVerifyRow *row = item;
    g_free(row->name);
    g_free(row->variants[0]);
    g_free(row->variants[1]);
    g_free(row->problem);
    g_free(row);
}

static char *
find_problem(const CtVerifyRow *row, const CtVerifyPair *pair, const CtStream *stream)
{
    if (pair->problem)
        return g_strdup(pair->problem);
    if (pair->comparison.n_validity > 0)
        return g_strdup_printf("%" G_GINT64_FORMAT " samples are valid on one side alone",
                               pair->comparison.n_validity);
    g_autofree char *place = ct_comparison_place(stream, &pair->comparison);
    if (!row->together && !(row->largest <= row->largest_bound))
        return g_strdup_printf("off by %.3g, where %.3g is allowed, %s", row->largest,
                               row->largest_bound, place);
    if (!(row->rms <= row->rms_bound))
        return g_strdup_printf("off by %.3g in the mean square, where %.3g is allowed; most %s",
                               row->rms, row->rms_bound, place);
    return NULL;
}

/* The reason why nothing is compared, if there is no valid sample on both sides. */
static const char *
find_nothing(const CtComparison *found)
{
    return found->n == 0         ? "there are no samples"
           : found->n_valid == 0 ? "no sample is valid"
                                 : NULL;
}

/* The row of a pair. Its bounds are twice the error, which each side may have. */
static CtVerifyRow *
row_new(const CtVerifyPair *pair, const CtGraphNode *node, const CtAccuracy *accuracy,
        gboolean together)
{
    const CtComparison *found = &pair->comparison;
    const CtStage *stage = node->node.stage;
    CtVerifyRow *row = g_new0(CtVerifyRow, 1);
    row->name = pair->port == 0
                    ? g_strdup(node->node.name)
                    : g_strdup_printf("%s.%s", node->node.name, stage->outputs[pair->port].name);
    row->together = together;
    row->is_same = !pair->taps[0];
    row->n = found->n;
    row->largest = found->largest;
    row->rms = found->n > 0 ? sqrt(found->squares / (gdouble)found->n) : 0;
    row->value_rms = accuracy->rms;
    row->largest_bound = 2 * accuracy->error;
    row->rms_bound = 2 * accuracy->rms_error;
    row->rule = stage->accuracy_rule ? stage->accuracy_rule : "the stage's own, without a formula";
    for (guint k = 0; k < 2; k++) {
        row->variants[k] = g_strdup(pair->variants[k]);
        row->rates[k] = pair->rates[k];
    }
    if (!row->is_same)
        row->problem = find_problem(row, pair, &node->node.outputs[pair->port]);
    if (!row->is_same && !row->problem)
        row->nothing = find_nothing(found);
    return row;
}

static void
add_rows(GPtrArray *rows, const CtVerifyTwins *twins, const CtVerifyOptions *options,
         Accuracies *accuracies)
{
    const GPtrArray *nodes = options->graph->nodes;
    for (guint i = 0; i < nodes->len; i++)
        accuracies_follow(accuracies, i, twins->together);
    for (guint i = 0; i < twins->pairs->len; i++) {
        const CtVerifyPair *pair = twins->pairs->pdata[i];
        const CtGraphNode *node = nodes->pdata[pair->node];
        if (options->node && strcmp(node->node.name, options->node) != 0)
            continue;
        CtVerifyRow *row =
            row_new(pair, node, &accuracies->outputs[pair->node][pair->port], twins->together);
        g_ptr_array_add(rows, row);
        if (row->nothing)
            ct_warnings_add(options->warnings, CT_WARNING_EMPTY, node->node.name,
                            &node->config->place, "nothing of '%s' is compared: %s", row->name,
                            row->nothing);
    }
}

/* Warns if no node was compared by itself. */
static void
warn_of_one_variant(const GPtrArray *rows, GPtrArray *warnings)
{
    for (guint i = 0; i < rows->len; i++)
        if (!((const CtVerifyRow *)rows->pdata[i])->is_same)
            return;
    ct_warnings_add(warnings, CT_WARNING_EMPTY, NULL, NULL,
                    "nothing is compared: one variant runs each node both ways");
}

/* ---- the whole ---- */

/* Checks that a run can end without a program. */
static gboolean
check_ends(const CtVerifyOptions *options, GError **error)
{
    if (!ct_endpoints_check_fed(options->graph, error))
        return FALSE;
    for (guint i = 0; i < options->graph->nodes->len; i++) {
        const CtGraphNode *node = options->graph->nodes->pdata[i];
        gboolean flows = FALSE;
        for (guint k = 0; k < node->node.n_inputs; k++)
            flows |= ct_node_input_flows(&node->node, k);
        for (guint o = 0; o < node->node.n_outputs && !flows; o++) {
            const CtStream *stream = &node->node.outputs[o];
            const gint time = ct_stream_axis(stream, "time");
            if (time >= 0 && stream->axes[time].length < 0 && options->run->duration <= 0)
                return ct_graph_error(node, NULL, CT_ERROR_CONFIG, error,
                                      "has no end: say with --duration how much of it to take");
        }
    }
    return TRUE;
}

static gboolean
check_node(const CtVerifyOptions *options, GError **error)
{
    for (guint i = 0; i < options->graph->nodes->len && options->node; i++) {
        const CtGraphNode *node = options->graph->nodes->pdata[i];
        if (strcmp(node->node.name, options->node) != 0)
            continue;
        return node->node.n_outputs > 0 || ct_graph_error(node, NULL, CT_ERROR_CONFIG, error,
                                                          "has no output that could be compared");
    }
    if (options->node)
        g_set_error(error, CT_ERROR, CT_ERROR_CONFIG, "the graph has no node '%s'", options->node);
    return !options->node;
}

GPtrArray *
ct_verify(const CtVerifyOptions *options, GError **error)
{
    if (!check_ends(options, error) || !check_node(options, error))
        return NULL;
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(row_free);
    g_auto(Accuracies) accuracies = {0};
    accuracies_init(&accuracies, options->graph);
    for (guint together = 0; together < (options->node ? 1 : 2); together++) {
        g_auto(CtVerifyTwins) twins = {0};
        ct_verify_twins_init(&twins, options, together);
        if ((together && !ct_verify_twins_fix(&twins, options, error)) ||
            !ct_verify_twins_run(&twins, options, error))
            return NULL;
        if (!together)
            accuracies_measure(&accuracies, &twins);
        add_rows(rows, &twins, options, &accuracies);
        if (!together)
            warn_of_one_variant(rows, options->warnings);
        if (!ct_graph_check_kept(options->graph, error))
            return NULL;
    }
    return g_steal_pointer(&rows);
}

/* ---- the table ---- */

static void
append_section(GString *text, const GPtrArray *rows, gboolean together)
{
    guint width = 4, n = 0;
    for (guint i = 0; i < rows->len; i++) {
        const CtVerifyRow *row = rows->pdata[i];
        n += row->together == together;
        width = MAX(width, (guint)strlen(row->name));
    }
    if (n == 0)
        return;
    g_string_append_printf(text, "%s\n%-*s  %-14s %-14s %9s %9s %9s %9s %9s %10s %10s\n",
                           together ? "\nall nodes together" : "each node by itself", (int)width,
                           "node", "variant", "against", "rms", "largest", together ? "" : "bound",
                           "off rms", "bound", "Melement/s", "against");
    for (guint i = 0; i < rows->len; i++) {
        const CtVerifyRow *row = rows->pdata[i];
        if (row->together != together)
            continue;
        if (row->is_same) {
            g_string_append_printf(text, "%-*s  %-14s runs both ways\n", (int)width, row->name,
                                   row->variants[0]);
            continue;
        }
        if (row->nothing) {
            g_string_append_printf(text, "%-*s  %-14s %-14s nothing is compared\n", (int)width,
                                   row->name, row->variants[0], row->variants[1]);
            continue;
        }
        g_autofree char *bound =
            together ? g_strdup("") : g_strdup_printf("%.2e", row->largest_bound);
        g_string_append_printf(
            text, "%-*s  %-14s %-14s %9.2e %9.2e %9s %9.2e %9.2e %10.2f %10.2f%s\n", (int)width,
            row->name, row->variants[0], row->variants[1], row->value_rms, row->largest, bound,
            row->rms, row->rms_bound, row->rates[0] * 1e-6, row->rates[1] * 1e-6,
            row->problem ? "  WRONG" : "");
    }
}

/* Appends the rules for the bounds, once for each stage. */
static void
append_rules(GString *text, const GPtrArray *rows)
{
    g_string_append(text, "\nbounds are twice what one way may be off:\n");
    for (guint i = 0; i < rows->len; i++) {
        const CtVerifyRow *row = rows->pdata[i];
        if (!row->together && !row->is_same)
            g_string_append_printf(text, "  %s: %s\n", row->name,
                                   row->largest_bound > 0 ? row->rule : "nothing: it is exact");
    }
}

char *
ct_verify_to_text(const GPtrArray *rows, gboolean *agrees)
{
    GString *text = g_string_new(NULL);
    append_section(text, rows, FALSE);
    append_section(text, rows, TRUE);
    append_rules(text, rows);
    *agrees = TRUE;
    for (guint i = 0; i < rows->len; i++) {
        const CtVerifyRow *row = rows->pdata[i];
        if (!row->problem)
            continue;
        g_string_append_printf(text, "%s%s%s: %s\n", *agrees ? "\n" : "", row->name,
                               row->together ? " (together)" : "", row->problem);
        *agrees = FALSE;
    }
    return g_string_free(text, FALSE);
}
