/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks the control port of a run. */
#include "control-private.h"

#include <gio/gunixsocketaddress.h>

/* A run that stands in a debugger answers later, or never. */
enum { SECONDS_TO_WAIT = 10 };

/* Where to connect; NULL: as the URL says. */
static SoupSession *
new_session(const CtControlListener *at)
{
    g_autoptr(GSocketAddress) address = at->is_unix ? g_unix_socket_address_new(at->name) : NULL;
    return soup_session_new_with_options("remote-connectable", address, "proxy-resolver", NULL,
                                         "timeout", SECONDS_TO_WAIT, NULL);
}

static SoupMessage *
new_message(const CtControlListener *at, const char *path)
{
    const gboolean is_bare = at->is_unix || !strchr(at->name, ':');
    g_autofree char *url =
        g_strdup_printf(is_bare ? "http://%s:%u%s" : "http://[%s]:%u%s",
                        at->is_unix ? "localhost" : at->name, at->is_unix ? 80 : at->port, path);
    return soup_message_new("GET", url);
}

/* An empty one has no data. */
static char *
copy_body(GBytes *body)
{
    gsize length;
    const char *data = g_bytes_get_data(body, &length);
    return data ? g_strndup(data, length) : g_strdup("");
}

char *
ct_control_fetch(const char *address, const char *path, GError **error)
{
    CtControlListener at = {0};
    g_autoptr(GError) cause = NULL;
    g_autoptr(GBytes) body = NULL;
    char *text = NULL;
    if (ct_control_listener_parse(&at, "ADDRESS", address, error)) {
        g_autoptr(SoupSession) session = new_session(&at);
        g_autoptr(SoupMessage) message = new_message(&at, path);
        body = soup_session_send_and_read(session, message, NULL, &cause);
        const guint status = soup_message_get_status(message);
        if (!body)
            g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: %s", address, cause->message);
        else if (status != SOUP_STATUS_OK)
            g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: %s: status %u", address, path, status);
        else
            text = copy_body(body);
    }
    ct_control_listener_clear(&at);
    return text;
}
