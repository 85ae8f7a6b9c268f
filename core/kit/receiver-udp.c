/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving datagrams by a socket: udp://ADDRESS:PORT, and udp://GROUP:PORT@INTERFACE. */
#define _GNU_SOURCE /* recvmmsg, ip_mreqn */
#include "receiver-udp.h"

#include "cornerturn/error.h"
#include "cornerturn/packets.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
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

/* ---- sockets ---- */

static gboolean
join(int fd, const CtAddress *address, const char *path, GError **error)
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
share(int fd, const CtAddress *address)
{
    const int on = 1, off = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->is_6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, &off, sizeof off);
    else
        setsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof off);
}

/* The kernel holds more than its limit only for root. Returns how much it holds, of which half is
 * for what it keeps beside the datagrams. */
static gsize
widen(int fd)
{
    int bytes = SOCKET_BYTES;
    socklen_t n = sizeof bytes;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    return getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &n) == 0 ? (gsize)bytes / 2 : 0;
}

static gboolean
fail_to_bind(const char *path, GError **error)
{
    const int saved = errno;
    const char *remark = saved == EADDRINUSE      ? "; another program receives there"
                         : saved == EADDRNOTAVAIL ? "; no interface of this machine has it"
                                                  : "";
    g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: can't be received from: %s%s", path,
                g_strerror(saved), remark);
    return FALSE;
}

/* A group is joined before: a socket that has its port misses nothing of what is sent to it. */
static gboolean
bind_socket(CtReceiver *receiver, const CtAddress *address, GError **error)
{
    const int fd = receiver->fd;
    socklen_t length;
    const struct sockaddr *to = ct_address_socket(address, &length);
    if (address->is_group)
        share(fd, address);
    receiver->held_bytes = widen(fd);
    return (!address->is_group || join(fd, address, receiver->path, error)) &&
           (bind(fd, to, length) == 0 || fail_to_bind(receiver->path, error));
}

static void
close_socket(CtReceiver *receiver)
{
    if (receiver->fd >= 0)
        close(receiver->fd);
    g_free(receiver->path);
    g_free(receiver);
}

CtReceiver *
ct_receiver_udp_new(const CtAddress *address, const char *path, GError **error)
{
    Socket *self = g_new0(Socket, 1);
    CtReceiver *receiver = &self->receiver;
    receiver->kind = &ct_receiver_udp;
    receiver->path = g_strdup(path);
    receiver->fd =
        socket(address->is_6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (receiver->fd < 0)
        ct_file_error(error, path, "can't be received from");
    if (receiver->fd >= 0 && bind_socket(receiver, address, error))
        return receiver;
    close_socket(receiver);
    return NULL;
}

static CtReceiver *
open_socket(const char *path, GError **error)
{
    CtAddress address = {0};
    return ct_address_read(&address, ct_receiver_udp.prefix, path, error)
               ? ct_receiver_udp_new(&address, path, error)
               : NULL;
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
