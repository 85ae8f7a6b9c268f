/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan in words: a table for people, a drawing for Graphviz, JSON for programs. */
#include "planner.h"

#include <cornerturn/json.h>
#include <string.h>

static const CtPlanNode *
node_at(const CtPlan *plan, guint i)
{
    return g_ptr_array_index(plan->nodes, i);
}

static const CtPlanLink *
link_at(const CtPlan *plan, guint i)
{
    return g_ptr_array_index(plan->links, i);
}

/* "[time station pol] cf32"-like layouts of ports, separated by commas; "–" where there is none. */
static char *
describe_ports(guint n, const CtBinding *bindings, const gint *links)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < n; i++) {
        if (links[i] < 0)
            continue;
        g_autofree char *layout = ct_layout_to_string(&bindings[i].layout);
        g_string_append_printf(text, "%s%s", text->len ? ", " : "", layout);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* Samples that a firing makes; of a sink, that it sees. */
static gint64
samples_per_firing(const CtPlanNode *node)
{
    for (guint i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] >= 0)
            return node->output_bindings[i].max_samples;
    }
    return node->n_inputs > 0 ? node->input_bindings[0].max_samples : 0;
}

static gsize
ring_bytes(const CtPlan *plan, const CtPlanNode *node)
{
    gsize bytes = 0;
    for (guint i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] >= 0)
            bytes += link_at(plan, node->outputs[i])->bytes;
    }
    return bytes;
}

static const gdouble mebi = 1024.0 * 1024.0;

/* ---- text ---- */

enum { N_COLUMNS = 7, LAYOUTS = 2 };

static const char *const titles[N_COLUMNS] = {
    "node", "variant", "layouts", "samples", "ring MiB", "operations", "share",
};

static char **
table_row(const CtPlan *plan, const CtPlanNode *node)
{
    char **cells = g_new0(char *, N_COLUMNS + 1);
    g_autofree char *inputs = describe_ports(node->n_inputs, node->input_bindings, node->inputs);
    g_autofree char *outputs =
        describe_ports(node->n_outputs, node->output_bindings, node->outputs);
    cells[0] = g_strdup_printf("%s%s", node->inserted ? "+ " : "", node->name);
    cells[1] = g_strdup(node->variant->name);
    cells[LAYOUTS] = *inputs && *outputs ? g_strdup_printf("%s -> %s", inputs, outputs)
                     : *outputs          ? g_strdup_printf("-> %s", outputs)
                                         : g_strdup_printf("%s ->", inputs);
    cells[3] = g_strdup_printf("%" G_GINT64_FORMAT, samples_per_firing(node));
    cells[4] = g_strdup_printf("%.1f", ring_bytes(plan, node) / mebi);
    cells[5] = node->operations > 0 ? g_strdup_printf("%.3g", node->operations) : g_strdup("");
    cells[6] =
        g_strdup_printf("%.1f%%", plan->seconds > 0 ? 100 * node->seconds / plan->seconds : 0.0);
    return cells;
}

static void
print_row(GString *text, const char *const *cells, const glong *widths)
{
    for (guint c = 0; c < N_COLUMNS; c++) {
        const guint padding = widths[c] - g_utf8_strlen(cells[c], -1);
        const gboolean right = c > LAYOUTS;
        g_string_append_printf(text, "%s%*s%s", c ? "  " : "", right ? padding : 0, "", cells[c]);
        if (!right)
            g_string_append_printf(text, "%*s", padding, "");
    }
    g_string_append_c(text, '\n');
}

