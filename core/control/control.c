/* SPDX-License-Identifier: BSD-3-Clause */
/* The control port's life: opening it, the server's thread, and the end. */
#define _GNU_SOURCE
#include "control-private.h"

#include <cornerturn/json.h>
#include <stdlib.h>

/* How long replies may take that are being sent at the end. */
enum { MICROSECONDS_LEFT = 500000 };

gboolean
ct_control_check(const CtControlOptions *options, GError **error)
{
    CtControlListener listener = {0};
    const gboolean good =
        ct_control_listener_parse(&listener, "--control", options->address, error);
    ct_control_listener_clear(&listener);
    return good;
}

/* Waits for the last replies. */
static void
finish(CtControl *control)
{
    const gint64 end = g_get_monotonic_time() + MICROSECONDS_LEFT;
    control->is_closing = TRUE;
    ct_control_drop(control, FALSE);
    while (!g_queue_is_empty(&control->connections) && g_get_monotonic_time() < end)
        if (!g_main_context_iteration(control->context, FALSE))
            g_usleep(1000);
    ct_control_drop(control, TRUE);
    soup_server_disconnect(control->server);
    while (g_main_context_iteration(control->context, FALSE))
        ;
}

static gpointer
serve(gpointer data)
{
    CtControl *control = data;
    g_main_context_push_thread_default(control->context);
    control->server = soup_server_new("server-header", "cornerturn", NULL);
    ct_control_add_routes(control);
    ct_control_accept(control);
    g_main_loop_run(control->loop);
    finish(control);
    g_clear_object(&control->server);
    g_main_context_pop_thread_default(control->context);
    return NULL;
}

/* Where the token is if the caller names no file: in the folder of the user's session, or the
 * working directory. */
static char *
name_token(const CtControlListener *listener)
{
    const char *folder = secure_getenv("XDG_RUNTIME_DIR");
    const gboolean is_localhost = g_str_equal(listener->name, "localhost");
    g_autofree char *name =
        is_localhost ? g_strdup_printf("cornerturn-%u.token", listener->port)
                     : g_strdup_printf("cornerturn-%s-%u.token", listener->name, listener->port);
    return folder && *folder ? g_build_filename(folder, name, NULL) : g_steal_pointer(&name);
}

static gboolean
open_token(CtControl *control, const char *path, GError **error)
{
    g_autofree char *fallback = name_token(&control->listener);
    return (control->listener.is_unix && !path) ||
           ct_control_token_open(&control->token, path, fallback, error);
}

CtControl *
ct_control_open(CtPipeline *pipeline, const CtControlOptions *options, GError **error)
{
    g_autoptr(CtControl) control = g_new0(CtControl, 1);
    control->pipeline = pipeline;
    control->opened = g_get_monotonic_time();
    control->graph = ct_pipeline_graph_json(pipeline);
    control->plan = ct_pipeline_describe(pipeline, "json", error);
    control->drawing = control->plan ? ct_pipeline_describe(pipeline, "svg", error) : NULL;
    if (!control->drawing ||
        !ct_control_listener_parse(&control->listener, "--control", options->address, error) ||
        !ct_control_listener_open(&control->listener, error) ||
        !open_token(control, options->token, error))
        return NULL;
    control->context = g_main_context_new();
    control->loop = g_main_loop_new(control->context, FALSE);
    control->thread = g_thread_try_new("control", serve, control, error);
    return control->thread ? g_steal_pointer(&control) : NULL;
}

char *
ct_control_describe(const CtControl *control)
{
    const CtControlListener *listener = &control->listener;
    GString *text = g_string_new(NULL);
    if (listener->is_unix)
        g_string_append_printf(text, "unix:%s", listener->name);
    else
        g_string_append_printf(text,
                               strchr(listener->name, ':') ? "http://[%s]:%u" : "http://%s:%u",
                               listener->name, listener->port);
    if (control->token.path)
        g_string_append_printf(text, ", token in %s", control->token.path);
    return g_string_free(text, FALSE);
}

gboolean
ct_control_was_ended(const CtControl *control)
{
    return control && atomic_load(&control->is_ended);
}

static gboolean
quit(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

void
ct_control_free(CtControl *control)
{
    if (!control)
        return;
    if (control->thread) {
        /* Not directly: the thread may not be in the loop yet. */
        g_autoptr(GSource) source = g_idle_source_new();
        g_source_set_callback(source, quit, control->loop, NULL);
        g_source_attach(source, control->context);
        g_thread_join(control->thread);
    }
    g_clear_pointer(&control->loop, g_main_loop_unref);
    g_clear_pointer(&control->context, g_main_context_unref);
    ct_control_listener_clear(&control->listener);
    ct_control_token_clear(&control->token);
    g_clear_pointer(&control->stats, json_node_unref);
    g_free(control->stats_text);
    g_free(control->graph);
    g_free(control->plan);
    g_free(control->drawing);
    g_free(control);
}
