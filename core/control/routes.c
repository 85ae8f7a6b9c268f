/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: who may ask, the table of what there is, and the replies. */
#include "control-private.h"

#include <cornerturn/json.h>
#include <string.h>

static const char json_type[] = "application/json";
static const char script_type[] = "text/javascript; charset=utf-8";
static const char metrics_type[] = "text/plain; version=0.0.4; charset=utf-8";

/* What a page may do: only what it loads from here. */
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static void
add_header(SoupServerMessage *message, const char *name, const char *value)
{
    soup_message_headers_replace(soup_server_message_get_response_headers(message), name, value);
}

static void
reply(SoupServerMessage *message, guint status, const char *type, const char *text, gsize length)
{
    add_header(message, "Content-Security-Policy", policy);
    add_header(message, "X-Content-Type-Options", "nosniff");
    add_header(message, "Cross-Origin-Resource-Policy", "same-origin");
    add_header(message, "Referrer-Policy", "no-referrer");
    add_header(message, "Cache-Control", "no-store");
    soup_server_message_set_status(message, status, NULL);
    soup_server_message_set_response(message, type, SOUP_MEMORY_COPY, text, length);
}

void
ct_control_refuse(SoupServerMessage *message, guint status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *why = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    CtJson *json = ct_json_new();
    ct_json_add_text(json, "error", why);
    g_autofree char *text = ct_json_free_to_text(json, FALSE);
    reply(message, status, json_type, text, strlen(text));
}

/* Replies with a text, or if it is NULL that the path leads nowhere. */
static void
reply_text(SoupServerMessage *message, const char *type, const char *text)
{
    if (text)
        reply(message, SOUP_STATUS_OK, type, text, strlen(text));
    else
        ct_control_refuse(message, SOUP_STATUS_NOT_FOUND, "there is nothing at this path");
}

/* ---- what there is ---- */

/* Answers a request; `rest` is what follows the path of the route. */
typedef void (*Handler)(CtControl *control, SoupServerMessage *message, const char *rest);

static void
get_state(CtControl *control, SoupServerMessage *message, const char *rest G_GNUC_UNUSED)
{
    g_autofree char *text = ct_control_state(control);
    reply_text(message, json_type, text);
}

static void
get_plan(CtControl *control, SoupServerMessage *message, const char *rest G_GNUC_UNUSED)
{
    reply_text(message, json_type, control->plan);
}

static void
get_drawing(CtControl *control, SoupServerMessage *message, const char *rest G_GNUC_UNUSED)
{
    reply_text(message, "image/svg+xml", control->drawing);
}

static void
get_graph(CtControl *control, SoupServerMessage *message, const char *rest G_GNUC_UNUSED)
{
    reply_text(message, json_type, control->graph);
}

static void
get_statistics(CtControl *control, SoupServerMessage *message, const char *rest G_GNUC_UNUSED)
{
    reply_text(message, json_type, ct_control_stats_text(control));
}

static void
get_node(CtControl *control, SoupServerMessage *message, const char *rest)
{
    g_autofree char *text = ct_control_node(control, rest);
    reply_text(message, json_type, text);
}

static void
get_picture(CtControl *control, SoupServerMessage *message, const char *rest)
{
    g_autofree char *text = ct_pipeline_picture(control->pipeline, rest, NULL, NULL);
    reply_text(message, json_type, text);
}

static void
get_parameters(CtControl *control, SoupServerMessage *message, const char *rest G_GNUC_UNUSED)
{
    g_autofree char *text = ct_pipeline_live_json(control->pipeline);
    reply_text(message, json_type, text);
}

static void
set_parameter(CtControl *control, SoupServerMessage *message, const char *rest G_GNUC_UNUSED)
{
    SoupMessageBody *given = soup_server_message_get_request_body(message);
    g_autoptr(GBytes) body = soup_message_body_flatten(given);
    guint status = SOUP_STATUS_OK;
    g_autoptr(GError) error = NULL;
    g_autofree char *text = ct_control_set(control, g_bytes_get_data(body, NULL),
                                           g_bytes_get_size(body), &status, &error);
    if (text)
        reply_text(message, json_type, text);
    else
        ct_control_refuse(message, status, "%s", error->message);
}

static void
get_warnings(CtControl *control, SoupServerMessage *message, const char *rest G_GNUC_UNUSED)
{
    g_autofree char *text = ct_control_warnings(control);
    reply_text(message, json_type, text);
}

static void
end_run(CtControl *control, SoupServerMessage *message, const char *rest G_GNUC_UNUSED)
{
    static const char text[] = "{\"ending\":true}";
    atomic_store(&control->is_ended, TRUE);
    ct_pipeline_interrupt(control->pipeline);
    reply(message, SOUP_STATUS_ACCEPTED, json_type, text, strlen(text));
}

static void
get_metrics(CtControl *control, SoupServerMessage *message, const char *rest G_GNUC_UNUSED)
{
    g_autofree char *text = ct_control_metrics(control);
    reply_text(message, metrics_type, text);
}

typedef struct {
    const char *path;
    gboolean has_rest;           /* something follows the path */
    Handler get, post;           /* NULL: the method is not allowed */
    const char *resource, *type; /* in place of `get` */
} Route;

