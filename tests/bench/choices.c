/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs, nodes run alone, and statistics of the measurements. */
#include "choices.h"

#include <math.h>
#include <string.h>

gboolean
choices_want(const Choices *choices, const char *name)
{
    if (!choices->words || !choices->words[0])
        return TRUE;
    for (guint i = 0; choices->words[i]; i++)
        if (strstr(name, choices->words[i]))
            return TRUE;
    return FALSE;
}

/* ---- graphs ---- */

ParsedGraph *
parsed_graph_new(const Choices *choices, const char *stages, GError **error)
{
    g_autoptr(ParsedGraph) parsed = g_new0(ParsedGraph, 1);
    g_autofree char *text = g_strdup_printf("stages:\n%s", stages);
    parsed->config = ct_config_parse(text, -1, "benchmark", NULL, error);
    if (parsed->config)
        parsed->graph = ct_graph_new(parsed->config, choices->registry, FALSE, error);
    return parsed->graph ? g_steal_pointer(&parsed) : NULL;
}

void
parsed_graph_free(ParsedGraph *parsed)
{
    if (!parsed)
        return;
    ct_graph_free(parsed->graph);
    ct_config_free(parsed->config);
    g_free(parsed);
}

guint
parsed_graph_find(const ParsedGraph *parsed, const char *name)
{
    for (guint i = 0; i < parsed->graph->nodes->len; i++) {
        const CtGraphNode *node = g_ptr_array_index(parsed->graph->nodes, i);
        if (g_str_equal(node->node.name, name))
            return i;
    }
    g_error("no node '%s'", name);
}

/* ---- nodes alone ---- */

static const CtPlanNode *
find_planned(const CtPlan *plan, const char *name)
{
    for (guint i = 0; i < plan->nodes->len; i++) {
        const CtPlanNode *node = g_ptr_array_index(plan->nodes, i);
        if (g_str_equal(node->name, name))
            return node;
    }
    g_error("no node '%s' in the plan", name);
}

NodeTrial *
node_trial_new(const Choices *choices, const char *name, const char *stages, const char *node,
               GError **error)
{
    g_autoptr(NodeTrial) trial = g_new0(NodeTrial, 1);
    trial->name = g_strdup(name);
    trial->seconds = g_array_new(FALSE, FALSE, sizeof(gdouble));
    trial->beside = g_array_new(FALSE, FALSE, sizeof(gdouble));
    trial->parsed = parsed_graph_new(choices, stages, error);
    if (trial->parsed)
        trial->plan =
            ct_plan_new(trial->parsed->graph, choices->registry, &choices->options, error);
    if (!trial->plan)
        return NULL;
    const CtPlanNode *planned = find_planned(trial->plan, node);
    trial->layouts = g_new0(CtLayout, planned->n_inputs + planned->n_outputs);
    for (guint i = 0; i < planned->n_inputs; i++)
        trial->layouts[i] = planned->input_bindings[i].layout;
    for (guint o = 0; o < planned->n_outputs; o++)
        trial->layouts[planned->n_inputs + o] = planned->output_bindings[o].layout;
    memcpy(trial->tuning, planned->estimate.tuning, sizeof trial->tuning);
    trial->what = (CtEstimated){
        .variant = planned->variant,
        .row = planned->row,
        .nodes = planned->nodes,
        .n_nodes = planned->n_nodes,
        .inputs = trial->layouts,
        .outputs = &trial->layouts[planned->n_inputs],
        .load = &trial->load,
        .tuning = trial->tuning,
        .from = planned->place,
        .to = planned->place,
    };
    ct_load_init(&trial->load, planned->nodes, planned->n_nodes, trial->what.inputs,
                 trial->what.outputs);
    return g_steal_pointer(&trial);
}

void
node_trial_free(NodeTrial *trial)
{
    if (!trial)
        return;
    ct_trial_free(trial->trial);
    ct_plan_free(trial->plan);
    parsed_graph_free(trial->parsed);
    g_array_unref(trial->seconds);
    g_array_unref(trial->beside);
    g_free(trial->layouts);
    g_free(trial->failure);
    g_free(trial->name);
    g_free(trial);
}

gboolean
node_trial_measure(NodeTrial *trial, const Choices *choices, gdouble *seconds)
{
    g_autoptr(GError) error = NULL;
    CtTrialResult result = {0};
    if (trial->failure)
        return FALSE;
    /* The trial assumes that something reads each output. */
    if (!trial->trial)
        trial->trial =
            ct_trial_new(&trial->what, G_MAXUINT64, choices->registry, &choices->options, &error);
    if (!trial->trial || !ct_trial_run(trial->trial, choices->seconds, &result, &error)) {
        trial->failure = g_strdup(error->message);
        return FALSE;
    }
    *seconds = result.seconds;
    g_array_append_val(trial->seconds, result.seconds);
    return TRUE;
}

void
node_trial_rest(NodeTrial *trial)
{
    g_clear_pointer(&trial->trial, ct_trial_free);
}

/* ---- statistics ---- */

static gint
compare(gconstpointer a, gconstpointer b)
{
    const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;
    return (x > y) - (x < y);
}

gdouble
choices_median(const GArray *values)
{
    const guint n = values->len;
    if (n == 0)
        return NAN;
    g_autofree gdouble *sorted = g_memdup2(values->data, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare);
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

gdouble
choices_ratio(const GArray *a, const GArray *b)
{
    g_autoptr(GArray) ratios = g_array_new(FALSE, FALSE, sizeof(gdouble));
    for (guint i = 0; i < MIN(a->len, b->len); i++) {
        const gdouble ratio = g_array_index(a, gdouble, i) / g_array_index(b, gdouble, i);
        g_array_append_val(ratios, ratio);
    }
    return choices_median(ratios);
}

gdouble
choices_share(const GArray *seconds, const GArray *rates)
{
    g_autoptr(GArray) products = g_array_new(FALSE, FALSE, sizeof(gdouble));
    for (guint i = 0; i < MIN(seconds->len, rates->len); i++) {
        const gdouble product =
            g_array_index(seconds, gdouble, i) * g_array_index(rates, gdouble, i);
        g_array_append_val(products, product);
    }
    return 1 / choices_median(products);
}
