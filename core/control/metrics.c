/* SPDX-License-Identifier: BSD-3-Clause */
/* The statistics in the text format of Prometheus. */
#include "control-private.h"

#include <string.h>

static void
begin(GString *text, const char *name, const char *type, const char *help)
{
    g_string_append_printf(text, "# HELP cornerturn_%s %s\n# TYPE cornerturn_%s %s\n", name, help,
                           name, type);
}

static void
add_label(GString *text, const char *name, const char *value, gboolean is_first)
{
    g_string_append_printf(text, "%s%s=\"", is_first ? "{" : ",", name);
    for (; *value; value++) {
        if (*value == '\n')
            g_string_append(text, "\\n");
        else
            g_string_append_printf(text, "%s%c", strchr("\\\"", *value) ? "\\" : "", *value);
    }
    g_string_append_c(text, '"');
}

static void
add_number(GString *text, JsonNode *value)
{
    char digits[G_ASCII_DTOSTR_BUF_SIZE];
    if (json_node_get_value_type(value) == G_TYPE_DOUBLE)
        g_string_append(text, g_ascii_dtostr(digits, sizeof digits, json_node_get_double(value)));
    else
        g_string_append_printf(text, "%" G_GINT64_FORMAT, json_node_get_int(value));
    g_string_append_c(text, '\n');
}

static void
add_plain(GString *text, const char *name, const char *type, const char *help, JsonNode *value)
{
    begin(text, name, type, help);
    g_string_append_printf(text, "cornerturn_%s ", name);
    add_number(text, value);
}

/* ---- of the run ---- */

static void
add_state(GString *text, const char *state)
{
    static const char *const names[] = {"running", "complete", "interrupted", "failed"};
    begin(text, "state", "gauge", "1 for the state of the run.");
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_string_append(text, "cornerturn_state");
        add_label(text, "state", names[i], TRUE);
        g_string_append_printf(text, "} %d\n", g_str_equal(names[i], state));
    }
}

static void
add_info(GString *text, const CtControl *control)
{
    g_autoptr(JsonNode) graph = json_from_string(control->graph, NULL);
    begin(text, "info", "gauge", "The version and the graph, with the value 1.");
    g_string_append(text, "cornerturn_info");
    add_label(text, "version", CT_VERSION, TRUE);
    add_label(text, "graph", json_object_get_string_member(json_node_get_object(graph), "name"),
              FALSE);
    g_string_append(text, "} 1\n");
}

static void
add_run(GString *text, JsonObject *stats)
{
    static const struct {
        const char *member, *name, *type, *help;
    } rows[] = {
        {"stream_seconds", "stream_seconds_total", "counter",
         "Seconds of stream that the sources have given."},
        {"running_seconds", "running_seconds_total", "counter", "Seconds since the start."},
        {"workers", "workers", "gauge", "Threads that share the work."},
    };
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
        add_plain(text, rows[i].name, rows[i].type, rows[i].help,
                  json_object_get_member(stats, rows[i].member));
    JsonArray *warnings = json_object_get_array_member(stats, "warnings");
    begin(text, "warnings", "gauge", "Warnings of the graph, of the plan and of the run.");
    g_string_append_printf(text, "cornerturn_warnings %u\n", json_array_get_length(warnings));
}

/* ---- of nodes ---- */

static const struct {
    const char *member, *name, *type, *help;
} of_nodes[] = {
    {"samples", "node_samples_total", "counter", "Samples that the node has given."},
    {"invalid", "node_invalid_samples_total", "counter",
     "Invalid samples among these, in each lane."},
    {"bytes", "node_bytes_total", "counter", "Bytes that the node has read and written."},
    {"operations", "node_operations_total", "counter", "Operations of the node."},
    {"firings", "node_blocks_total", "counter", "Blocks on which the node has worked."},
    {"work_seconds", "node_work_seconds_total", "counter",
     "Seconds of work, summed over the workers."},
    {"core_seconds", "node_core_seconds_total", "counter",
     "Seconds that the core took for the node."},
    {"queue", "node_queue_ratio", "gauge", "How full the fullest input ring of the node is."},
};

static void
add_node_labels(GString *text, JsonObject *node)
{
    add_label(text, "node", json_object_get_string_member(node, "name"), TRUE);
    add_label(text, "stage", json_object_get_string_member(node, "stage"), FALSE);
}

static void
add_nodes(GString *text, JsonArray *nodes)
{
    for (guint r = 0; r < G_N_ELEMENTS(of_nodes); r++) {
        begin(text, of_nodes[r].name, of_nodes[r].type, of_nodes[r].help);
        for (guint i = 0; i < json_array_get_length(nodes); i++) {
            JsonObject *node = json_array_get_object_element(nodes, i);
            g_string_append_printf(text, "cornerturn_%s", of_nodes[r].name);
            add_node_labels(text, node);
            add_label(text, "variant", json_object_get_string_member(node, "variant"), FALSE);
            g_string_append(text, "} ");
            add_number(text, json_object_get_member(node, of_nodes[r].member));
        }
    }
}

/* Adds the counters of a node, or of its lane. */
static void
add_counters(GString *text, const char *name, JsonObject *node, const char *lane,
             JsonObject *counters)
{
    JsonObjectIter iterator;
    const char *counter;
    JsonNode *value;
    json_object_iter_init_ordered(&iterator, counters);
    while (json_object_iter_next_ordered(&iterator, &counter, &value)) {
        g_string_append_printf(text, "cornerturn_%s", name);
        add_node_labels(text, node);
        if (lane)
            add_label(text, "lane", lane, FALSE);
        add_label(text, "counter", counter, FALSE);
        g_string_append(text, "} ");
        add_number(text, value);
    }
}

static void
add_all_counters(GString *text, JsonArray *nodes)
{
    begin(text, "node_counter_total", "counter", "Counters of the node's stage, such as losses.");
    for (guint i = 0; i < json_array_get_length(nodes); i++) {
        JsonObject *node = json_array_get_object_element(nodes, i);
        add_counters(text, "node_counter_total", node, NULL,
                     json_object_get_object_member(node, "counters"));
    }
    begin(text, "lane_counter_total", "counter", "The same by lanes: ports, files, stations.");
    for (guint i = 0; i < json_array_get_length(nodes); i++) {
        JsonObject *node = json_array_get_object_element(nodes, i);
        JsonArray *lanes = json_object_has_member(node, "accounts")
                               ? json_object_get_array_member(node, "accounts")
                               : NULL;
        for (guint k = 0; lanes && k < json_array_get_length(lanes); k++) {
            JsonObject *lane = json_array_get_object_element(lanes, k);
            add_counters(text, "lane_counter_total", node,
                         json_object_get_string_member(lane, "name"),
                         json_object_get_object_member(lane, "counters"));
        }
    }
}

char *
ct_control_metrics(CtControl *control)
{
    JsonObject *stats = ct_control_stats(control);
    JsonArray *nodes = json_object_get_array_member(stats, "nodes");
    GString *text = g_string_new(NULL);
    add_info(text, control);
    add_state(text, json_object_get_string_member(stats, "state"));
    add_run(text, stats);
    add_nodes(text, nodes);
    add_all_counters(text, nodes);
    return g_string_free(text, FALSE);
}
