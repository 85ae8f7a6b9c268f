/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan as text and as JSON. */
#include "graph/tuning.h"
#include "model/quantity.h"
#include "model/table.h"
#include "plan-footprint.h"
#include "plan-processors.h"
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

char *
ct_plan_place_name(gint place, gint numa)
{
    if (place != CT_HOST)
        return g_strdup_printf("cuda:%d", place);
    return numa == CT_NO_NUMA ? g_strdup("host") : g_strdup_printf("host, NUMA %d", numa);
}

gboolean
ct_plan_is_fed(const CtPlan *plan, const CtPlanLink *link)
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
        ct_plan_place_name(node->place, node->numa),
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

char *
ct_plan_link_name(const CtPlan *plan, const CtPlanLink *link)
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
    const gboolean has_place = link->place != CT_HOST && !ct_plan_is_fed(plan, link);
    char *const cells[] = {
        ct_plan_link_name(plan, link),
        g_strdup(readers->str),
        ct_plan_place_name(link->place, link->numa),
        ct_layout_to_string(&link->layout),
        g_strdup_printf("%" G_GINT64_FORMAT, link->max_samples),
        g_strdup_printf("%" G_GINT64_FORMAT, link->history + link->capacity),
        ct_plan_is_fed(plan, link) ? g_strdup("") : ct_format_bytes(link->bytes),
        has_place ? g_strdup_printf("%" G_GSIZE_FORMAT, link->offset) : g_strdup(""),
        g_strdup(ct_plan_is_fed(plan, link) ? "the program's"
                 : link->transient          ? "transient"
                                            : "ring"),
        ct_plan_is_fed(plan, link) ? g_strdup("") : ct_plan_explain_ring(link),
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
    ct_plan_print_processors(text, plan);
    for (guint d = 0; d < plan->n_devices; d++) {
        gsize apart = 0;
        for (guint l = 0; l < plan->links->len; l++) {
            const CtPlanLink *link = ct_plan_link(plan, l);
            apart += link->place == (gint)d && !ct_plan_is_fed(plan, link) ? link->bytes : 0;
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
        if (plan->numas[d] != CT_NO_NUMA)
            g_string_append_printf(text, ", next to NUMA node %d", plan->numas[d]);
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

/* ---- JSON ---- */

/* An index; null where it is negative. */
static void
add_index(CtJson *json, const char *key, gint index)
{
    if (index < 0)
        ct_json_add_text(json, key, NULL);
    else
        ct_json_add_integer(json, key, index);
}

static void
add_links(CtJson *json, const char *key, guint n, const gint *links)
{
    ct_json_begin_array(json, key);
    for (guint i = 0; i < n; i++)
        add_index(json, NULL, links[i]);
    ct_json_end_array(json);
}

static void
add_place(CtJson *json, gint place, gint numa)
{
    g_autofree char *name = ct_plan_place_name(place, CT_NO_NUMA);
    ct_json_add_text(json, "place", name);
    add_index(json, "numa", numa);
}

/* All tunables, including those with their default value. */
static void
add_tuning(CtJson *json, const CtPlanNode *node)
{
    ct_json_begin_object(json, "tuning");
    for (guint i = 0; i < ct_tuning_count(node->variant); i++)
        ct_json_add_integer(json, node->variant->tunables[i].name, node->tuning[i]);
    ct_json_end_object(json);
}

static void
add_busy_seconds(CtJson *json, guint resource, gdouble seconds)
{
    g_autofree char *name = ct_resource_name(resource);
    ct_json_add_real(json, name, seconds);
}

/* The resources that are busy, by name, and the node that takes longest by itself. */
static void
add_resources(CtJson *json, const CtPlan *plan)
{
    const CtPlanNode *longest = ct_plan_longest_alone(plan);
    ct_json_begin_object(json, "busy");
    for (guint r = 0; r < plan->n_resources; r++)
        add_busy_seconds(json, r, plan->busy[r]);
    ct_json_end_object(json);
    ct_json_begin_object(json, "alone");
    ct_json_add_text(json, "node", longest ? longest->name : NULL);
    ct_json_add_real(json, "seconds", plan->alone);
    ct_json_end_object(json);
}

static void
add_cost(CtJson *json, const CtCost *cost)
{
    ct_json_add_real(json, "seconds", ct_cost_longest(cost));
    ct_json_begin_object(json, "busy");
    for (guint p = 0; p < cost->n_parts; p++)
        add_busy_seconds(json, cost->parts[p].resource, cost->parts[p].seconds);
    ct_json_end_object(json);
    ct_json_add_real(json, "alone", cost->alone);
}

static void
add_node(CtJson *json, const CtPlanNode *node)
{
    ct_json_begin_object(json, NULL);
    ct_json_add_text(json, "name", node->name);
    ct_json_begin_array(json, "stages");
    for (guint k = 0; k < node->n_nodes; k++)
        ct_json_add_text(json, NULL, node->nodes[k].stage->name);
    ct_json_end_array(json);
    ct_json_add_text(json, "variant", node->variant->name);
    ct_json_add_boolean(json, "inserted", node->inserted);
    add_tuning(json, node);
    add_place(json, node->place, node->numa);
    add_index(json, "queue", node->queue);
    add_links(json, "inputs", node->n_inputs, node->inputs);
    add_links(json, "outputs", node->n_outputs, node->outputs);
    ct_json_begin_array(json, "input_layouts");
    for (guint i = 0; i < node->n_inputs; i++) {
        g_autofree char *layout = ct_layout_to_string(&node->input_bindings[i].layout);
        ct_json_add_text(json, NULL, node->inputs[i] < 0 ? NULL : layout);
    }
    ct_json_end_array(json);
    ct_json_add_integer(json, "window", node->footprint.window);
    ct_json_add_integer(json, "hop", node->footprint.hop);
    add_cost(json, &node->cost);
    ct_json_add_real(json, "operations", node->operations);
    ct_json_add_real(json, "bytes", node->bytes);
    ct_json_end_object(json);
}

static void
add_readers(CtJson *json, const CtPlanLink *link)
{
    ct_json_begin_array(json, "readers");
    for (guint r = 0; r < link->readers->len; r++) {
        const CtPlanReader *reader = &g_array_index(link->readers, CtPlanReader, r);
        ct_json_begin_object(json, NULL);
        ct_json_add_integer(json, "node", reader->node);
        ct_json_add_integer(json, "port", reader->port);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
}

static void
add_link(CtJson *json, const CtPlan *plan, const CtPlanLink *link)
{
    g_autofree char *layout = ct_layout_to_string(&link->layout);
    g_autofree char *axes = ct_stream_describe(link->stream);
    ct_json_begin_object(json, NULL);
    ct_json_add_integer(json, "writer", link->writer);
    ct_json_add_integer(json, "port", link->port);
    ct_json_add_text(json, "layout", layout);
    ct_json_add_text(json, "shape", axes);
    ct_json_add_integer(json, "max_samples", link->max_samples);
    ct_json_add_integer(json, "granule", link->granule);
    ct_json_add_integer(json, "history", link->history);
    ct_json_add_integer(json, "capacity", link->capacity);
    ct_json_add_integer(json, "bytes", (gint64)link->bytes);
    ct_json_add_integer(json, "skew", link->skew);
    ct_json_add_text(json, "circle", link->circle);
    add_readers(json, link);
    add_place(json, link->place, link->numa);
    if (link->place != CT_HOST && !ct_plan_is_fed(plan, link))
        ct_json_add_integer(json, "offset", (gint64)link->offset);
    add_index(json, "group", link->transient ? link->group : -1);
    ct_json_end_object(json);
}

static void
add_devices(CtJson *json, const CtPlan *plan)
{
    static const char *const kinds[CT_N_QUEUE_KINDS] = {
        [CT_QUEUE_COMPUTE] = "compute",
        [CT_QUEUE_TO_DEVICE] = "to device",
        [CT_QUEUE_TO_HOST] = "to host",
        [CT_QUEUE_TO_PEER] = "to peer",
    };
    ct_json_begin_array(json, "queues");
    for (guint q = 0; q < plan->queues->len; q++) {
        const CtPlanQueue *queue = &g_array_index(plan->queues, CtPlanQueue, q);
        ct_json_begin_object(json, NULL);
        ct_json_add_integer(json, "device", queue->device);
        ct_json_add_text(json, "kind", kinds[queue->kind]);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
    ct_json_begin_array(json, "devices");
    for (guint d = 0; d < plan->n_devices; d++) {
        ct_json_begin_object(json, NULL);
        ct_json_add_text(json, "name", plan->devices[d].name);
        ct_json_add_integer(json, "bytes", (gint64)plan->device_bytes[d]);
        ct_json_add_integer(json, "memory", (gint64)plan->devices[d].memory_bytes);
        add_index(json, "numa", plan->numas[d]);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
    if (plan->n_devices > 0 && !ct_plan_asked_block(plan)) {
        ct_json_add_integer(json, "device_block", (gint64)plan->device_aim);
        ct_json_add_boolean(json, "device_block_tuned", plan->is_block_tuned);
    }
}

char *
ct_plan_to_json(const CtPlan *plan)
{
    CtJson *json = ct_json_new();
    ct_json_add_integer(json, "workers", plan->n_workers);
    ct_plan_add_processors(json, plan);
    ct_json_add_integer(json, "bytes", (gint64)plan->bytes);
    ct_json_add_boolean(json, "exact", plan->least >= plan->seconds);
    ct_json_add_real(json, "seconds", plan->seconds);
    ct_json_add_real(json, "least", plan->least);
    ct_json_add_text(json, "shrunk", plan->shrunk);
    add_resources(json, plan);
    add_index(json, "in_flight", (gint)plan->n_in_flight);
    add_devices(json, plan);
    ct_plan_add_footprints(json, plan);
    ct_json_begin_array(json, "nodes");
    for (guint n = 0; n < plan->nodes->len; n++)
        add_node(json, ct_plan_node(plan, n));
    ct_json_end_array(json);
    ct_json_begin_array(json, "links");
    for (guint l = 0; l < plan->links->len; l++)
        add_link(json, plan, ct_plan_link(plan, l));
    ct_json_end_array(json);
    return ct_json_free_to_text(json, TRUE);
}
