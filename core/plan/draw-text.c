/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of a plan's drawings. */
#include "draw.h"
#include "graph/tuning.h"
#include "model/quantity.h"
#include "planner-variants.h"

/* The resource that is busy the longest. */
static guint
find_busiest(const CtPlan *plan)
{
    guint busiest = 0;
    for (guint r = 1; r < plan->n_resources; r++)
        busiest = plan->busy[r] > plan->busy[busiest] ? r : busiest;
    return busiest;
}

/* Whether the node uses what the predicted time is made of: the busiest resource or, if work of one
 * thread takes longer, this thread. */
static gboolean
is_busiest(const CtPlan *plan, const CtPlanNode *node)
{
    const guint busiest = find_busiest(plan);
    if (plan->alone > plan->busy[busiest])
        return node == ct_plan_longest_alone(plan);
    for (guint p = 0; p < node->cost.n_parts; p++) {
        if (node->cost.parts[p].resource == busiest && node->cost.parts[p].seconds > 0)
            return TRUE;
    }
    return FALSE;
}

void
ct_node_text_init(CtNodeText *text, const CtPlan *plan, const CtPlanNode *node)
{
    g_autoptr(GString) stages = g_string_new(NULL);
    for (guint k = 0; k < node->n_nodes; k++)
        g_string_append_printf(stages, "%s%s", k ? " + " : "", node->nodes[k].stage->name);
    g_autofree char *variant = ct_tuning_name(node->variant, node->tuning);
    g_autofree char *place = ct_plan_place_name(node->place, node->numa);
    const char *backend = ct_backend_names[node->variant->backend];
    *text = (CtNodeText){
        .stages = g_strdup(stages->str),
        .variant = g_str_has_prefix(variant, backend)
                       ? g_strdup_printf("%s · %s", variant, place)
                       : g_strdup_printf("%s · %s · %s", variant, backend, place),
        .busy = ct_cost_longest(&node->cost) / MAX(plan->seconds, 1e-300),
        .is_busiest = is_busiest(plan, node),
        .is_fused = node->n_nodes > 1,
    };
    text->share = g_strdup_printf("busy %.1f%%", 100 * text->busy);
}

void
ct_node_text_clear(CtNodeText *text)
{
    g_free(text->stages);
    g_free(text->variant);
    g_free(text->share);
}

char **
ct_link_texts(const CtPlan *plan, const CtPlanLink *link)
{
    g_autoptr(GPtrArray) lines = g_ptr_array_new();
    const CtPlanNode *writer = ct_plan_node(plan, link->writer);
    const CtStage *stage = writer->nodes[writer->n_nodes - 1].stage;
    g_autofree char *written = ct_layout_to_string(&link->layout);
    g_ptr_array_add(lines,
                    link->port == 0
                        ? g_strdup(written)
                        : g_strdup_printf("%s: %s", stage->outputs[link->port].name, written));
    for (guint r = 0; r < link->readers->len; r++) {
        const CtPlanReader *reader = &g_array_index(link->readers, CtPlanReader, r);
        const CtPlanNode *node = ct_plan_node(plan, reader->node);
        g_autofree char *read = ct_layout_to_string(&node->input_bindings[reader->port].layout);
        if (!g_str_equal(read, written))
            g_ptr_array_add(lines, link->readers->len == 1
                                       ? g_strdup_printf("read as %s", read)
                                       : g_strdup_printf("read as %s by %s", read, node->name));
    }
    g_autofree char *axes = ct_stream_describe(link->stream);
    g_autofree char *bytes = ct_format_bytes(link->bytes);
    g_ptr_array_add(lines, g_steal_pointer(&axes));
    g_ptr_array_add(lines, ct_plan_is_fed(plan, link) ? g_strdup("the program's memory")
                                                      : g_steal_pointer(&bytes));
    g_ptr_array_add(lines, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&lines), FALSE);
}

char **
ct_plan_busy_texts(const CtPlan *plan)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new();
    const CtPlanNode *longest = ct_plan_longest_alone(plan);
    const guint busiest = find_busiest(plan);
    for (guint r = 0; r < plan->n_resources; r++) {
        g_autofree char *name = ct_resource_name(r);
        if (r == busiest || plan->busy[r] > 0)
            g_ptr_array_insert(texts, r == busiest ? 0 : -1,
                               g_strdup_printf("%s %.3g s", name, plan->busy[r]));
    }
    if (longest)
        g_ptr_array_insert(
            texts, plan->alone > plan->busy[busiest] ? 0 : -1,
            g_strdup_printf("one thread, for '%s', %.3g s", longest->name, plan->alone));
    g_ptr_array_insert(texts, 0, g_strdup("predicted to be busy for a second of stream:"));
    g_ptr_array_add(texts, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&texts), FALSE);
}
