/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving packets from the network: by a thread, or by the reader itself.
 *
 * If the process may run on several processors, a thread receives, beside the reader. On one
 * processor, thread and reader would change places many times a block, which takes a sixth of the
 * time. There, the reader receives while it waits, and the thread receives only while the reader is
 * away: at work, or held up by the graph. Whoever receives has the turn, which is a lock. */
#define _GNU_SOURCE /* cpu_set_t, pthread_setname_np */
#include "cornerturn/error.h"
#include "reception-private.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

enum {
    /* So long the kernel asks the interface itself for packets, when it has none. */
    BUSY_MICROSECONDS = 50,
    /* A reader that receives is away if it has not moved for the time in which one of so many
     * parts of a socket's memory fills, and no longer than this. If that is too short to sleep for,
     * the thread receives. */
    PARTS_AWAY = 4,
    LEAST_AWAY_NANOSECONDS = 100000,
    MOST_AWAY_NANOSECONDS = 2000000,
    /* So often in a row it is found still, where it waits; then the thread sleeps until it moves.
     */
    MOST_FOUND = 10
};

struct CtReceptionBatch {
    CtDatagram datagrams[CT_RECEIVER_BATCH];
    gint64 offsets[CT_RECEIVER_BATCH];
    CtPacket packets[CT_RECEIVER_BATCH];
    guint counts[CT_RECEIVER_BATCH];
    guint most;               /* datagrams that are received at once from one address */
    struct pollfd readable[]; /* [n_addresses] */
};

/* ---- a batch ---- */

/* With the lock. Borrows buffers for the first n datagrams. */
static void
borrow(const CtReception *reception, guint n)
{
    CtReceived *received = reception->received;
    CtReceptionBatch *batch = reception->batch;
    ct_received_borrow(received, batch->offsets, n);
    for (guint i = 0; i < n; i++)
        batch->datagrams[i] = (CtDatagram){ct_received_bytes(received, batch->offsets[i]),
                                           ct_received_room(received), 0};
}

/* With the lock. */
static void
make_batch(CtReception *reception)
{
    CtReceptionBatch *batch =
        g_malloc0(sizeof *batch + reception->n_addresses * sizeof *batch->readable);
    batch->most = ct_received_batch(reception->received);
    for (guint i = 0; i < reception->n_addresses; i++)
        batch->readable[i] =
            (struct pollfd){.fd = reception->addresses[i].receiver->fd, .events = POLLIN};
    reception->batch = batch;
    borrow(reception, CT_RECEIVER_BATCH);
}

/* The bytes of the packet of a datagram; none if it ends before. */
static gsize
count_behind(const CtReception *reception, const CtDatagram *datagram)
{
    return datagram->n - MIN(datagram->n, reception->skip);
}

/* Receives what is there from one address, up to a batch. Returns the number of datagrams; −1 with
 * an error. */
static int
receive(CtReception *reception, guint address, GError **error)
{
    CtReceptionBatch *batch = reception->batch;
    CtReceiver *receiver = reception->addresses[address].receiver;
    guint64 n_restamped = 0;
    const int n = receiver->kind->receive(receiver, batch->datagrams, batch->most, error);
    if (n <= 0)
        return n;
    for (int i = 0; i < n; i++) {
        const CtDatagram *datagram = &batch->datagrams[i];
        batch->counts[i] = ct_reception_classify(
            reception, address, datagram->bytes + reception->skip,
            count_behind(reception, datagram), &batch->packets[i], &n_restamped);
        batch->packets[i].offset = batch->offsets[i];
    }
    pthread_mutex_lock(&reception->lock);
    for (int i = 0; i < n; i++)
        ct_reception_put(reception, address, &batch->packets[i], batch->counts[i]);
    ct_received_restamp(reception->received, address, n_restamped);
    borrow(reception, (guint)n);
    if (ct_received_safe(reception->received, reception->wanted) >= reception->wanted)
        pthread_cond_signal(&reception->more);
    pthread_mutex_unlock(&reception->lock);
    return n;
}

/* Receives from the addresses that have not reached further than sample `most`. Returns the number
 * of datagrams; −1 with an error. */
static int
receive_before(CtReception *reception, gint64 most, GError **error)
{
    int n = 0;
    for (guint i = 0; i < reception->n_addresses && n >= 0; i++) {
        const gint64 reached = ct_received_reached(reception->received, i);
        if (reception->batch->readable[i].revents == 0 || (reached > most && reached != G_MAXINT64))
            continue;
        const int some = receive(reception, i, error);
        n = some < 0 ? -1 : n + some;
    }
    return n;
}

/* An address that is ahead of another one from which datagrams wait waits as well: so packets are
 * late by their times, however many wait in each socket. */
static void
receive_in_step(CtReception *reception, GError **error)
{
    gint64 last = G_MAXINT64 / 2;
    for (guint i = 0; i < reception->n_addresses; i++)
        if (reception->batch->readable[i].revents != 0)
            last = MIN(last, ct_received_reached(reception->received, i));
    const gint64 most = last + ct_received_lead(reception->received);
    if (receive_before(reception, most, error) == 0)
        receive_before(reception, G_MAXINT64, error);
}

/* ---- turns ---- */

/* With the turn. Waits a while for datagrams, and receives those that are there. After a failure,
 * nobody receives. */
static void
take_turn(CtReception *reception)
{
    const int wait = reception->is_busy ? 0 : CT_RECEPTION_WAIT_MILLISECONDS;
    GError *failure = NULL;
    if (poll(reception->batch->readable, reception->n_addresses, wait) <= 0)
        return;
    receive_in_step(reception, &failure);
    if (!failure)
        return;
    pthread_mutex_lock(&reception->lock);
    reception->failure = failure;
    atomic_store(&reception->stops, TRUE);
    pthread_cond_signal(&reception->more);
    pthread_mutex_unlock(&reception->lock);
}

