/* SPDX-License-Identifier: BSD-3-Clause */
/* The address of the control port, and the sockets that listen there. */
#include "control-private.h"

#include <gio/gunixsocketaddress.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 128, MOST_PATH = sizeof((struct sockaddr_un *)0)->sun_path - 1 };

static gboolean
refuse(const char *what, const char *address, GError **error)
{
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                "%s wants unix:PATH or tcp:localhost:PORT, on this machine, but is given '%s'",
                what, address);
    return FALSE;
}

/* Reads HOST:PORT, with an address in IPv6 in brackets. */
static gboolean
parse_tcp(CtControlListener *listener, const char *text)
{
    const char *colon = strrchr(text, ':');
    guint64 port;
    if (!colon || !g_ascii_string_to_unsigned(colon + 1, 10, 0, G_MAXUINT16, &port, NULL))
        return FALSE;
    const gboolean is_bracketed = text[0] == '[' && colon - text >= 2 && colon[-1] == ']';
    listener->name = is_bracketed ? g_strndup(text + 1, (gsize)(colon - text) - 2)
                                  : g_strndup(text, (gsize)(colon - text));
    listener->port = (guint)port;
    if (g_str_equal(listener->name, "localhost"))
        return TRUE;
    g_autoptr(GInetAddress) address = g_inet_address_new_from_string(listener->name);
    return address && g_inet_address_get_is_loopback(address);
}

gboolean
ct_control_listener_parse(CtControlListener *listener, const char *what, const char *address,
                          GError **error)
{
    if (g_str_has_prefix(address, "tcp:"))
        return parse_tcp(listener, address + 4) || refuse(what, address, error);
    if (!g_str_has_prefix(address, "unix:") || !address[5])
        return refuse(what, address, error);
    listener->is_unix = TRUE;
    listener->name = g_strdup(address + 5);
    if (strlen(listener->name) <= MOST_PATH)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                "%s wants a path of at most %d bytes, but is given '%s'", what, MOST_PATH,
                listener->name);
    return FALSE;
}

static gboolean
fail(const CtControlListener *listener, const char *why, GError **error)
{
    if (listener->is_unix)
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "--control: %s: %s", listener->name, why);
    else
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "--control: %s, port %u: %s", listener->name,
                    listener->port, why);
    return FALSE;
}

/* Adds a socket that listens at an address. */
static gboolean
listen_at(CtControlListener *listener, GSocketAddress *address, GError **error)
{
    g_autoptr(GError) cause = NULL;
    g_autoptr(GSocket) socket =
        g_socket_new(g_socket_address_get_family(address), G_SOCKET_TYPE_STREAM,
                     G_SOCKET_PROTOCOL_DEFAULT, &cause);
    if (!socket)
        return fail(listener, cause->message, error);
    g_socket_set_blocking(socket, FALSE);
    g_socket_set_listen_backlog(socket, BACKLOG);
    if (!g_socket_bind(socket, address, !listener->is_unix, &cause) ||
        !g_socket_listen(socket, &cause))
        return fail(listener, cause->message, error);
    listener->sockets[listener->sockets[0] ? 1 : 0] = g_steal_pointer(&socket);
    return TRUE;
}

/* Removes the socket of a server that is gone. Anything else there is an error. */
static gboolean
remove_dead(const CtControlListener *listener, GSocketAddress *address, GError **error)
{
    struct stat found;
    if (lstat(listener->name, &found) != 0)
        return errno == ENOENT || fail(listener, g_strerror(errno), error);
    if (!S_ISSOCK(found.st_mode))
        return fail(listener, "is there already, and is no socket", error);
    g_autoptr(GError) cause = NULL;
    g_autoptr(GSocket) client =
        g_socket_new(G_SOCKET_FAMILY_UNIX, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_DEFAULT, &cause);
    if (!client)
        return fail(listener, cause->message, error);
    g_socket_set_blocking(client, FALSE);
    if (g_socket_connect(client, address, NULL, &cause) ||
        !g_error_matches(cause, G_IO_ERROR, G_IO_ERROR_CONNECTION_REFUSED))
        return fail(listener,
                    cause && !g_error_matches(cause, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK)
                        ? cause->message
                        : "a server listens there already",
                    error);
    return unlink(listener->name) == 0 || fail(listener, g_strerror(errno), error);
}

static gboolean
open_unix(CtControlListener *listener, GError **error)
{
    g_autoptr(GSocketAddress) address = g_unix_socket_address_new(listener->name);
    struct stat made;
    if (!remove_dead(listener, address, error))
        return FALSE;
    /* Nobody else may connect, not even before a chmod. */
    const mode_t before = umask(0177);
    const gboolean good = listen_at(listener, address, error);
    umask(before);
    if (!good)
        return FALSE;
    if (lstat(listener->name, &made) == 0) {
        listener->device = made.st_dev;
        listener->inode = made.st_ino;
    }
    return TRUE;
}

static gboolean
listen_on(CtControlListener *listener, const char *host, GError **error)
{
    g_autoptr(GSocketAddress) address = g_inet_socket_address_new_from_string(host, listener->port);
    return listen_at(listener, address, error);
}

/* localhost is ::1 as well. Without IPv6 nothing is lost, as clients try 127.0.0.1 next; but
 * another program there would get the tokens of this run's clients. */
static gboolean
open_other(CtControlListener *listener, GError **error)
{
    g_autoptr(GError) cause = NULL;
    g_autoptr(GSocket) probe =
        g_socket_new(G_SOCKET_FAMILY_IPV6, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_DEFAULT, NULL);
    g_autoptr(GSocketAddress) any = g_inet_socket_address_new_from_string("::1", 0);
    return !probe || !g_socket_bind(probe, any, FALSE, &cause) || listen_on(listener, "::1", error);
}

static gboolean
open_tcp(CtControlListener *listener, GError **error)
{
    const gboolean is_any = g_str_equal(listener->name, "localhost");
    if (!listen_on(listener, is_any ? "127.0.0.1" : listener->name, error))
        return FALSE;
    g_autoptr(GSocketAddress) address = g_socket_get_local_address(listener->sockets[0], error);
    if (!address)
        return FALSE;
    listener->port = g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(address));
    return !is_any || open_other(listener, error);
}

gboolean
ct_control_listener_open(CtControlListener *listener, GError **error)
{
    return listener->is_unix ? open_unix(listener, error) : open_tcp(listener, error);
}

gboolean
ct_control_listener_is_host(const CtControlListener *listener, const char *host)
{
    if (listener->is_unix)
        return TRUE;
    g_autofree char *given = g_strdup(host);
    char *colon = strrchr(given, ':');
    const char *port = "80";
    if (colon && !strchr(colon, ']')) {
        *colon = '\0';
        port = colon + 1;
    }
    g_autofree char *own = strchr(listener->name, ':') ? g_strdup_printf("[%s]", listener->name)
                                                       : g_strdup(listener->name);
    const char *const names[] = {"localhost", "127.0.0.1", "[::1]", own};
    g_autofree char *number = g_strdup_printf("%u", listener->port);
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_ascii_strcasecmp(given, names[i]) == 0)
            return g_str_equal(port, number);
    return FALSE;
}

void
ct_control_listener_clear(CtControlListener *listener)
{
    struct stat found;
    for (guint i = 0; i < CT_CONTROL_SOCKETS; i++)
        g_clear_object(&listener->sockets[i]);
    if (listener->inode && lstat(listener->name, &found) == 0 && found.st_dev == listener->device &&
        found.st_ino == listener->inode)
        unlink(listener->name);
    g_clear_pointer(&listener->name, g_free);
}
