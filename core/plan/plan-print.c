/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan as text, as a drawing for Graphviz, and as JSON. */
#include "graph/tuning.h"
#include "model/quantity.h"
#include "model/table.h"
#include "plan-footprint.h"
#include "plan-sizes.h"

#include <cornerturn/json.h>
#include <string.h>

/* The layouts of the connected ports, separated by commas. */
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

/* The samples that a firing makes; for a sink, those that it sees. */
static gint64
samples_per_firing(const CtPlanNode *node)
{
    for (guint i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] >= 0)
            return node->output_bindings[i].max_samples;
    }
    return node->n_inputs > 0 ? node->input_bindings[0].max_samples : 0;
}

/* "host", "cuda:1" */
static char *
describe_place(gint place)
{
    return place == CT_HOST ? g_strdup("host") : g_strdup_printf("cuda:%d", place);
}

/* Whether the program feeds the link, whose samples are then in the program's memory. */
static gboolean
is_fed(const CtPlan *plan, const CtPlanLink *link)
{
    return !ct_plan_node(plan, link->writer)->variant->work;
}

/* ---- text ---- */

static const CtColumn node_columns[] = {
    {"node", FALSE},   {"variant", FALSE},   {"place", FALSE}, {"layouts", FALSE},
    {"samples", TRUE}, {"operations", TRUE}, {"share", TRUE},
};

static char **
node_row(const CtPlan *plan, const CtPlanNode *node)
{
    g_autofree char *inputs = describe_ports(node->n_inputs, node->input_bindings, node->inputs);
    g_autofree char *outputs =
        describe_ports(node->n_outputs, node->output_bindings, node->outputs);
    char *const cells[] = {
        g_strdup_printf("%s%s", node->inserted ? "+ " : "", node->name),
        ct_tuning_name(node->variant, node->tuning),
        describe_place(node->place),
        *inputs && *outputs ? g_strdup_printf("%s -> %s", inputs, outputs)
        : *outputs          ? g_strdup_printf("-> %s", outputs)
                            : g_strdup_printf("%s ->", inputs),
        g_strdup_printf("%" G_GINT64_FORMAT, samples_per_firing(node)),
        node->operations > 0 ? g_strdup_printf("%.3g", node->operations) : g_strdup(""),
        g_strdup_printf("%.1f%%", 100 * ct_cost_longest(&node->cost) / MAX(plan->seconds, 1e-300)),
        NULL,
    };
    return g_memdup2(cells, sizeof(cells));
}

static const CtColumn buffer_columns[] = {
    {"buffer", FALSE}, {"read by", FALSE}, {"place", FALSE}, {"layout", FALSE}, {"firing", TRUE},
    {"holds", TRUE},   {"size", TRUE},     {"at", TRUE},     {"kind", FALSE},   {"room for", FALSE},
};

/* "filter", of a further port "filter.weights" */
static char *
buffer_name(const CtPlan *plan, const CtPlanLink *link)
{
    const CtPlanNode *writer = ct_plan_node(plan, link->writer);
    if (link->port == 0)
        return g_strdup(writer->name);
    const CtStage *stage = writer->nodes[writer->n_nodes - 1].stage;
    return g_strdup_printf("%s.%s", writer->name, stage->outputs[link->port].name);
}

static char **
buffer_row(const CtPlan *plan, const CtPlanLink *link)
{
    g_autoptr(GString) readers = g_string_new(NULL);
    for (guint r = 0; r < link->readers->len; r++)
        g_string_append_printf(
            readers, "%s%s", r ? ", " : "",
            ct_plan_node(plan, g_array_index(link->readers, CtPlanReader, r).node)->name);
    const gboolean has_place = link->place != CT_HOST && !is_fed(plan, link);
    char *const cells[] = {
        buffer_name(plan, link),
        g_strdup(readers->str),
        describe_place(link->place),
        ct_layout_to_string(&link->layout),
        g_strdup_printf("%" G_GINT64_FORMAT, link->max_samples),
        g_strdup_printf("%" G_GINT64_FORMAT, link->history + link->capacity),
        is_fed(plan, link) ? g_strdup("") : ct_format_bytes(link->bytes),
        has_place ? g_strdup_printf("%" G_GSIZE_FORMAT, link->offset) : g_strdup(""),
        g_strdup(is_fed(plan, link) ? "the program's"
                 : link->transient  ? "transient"
                                    : "ring"),
        is_fed(plan, link) ? g_strdup("") : ct_plan_explain_ring(link),
        NULL,
    };
    return g_memdup2(cells, sizeof(cells));
}