/* With the lock. The reader comes, or goes. */
static void
move(CtReception *reception)
{
    atomic_fetch_add(&reception->n_moves, 1);
    if (reception->is_asleep)
        pthread_cond_signal(&reception->moved);
}

void
ct_reception_receive(CtReception *reception)
{
    const gint64 end = g_get_monotonic_time() + CT_RECEPTION_WAIT_MILLISECONDS * 1000;
    CtReceived *received = reception->received;
    move(reception);
    if (ct_received_safe(received, reception->wanted) >= reception->wanted)
        return;
    atomic_store(&reception->is_turn_wanted, TRUE);
    pthread_mutex_unlock(&reception->lock);
    pthread_mutex_lock(&reception->turn);
    atomic_store(&reception->is_turn_wanted, FALSE);
    pthread_mutex_lock(&reception->lock);
    while (ct_received_safe(received, reception->wanted) < reception->wanted &&
           !atomic_load(&reception->stops) && g_get_monotonic_time() < end) {
        pthread_mutex_unlock(&reception->lock);
        take_turn(reception);
        pthread_mutex_lock(&reception->lock);
    }
    pthread_mutex_unlock(&reception->turn);
    move(reception);
}

/* Whether the reader has not moved since, so that it is away, or has the turn. */
static gboolean
is_away(CtReception *reception, guint n_moves)
{
    return atomic_load(&reception->n_moves) == n_moves && !atomic_load(&reception->is_turn_wanted);
}

/* Sleeps until the reader moves, after so many moves of it. */
static void
sleep_long(CtReception *reception, guint n_moves)
{
    pthread_mutex_lock(&reception->lock);
    reception->is_asleep = TRUE;
    while (atomic_load(&reception->n_moves) == n_moves && !atomic_load(&reception->stops))
        pthread_cond_wait(&reception->moved, &reception->lock);
    reception->is_asleep = FALSE;
    pthread_mutex_unlock(&reception->lock);
}

/* Gets the turn; where the reader receives, if it has not moved for a while and has not the turn.
 * *n_found counts how often in a row it had not moved. */
static gboolean
get_turn(CtReception *reception, guint n_moves, guint *n_found)
{
    const struct timespec time = {.tv_nsec = reception->most_away};
    if (reception->most_away == 0) {
        pthread_mutex_lock(&reception->turn);
        return TRUE;
    }
    if (*n_found == MOST_FOUND)
        sleep_long(reception, n_moves);
    nanosleep(&time, NULL);
    const gboolean is_still = is_away(reception, n_moves);
    *n_found = is_still ? *n_found % MOST_FOUND + 1 : 0;
    return is_still && pthread_mutex_trylock(&reception->turn) == 0;
}

static gpointer
run_thread(gpointer data)
{
    CtReception *reception = data;
    guint n_found = 0;
    pthread_setname_np(pthread_self(), "receive");
    /* The lock is free when the first datagrams have been taken. */
    pthread_mutex_lock(&reception->lock);
    pthread_mutex_unlock(&reception->lock);
    while (!atomic_load(&reception->stops)) {
        const guint n_moves = atomic_load(&reception->n_moves);
        if (!get_turn(reception, n_moves, &n_found))
            continue;
        while (!atomic_load(&reception->stops) && is_away(reception, n_moves))
            take_turn(reception);
        pthread_mutex_unlock(&reception->turn);
    }
    return NULL;
}

/* ---- beginning ---- */

/* Has the kernel ask the interface for packets. Without the right to do so, only the thread asks
 * the kernel. */
static void
poll_interfaces(const CtReception *reception)
{
    const int time = BUSY_MICROSECONDS;
    for (guint i = 0; i < reception->n_addresses; i++)
        setsockopt(reception->addresses[i].receiver->fd, SOL_SOCKET, SO_BUSY_POLL, &time,
                   sizeof time);
}

/* Nanoseconds without a move after which the reader is away; 0: it does not receive. */
static glong
most_away(const CtReception *reception, gdouble packet_rate)
{
    cpu_set_t cores;
    const gboolean is_alone =
        sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) == 1;
    if (!is_alone || reception->is_busy || reception->core >= 0)
        return 0;
    glong least = MOST_AWAY_NANOSECONDS;
    for (guint i = 0; i < reception->n_addresses; i++) {
        const CtReceptionAddress *address = &reception->addresses[i];
        const gdouble seconds =
            (gdouble)address->receiver->held_bytes / (gdouble)address->packet_bytes / packet_rate;
        least = (glong)MIN((gdouble)least, seconds / PARTS_AWAY * 1e9);
    }
    return least < LEAST_AWAY_NANOSECONDS ? 0 : least;
}

gboolean
ct_reception_create_thread(const CtReception *reception, gpointer (*run)(gpointer), gpointer data,
                           pthread_t *thread, GError **error)
{
    sigset_t all, before;
    pthread_attr_t place;
    pthread_attr_init(&place);
    if (reception->core >= 0) {
        cpu_set_t core;
        CPU_ZERO(&core);
        CPU_SET((gsize)reception->core, &core);
        pthread_attr_setaffinity_np(&place, sizeof core, &core);
    }
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int failure = pthread_create(thread, &place, run, data);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&place);
    if (failure != 0)
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY, "no thread to receive packets: %s",
                    g_strerror(failure));
    return failure == 0;
}

gboolean
ct_reception_begin(CtReception *reception, gdouble packet_rate, GError **error)
{
    make_batch(reception);
    reception->most_away = most_away(reception, packet_rate);
    if (reception->is_busy)
        poll_interfaces(reception);
    return ct_reception_create_thread(reception, run_thread, reception, &reception->thread, error);
}
