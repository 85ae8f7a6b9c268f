/* SPDX-License-Identifier: BSD-3-Clause */
/* The explanation of a plan as JSON. */
#include "explain.h"
#include "graph/tuning.h"

#include <cornerturn/json.h>

static void
append_number(GString *text, const char *key, gdouble value)
{
    g_string_append_printf(text, ", \"%s\": ", key);
    ct_json_append_real(text, value);
}

static void
append_string(GString *text, const char *key, const char *string)
{
    g_string_append_printf(text, ", \"%s\": ", key);
    if (string)
        ct_json_append_string(text, string);
    else
        g_string_append(text, "null");
}

static void
append_place(GString *text, const char *key, gint place)
{
    g_autofree char *name = place == CT_HOST ? g_strdup("host") : g_strdup_printf("cuda:%d", place);
    append_string(text, key, name);
}

/* Layouts of ports; null where no data flows. */
static void
append_layouts(GString *text, const char *key, const CtLayout *layouts, guint n)
{
    g_string_append_printf(text, ", \"%s\": [", key);
    for (guint i = 0; i < n; i++) {
        g_autofree char *layout = ct_layout_to_string(&layouts[i]);
        g_string_append(text, i ? ", " : "");
        if (layouts[i].n_axes > 0)
            ct_json_append_string(text, layout);
        else
            g_string_append(text, "null");
    }
    g_string_append_c(text, ']');
}

static void
append_estimate(GString *text, const CtEstimate *estimate)
{
    append_number(text, "seconds", estimate->seconds);
    append_string(text, "origin", ct_origin_names[estimate->origin]);
    append_number(text, "spread", estimate->spread);
    append_string(text, "failure", estimate->failure);
}

static void
append_alternative(GString *text, const CtExplanation *explanation, const CtAlternative *one)
{
    const CtCandidate *candidate = one->candidate;
    const CtNode *first = &ct_graph_node(explanation->planner.graph, candidate->nodes[0])->node;
    const CtNode *last =
        &ct_graph_node(explanation->planner.graph, candidate->nodes[candidate->n_nodes - 1])->node;
    g_autofree char *tuning = ct_tuning_to_string(one->implementation->variant,
                                                  one->implementation->estimate.tuning, FALSE);
    g_string_append_printf(text, "{\"chosen\": %s", one->is_chosen ? "true" : "false");
    append_number(text, "plan", one->seconds);
    append_estimate(text, &one->implementation->estimate);
    append_string(text, "variant", one->implementation->variant->name);
    append_string(text, "row", one->implementation->row->layouts);
    append_string(text, "tuning", tuning);
    append_place(text, "place", candidate->place);
    g_string_append(text, ", \"nodes\": [");
    for (guint k = 0; k < candidate->n_nodes; k++) {
        g_string_append(text, k ? ", " : "");
        ct_json_append_string(
            text, ct_graph_node(explanation->planner.graph, candidate->nodes[k])->config->name);
    }
    g_string_append_c(text, ']');
    append_layouts(text, "inputs", candidate->inputs, first->n_inputs);
    append_layouts(text, "outputs", candidate->outputs, last->n_outputs);
    g_string_append_c(text, '}');
}

static void
append_crossing(GString *text, const CtCrossing *crossing)
{
    g_autofree char *from = ct_layout_to_string(&crossing->from.layout);
    g_autofree char *to = ct_layout_to_string(&crossing->to.layout);
    g_string_append_printf(text, "{\"chosen\": %s", crossing->is_chosen ? "true" : "false");
    append_number(text, "plan", crossing->seconds);
    append_string(text, "from", from);
    append_place(text, "from_place", crossing->from.place);
    append_string(text, "to", to);
    append_place(text, "to_place", crossing->to.place);
    g_string_append(text, ", \"steps\": [");
    for (guint s = 0; s < crossing->conversion.n_steps; s++) {
        const CtConversionStep *step = &crossing->conversion.steps[s];
        g_string_append(text, s ? ", {\"stage\": " : "{\"stage\": ");
        ct_json_append_string(text, step->stage->name);
        append_string(text, "variant", step->variant->name);
        append_place(text, "place", step->place);
        append_estimate(text, &step->estimate);
        g_string_append_c(text, '}');
    }
    g_string_append(text, "]}");
}

static void
append_link(GString *text, const CtExplanation *explanation, const CtExplainedLink *link)
{
    const CtGraphNode *writer = ct_graph_node(explanation->planner.graph, link->writer);
    const CtGraphNode *reader = ct_graph_node(explanation->planner.graph, link->reader);
    g_string_append(text, "    {\"writer\": ");
    ct_json_append_string(text, writer->config->name);
    append_string(text, "output", writer->node.stage->outputs[link->port].name);
    append_string(text, "reader", reader->config->name);
    append_string(text, "input", ct_node_input_port(&reader->node, link->input)->name);
    g_string_append_printf(text, ", \"ways\": %u, \"candidates\": [", link->n_crossings);
    for (guint c = 0; c < link->crossings->len; c++) {
        g_string_append(text, c ? ",\n      " : "\n      ");
        append_crossing(text, &g_array_index(link->crossings, CtCrossing, c));
    }
    g_string_append(text, "]}");
}

char *
ct_explain_to_json(const CtPlan *plan, CtRegistry *registry, const CtPlanOptions *options,
                   GError **error)
{
    g_autoptr(CtExplanation) explanation = ct_explanation_new(plan, registry, options, error);
    if (!explanation)
        return NULL;
    GString *text = g_string_new("{\n  \"seconds\": ");
    ct_json_append_real(text, explanation->choice->seconds);
    append_number(text, "least", explanation->choice->least);
    append_number(text, "combinations", explanation->n_candidates);
    append_number(text, "combinations_of_variants", explanation->n_variants);
    g_string_append(text, ",\n  \"nodes\": [");
    for (guint n = 0; n < plan->graph->nodes->len; n++) {
        const GArray *alternatives = explanation->nodes[n];
        g_string_append(text, n ? ",\n    {\"name\": " : "\n    {\"name\": ");
        ct_json_append_string(text, ct_graph_node(explanation->planner.graph, n)->config->name);
        g_string_append(text, ", \"candidates\": [");
        for (guint a = 0; a < alternatives->len; a++) {
            g_string_append(text, a ? ",\n      " : "\n      ");
            append_alternative(text, explanation, &g_array_index(alternatives, CtAlternative, a));
        }
        g_string_append(text, "],\n      \"left_out\": [");
        for (guint i = 0; i < explanation->left_out[n]->len; i++) {
            const CtLeftOut *one = &g_array_index(explanation->left_out[n], CtLeftOut, i);
            g_string_append(text, i ? ", {\"variant\": " : "{\"variant\": ");
            ct_json_append_string(text, one->variant->name);
            append_string(text, "reason", one->reason);
            g_string_append_c(text, '}');
        }
        g_string_append(text, "]}");
    }
    g_string_append(text, "\n  ],\n  \"links\": [");
    for (guint l = 0; l < explanation->links->len; l++) {
        g_string_append(text, l ? ",\n" : "\n");
        append_link(text, explanation, g_ptr_array_index(explanation->links, l));
    }
    g_string_append(text, "\n  ]\n}\n");
    return g_string_free(text, FALSE);
}