static const Route routes[] = {
    {"/", .resource = "page.html", .type = "text/html; charset=utf-8"},
    {"/page.css", .resource = "page.css", .type = "text/css; charset=utf-8"},
    {"/page.js", .resource = "page.js", .type = script_type},
    {"/page-draw.js", .resource = "page-draw.js", .type = script_type},
    {"/page-pictures.js", .resource = "page-pictures.js", .type = script_type},
    {"/openapi.json", .resource = "openapi.json", .type = json_type},
    {"/metrics", .get = get_metrics},
    {"/api/v1/state", .get = get_state},
    {"/api/v1/plan", .get = get_plan},
    {"/api/v1/plan.svg", .get = get_drawing},
    {"/api/v1/graph", .get = get_graph},
    {"/api/v1/statistics", .get = get_statistics},
    {"/api/v1/nodes/", .has_rest = TRUE, .get = get_node},
    {"/api/v1/pictures/", .has_rest = TRUE, .get = get_picture},
    {"/api/v1/parameters", .get = get_parameters, .post = set_parameter},
    {"/api/v1/warnings", .get = get_warnings},
    {"/api/v1/end", .post = end_run},
};

static const Route *
find_route(const char *path)
{
    for (guint i = 0; i < G_N_ELEMENTS(routes); i++)
        if (routes[i].has_rest ? g_str_has_prefix(path, routes[i].path)
                               : g_str_equal(path, routes[i].path))
            return &routes[i];
    return NULL;
}

static void
reply_resource(SoupServerMessage *message, const Route *route)
{
    g_autofree char *name = g_strconcat("/cornerturn/control/", route->resource, NULL);
    g_autoptr(GBytes) data = g_resources_lookup_data(name, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
    reply(message, SOUP_STATUS_OK, route->type, g_bytes_get_data(data, NULL),
          g_bytes_get_size(data));
}

/* ---- who may ask ---- */

/* The only header of this name; NULL: there is none. *is_good: there is at most one. */
static const char *
get_header(SoupServerMessage *message, const char *name, gboolean *is_good)
{
    SoupMessageHeaders *headers = soup_server_message_get_request_headers(message);
    const char *one = soup_message_headers_get_one(headers, name);
    *is_good &= g_strcmp0(one, soup_message_headers_get_list(headers, name)) == 0;
    return one;
}

/* Whether the client means this server: a page from elsewhere, whose name leads here, does not. */
static gboolean
check_host(const CtControl *control, SoupServerMessage *message)
{
    gboolean is_good = TRUE;
    const char *host = get_header(message, "Host", &is_good);
    is_good &= control->listener.is_unix ||
               (host && ct_control_listener_is_host(&control->listener, host));
    if (!is_good)
        ct_control_refuse(message, SOUP_STATUS_FORBIDDEN,
                          "the header Host wants localhost and the port, but is '%s'",
                          host ? host : "");
    return is_good;
}

/* Whether no page from elsewhere asks. */
static gboolean
check_origin(SoupServerMessage *message)
{
    gboolean is_good = TRUE;
    const char *origin = get_header(message, "Origin", &is_good);
    const char *host = get_header(message, "Host", &is_good);
    if (is_good && !origin)
        return TRUE;
    g_autofree char *own = g_strconcat("http://", host, NULL);
    is_good &= host && g_ascii_strcasecmp(origin, own) == 0;
    if (!is_good)
        ct_control_refuse(message, SOUP_STATUS_FORBIDDEN, "the header Origin wants %s, but is '%s'",
                          own, origin ? origin : "");
    return is_good;
}

static gboolean
check_token(const CtControl *control, SoupServerMessage *message)
{
    static const char scheme[] = "Bearer ";
    gboolean is_good = TRUE;
    const char *given = get_header(message, "Authorization", &is_good);
    if (!control->token.text)
        return TRUE;
    is_good &= given && g_ascii_strncasecmp(given, scheme, strlen(scheme)) == 0 &&
               ct_control_token_is(&control->token, given + strlen(scheme));
    if (!is_good) {
        add_header(message, "WWW-Authenticate", "Bearer realm=\"cornerturn\"");
        ct_control_refuse(message, SOUP_STATUS_UNAUTHORIZED,
                          "a change wants the header Authorization: Bearer TOKEN, with the token "
                          "from the file that the run names");
    }
    return is_good;
}

static void
refuse_method(SoupServerMessage *message, const Route *route)
{
    const gboolean gets = route->get || route->resource;
    const char *allowed = !gets ? "POST" : route->post ? "GET, HEAD, POST" : "GET, HEAD";
    add_header(message, "Allow", allowed);
    ct_control_refuse(message, SOUP_STATUS_METHOD_NOT_ALLOWED,
                      "this path wants one of the methods %s", allowed);
}

static void
answer(SoupServer *server G_GNUC_UNUSED, SoupServerMessage *message, const char *path,
       GHashTable *query G_GNUC_UNUSED, gpointer data)
{
    CtControl *control = data;
    if (!check_host(control, message) || !check_origin(message))
        return;
    const Route *route = find_route(path);
    const char *method = soup_server_message_get_method(message);
    const gboolean gets = g_str_equal(method, "GET") || g_str_equal(method, "HEAD");
    if (!route)
        reply_text(message, NULL, NULL);
    else if (gets && route->resource)
        reply_resource(message, route);
    else if (gets && route->get)
        route->get(control, message, path + strlen(route->path));
    else if (!g_str_equal(method, "POST") || !route->post)
        refuse_method(message, route);
    else if (check_token(control, message))
        route->post(control, message, path + strlen(route->path));
}

void
ct_control_add_routes(CtControl *control)
{
    soup_server_add_handler(control->server, NULL, answer, control, NULL);
}
