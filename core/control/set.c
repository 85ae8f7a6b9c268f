/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes of parameters that clients ask for. */
#include "control-private.h"

#include <cornerturn/json.h>
#include <errno.h>
#include <string.h>

enum { MOST_DEPTH = 8 };

/* A change, as a client asks for it. */
typedef struct {
    const char *assignment;
    const char *utc; /* NULL: none is given */
    gboolean has_tick;
    gint64 tick;
} Wanted;

static gboolean refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static gboolean
refuse(GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (error)
        *error = g_error_new_valist(CT_ERROR, CT_ERROR_PARAMETER, format, arguments);
    va_end(arguments);
    return FALSE;
}

/* Whether json-glib would read another number or text than the body has: integers beyond 64 bits
 * wrap, and a text ends at a NUL. */
static gboolean
is_misread(const char *body, gsize length)
{
    g_autofree char *text = g_strndup(body, length);
    if (strstr(text, "\\u0000"))
        return TRUE;
    for (char *at = text; (at = strpbrk(at, "0123456789"));) {
        errno = 0;
        if (g_ascii_strtoll(at, &at, 10) == G_MAXINT64 && errno == ERANGE)
            return TRUE;
    }
    return FALSE;
}

/* The body is an object; NULL with an error: it is not. */
static JsonNode *
parse(const char *body, gsize length, GError **error)
{
    g_autoptr(JsonParser) parser = json_parser_new_immutable();
    g_autoptr(GError) cause = NULL;
    if (ct_json_depth(body, length) > MOST_DEPTH)
        refuse(error, "the body has more than %d objects in one another", MOST_DEPTH);
    else if (is_misread(body, length))
        refuse(error, "the body wants integers of 64 bits, and texts without NUL");
    else if (!json_parser_load_from_data(parser, body, (gssize)length, &cause))
        refuse(error, "the body wants JSON: %s", cause->message);
    else if (!json_parser_get_root(parser) || !JSON_NODE_HOLDS_OBJECT(json_parser_get_root(parser)))
        refuse(error, "the body wants an object {\"assignment\": …}");
    else
        return json_node_ref(json_parser_get_root(parser));
    return NULL;
}

static gboolean
read_text(const char **text, const char *name, JsonNode *value, GError **error)
{
    if (json_node_get_value_type(value) != G_TYPE_STRING)
        return refuse(error, "'%s' wants a text", name);
    *text = json_node_get_string(value);
    return TRUE;
}

static gboolean
read_wanted(Wanted *wanted, JsonObject *body, GError **error)
{
    JsonObjectIter iterator;
    const char *name;
    JsonNode *value;
    json_object_iter_init(&iterator, body);
    while (json_object_iter_next(&iterator, &name, &value)) {
        if (g_str_equal(name, "assignment") || g_str_equal(name, "utc")) {
            const char **text = name[0] == 'a' ? &wanted->assignment : &wanted->utc;
            if (!read_text(text, name, value, error))
                return FALSE;
        } else if (!g_str_equal(name, "tick")) {
            return refuse(error,
                          "the body wants 'assignment', and 'tick' or 'utc' or neither, but "
                          "is given '%s'",
                          name);
        } else if (json_node_get_value_type(value) != G_TYPE_INT64) {
            return refuse(error, "'tick' wants an integer");
        } else {
            wanted->has_tick = TRUE;
            wanted->tick = json_node_get_int(value);
        }
    }
    if (!wanted->assignment)
        return refuse(error, "the body wants 'assignment', \"NODE.PARAMETER=VALUE\"");
    if (wanted->has_tick && wanted->utc)
        return refuse(error, "the body wants one of 'tick' and 'utc', but is given both");
    return TRUE;
}

static gboolean
apply(CtControl *control, Wanted *wanted, GError **error)
{
    CtPipeline *pipeline = control->pipeline;
    if (wanted->has_tick)
        return ct_pipeline_set_at(pipeline, wanted->assignment, wanted->tick, error);
    if (wanted->utc)
        return ct_pipeline_set_at_time(pipeline, wanted->assignment, wanted->utc, &wanted->tick,
                                       error);
    return ct_pipeline_set_now(pipeline, wanted->assignment, &wanted->tick, error);
}

/* Without the name of the function, which the client has not called. */
static void
fail(const GError *cause, GError **error)
{
    const char *colon = strstr(cause->message, ": ");
    const gboolean is_named = colon && g_str_has_prefix(cause->message, "ct_pipeline_");
    g_set_error_literal(error, cause->domain, cause->code, is_named ? colon + 2 : cause->message);
}

char *
ct_control_set(CtControl *control, const char *body, gsize length, guint *status, GError **error)
{
    Wanted wanted = {0};
    g_autoptr(GError) cause = NULL;
    g_autoptr(JsonNode) node = parse(body ? body : "", length, error);
    if (!node) {
        *status = SOUP_STATUS_BAD_REQUEST;
        return NULL;
    }
    if (!read_wanted(&wanted, json_node_get_object(node), &cause) ||
        !apply(control, &wanted, &cause)) {
        *status = g_error_matches(cause, CT_ERROR, CT_ERROR_ORDER)
                      ? SOUP_STATUS_CONFLICT
                      : SOUP_STATUS_UNPROCESSABLE_ENTITY;
        fail(cause, error);
        return NULL;
    }
    CtJson *json = ct_json_new();
    ct_json_add_text(json, "assignment", wanted.assignment);
    ct_json_add_integer(json, "tick", wanted.tick);
    return ct_json_free_to_text(json, FALSE);
}
