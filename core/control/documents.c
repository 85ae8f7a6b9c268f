/* SPDX-License-Identifier: BSD-3-Clause */
/* What clients read: parts of one snapshot of the statistics. */
#include "control-private.h"

#include <cornerturn/json.h>

/* A snapshot serves so long: a run does not gather statistics for every request of many. */
enum { MICROSECONDS_OF_SNAPSHOT = 100000 };

static void
take_snapshot(CtControl *control)
{
    const gint64 now = g_get_monotonic_time();
    if (control->stats && now - control->stats_time < MICROSECONDS_OF_SNAPSHOT)
        return;
    g_clear_pointer(&control->stats, json_node_unref);
    g_free(control->stats_text);
    control->stats_text = ct_pipeline_stats_line(control->pipeline);
    control->stats = json_from_string(control->stats_text, NULL);
    control->stats_time = now;
}

JsonObject *
ct_control_stats(CtControl *control)
{
    take_snapshot(control);
    return json_node_get_object(control->stats);
}

const char *
ct_control_stats_text(CtControl *control)
{
    take_snapshot(control);
    return control->stats_text;
}

/* ---- copying ---- */

static void
copy_value(CtJson *json, const char *key, JsonNode *value)
{
    const GType type = JSON_NODE_HOLDS_VALUE(value) ? json_node_get_value_type(value) : G_TYPE_NONE;
    if (type == G_TYPE_INT64)
        ct_json_add_integer(json, key, json_node_get_int(value));
    else if (type == G_TYPE_DOUBLE)
        ct_json_add_real(json, key, json_node_get_double(value));
    else if (type == G_TYPE_BOOLEAN)
        ct_json_add_boolean(json, key, json_node_get_boolean(value));
    else
        ct_json_add_text(json, key, type == G_TYPE_STRING ? json_node_get_string(value) : NULL);
}

static void copy_members(CtJson *json, JsonObject *object);

/* json-glib itself would write other digits. */
static void
copy_node(CtJson *json, const char *key, JsonNode *node)
{
    if (JSON_NODE_HOLDS_OBJECT(node)) {
        ct_json_begin_object(json, key);
        copy_members(json, json_node_get_object(node));
        ct_json_end_object(json);
    } else if (JSON_NODE_HOLDS_ARRAY(node)) {
        JsonArray *array = json_node_get_array(node);
        ct_json_begin_array(json, key);
        for (guint i = 0; i < json_array_get_length(array); i++)
            copy_node(json, NULL, json_array_get_element(array, i));
        ct_json_end_array(json);
    } else {
        copy_value(json, key, node);
    }
}

static void
copy_members(CtJson *json, JsonObject *object)
{
    JsonObjectIter iterator;
    const char *name;
    JsonNode *value;
    json_object_iter_init_ordered(&iterator, object);
    while (json_object_iter_next_ordered(&iterator, &name, &value))
        copy_node(json, name, value);
}

/* ---- documents ---- */

char *
ct_control_state(CtControl *control)
{
    static const char *const names[] = {"state", "error", "stream_seconds", "running_seconds",
                                        "workers"};
    JsonObject *stats = ct_control_stats(control);
    g_autoptr(JsonNode) graph = json_from_string(control->graph, NULL);
    const gint64 open = g_get_monotonic_time() - control->opened;
    CtJson *json = ct_json_new();
    ct_json_add_text(json, "graph",
                     json_object_get_string_member(json_node_get_object(graph), "name"));
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        copy_node(json, names[i], json_object_get_member(stats, names[i]));
    ct_json_add_boolean(json, "ending", ct_control_was_ended(control));
    ct_json_add_integer(json, "warnings",
                        json_array_get_length(json_object_get_array_member(stats, "warnings")));
    ct_json_add_real(json, "uptime_seconds", (gdouble)open / G_USEC_PER_SEC);
    ct_json_add_text(json, "version", CT_VERSION);
    return ct_json_free_to_text(json, FALSE);
}

char *
ct_control_warnings(CtControl *control)
{
    CtJson *json = ct_json_new();
    copy_node(json, "warnings", json_object_get_member(ct_control_stats(control), "warnings"));
    return ct_json_free_to_text(json, FALSE);
}

char *
ct_control_node(CtControl *control, const char *name)
{
    JsonArray *nodes = json_object_get_array_member(ct_control_stats(control), "nodes");
    for (guint i = 0; i < json_array_get_length(nodes); i++) {
        JsonObject *node = json_array_get_object_element(nodes, i);
        if (!g_str_equal(json_object_get_string_member(node, "name"), name))
            continue;
        CtJson *json = ct_json_new();
        copy_members(json, node);
        return ct_json_free_to_text(json, FALSE);
    }
    return NULL;
}