char *
ct_plan_to_text(const CtPlan *plan)
{
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
    glong widths[N_COLUMNS];
    guint n_inserted = 0;
    for (guint c = 0; c < N_COLUMNS; c++)
        widths[c] = g_utf8_strlen(titles[c], -1);
    for (guint n = 0; n < plan->nodes->len; n++) {
        char **cells = table_row(plan, node_at(plan, n));
        g_ptr_array_add(rows, cells);
        n_inserted += node_at(plan, n)->inserted;
        for (guint c = 0; c < N_COLUMNS; c++)
            widths[c] = MAX(widths[c], g_utf8_strlen(cells[c], -1));
    }
    g_autoptr(GString) text = g_string_new(NULL);
    print_row(text, titles, widths);
    for (guint r = 0; r < rows->len; r++)
        print_row(text, g_ptr_array_index(rows, r), widths);
    g_autofree char *memory = ct_format_bytes(plan->bytes);
    g_string_append_printf(
        text,
        "\n%u nodes, %u of them inserted (+), %u worker%s; %s of rings; predicted "
        "%.3g s for a second of stream%s\n",
        plan->nodes->len, n_inserted, plan->n_workers, plan->n_workers == 1 ? "" : "s", memory,
        plan->seconds,
        plan->exact ? ""
                    : "; the graph is too entangled to be sure that no plan "
                      "is better");
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* ---- Graphviz ---- */

/* A string of the DOT language: control characters but new lines are left out. */
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

char *
ct_plan_to_dot(const CtPlan *plan)
{
    g_autoptr(GString) text = g_string_new("digraph plan {\n    rankdir=LR;\n    node "
                                           "[shape=box];\n");
    for (guint n = 0; n < plan->nodes->len; n++) {
        const CtPlanNode *node = node_at(plan, n);
        g_autofree char *label = g_strdup_printf("%s\n%s", node->name, node->variant->name);
        g_string_append_printf(text, "    n%u [label=", n);
        append_quoted(text, label);
        g_string_append(text, node->inserted ? ", style=dashed];\n" : "];\n");
    }
    for (guint l = 0; l < plan->links->len; l++) {
        const CtPlanLink *link = link_at(plan, l);
        g_autofree char *layout = ct_layout_to_string(&link->layout);
        g_autofree char *axes = ct_stream_describe(link->stream);
        g_autofree char *label =
            g_strdup_printf("%s\n%s\n%.1f MiB", layout, axes, link->bytes / mebi);
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

/* ---- JSON ---- */

static void
append_number(GString *text, const char *key, gdouble value)
{
    g_string_append_printf(text, ", \"%s\": ", key);
    ct_json_append_real(text, value);
}

static void
append_links(GString *text, const char *key, guint n, const gint *links)
{
    g_string_append_printf(text, ", \"%s\": [", key);
    for (guint i = 0; i < n; i++) {
        g_string_append(text, i ? ", " : "");
        if (links[i] < 0)
            g_string_append(text, "null");
        else
            g_string_append_printf(text, "%d", links[i]);
    }
    g_string_append_c(text, ']');
}

static void
append_node(GString *text, const CtPlanNode *node)
{
    g_string_append(text, "    {\"name\": ");
    ct_json_append_string(text, node->name);
    g_string_append(text, ", \"stages\": [");
    for (guint k = 0; k < node->n_nodes; k++) {
        g_string_append(text, k ? ", " : "");
        ct_json_append_string(text, node->nodes[k].stage->name);
    }
    g_string_append(text, "], \"variant\": ");
    ct_json_append_string(text, node->variant->name);
    g_string_append_printf(text, ", \"inserted\": %s", node->inserted ? "true" : "false");
    append_links(text, "inputs", node->n_inputs, node->inputs);
    append_links(text, "outputs", node->n_outputs, node->outputs);
    g_string_append(text, ", \"input_layouts\": [");
    for (guint i = 0; i < node->n_inputs; i++) {
        g_autofree char *layout = ct_layout_to_string(&node->input_bindings[i].layout);
        g_string_append(text, i ? ", " : "");
        if (node->inputs[i] < 0)
            g_string_append(text, "null");
        else
            ct_json_append_string(text, layout);
    }
    g_string_append_printf(text, "], \"window\": %" G_GINT64_FORMAT ", \"hop\": %" G_GINT64_FORMAT,
                           node->footprint.window, node->footprint.hop);
    append_number(text, "seconds", node->seconds);
    append_number(text, "operations", node->operations);
    append_number(text, "bytes", node->bytes);
    g_string_append_c(text, '}');
}

static void
append_link(GString *text, const CtPlanLink *link)
{
    g_autofree char *layout = ct_layout_to_string(&link->layout);
    g_autofree char *axes = ct_stream_describe(link->stream);
    g_string_append_printf(text, "    {\"writer\": %u, \"port\": %u, \"layout\": ", link->writer,
                           link->port);
    ct_json_append_string(text, layout);
    g_string_append(text, ", \"shape\": ");
    ct_json_append_string(text, axes);
    g_string_append_printf(text,
                           ", \"max_samples\": %" G_GINT64_FORMAT ", \"granule\": %" G_GINT64_FORMAT
                           ", \"history\": %" G_GINT64_FORMAT ", \"capacity\": %" G_GINT64_FORMAT
                           ", \"bytes\": %" G_GSIZE_FORMAT ", \"readers\": [",
                           link->max_samples, link->granule, link->history, link->capacity,
                           link->bytes);
    for (guint r = 0; r < link->readers->len; r++) {
        const CtPlanReader *reader = &g_array_index(link->readers, CtPlanReader, r);
        g_string_append_printf(text, "%s{\"node\": %u, \"port\": %u}", r ? ", " : "", reader->node,
                               reader->port);
    }
    g_string_append(text, "]}");
}

char *
ct_plan_to_json(const CtPlan *plan)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text,
                           "{\n  \"workers\": %u, \"bytes\": %" G_GSIZE_FORMAT ", \"exact\": %s",
                           plan->n_workers, plan->bytes, plan->exact ? "true" : "false");
    append_number(text, "seconds", plan->seconds);
    g_string_append(text, ",\n  \"nodes\": [\n");
    for (guint n = 0; n < plan->nodes->len; n++) {
        append_node(text, node_at(plan, n));
        g_string_append(text, n + 1 < plan->nodes->len ? ",\n" : "\n");
    }
    g_string_append(text, "  ],\n  \"links\": [\n");
    for (guint l = 0; l < plan->links->len; l++) {
        append_link(text, link_at(plan, l));
        g_string_append(text, l + 1 < plan->links->len ? ",\n" : "\n");
    }
    g_string_append(text, "  ]\n}\n");
    return g_string_free(g_steal_pointer(&text), FALSE);
}
