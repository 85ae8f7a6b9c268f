/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending datagrams by a socket: udp://ADDRESS:PORT, and udp://GROUP:PORT@INTERFACE. */
#define _GNU_SOURCE /* sendmmsg, ip_mreqn */
#include "address.h"
#include "cornerturn/packets.h"
#include "sender.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    /* The bytes that the kernel is asked to hold for a socket. */
    SOCKET_BYTES = 8 << 20,
    /* A queue of the network that is full is tried again after so many milliseconds, so often. */
    FULL_WAIT = 1,
    FULL_TRIES = 10000
};

typedef struct {
    CtSender sender; /* the first member: the same address */
    struct mmsghdr messages[CT_SENDER_BATCH];
    struct iovec pieces[CT_SENDER_BATCH];
} Socket;

static gboolean
set_group_6(int fd, const CtAddress *address, const CtSenderGroup *group)
{
    const int ttl = group->ttl, loops = group->loops != 0, interface = (int)address->interface;
    return setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &ttl, sizeof ttl) == 0 &&
           setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, &loops, sizeof loops) == 0 &&
           (interface == 0 ||
            setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &interface, sizeof interface) == 0);
}

static gboolean
set_group(int fd, const CtAddress *address, const CtSenderGroup *group)
{
    const int ttl = group->ttl, loops = group->loops != 0;
    const struct ip_mreqn from = {.imr_address = address->local,
                                  .imr_ifindex = (int)address->interface};
    const gboolean has_interface = from.imr_ifindex != 0 || from.imr_address.s_addr != 0;
    return setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &ttl, sizeof ttl) == 0 &&
           setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &loops, sizeof loops) == 0 &&
           (!has_interface || setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &from, sizeof from) == 0);
}

static gboolean
connect_socket(int fd, const CtAddress *address, const CtSenderGroup *group)
{
    const int bytes = SOCKET_BYTES;
    socklen_t length;
    const struct sockaddr *to = ct_address_socket(address, &length);
    /* The kernel holds more than its limit only for root. */
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) != 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    return (!address->is_group ||
            (address->is_6 ? set_group_6(fd, address, group) : set_group(fd, address, group))) &&
           connect(fd, to, length) == 0;
}

static void
close_socket(CtSender *sender)
{
    if (sender->fd >= 0)
        close(sender->fd);
    g_free(sender->path);
    g_free(sender);
}

static CtSender *
open_socket(const char *path, const CtSenderGroup *group, GError **error)
{
    CtAddress address = {0};
    if (!ct_address_read(&address, ct_sender_udp.prefix, path, error))
        return NULL;
    Socket *self = g_new0(Socket, 1);
    CtSender *sender = &self->sender;
    sender->kind = &ct_sender_udp;
    sender->path = g_strdup(path);
    sender->fd = socket(address.is_6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (sender->fd >= 0 && connect_socket(sender->fd, &address, group))
        return sender;
    ct_file_error(error, path, "can't be sent to");
    close_socket(sender);
    return NULL;
}

/* Whether the datagrams that are left may be tried again. That nobody receives is no failure: a
 * receiver may come later, and one that goes away does not end the sender. The kernel tells it
 * once, in place of sending. */
static gboolean
may_try_again(int failure, guint *tries)
{
    if (failure == EINTR || failure == ECONNREFUSED)
        return TRUE;
    if (failure != ENOBUFS || ++*tries > FULL_TRIES)
        return FALSE;
    poll(NULL, 0, FULL_WAIT);
    return TRUE;
}

static guint
send_datagrams(CtSender *sender, const CtOutgoing *datagrams, guint n, GError **error)
{
    Socket *self = (Socket *)sender;
    for (guint i = 0; i < n; i++) {
        self->pieces[i] = (struct iovec){(void *)datagrams[i].bytes, datagrams[i].n};
        self->messages[i].msg_hdr = (struct msghdr){.msg_iov = &self->pieces[i], .msg_iovlen = 1};
    }
    guint done = 0, tries = 0;
    while (done < n) {
        const int given = sendmmsg(sender->fd, self->messages + done, n - done, 0);
        if (given > 0) {
            done += (guint)given;
            tries = 0;
            continue;
        }
        const int failure = errno;
        if (may_try_again(failure, &tries))
            continue;
        g_autofree char *what = g_strdup_printf(
            "a datagram of %" G_GSIZE_FORMAT " bytes can't be sent", datagrams[done].n);
        errno = failure;
        ct_file_error(error, sender->path, what);
        break;
    }
    return done;
}

const CtSenderKind ct_sender_udp = {
    .prefix = "udp://",
    .open = open_socket,
    .send = send_datagrams,
    .close = close_socket,
};