/* "cuda:0 (NVIDIA H200): 96.0 MiB of 140 GiB, 128 MiB if no buffers shared bytes" */
static void
print_totals(GString *text, const CtPlan *plan)
{
    g_autofree char *on_host = ct_format_bytes(plan->bytes);
    g_string_append_printf(text, "host: %s\n", on_host);
    for (guint d = 0; d < plan->n_devices; d++) {
        gsize apart = 0;
        for (guint l = 0; l < plan->links->len; l++) {
            const CtPlanLink *link = ct_plan_link(plan, l);
            apart += link->place == (gint)d && !is_fed(plan, link) ? link->bytes : 0;
        }
        if (plan->device_bytes[d] == 0)
            continue;
        g_autofree char *arena = ct_format_bytes(plan->device_bytes[d]);
        g_autofree char *memory = ct_format_bytes(plan->devices[d].memory_bytes);
        g_autofree char *otherwise = ct_format_bytes(apart);
        g_string_append_printf(text, "cuda:%u (%s): %s of %s", d, plan->devices[d].name, arena,
                               memory);
        if (apart > plan->device_bytes[d])
            g_string_append_printf(text, ", %s if no buffers shared bytes", otherwise);
        g_string_append_c(text, '\n');
    }
    g_autofree char *aim = ct_format_bytes(plan->device_aim);
    if (plan->n_devices > 0 && !ct_plan_asked_block(plan))
        g_string_append_printf(text, "the largest block of a firing there: about %s%s\n", aim,
                               plan->is_block_tuned ? ", tuned" : "");
    if (plan->shrunk)
        g_string_append_printf(text, "%s\n", plan->shrunk);
}

static const CtColumn busy_columns[] = {{"kept busy", FALSE}, {"seconds", TRUE}, {"share", TRUE}};

static void
add_busy(GPtrArray *rows, const CtPlan *plan, const char *name, gdouble seconds)
{
    char *const cells[] = {
        g_strdup(name),
        g_strdup_printf("%.3g", seconds),
        g_strdup_printf("%.1f%%", 100 * seconds / MAX(plan->seconds, 1e-300)),
        NULL,
    };
    g_ptr_array_add(rows, g_memdup2(cells, sizeof(cells)));
}

/* The seconds for which each resource is busy, for a second of stream, and the node that is the
 * longest on one thread. */
static void
print_busy(GString *text, const CtPlan *plan)
{
    g_autoptr(GPtrArray) rows = ct_table_rows_new();
    for (guint r = 0; r < plan->n_resources; r++) {
        g_autofree char *name = ct_resource_name(r);
        if (r == 0 || plan->busy[r] > 0)
            add_busy(rows, plan, name, plan->busy[r]);
    }
    const CtPlanNode *longest = ct_plan_longest_alone(plan);
    if (longest) {
        g_autofree char *name = g_strdup_printf("one thread, for '%s'", longest->name);
        add_busy(rows, plan, name, plan->alone);
    }
    ct_table_print(text, busy_columns, G_N_ELEMENTS(busy_columns), rows);
    g_string_append_c(text, '\n');
}

