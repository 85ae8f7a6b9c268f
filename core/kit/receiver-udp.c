/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving datagrams by a socket: udp://ADDRESS:PORT, and udp://GROUP:PORT@INTERFACE. */
#define _GNU_SOURCE /* recvmmsg, ip_mreqn */
#include "cornerturn/error.h"
#include "cornerturn/packets.h"
#include "receiver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The bytes that the kernel is asked to hold for a socket while nobody receives. */
enum { SOCKET_BYTES = 32 << 20 };

typedef struct {
    CtReceiver receiver; /* the first member: the same address */
    struct mmsghdr messages[CT_RECEIVER_BATCH];
    struct iovec pieces[CT_RECEIVER_BATCH];
    guint32 drops; /* that the kernel has counted, modulo 2³² */
    guint64 lost;  /* all of them */
} Socket;

typedef struct {
    gboolean is_6;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    gboolean is_group;
    struct in_addr local; /* the address of the group's interface; 0: by its index */
    guint interface;      /* the interface's index; 0: the kernel chooses */
} Address;

/* ---- addresses ---- */

static gboolean
fail(const char *path, GError **error, const char *wants, const char *given)
{
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER, "%s: wants %s, but is given '%s'", path, wants,
                given);
    return FALSE;
}

static gboolean
read_host(Address *address, const char *path, const char *host, GError **error)
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
read_port(Address *address, const char *path, const char *text, GError **error)
{
    guint64 port;
    if (!g_ascii_string_to_unsigned(text, 10, 1, G_MAXUINT16, &port, NULL))
        return fail(path, error, "a port from 1 to 65535", text);
    address->in.sin_port = address->in6.sin6_port = htons((guint16)port);
    return TRUE;
}

/* The interface that receives a group, by its name or an IPv4 address of it; or the one of an IPv6
 * address that is known on one link alone. */
static gboolean
read_interface(Address *address, const char *path, const char *name, GError **error)
{
    const gboolean is_link = address->is_6 && IN6_IS_ADDR_LINKLOCAL(&address->in6.sin6_addr);
    if (!address->is_group && !is_link)
        return fail(path, error, "an interface only for a group of multicast", name);
    if (!address->is_6 && inet_pton(AF_INET, name, &address->local) == 1)
        return TRUE;
    address->interface = if_nametoindex(name);
    address->in6.sin6_scope_id = address->interface;
    return address->interface > 0 ||
           fail(path, error, "the name of an interface of this machine", name);
}

/* An IPv6 address of one link alone is not known without the link. */
static gboolean
check_link(const Address *address, const char *path, GError **error)
{
    const struct in6_addr *host = &address->in6.sin6_addr;
    const gboolean is_of_link =
        address->is_6 && (IN6_IS_ADDR_LINKLOCAL(host) || IN6_IS_ADDR_MC_LINKLOCAL(host));
    return !is_of_link ||
           fail(path, error, "its interface behind it, as in ADDRESS:PORT@eth0", path);
}

static gboolean
read_address(Address *address, const char *path, GError **error)
{
    g_autofree char *text = g_strdup(path + strlen(ct_receiver_udp.prefix));
    char *at = strrchr(text, '@');
    if (at)
        *at++ = '\0';
    char *colon = strrchr(text, ':');
    if (!colon || (text[0] == '[' && colon[-1] != ']'))
        return fail(path, error, "udp://ADDRESS:PORT", path);
    *colon++ = '\0';
    return read_host(address, path, text, error) && read_port(address, path, colon, error) &&
           (at ? read_interface(address, path, at, error) : check_link(address, path, error));
}

/* ---- sockets ---- */

static gboolean
join(int fd, const Address *address, const char *path, GError **error)
{
    const struct ip_mreqn group = {.imr_multiaddr = address->in.sin_addr,
                                   .imr_address = address->local,
                                   .imr_ifindex = (int)address->interface};
    const struct ipv6_mreq group6 = {.ipv6mr_multiaddr = address->in6.sin6_addr,
                                     .ipv6mr_interface = address->interface};
    const int failed =
        address->is_6 ? setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &group6, sizeof group6)
                      : setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group);
    return failed == 0 || ct_file_error(error, path, "the group can't be joined");
}

/* Several programs may receive a group, each all its datagrams; and each only the groups that it
 * has joined. Other addresses have one receiver. */
static void
share(int fd, const Address *address)
{
    const int on = 1, off = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->is_6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, &off, sizeof off);
    else
        setsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof off);
}

/* The kernel holds more than its limit only for root. */
static void
widen(int fd)
{
    const int bytes = SOCKET_BYTES;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

static gboolean
bind_socket(int fd, const Address *address, const char *path, GError **error)
{
    const struct sockaddr *to = address->is_6 ? (const struct sockaddr *)&address->in6
                                              : (const struct sockaddr *)&address->in;
    const socklen_t length = address->is_6 ? sizeof address->in6 : sizeof address->in;
    if (address->is_group)
        share(fd, address);
    widen(fd);
    return (bind(fd, to, length) == 0 || ct_file_error(error, path, "can't be received from")) &&
           (!address->is_group || join(fd, address, path, error));
}

static void
close_socket(CtReceiver *receiver)
{
    if (receiver->fd >= 0)
        close(receiver->fd);
    g_free(receiver->path);
    g_free(receiver);
}

static CtReceiver *
open_socket(const char *path, GError **error)
{
    Address address = {0};
    if (!read_address(&address, path, error))
        return NULL;
    Socket *self = g_new0(Socket, 1);
    CtReceiver *receiver = &self->receiver;
    receiver->kind = &ct_receiver_udp;
    receiver->path = g_strdup(path);
    receiver->fd =
        socket(address.is_6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (receiver->fd < 0)
        ct_file_error(error, path, "can't be received from");
    if (receiver->fd >= 0 && bind_socket(receiver->fd, &address, path, error))
        return receiver;
    close_socket(receiver);
    return NULL;
}

static int
receive(CtReceiver *receiver, CtDatagram *datagrams, guint n, GError **error)
{
    Socket *self = (Socket *)receiver;
    for (guint i = 0; i < n; i++) {
        self->pieces[i] = (struct iovec){datagrams[i].bytes, datagrams[i].room};
        self->messages[i].msg_hdr = (struct msghdr){.msg_iov = &self->pieces[i], .msg_iovlen = 1};
    }
    /* With MSG_TRUNC, a length is what was sent. */
    const int given = recvmmsg(receiver->fd, self->messages, n, MSG_DONTWAIT | MSG_TRUNC, NULL);
    if (given < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return 0;
    if (given < 0)
        ct_file_error(error, receiver->path, "can't be received from");
    for (int i = 0; i < given; i++)
        datagrams[i].n = self->messages[i].msg_len;
    return given;
}

/* The kernel drops what comes while the socket's memory is full, and counts it. */
static guint64
count_lost(CtReceiver *receiver)
{
    Socket *self = (Socket *)receiver;
    guint32 facts[SK_MEMINFO_VARS];
    socklen_t n = sizeof facts;
    if (getsockopt(receiver->fd, SOL_SOCKET, SO_MEMINFO, facts, &n) != 0 ||
        n <= SK_MEMINFO_DROPS * sizeof *facts)
        return self->lost;
    self->lost += facts[SK_MEMINFO_DROPS] - self->drops;
    self->drops = facts[SK_MEMINFO_DROPS];
    return self->lost;
}

const CtReceiverKind ct_receiver_udp = {
    .prefix = "udp://",
    .open = open_socket,
    .receive = receive,
    .close = close_socket,
    .lost = count_lost,
};
