/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of `cornerturn top`, from the statistics of a run. */
#include "top.h"

#include "control/control.h"

#include <string.h>

enum { BAR = 10 };

static JsonNode *
fetch(const char *address, const char *path, GError **error)
{
    g_autofree char *text = ct_control_fetch(address, path, error);
    JsonNode *node = text ? json_from_string(text, NULL) : NULL;
    if (text && (!node || !JSON_NODE_HOLDS_OBJECT(node))) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: %s is no object of JSON", address, path);
        g_clear_pointer(&node, json_node_unref);
    }
    return node;
}

gboolean
ct_top_read(CtTop *top, const char *address, GError **error)
{
    JsonNode *state = fetch(address, "/api/v1/state", error);
    JsonNode *now = state ? fetch(address, "/api/v1/statistics", error) : NULL;
    if (!now) {
        g_clear_pointer(&state, json_node_unref);
        return FALSE;
    }
    g_clear_pointer(&top->state, json_node_unref);
    g_clear_pointer(&top->before, json_node_unref);
    top->state = state;
    top->before = top->now;
    top->now = now;
    return TRUE;
}

void
ct_top_clear(CtTop *top)
{
    g_clear_pointer(&top->state, json_node_unref);
    g_clear_pointer(&top->before, json_node_unref);
    g_clear_pointer(&top->now, json_node_unref);
}

/* ---- reading ---- */

/* What is missing or of another kind is 0, an empty text, NULL. */

static JsonNode *
value(JsonObject *object, const char *name)
{
    JsonNode *found = object ? json_object_get_member(object, name) : NULL;
    return found && JSON_NODE_HOLDS_VALUE(found) ? found : NULL;
}

static gdouble
number(JsonObject *object, const char *name)
{
    JsonNode *found = value(object, name);
    return found ? json_node_get_double(found) : 0;
}

static const char *
word(JsonObject *object, const char *name)
{
    JsonNode *found = value(object, name);
    const char *text = found ? json_node_get_string(found) : NULL;
    return text ? text : "";
}

static JsonObject *
object(JsonNode *node)
{
    return node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

static guint
count_nodes(JsonNode *document)
{
    JsonNode *found = document ? json_object_get_member(object(document), "nodes") : NULL;
    return found && JSON_NODE_HOLDS_ARRAY(found) ? json_array_get_length(json_node_get_array(found))
                                                 : 0;
}

static JsonObject *
node_at(JsonNode *document, guint i)
{
    JsonArray *nodes = json_object_get_array_member(object(document), "nodes");
    return object(json_array_get_element(nodes, i));
}

/* The node with the same name in other statistics. */
static JsonObject *
find_node(JsonNode *document, const char *name)
{
    for (guint i = 0; i < count_nodes(document); i++)
        if (g_str_equal(word(node_at(document, i), "name"), name))
            return node_at(document, i);
    return NULL;
}

/* ---- writing ---- */

static void
append_state(GString *text, JsonObject *state)
{
    const gdouble stream = number(state, "stream_seconds"), wall = number(state, "running_seconds");
    JsonNode *ending = value(state, "ending");
    g_string_append_printf(text, "%s: %s%s, %.3f s of stream, %.3g × real time, %.0f workers",
                           word(state, "graph"), word(state, "state"),
                           ending && json_node_get_boolean(ending) ? ", ending" : "", stream,
                           wall > 0 ? stream / wall : 0, number(state, "workers"));
    if (number(state, "warnings") > 0)
        g_string_append_printf(text, ", %.0f warnings", number(state, "warnings"));
    g_string_append(text, "\n\n");
}

/* "[####      ]" */
static void
append_bar(GString *text, gdouble share)
{
    g_string_append_c(text, '[');
    for (gint i = 0; i < BAR; i++)
        g_string_append_c(text, i < (gint)(share * BAR + 0.5) ? '#' : ' ');
    g_string_append_c(text, ']');
}

/* The counters that are not 0, " late 3". */
static void
append_counters(GString *text, JsonObject *node)
{
    JsonObject *counters = node ? object(json_object_get_member(node, "counters")) : NULL;
    JsonObjectIter iterator;
    const char *name;
    JsonNode *counter;
    if (number(node, "invalid") > 0)
        g_string_append_printf(text, " invalid %.0f", number(node, "invalid"));
    if (!counters)
        return;
    json_object_iter_init_ordered(&iterator, counters);
    while (json_object_iter_next_ordered(&iterator, &name, &counter))
        if (number(counters, name) > 0)
            g_string_append_printf(text, " %s %.0f", name, number(counters, name));
}

static void
append_node(GString *text, JsonObject *node, JsonObject *before, gdouble seconds, gint width)
{
    const gdouble per_second = seconds > 0 ? 1 / seconds : 0;
    g_string_append_printf(
        text, "%-*s  %-16s %10.3f %8.3f %6.0f  ", width, word(node, "name"), word(node, "variant"),
        (number(node, "samples") - number(before, "samples")) * per_second * 1e-6,
        (number(node, "bytes") - number(before, "bytes")) * per_second * 1e-9,
        100 * (number(node, "work_seconds") - number(before, "work_seconds")) * per_second);
    append_bar(text, number(node, "queue"));
    append_counters(text, node);
    g_string_append_c(text, '\n');
}

char *
ct_top_to_text(const CtTop *top)
{
    GString *text = g_string_new(NULL);
    const guint n = count_nodes(top->now);
    const gdouble seconds = number(object(top->now), "running_seconds") -
                            number(object(top->before), "running_seconds");
    gint width = 4;
    for (guint i = 0; i < n; i++)
        width = MAX(width, (gint)strlen(word(node_at(top->now, i), "name")));
    append_state(text, object(top->state));
    g_string_append_printf(text, "%-*s  %-16s %10s %8s %6s  %-*s counters\n", width, "node",
                           "variant", "Msample/s", "GB/s", "work %", BAR + 2, "queue");
    for (guint i = 0; i < n; i++) {
        JsonObject *node = node_at(top->now, i);
        append_node(text, node, find_node(top->before, word(node, "name")), seconds, width);
    }
    g_string_append(text, "\nq ends\n");
    return g_string_free(text, FALSE);
}
