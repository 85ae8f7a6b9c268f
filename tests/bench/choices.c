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

Sketch *
sketch_new(const Choices *choices, const char *stages, GError **error)
{
    g_autoptr(Sketch) sketch = g_new0(Sketch, 1);
    g_autofree char *text = g_strdup_printf("stages:\n%s", stages);
    sketch->config = ct_config_parse(text, -1, "benchmark", NULL, error);
    if (sketch->config)
        sketch->graph = ct_graph_new(sketch->config, choices->registry, error);
    return sketch->graph ? g_steal_pointer(&sketch) : NULL;
}

void
sketch_free(Sketch *sketch)
{
    if (!sketch)
        return;
    ct_graph_free(sketch->graph);
    ct_config_free(sketch->config);
    g_free(sketch);
}

guint
sketch_find(const Sketch *sketch, const char *name)
{
    for (guint i = 0; i < sketch->graph->nodes->len; i++) {
        const CtGraphNode *node = g_ptr_array_index(sketch->graph->nodes, i);
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

Lone *
lone_new(const Choices *choices, const char *name, const char *stages, const char *node,
         GError **error)
{
    g_autoptr(Lone) lone = g_new0(Lone, 1);
    lone->name = g_strdup(name);
    lone->seconds = g_array_new(FALSE, FALSE, sizeof(gdouble));
    lone->beside = g_array_new(FALSE, FALSE, sizeof(gdouble));
    lone->sketch = sketch_new(choices, stages, error);
    if (lone->sketch)
        lone->plan = ct_plan_new(lone->sketch->graph, choices->registry, &choices->options, error);
    if (!lone->plan)
        return NULL;
    const CtPlanNode *planned = find_planned(lone->plan, node);
    lone->layouts = g_new0(CtLayout, planned->n_inputs + planned->n_outputs);
    for (guint i = 0; i < planned->n_inputs; i++)
        lone->layouts[i] = planned->input_bindings[i].layout;
    for (guint o = 0; o < planned->n_outputs; o++)
        lone->layouts[planned->n_inputs + o] = planned->output_bindings[o].layout;
    memcpy(lone->tuning, planned->estimate.tuning, sizeof lone->tuning);
    lone->what = (CtEstimated){
        .variant = planned->variant,
        .row = planned->row,
        .nodes = planned->nodes,
        .n_nodes = planned->n_nodes,
        .inputs = lone->layouts,
        .outputs = &lone->layouts[planned->n_inputs],
        .load = &lone->load,
        .tuning = lone->tuning,
        .from = planned->place,
        .to = planned->place,
    };
    ct_load_init(&lone->load, planned->nodes, planned->n_nodes, lone->what.inputs,
                 lone->what.outputs);
    return g_steal_pointer(&lone);
}

void
lone_free(Lone *lone)
{
    if (!lone)
        return;
    ct_trial_free(lone->trial);
    ct_plan_free(lone->plan);
    sketch_free(lone->sketch);
    g_array_unref(lone->seconds);
    g_array_unref(lone->beside);
    g_free(lone->layouts);
    g_free(lone->failure);
    g_free(lone->name);
    g_free(lone);
}

gboolean
lone_measure(Lone *lone, const Choices *choices, gdouble *seconds)
{
    g_autoptr(GError) error = NULL;
    CtTrialResult result = {0};
    if (lone->failure)
        return FALSE;
    /* The trial assumes that all outputs are read. */
    if (!lone->trial)
        lone->trial =
            ct_trial_new(&lone->what, G_MAXUINT64, choices->registry, &choices->options, &error);
    if (!lone->trial || !ct_trial_run(lone->trial, choices->seconds, &result, &error)) {
        lone->failure = g_strdup(error->message);
        return FALSE;
    }
    *seconds = result.seconds;
    g_array_append_val(lone->seconds, result.seconds);
    return TRUE;
}

void
lone_rest(Lone *lone)
{
    g_clear_pointer(&lone->trial, ct_trial_free);
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
