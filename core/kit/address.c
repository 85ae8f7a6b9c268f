/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading addresses of the network. */
#include "address.h"

#include "cornerturn/error.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <string.h>

static gboolean
fail(const char *path, GError **error, const char *wants, const char *given)
{
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER, "%s: wants %s, but is given '%s'", path, wants,
                given);
    return FALSE;
}

static gboolean
read_host(CtAddress *address, const char *path, const char *host, GError **error)
{
    address->in.sin_family = AF_INET;
    address->in6.sin6_family = AF_INET6;
    address->is_6 = host[0] == '[';
    g_autofree char *bare = g_strdup(host + address->is_6);
    const gsize n = strlen(bare);
    if (address->is_6 && n > 0 && bare[n - 1] == ']')
        bare[n - 1] = '\0';
    if (address->is_6 ? inet_pton(AF_INET6, bare, &address->in6.sin6_addr) != 1
                      : inet_pton(AF_INET, bare, &address->in.sin_addr) != 1)
        return fail(path, error, "an address as 10.0.0.1 or [fd00::1]", host);
    address->is_group = address->is_6 ? IN6_IS_ADDR_MULTICAST(&address->in6.sin6_addr)
                                      : IN_MULTICAST(ntohl(address->in.sin_addr.s_addr));
    return TRUE;
}

static gboolean
read_port(CtAddress *address, const char *path, const char *text, GError **error)
{
    guint64 port;
    if (!g_ascii_string_to_unsigned(text, 10, 1, G_MAXUINT16, &port, NULL))
        return fail(path, error, "a port from 1 to 65535", text);
    address->in.sin_port = address->in6.sin6_port = htons((guint16)port);
    return TRUE;
}

static gboolean
find_interface(CtAddress *address, const char *path, const char *name, GError **error)
{
    address->interface = if_nametoindex(name);
    address->in6.sin6_scope_id = address->interface;
    return address->interface > 0 ||
           fail(path, error, "the name of an interface of this machine", name);
}

/* The interface that receives a group, by its name or an IPv4 address of it; or the one of an IPv6
 * address that is known on one link alone. */
static gboolean
read_interface(CtAddress *address, const char *path, const char *name, GError **error)
{
    const gboolean is_link = address->is_6 && IN6_IS_ADDR_LINKLOCAL(&address->in6.sin6_addr);
    if (!address->is_group && !is_link)
        return fail(path, error, "an interface only for a group of multicast", name);
    if (!address->is_6 && inet_pton(AF_INET, name, &address->local) == 1)
        return TRUE;
    return find_interface(address, path, name, error);
}

/* An IPv6 address of one link alone is not known without the link. */
static gboolean
check_link(const CtAddress *address, const char *path, GError **error)
{
    const struct in6_addr *host = &address->in6.sin6_addr;
    const gboolean is_of_link =
        address->is_6 && (IN6_IS_ADDR_LINKLOCAL(host) || IN6_IS_ADDR_MC_LINKLOCAL(host));
    return !is_of_link ||
           fail(path, error, "its interface behind it, as in ADDRESS:PORT@eth0", path);
}

/* Cuts ADDRESS:PORT@INTERFACE into its parts; an interface that lacks is NULL. */
static gboolean
split(char *text, char **port, char **interface)
{
    *interface = strrchr(text, '@');
    if (*interface)
        *(*interface)++ = '\0';
    *port = strrchr(text, ':');
    if (!*port || (text[0] == '[' && (*port)[-1] != ']'))
        return FALSE;
    *(*port)++ = '\0';
    return TRUE;
}

gboolean
ct_address_read(CtAddress *address, const char *prefix, const char *path, GError **error)
{
    g_autofree char *text = g_strdup(path + strlen(prefix));
    char *port, *at;
    if (!split(text, &port, &at)) {
        g_autofree char *wants = g_strconcat(prefix, "ADDRESS:PORT", NULL);
        return fail(path, error, wants, path);
    }
    return read_host(address, path, text, error) && read_port(address, path, port, error) &&
           (at ? read_interface(address, path, at, error) : check_link(address, path, error));
}

gboolean
ct_address_read_at(CtAddress *address, const char *prefix, const char *path, GError **error)
{
    g_autofree char *text = g_strdup(path + strlen(prefix));
    char *port, *at;
    if (!split(text, &port, &at) || !at) {
        g_autofree char *wants = g_strconcat(prefix, "ADDRESS:PORT@INTERFACE", NULL);
        return fail(path, error, wants, path);
    }
    return read_host(address, path, text, error) && read_port(address, path, port, error) &&
           find_interface(address, path, at, error);
}

const struct sockaddr *
ct_address_socket(const CtAddress *address, socklen_t *length)
{
    *length = address->is_6 ? sizeof address->in6 : sizeof address->in;
    return address->is_6 ? (const struct sockaddr *)&address->in6
                         : (const struct sockaddr *)&address->in;
}
