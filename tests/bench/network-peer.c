/* SPDX-License-Identifier: BSD-3-Clause */
/* The peers of network.py: a sender of one capture again and again, and a loop that
 * receives and copies each payload once. */
#define _GNU_SOURCE /* recvmmsg, sendmmsg */
#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BATCH = 64,
    LEAST_BYTES = 512,
    MOST_BYTES = 65000, /* of a call that the kernel cuts */
    MOST_COUNTERS = 4,
    SOCKET_BYTES = 32 << 20,
    RING_BYTES = 256 << 20 /* larger than caches, as the memory of a block that a graph computes */
};

/* A big-endian number of a header that grows from one pass over the capture to the next. */
typedef struct {
    gsize at;
    guint n_bytes;
    guint64 step;
} Counter;

static volatile sig_atomic_t stops;

static void
stop(int signal_number)
{
    stops = signal_number;
}

static struct sockaddr_in
local(const char *port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((guint16)atoi(port)),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int
open_socket(void)
{
    const int bytes = SOCKET_BYTES, fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0)
        g_error("no socket: %s", g_strerror(errno));
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    return fd;
}

/* ---- sending ---- */

static void
advance(guint8 *packet, const Counter *counters, guint n)
{
    for (guint i = 0; i < n; i++) {
        guint64 carry = counters[i].step;
        for (guint b = counters[i].n_bytes; b-- > 0; carry >>= 8) {
            carry += packet[counters[i].at + b];
            packet[counters[i].at + b] = (guint8)carry;
        }
    }
}

/* Sends from `capture` with so many packets a second; 0: as many as it can. Prints the packets that
 * were sent, and the seconds that it took. */
static int
send_capture(char **words)
{
    const char *path = words[0];
    const gsize packet_bytes = strtoul(words[1], NULL, 10);
    const struct sockaddr_in to = local(words[2]);
    const gdouble rate = g_ascii_strtod(words[3], NULL), seconds = g_ascii_strtod(words[4], NULL);
    Counter counters[MOST_COUNTERS];
    guint n_counters = 0;
    for (; words[5 + n_counters] && n_counters < MOST_COUNTERS; n_counters++) {
        Counter *counter = &counters[n_counters];
        if (sscanf(words[5 + n_counters], "%zu:%u:%lu", &counter->at, &counter->n_bytes,
                   &counter->step) != 3)
            g_error("wants OFFSET:BYTES:STEP, but is given '%s'", words[5 + n_counters]);
    }
    char *bytes;
    gsize n_bytes;
    g_autoptr(GError) error = NULL;
    if (!g_file_get_contents(path, &bytes, &n_bytes, &error))
        g_error("%s", error->message);
    const gsize n = n_bytes / packet_bytes;
    if (n == 0 || packet_bytes < LEAST_BYTES)
        g_error("%s: wants packets of at least %d bytes, but is given %zu bytes", path, LEAST_BYTES,
                n_bytes);
    const int fd = open_socket();
    if (connect(fd, (const struct sockaddr *)&to, sizeof to) != 0)
        g_error("no connection: %s", g_strerror(errno));
    /* The kernel cuts what one call gives it into packets: that costs less than a call for each. */
    const int segment = (int)packet_bytes;
    if (setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0)
        g_error("no segments: %s", g_strerror(errno));
    const guint most = (guint)MIN(MOST_BYTES / packet_bytes, n);
    struct iovec pieces[MOST_BYTES / LEAST_BYTES];
    struct msghdr message = {.msg_iov = pieces};
    const gint64 begin = g_get_monotonic_time();
    guint64 sent = 0;
    while (g_get_monotonic_time() - begin < seconds * 1e6) {
        const gdouble due = (g_get_monotonic_time() - begin) * 1e-6 * rate - sent;
        message.msg_iovlen = rate > 0 && due < most ? 0 : most;
        for (gsize i = 0; i < message.msg_iovlen; i++) {
            guint8 *packet = (guint8 *)bytes + (sent + i) % n * packet_bytes;
            if (sent + i >= n)
                advance(packet, counters, n_counters);
            pieces[i] = (struct iovec){packet, packet_bytes};
        }
        while (message.msg_iovlen > 0 && sendmsg(fd, &message, 0) < 0)
            if (errno != ECONNREFUSED && errno != ENOBUFS)
                g_error("can't be sent: %s", g_strerror(errno));
        sent += message.msg_iovlen;
    }
    printf("%" G_GUINT64_FORMAT " %.6f\n", sent, (g_get_monotonic_time() - begin) * 1e-6);
    return 0;
}

/* ---- the loop ---- */

/* Receives until SIGINT. Prints the packets that came. */
static int
receive_all(char **words)
{
    const struct sockaddr_in at = local(words[0]);
    const gsize packet_bytes = strtoul(words[1], NULL, 10),
                header_bytes = strtoul(words[2], NULL, 10);
    const gsize payload_bytes = packet_bytes - header_bytes;
    const int fd = open_socket();
    if (bind(fd, (const struct sockaddr *)&at, sizeof at) != 0)
        g_error("no port: %s", g_strerror(errno));
    const struct sigaction action = {.sa_handler = stop};
    sigaction(SIGINT, &action, NULL);
    guint8 *batch = g_malloc(BATCH * packet_bytes), *ring = g_malloc(RING_BYTES);
    memset(ring, 1, RING_BYTES);
    struct mmsghdr messages[BATCH] = {0};
    struct iovec pieces[BATCH];
    for (guint i = 0; i < BATCH; i++) {
        pieces[i] = (struct iovec){batch + i * packet_bytes, packet_bytes};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &pieces[i], .msg_iovlen = 1};
    }
    guint64 received = 0;
    gsize to = 0;
    while (!stops) {
        const int given = recvmmsg(fd, messages, BATCH, MSG_WAITFORONE, NULL);
        for (int i = 0; i < given; i++) {
            if (to + payload_bytes > RING_BYTES)
                to = 0;
            memcpy(ring + to, batch + (gsize)i * packet_bytes + header_bytes, payload_bytes);
            to += payload_bytes;
        }
        received += (guint64)MAX(given, 0);
    }
    printf("%" G_GUINT64_FORMAT "\n", received);
    return 0;
}

int
main(int n, char **words)
{
    if (n >= 7 && g_str_equal(words[1], "send"))
        return send_capture(words + 2);
    if (n == 5 && g_str_equal(words[1], "loop"))
        return receive_all(words + 2);
    g_printerr(
        "usage: network-peer send CAPTURE PACKET_BYTES PORT RATE SECONDS [OFFSET:BYTES:STEP]…\n"
        "       network-peer loop PORT PACKET_BYTES HEADER_BYTES\n");
    return 2;
}
