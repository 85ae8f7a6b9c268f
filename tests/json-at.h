/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks values up in JSON, for tests. */
#pragma once

#include <json-glib/json-glib.h>

/* The values that a JSONPath selects: a JsonArray, to be unreferenced. */
static inline JsonArray *
json_select(const char *text, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonNode) root = json_from_string(text, &error);
    g_assert_no_error(error);
    g_autoptr(JsonNode) found = json_path_query(path, root, &error);
    g_assert_no_error(error);
    return json_node_dup_array(found);
}

/* The same as text, without spaces: `[{"device":0}]`. Allocated. */
static inline char *
json_at(const char *text, const char *path)
{
    g_autoptr(JsonNode) found = json_node_new(JSON_NODE_ARRAY);
    json_node_take_array(found, json_select(text, path));
    return json_to_string(found, FALSE);
}

#define assert_json(text, path, wanted)                                                            \
    do {                                                                                           \
        g_autofree char *found = json_at(text, path);                                              \
        g_assert_cmpstr(found, ==, wanted);                                                        \
    } while (0)