char *
ct_plan_to_text(const CtPlan *plan)
{
    g_autoptr(GPtrArray) nodes = ct_table_rows_new();
    g_autoptr(GPtrArray) buffers = ct_table_rows_new();
    guint n_inserted = 0;
    for (guint n = 0; n < plan->nodes->len; n++) {
        g_ptr_array_add(nodes, node_row(plan, ct_plan_node(plan, n)));
        n_inserted += ct_plan_node(plan, n)->inserted;
    }
    for (guint l = 0; l < plan->links->len; l++)
        g_ptr_array_add(buffers, buffer_row(plan, ct_plan_link(plan, l)));
    g_autoptr(GString) text = g_string_new(NULL);
    ct_table_print(text, node_columns, G_N_ELEMENTS(node_columns), nodes);
    g_string_append_c(text, '\n');
    ct_table_print(text, buffer_columns, G_N_ELEMENTS(buffer_columns), buffers);
    g_string_append_c(text, '\n');
    ct_plan_print_footprints(text, plan);
    print_totals(text, plan);
    g_string_append_c(text, '\n');
    print_busy(text, plan);
    g_string_append_printf(text, "%u nodes, %u of them inserted (+), %u worker%s", plan->nodes->len,
                           n_inserted, plan->n_workers, plan->n_workers == 1 ? "" : "s");
    if (plan->queues->len > 0)
        g_string_append_printf(text, ", %u queue%s of devices, %u block%s in flight",
                               plan->queues->len, plan->queues->len == 1 ? "" : "s",
                               plan->n_in_flight, plan->n_in_flight == 1 ? "" : "s");
    g_string_append_printf(text, "; predicted %.3g s for a second of stream", plan->seconds);
    if (plan->least < plan->seconds && plan->least > 0)
        g_string_append_printf(text, ", at most %.3g times the least", plan->seconds / plan->least);
    else if (plan->least < plan->seconds)
        g_string_append(text, "; the graph is too entangled to tell the least");
    g_string_append_c(text, '\n');
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* ---- Graphviz ---- */

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
append_dot_node(GString *text, const CtPlan *plan, guint n, const char *indent)
{
    const CtPlanNode *node = ct_plan_node(plan, n);
    g_autofree char *variant = ct_tuning_name(node->variant, node->tuning);
    g_autofree char *label = g_strdup_printf("%s\n%s", node->name, variant);
    g_string_append_printf(text, "%sn%u [label=", indent, n);
    append_quoted(text, label);
    g_string_append(text, node->inserted ? ", style=dashed];\n" : "];\n");
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
            append_dot_node(text, plan, n, "        ");
    }
    g_string_append(text, "    }\n");
}

char *
ct_plan_to_dot(const CtPlan *plan)
{
    g_autoptr(GString) text = g_string_new("digraph plan {\n    rankdir=LR;\n    node "
                                           "[shape=box];\n");
    for (guint n = 0; n < plan->nodes->len; n++) {
        if (ct_plan_node(plan, n)->place == CT_HOST)
            append_dot_node(text, plan, n, "    ");
    }
    for (guint d = 0; d < plan->n_devices; d++)
        append_cluster(text, plan, d);
    for (guint l = 0; l < plan->links->len; l++) {
        const CtPlanLink *link = ct_plan_link(plan, l);
        g_autofree char *layout = ct_layout_to_string(&link->layout);
        g_autofree char *axes = ct_stream_describe(link->stream);
        g_autofree char *size = ct_format_bytes(link->bytes);
        g_autofree char *label = g_strdup_printf("%s\n%s\n%s", layout, axes, size);
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
append_place(GString *text, gint place)
{
    g_autofree char *name = describe_place(place);
    g_string_append_printf(text, ", \"place\": \"%s\"", name);
}

/* An index; null where it is negative. */
static void
append_index(GString *text, const char *key, gint index)
{
    if (index < 0)
        g_string_append_printf(text, ", \"%s\": null", key);
    else
        g_string_append_printf(text, ", \"%s\": %d", key, index);
}

/* All tunables, including those with their default value. */
static void
append_tuning(GString *text, const CtPlanNode *node)
{
    g_string_append(text, ", \"tuning\": {");
    for (guint i = 0; i < ct_tuning_count(node->variant); i++)
        g_string_append_printf(text, "%s\"%s\": %" G_GINT64_FORMAT, i ? ", " : "",
                               node->variant->tunables[i].name, node->tuning[i]);
    g_string_append_c(text, '}');
}

/* The resources that are busy, by name. */
static void
append_busy(GString *text, const CtPlan *plan)
{
    g_string_append(text, ", \"busy\": {");
    for (guint r = 0; r < plan->n_resources; r++) {
        g_autofree char *name = ct_resource_name(r);
        g_string_append_printf(text, "%s\"%s\": ", r ? ", " : "", name);
        ct_json_append_real(text, plan->busy[r]);
    }
    const CtPlanNode *longest = ct_plan_longest_alone(plan);
    g_string_append(text, "}, \"alone\": {\"node\": ");
    if (longest)
        ct_json_append_string(text, longest->name);
    else
        g_string_append(text, "null");
    append_number(text, "seconds", plan->alone);
    g_string_append_c(text, '}');
}

static void
append_cost(GString *text, const CtCost *cost)
{
    append_number(text, "seconds", ct_cost_longest(cost));
    g_string_append(text, ", \"busy\": {");
    for (guint p = 0; p < cost->n_parts; p++) {
        g_autofree char *name = ct_resource_name(cost->parts[p].resource);
        g_string_append_printf(text, "%s\"%s\": ", p ? ", " : "", name);
        ct_json_append_real(text, cost->parts[p].seconds);
    }
    g_string_append_c(text, '}');
    append_number(text, "alone", cost->alone);
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
    append_tuning(text, node);
    append_place(text, node->place);
    append_index(text, "queue", node->queue);
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
    append_cost(text, &node->cost);
    append_number(text, "operations", node->operations);
    append_number(text, "bytes", node->bytes);
    g_string_append_c(text, '}');
}

static void
append_link(GString *text, const CtPlan *plan, const CtPlanLink *link)
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
                           ", \"bytes\": %" G_GSIZE_FORMAT ", \"skew\": %" G_GINT64_FORMAT,
                           link->max_samples, link->granule, link->history, link->capacity,
                           link->bytes, link->skew);
    g_string_append(text, ", \"circle\": ");
    if (link->circle)
        ct_json_append_string(text, link->circle);
    else
        g_string_append(text, "null");
    g_string_append(text, ", \"readers\": [");
    for (guint r = 0; r < link->readers->len; r++) {
        const CtPlanReader *reader = &g_array_index(link->readers, CtPlanReader, r);
        g_string_append_printf(text, "%s{\"node\": %u, \"port\": %u}", r ? ", " : "", reader->node,
                               reader->port);
    }
    g_string_append_c(text, ']');
    append_place(text, link->place);
    if (link->place != CT_HOST && !is_fed(plan, link))
        g_string_append_printf(text, ", \"offset\": %" G_GSIZE_FORMAT, link->offset);
    append_index(text, "group", link->transient ? link->group : -1);
    g_string_append_c(text, '}');
}

