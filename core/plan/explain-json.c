/* SPDX-License-Identifier: BSD-3-Clause */
/* The explanation of a plan as JSON. */
#include "explain.h"
#include "graph/tuning.h"

#include <cornerturn/json.h>

static void
add_place(CtJson *json, const char *key, gint place)
{
    g_autofree char *name = place == CT_HOST ? g_strdup("host") : g_strdup_printf("cuda:%d", place);
    ct_json_add_text(json, key, name);
}

/* Layouts of ports; null where no data flows. */
static void
add_layouts(CtJson *json, const char *key, const CtLayout *layouts, guint n)
{
    ct_json_begin_array(json, key);
    for (guint i = 0; i < n; i++) {
        g_autofree char *layout = ct_layout_to_string(&layouts[i]);
        ct_json_add_text(json, NULL, layouts[i].n_axes > 0 ? layout : NULL);
    }
    ct_json_end_array(json);
}

static void
add_estimate(CtJson *json, const CtEstimate *estimate)
{
    ct_json_add_real(json, "seconds", estimate->seconds);
    ct_json_add_text(json, "origin", ct_origin_names[estimate->origin]);
    ct_json_add_real(json, "spread", estimate->spread);
    ct_json_add_text(json, "failure", estimate->failure);
}

static void
add_alternative(CtJson *json, const CtExplanation *explanation, const CtAlternative *one)
{
    const CtCandidate *candidate = one->candidate;
    const CtNode *first = &ct_graph_node(explanation->planner.graph, candidate->nodes[0])->node;
    const CtNode *last =
        &ct_graph_node(explanation->planner.graph, candidate->nodes[candidate->n_nodes - 1])->node;
    g_autofree char *tuning = ct_tuning_to_string(one->implementation->variant,
                                                  one->implementation->estimate.tuning, FALSE);
    ct_json_begin_object(json, NULL);
    ct_json_add_boolean(json, "chosen", one->is_chosen);
    ct_json_add_real(json, "plan", one->seconds);
    add_estimate(json, &one->implementation->estimate);
    ct_json_add_text(json, "variant", one->implementation->variant->name);
    ct_json_add_text(json, "row", one->implementation->row->layouts);
    ct_json_add_text(json, "tuning", tuning);
    add_place(json, "place", candidate->place);
    ct_json_begin_array(json, "nodes");
    for (guint k = 0; k < candidate->n_nodes; k++)
        ct_json_add_text(
            json, NULL,
            ct_graph_node(explanation->planner.graph, candidate->nodes[k])->config->name);
    ct_json_end_array(json);
    add_layouts(json, "inputs", candidate->inputs, first->n_inputs);
    add_layouts(json, "outputs", candidate->outputs, last->n_outputs);
    ct_json_end_object(json);
}

static void
add_crossing(CtJson *json, const CtCrossing *crossing)
{
    g_autofree char *from = ct_layout_to_string(&crossing->from.layout);
    g_autofree char *to = ct_layout_to_string(&crossing->to.layout);
    ct_json_begin_object(json, NULL);
    ct_json_add_boolean(json, "chosen", crossing->is_chosen);
    ct_json_add_real(json, "plan", crossing->seconds);
    ct_json_add_text(json, "from", from);
    add_place(json, "from_place", crossing->from.place);
    ct_json_add_text(json, "to", to);
    add_place(json, "to_place", crossing->to.place);
    ct_json_begin_array(json, "steps");
    for (guint s = 0; s < crossing->conversion.n_steps; s++) {
        const CtConversionStep *step = &crossing->conversion.steps[s];
        ct_json_begin_object(json, NULL);
        ct_json_add_text(json, "stage", step->stage->name);
        ct_json_add_text(json, "variant", step->variant->name);
        add_place(json, "place", step->place);
        add_estimate(json, &step->estimate);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
    ct_json_end_object(json);
}

static void
add_link(CtJson *json, const CtExplanation *explanation, const CtExplainedLink *link)
{
    const CtGraphNode *writer = ct_graph_node(explanation->planner.graph, link->writer);
    const CtGraphNode *reader = ct_graph_node(explanation->planner.graph, link->reader);
    ct_json_begin_object(json, NULL);
    ct_json_add_text(json, "writer", writer->config->name);
    ct_json_add_text(json, "output", writer->node.stage->outputs[link->port].name);
    ct_json_add_text(json, "reader", reader->config->name);
    ct_json_add_text(json, "input", ct_node_input_port(&reader->node, link->input)->name);
    ct_json_add_integer(json, "ways", link->n_crossings);
    ct_json_begin_array(json, "candidates");
    for (guint c = 0; c < link->crossings->len; c++)
        add_crossing(json, &g_array_index(link->crossings, CtCrossing, c));
    ct_json_end_array(json);
    ct_json_end_object(json);
}

static void
add_node(CtJson *json, const CtExplanation *explanation, guint n)
{
    const GArray *alternatives = explanation->nodes[n], *left_out = explanation->left_out[n];
    ct_json_begin_object(json, NULL);
    ct_json_add_text(json, "name", ct_graph_node(explanation->planner.graph, n)->config->name);
    ct_json_begin_array(json, "candidates");
    for (guint a = 0; a < alternatives->len; a++)
        add_alternative(json, explanation, &g_array_index(alternatives, CtAlternative, a));
    ct_json_end_array(json);
    ct_json_begin_array(json, "left_out");
    for (guint i = 0; i < left_out->len; i++) {
        const CtLeftOut *one = &g_array_index(left_out, CtLeftOut, i);
        ct_json_begin_object(json, NULL);
        ct_json_add_text(json, "variant", one->variant->name);
        ct_json_add_text(json, "reason", one->reason);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
    ct_json_end_object(json);
}

/* The plan without fusion. */
static void
add_unfused(CtJson *json, const CtPlan *unfused)
{
    ct_json_begin_object(json, "without_fusion");
    ct_json_add_real(json, "seconds", unfused->seconds);
    ct_json_begin_object(json, "busy");
    for (guint r = 0; r < unfused->n_resources; r++) {
        g_autofree char *name = ct_resource_name(r);
        ct_json_add_real(json, name, unfused->busy[r]);
    }
    ct_json_end_object(json);
    ct_json_end_object(json);
}

char *
ct_explain_to_json(const CtPlan *plan, CtRegistry *registry, const CtPlanOptions *options,
                   GError **error)
{
    g_autoptr(CtExplanation) explanation = ct_explanation_new(plan, registry, options, error);
    if (!explanation)
        return NULL;
    CtJson *json = ct_json_new();
    ct_json_add_real(json, "seconds", explanation->choice->seconds);
    ct_json_add_real(json, "least", explanation->choice->least);
    if (explanation->unfused)
        add_unfused(json, explanation->unfused);
    ct_json_add_real(json, "combinations", explanation->n_candidates);
    ct_json_add_real(json, "combinations_of_variants", explanation->n_variants);
    ct_json_begin_array(json, "nodes");
    for (guint n = 0; n < plan->graph->nodes->len; n++)
        add_node(json, explanation, n);
    ct_json_end_array(json);
    ct_json_begin_array(json, "links");
    for (guint l = 0; l < explanation->links->len; l++)
        add_link(json, explanation, g_ptr_array_index(explanation->links, l));
    ct_json_end_array(json);
    return ct_json_free_to_text(json, TRUE);
}
