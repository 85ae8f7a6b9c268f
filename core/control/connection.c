/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients: how many there are, how long they stay, and how much they send.
 *
 * A connection serves one request, in a limited time, so that a client that is slow to ask or to
 * read ends by itself. If there are too many, the oldest one ends. */
#include "control-private.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

enum { MOST_CONNECTIONS = 64, SECONDS_OF_LIFE = 20 };
/* A body that is too long is read up to here, so that the client reads the reply. */
enum { MOST_DROPPED = 1 << 20 };

typedef struct {
    CtControl *control;
    GSocket *socket;
    gint64 opened;
    gboolean is_asking; /* the headers of a request have come */
    gsize n_body;       /* bytes of the request's body so far */
} Connection;

static const char key[] = "cornerturn-connection";

static Connection *
find_connection(SoupServerMessage *message)
{
    return g_object_get_data(G_OBJECT(soup_server_message_get_remote_address(message)), key);
}

/* The server notices that the client is gone. */
static void
cut(const Connection *connection)
{
    g_socket_shutdown(connection->socket, TRUE, TRUE, NULL);
}

static void
on_gone(gpointer data, GObject *stream G_GNUC_UNUSED)
{
    Connection *connection = data;
    g_queue_remove(&connection->control->connections, connection);
    g_object_unref(connection->socket);
    g_free(connection);
}

void
ct_control_drop(CtControl *control, gboolean is_now)
{
    for (const GList *item = control->connections.head; item; item = item->next) {
        const Connection *connection = item->data;
        if (is_now || !connection->is_asking)
            cut(connection);
    }
}

static gboolean
drop_old(gpointer data)
{
    const CtControl *control = data;
    const gint64 now = g_get_monotonic_time();
    for (const GList *item = control->connections.head; item; item = item->next) {
        const Connection *connection = item->data;
        if (now - connection->opened > SECONDS_OF_LIFE * G_USEC_PER_SEC)
            cut(connection);
    }
    return G_SOURCE_CONTINUE;
}

/* libsoup takes addresses of the internet alone, and no two connections may share one: it carries
 * the connection. */
static GSocketAddress *
make_address(void)
{
    return g_inet_socket_address_new_from_string("127.0.0.1", 80);
}

static void
take_client(CtControl *control, GSocket *socket)
{
    g_autoptr(GSocketConnection) stream = g_socket_connection_factory_create_connection(socket);
    g_autoptr(GSocketAddress) here = make_address(), there = make_address();
    Connection *connection = g_new0(Connection, 1);
    connection->control = control;
    connection->socket = g_object_ref(socket);
    connection->opened = g_get_monotonic_time();
    /* Otherwise the body of a reply waits until the client has acknowledged the headers. */
    if (!control->listener.is_unix)
        g_socket_set_option(socket, IPPROTO_TCP, TCP_NODELAY, TRUE, NULL);
    if (g_queue_get_length(&control->connections) >= MOST_CONNECTIONS)
        cut(g_queue_peek_head(&control->connections));
    g_queue_push_tail(&control->connections, connection);
    g_object_set_data(G_OBJECT(there), key, connection);
    g_object_weak_ref(G_OBJECT(stream), on_gone, connection);
    soup_server_accept_iostream(control->server, G_IO_STREAM(stream), here, there, NULL);
}

static gboolean
on_client(GSocket *listener, GIOCondition condition G_GNUC_UNUSED, gpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GSocket) socket = g_socket_accept(listener, NULL, &error);
    if (socket && !((CtControl *)data)->is_closing)
        take_client(data, socket);
    else if (socket)
        g_socket_close(socket, NULL);
    else if (!g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK))
        g_usleep(10000); /* no more files can be opened: later perhaps */
    return G_SOURCE_CONTINUE;
}

/* ---- requests ---- */

static void
refuse_body(SoupServerMessage *message)
{
    if (soup_server_message_get_status(message) == 0)
        ct_control_refuse(message, SOUP_STATUS_REQUEST_ENTITY_TOO_LARGE,
                          "a body of at most %d bytes is wanted", CT_CONTROL_MAX_BODY);
}

/* Ends the connection without a reply, where libsoup would read on. */
static void
drop(SoupServerMessage *message)
{
    g_autoptr(GIOStream) stream = soup_server_message_steal_connection(message);
    g_io_stream_close(stream, NULL, NULL);
}

static void
on_headers(SoupServerMessage *message, gpointer data G_GNUC_UNUSED)
{
    SoupMessageHeaders *headers = soup_server_message_get_request_headers(message);
    const gboolean has_length =
        soup_message_headers_get_encoding(headers) == SOUP_ENCODING_CONTENT_LENGTH;
    const goffset length = soup_message_headers_get_content_length(headers);
    find_connection(message)->is_asking = TRUE;
    soup_message_headers_replace(soup_server_message_get_response_headers(message), "Connection",
                                 "close");
    /* Replies are short: nobody needs a part of one, and many ranges would be a long one. */
    soup_message_headers_remove(headers, "Range");
    if (has_length && length < 0)
        drop(message);
    else if (has_length && length > CT_CONTROL_MAX_BODY)
        refuse_body(message);
}

static void
on_chunk(SoupServerMessage *message, GBytes *chunk, gpointer data G_GNUC_UNUSED)
{
    Connection *connection = find_connection(message);
    SoupMessageBody *body = soup_server_message_get_request_body(message);
    connection->n_body += g_bytes_get_size(chunk);
    if (connection->n_body > CT_CONTROL_MAX_BODY) {
        refuse_body(message);
        soup_message_body_truncate(body);
    }
    if (connection->n_body > MOST_DROPPED)
        cut(connection);
}

static void
on_request(SoupServer *server G_GNUC_UNUSED, SoupServerMessage *message,
           gpointer data G_GNUC_UNUSED)
{
    g_signal_connect(message, "got-headers", G_CALLBACK(on_headers), NULL);
    g_signal_connect(message, "got-chunk", G_CALLBACK(on_chunk), NULL);
}

void
ct_control_accept(CtControl *control)
{
    g_signal_connect(control->server, "request-started", G_CALLBACK(on_request), control);
    for (guint i = 0; i < CT_CONTROL_SOCKETS && control->listener.sockets[i]; i++) {
        g_autoptr(GSource) source =
            g_socket_create_source(control->listener.sockets[i], G_IO_IN, NULL);
        g_source_set_callback(source, G_SOURCE_FUNC(on_client), control, NULL);
        g_source_attach(source, control->context);
    }
    g_autoptr(GSource) clock = g_timeout_source_new_seconds(1);
    g_source_set_callback(clock, drop_old, control, NULL);
    g_source_attach(clock, control->context);
}
