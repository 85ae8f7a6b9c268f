/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the receiver by AF_XDP alone, between two virtual interfaces in network namespaces that
 * end with this program: buffers come back, and what has none is counted. */
#define _GNU_SOURCE /* unshare, setns */
#include "kit/receiver.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PORT = 5000,
    WAITING = 8192, /* that wait for one address */
    BUFFERS = 16384,
    BURST = 32,
    ROOM = 64,
    BYTES = 100
};

/* Why nothing can be tested here. */
static const char *reason;

static void
run(const char *command)
{
    if (!reason && system(command) != 0)
        reason = "no virtual interfaces here";
}

/* Two namespaces: this thread is in the one of `here`, and *there is of the other. */
static void
make_wire(int *there)
{
    if (unshare(CLONE_NEWNET) != 0) {
        reason = "no network namespaces here";
        return;
    }
    *there = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    g_assert_cmpint(unshare(CLONE_NEWNET), ==, 0);
    run("ip link add here numtxqueues 1 numrxqueues 1 type veth peer name there numtxqueues 1 "
        "numrxqueues 1 2>/dev/null");
    g_autofree char *move =
        g_strdup_printf("ip link set there netns /proc/%d/fd/%d", getpid(), *there);
    g_autofree char *set = g_strdup_printf(
        "nsenter --net=/proc/%d/fd/%d sh -c 'ip addr add 10.77.0.2/24 dev there; ip link set there "
        "up'",
        getpid(), *there);
    run(move);
    run("ip addr add 10.77.0.1/24 dev here && ip link set here up");
    run(set);
}

static int
make_sender(int there)
{
    const int here = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    g_assert_cmpint(setns(there, CLONE_NEWNET), ==, 0);
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    g_assert_cmpint(setns(here, CLONE_NEWNET), ==, 0);
    close(here);
    return fd;
}

/* The frames that the interface has had. */
static guint64
count_frames(void)
{
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents("/proc/thread-self/net/dev", &text, NULL, NULL));
    guint64 bytes, frames;
    g_assert_cmpint(sscanf(strstr(text, "here:"), "here: %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT,
                           &bytes, &frames),
                    ==, 2);
    return frames;
}

/* Sends datagrams first … first + n − 1, no more at once than the interface holds. */
static void
send_some(int fd, guint port, guint32 first, guint32 n)
{
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons((guint16)port),
                                   .sin_addr.s_addr = inet_addr("10.77.0.1")};
    const guint64 base = count_frames();
    for (guint32 i = 0; i < n; i++) {
        guint8 bytes[BYTES] = {0};
        const guint32 number = first + i;
        memcpy(bytes, &number, sizeof number);
        g_assert_cmpint(sendto(fd, bytes, BYTES, 0, (const struct sockaddr *)&to, sizeof to), ==,
                        BYTES);
        while ((i % BURST == BURST - 1 || i == n - 1) && count_frames() < base + i + 1)
            g_usleep(100);
    }
}

/* Receives all that is there; they must be `first` and those that follow. Returns their number. */
static guint32
receive_some(CtReceiver *receiver, guint32 first, guint batch)
{
    struct pollfd readable = {.fd = receiver->fd, .events = POLLIN};
    guint8 memory[CT_RECEIVER_BATCH][ROOM];
    CtDatagram datagrams[CT_RECEIVER_BATCH];
    guint32 n = 0;
    while (poll(&readable, 1, 0) > 0) {
        for (guint i = 0; i < batch; i++)
            datagrams[i] = (CtDatagram){memory[i], ROOM, 0};
        g_autoptr(GError) error = NULL;
        const int given = receiver->kind->receive(receiver, datagrams, batch, &error);
        g_assert_no_error(error);
        for (int i = 0; i < given; i++) {
            guint32 number;
            memcpy(&number, memory[i], sizeof number);
            g_assert_cmpuint(number, ==, first + n++);
            g_assert_cmpuint(datagrams[i].n, ==, BYTES);
        }
    }
    return n;
}

static CtReceiver *
open_port(guint port)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_strdup_printf("xdp://10.77.0.1:%u@here", port);
    CtReceiver *receiver = ct_receiver_open(path, &error);
    if (!receiver)
        g_test_message("%s", error->message);
    return receiver;
}

/* Buffers that were received are used again, whoever of the queue's sockets had them. */
static void
check_buffers(int sender)
{
    CtReceiver *first = open_port(PORT), *second = open_port(PORT + 1);
    g_assert_true(first && second);
    for (guint32 at = 0; at < 3 * BUFFERS; at += 4000) {
        send_some(sender, PORT + (at / 4000) % 2, at, 4000);
        g_assert_cmpuint(receive_some((at / 4000) % 2 ? second : first, at, 1 + at % 64), ==, 4000);
    }
    g_assert_cmpuint(ct_receiver_lost(first) + ct_receiver_lost(second), ==, 0);
    /* Those that wait in one that is closed, too; the other one goes on. */
    send_some(sender, PORT, 0, WAITING);
    ct_receiver_close(first);
    for (guint32 i = 0; i < 3; i++) {
        send_some(sender, PORT + 1, 0, WAITING);
        g_assert_cmpuint(receive_some(second, 0, CT_RECEIVER_BATCH), ==, WAITING);
    }
    first = open_port(PORT);
    g_assert_nonnull(first);
    send_some(sender, PORT, 7, 100);
    g_assert_cmpuint(receive_some(first, 7, 3), ==, 100);
    g_assert_cmpuint(ct_receiver_lost(first) + ct_receiver_lost(second), ==, 0);
    ct_receiver_close(first);
    ct_receiver_close(second);
}

static void
check_lost(int sender)
{
    CtReceiver *receiver = open_port(PORT);
    g_assert_nonnull(receiver);
    send_some(sender, PORT, 0, WAITING + 100);
    g_assert_cmpuint(ct_receiver_lost(receiver), ==, 100);
    g_assert_cmpuint(receive_some(receiver, 0, CT_RECEIVER_BATCH), ==, WAITING);
    send_some(sender, PORT, 5, 10);
    g_assert_cmpuint(receive_some(receiver, 5, CT_RECEIVER_BATCH), ==, 10);
    g_assert_cmpuint(ct_receiver_lost(receiver), ==, 100);
    ct_receiver_close(receiver);
}

static void
test_all(void)
{
    int there = -1;
    make_wire(&there);
    CtReceiver *receiver = reason ? NULL : open_port(PORT);
    if (!reason && !receiver)
        reason = "no AF_XDP here";
    ct_receiver_close(receiver);
    if (reason) {
        g_test_skip(reason);
        return;
    }
    const int sender = make_sender(there);
    check_buffers(sender);
    check_lost(sender);
    close(sender);
    close(there);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/receiver-xdp", test_all);
    return g_test_run();
}
