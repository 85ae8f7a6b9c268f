/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving datagrams by AF_XDP: xdp://ADDRESS:PORT@INTERFACE, and with ?queue=N behind it.
 *
 * The interface's program gives the datagrams that come to the queue to a socket of AF_XDP. The
 * kernel has all others, and gives them to a socket of UDP with the same address: fragments,
 * headers with options, other queues. That socket also joins the group, and keeps the port. */
#include "cornerturn/error.h"
#include "cornerturn/packets.h"
#include "receiver-udp.h"
#include "xdp-socket.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct {
    CtReceiver receiver; /* the first member: the same address */
    CtXdpSocket *socket;
    CtReceiver *rest; /* what the kernel has */
    guint first;      /* the next call begins with it: 0 the socket, 1 the rest */
} Xdp;

/* ---- paths ---- */

static gboolean
fail(const char *path, GError **error, const char *wants, const char *given)
{
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER, "%s: wants %s, but is given '%s'", path, wants,
                given);
    return FALSE;
}

/* The queues of an interface. A driver that does not tell has one. */
static guint
count_queues(const char *name)
{
    struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
    struct ifreq request = {.ifr_data = (char *)&channels};
    g_strlcpy(request.ifr_name, name, sizeof request.ifr_name);
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const gboolean tells = ioctl(fd, SIOCETHTOOL, &request) == 0;
    if (fd >= 0)
        close(fd);
    return tells ? MAX(channels.rx_count + channels.combined_count, 1) : 1;
}

/* Without a queue, an interface must have one alone: datagrams of others would go the slower way,
 * and nobody would notice. */
static gboolean
read_queue(const CtAddress *address, const char *path, const char *text, guint *queue,
           GError **error)
{
    char name[IF_NAMESIZE] = "";
    if_indextoname(address->interface, name);
    const guint n = count_queues(name);
    guint64 number = 0;
    const gboolean good =
        text ? g_str_has_prefix(text, "queue=") &&
                   g_ascii_string_to_unsigned(text + strlen("queue="), 10, 0, n - 1, &number, NULL)
             : n == 1;
    *queue = (guint)number;
    if (good)
        return TRUE;
    g_autofree char *wants =
        g_strdup_printf("one of the %u queues of %s, as in ?queue=%u", n, name, n - 1);
    return fail(path, error, wants, text ? text : "none");
}

static gboolean
read_path(const char *path, CtAddress *address, guint *queue, GError **error)
{
    g_autofree char *bare = g_strdup(path);
    char *mark = strchr(bare, '?');
    if (mark)
        *mark++ = '\0';
    if (!ct_address_read_at(address, ct_receiver_xdp.prefix, bare, error))
        return FALSE;
    const gboolean is_any = address->is_6 ? IN6_IS_ADDR_UNSPECIFIED(&address->in6.sin6_addr)
                                          : address->in.sin_addr.s_addr == htonl(INADDR_ANY);
    if (is_any)
        return fail(path, error, "the address to which datagrams are sent", path);
    return read_queue(address, path, mark, queue, error);
}

/* ---- receiving ---- */

static void
close_both(CtReceiver *receiver)
{
    Xdp *self = (Xdp *)receiver;
    ct_xdp_socket_free(self->socket);
    ct_receiver_close(self->rest);
    if (receiver->fd >= 0)
        close(receiver->fd);
    g_free(receiver->path);
    g_free(receiver);
}

/* The receiver is readable when either socket is. */
static gboolean
watch(const CtReceiver *receiver, int fd, GError **error)
{
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(receiver->fd, EPOLL_CTL_ADD, fd, &event) == 0 ||
           ct_file_error(error, receiver->path, "can't be received from");
}

/* The socket of UDP is the later one: so it has no older datagrams than the other. */
static CtReceiver *
open_both(const char *path, GError **error)
{
    CtAddress address = {0};
    guint queue;
    if (!read_path(path, &address, &queue, error))
        return NULL;
    Xdp *self = g_new0(Xdp, 1);
    CtReceiver *receiver = &self->receiver;
    receiver->kind = &ct_receiver_xdp;
    receiver->path = g_strdup(path);
    receiver->fd = epoll_create1(EPOLL_CLOEXEC);
    if (receiver->fd < 0)
        ct_file_error(error, path, "can't be received from");
    else
        self->socket = ct_xdp_socket_new(&address, queue, path, error);
    if (self->socket)
        self->rest = ct_receiver_udp_new(&address, path, error);
    if (self->rest && watch(receiver, self->rest->fd, error) &&
        watch(receiver, ct_xdp_socket_fd(self->socket), error))
        return receiver;
    close_both(receiver);
    return NULL;
}

/* After a call that may have left some, the other socket is the first one. */
static int
receive(CtReceiver *receiver, CtDatagram *datagrams, guint n, GError **error)
{
    Xdp *self = (Xdp *)receiver;
    guint given = 0;
    for (guint i = self->first; i < self->first + 2 && given < n; i++) {
        const int more =
            i % 2 == 0 ? (int)ct_xdp_socket_receive(self->socket, datagrams + given, n - given)
                       : self->rest->kind->receive(self->rest, datagrams + given, n - given, error);
        if (more < 0)
            return -1;
        given += (guint)more;
    }
    self->first ^= given == n;
    return (int)given;
}

static guint64
count_lost(CtReceiver *receiver)
{
    const Xdp *self = (const Xdp *)receiver;
    return ct_xdp_socket_lost(self->socket) + ct_receiver_lost(self->rest);
}

const CtReceiverKind ct_receiver_xdp = {
    .prefix = "xdp://",
    .open = open_both,
    .receive = receive,
    .close = close_both,
    .lost = count_lost,
};