static void
append_devices(GString *text, const CtPlan *plan)
{
    static const char *const kinds[CT_N_QUEUE_KINDS] = {
        [CT_QUEUE_COMPUTE] = "compute",
        [CT_QUEUE_TO_DEVICE] = "to device",
        [CT_QUEUE_TO_HOST] = "to host",
        [CT_QUEUE_TO_PEER] = "to peer",
    };
    g_string_append(text, ",\n  \"queues\": [");
    for (guint q = 0; q < plan->queues->len; q++) {
        const CtPlanQueue *queue = &g_array_index(plan->queues, CtPlanQueue, q);
        g_string_append_printf(text, "%s{\"device\": %d, \"kind\": \"%s\"}", q ? ", " : "",
                               queue->device, kinds[queue->kind]);
    }
    g_string_append(text, "],\n  \"devices\": [");
    for (guint d = 0; d < plan->n_devices; d++) {
        g_string_append_printf(text, "%s{\"name\": ", d ? ", " : "");
        ct_json_append_string(text, plan->devices[d].name);
        g_string_append_printf(text,
                               ", \"bytes\": %" G_GSIZE_FORMAT ", \"memory\": %" G_GSIZE_FORMAT "}",
                               plan->device_bytes[d], plan->devices[d].memory_bytes);
    }
    g_string_append_c(text, ']');
    if (plan->n_devices > 0 && !ct_plan_asked_block(plan))
        g_string_append_printf(
            text, ",\n  \"device_block\": %" G_GSIZE_FORMAT ", \"device_block_tuned\": %s",
            plan->device_aim, plan->is_block_tuned ? "true" : "false");
}

char *
ct_plan_to_json(const CtPlan *plan)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(
        text, "{\n  \"workers\": %u, \"bytes\": %" G_GSIZE_FORMAT ", \"exact\": %s",
        plan->n_workers, plan->bytes, plan->least >= plan->seconds ? "true" : "false");
    append_number(text, "seconds", plan->seconds);
    append_number(text, "least", plan->least);
    g_string_append(text, ", \"shrunk\": ");
    if (plan->shrunk)
        ct_json_append_string(text, plan->shrunk);
    else
        g_string_append(text, "null");
    append_busy(text, plan);
    append_index(text, "in_flight", (gint)plan->n_in_flight);
    append_devices(text, plan);
    ct_plan_append_footprints(text, plan);
    g_string_append(text, ",\n  \"nodes\": [\n");
    for (guint n = 0; n < plan->nodes->len; n++) {
        append_node(text, ct_plan_node(plan, n));
        g_string_append(text, n + 1 < plan->nodes->len ? ",\n" : "\n");
    }
    g_string_append(text, "  ],\n  \"links\": [\n");
    for (guint l = 0; l < plan->links->len; l++) {
        append_link(text, plan, ct_plan_link(plan, l));
        g_string_append(text, l + 1 < plan->links->len ? ",\n" : "\n");
    }
    g_string_append(text, "  ]\n}\n");
    return g_string_free(g_steal_pointer(&text), FALSE);
}
