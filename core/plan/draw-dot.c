/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan as a drawing for Graphviz. */
#include "draw.h"

/* A string in the DOT language, without control characters other than newlines. */
static void
append_quoted(GString *text, const char *string)
{
    g_string_append_c(text, '"');
    for (const char *s = string; *s; s++) {
        if (*s == '"' || *s == '\\')
            g_string_append_c(text, '\\');
        if (*s == '\n')
            g_string_append(text, "\\n");
        else if ((guchar)*s >= ' ')
            g_string_append_c(text, *s);
    }
    g_string_append_c(text, '"');
}

static void
append_node(GString *text, const CtPlan *plan, guint n, const char *indent)
{
    const CtPlanNode *node = ct_plan_node(plan, n);
    g_auto(CtNodeText) said = {0};
    ct_node_text_init(&said, plan, node);
    g_autofree char *label =
        g_strdup_printf("%s\n%s\n%s\n%s", node->name, said.stages, said.variant, said.share);
    g_string_append_printf(text, "%sn%u [label=", indent, n);
    append_quoted(text, label);
    g_string_append_printf(text, "%s%s%s];\n", node->inserted ? ", style=dashed" : "",
                           said.is_fused ? ", peripheries=2" : "",
                           said.is_busiest ? ", color=\"#d1661a\"" : "");
}

/* The nodes of a device, in a box of their own. */
static void
append_cluster(GString *text, const CtPlan *plan, guint device)
{
    g_autofree char *label = g_strdup_printf("cuda:%u\n%s", device, plan->devices[device].name);
    g_string_append_printf(text, "    subgraph cluster_%u {\n        label=", device);
    append_quoted(text, label);
    g_string_append(text, ";\n");
    for (guint n = 0; n < plan->nodes->len; n++) {
        if (ct_plan_node(plan, n)->place == (gint)device)
            append_node(text, plan, n, "        ");
    }
    g_string_append(text, "    }\n");
}

char *
ct_plan_to_dot(const CtPlan *plan)
{
    g_autoptr(GString) text = g_string_new("digraph plan {\n    node [shape=box];\n    label=");
    g_auto(GStrv) busy = ct_plan_busy_texts(plan);
    g_autofree char *resources = g_strjoinv("\n", busy);
    append_quoted(text, resources);
    g_string_append(text, ";\n    labelloc=t;\n");
    for (guint n = 0; n < plan->nodes->len; n++) {
        if (ct_plan_node(plan, n)->place == CT_HOST)
            append_node(text, plan, n, "    ");
    }
    for (guint d = 0; d < plan->n_devices; d++)
        append_cluster(text, plan, d);
    for (guint l = 0; l < plan->links->len; l++) {
        const CtPlanLink *link = ct_plan_link(plan, l);
        g_auto(GStrv) lines = ct_link_texts(plan, link);
        g_autofree char *label = g_strjoinv("\n", lines);
        for (guint r = 0; r < link->readers->len; r++) {
            g_string_append_printf(text, "    n%u -> n%u [label=", link->writer,
                                   g_array_index(link->readers, CtPlanReader, r).node);
            append_quoted(text, label);
            g_string_append(text, "];\n");
        }
    }
    g_string_append(text, "}\n");
    return g_string_free(g_steal_pointer(&text), FALSE);
}
