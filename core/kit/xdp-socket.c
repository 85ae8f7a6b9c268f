/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory for frames, and the rings in which the kernel gives and takes them.
 *
 * A queue of an interface has one piece of memory, cut into buffers, and one ring of free buffers.
 * Each socket has a ring of what it has received. A frame that is longer than a buffer has several,
 * where the kernel does that (6.6 and later). */
#include "xdp-socket.h"

#include "cornerturn/error.h"
#include "frame.h"
#include "xdp-program.h"

#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <xdp/xsk.h>

/* A flag that headers of older kernels lack. */
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#endif
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0)
#endif

enum {
    BUFFER_BYTES = 4096,
    /* The kernel leaves 256 bytes free at the beginning of a buffer. */
    FRAME_BYTES = BUFFER_BYTES - 256,
    N_BUFFERS = 16384,
    /* So many wait for one socket: 32 MiB, as for one of UDP. */
    N_RECEIVED = 8192,
    /* The kernel may tell late which it has taken; so there is always room to give some back. */
    N_FREE = 2 * N_BUFFERS,
    /* A ring for what is sent, which nothing is. */
    N_SENT = 64,
    /* So many buffers are looked at in one call, some more than the longest frame has. */
    MOST_PIECES = 256,
    /* A queue that is not free yet is tried again so often, after this time. */
    BUSY_WAITS = 50,
    BUSY_MICROSECONDS = 20000
};

typedef struct {
    guint interface, number;
    guint n_sockets;
    gboolean takes_long; /* frames of several buffers */
    CtXdpProgram *program;
    guint8 *memory;
    struct xsk_umem *umem;
    struct xsk_ring_cons sent;
    pthread_mutex_t lock; /* of `free` */
    struct xsk_ring_prod free;
} Queue;

struct CtXdpSocket {
    Queue *queue;
    CtAddress address;
    struct xsk_socket *socket;
    struct xsk_ring_cons received;
    int slot; /* in the program; −1: in none */
};

/* The queues of which this process has sockets. The lock is held to open and to close one. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static GPtrArray *table;

/* ---- memory of a queue ---- */

static gboolean
fail_memory(const char *path, GError **error)
{
    struct rlimit limit;
    if (errno != ENOBUFS || getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        return ct_xdp_fail(error, path, "no memory for frames");
    g_set_error(
        error, CT_ERROR, CT_ERROR_MEMORY,
        "%s: wants %d KiB of locked memory, but the limit of the process is %" G_GUINT64_FORMAT
        " KiB (ulimit -l)",
        path, N_BUFFERS / 1024 * BUFFER_BYTES, (guint64)limit.rlim_cur / 1024);
    return FALSE;
}

/* All buffers are free. */
static gboolean
make_memory(Queue *queue)
{
    const struct xsk_umem_config config = {
        .fill_size = N_FREE, .comp_size = N_SENT, .frame_size = BUFFER_BYTES};
    const gsize n = (gsize)N_BUFFERS * BUFFER_BYTES;
    void *memory = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return FALSE;
    queue->memory = memory;
    const int failure =
        xsk_umem__create(&queue->umem, memory, n, &queue->free, &queue->sent, &config);
    errno = -failure;
    guint32 at;
    if (failure != 0 || xsk_ring_prod__reserve(&queue->free, N_BUFFERS, &at) != N_BUFFERS)
        return FALSE;
    for (guint i = 0; i < N_BUFFERS; i++)
        *xsk_ring_prod__fill_addr(&queue->free, at + i) = (guint64)i * BUFFER_BYTES;
    xsk_ring_prod__submit(&queue->free, N_BUFFERS);
    return TRUE;
}

/* With the lock of the table. */
static Queue *
find_queue(guint interface, guint number)
{
    for (guint i = 0; table && i < table->len; i++) {
        Queue *queue = table->pdata[i];
        if (queue->interface == interface && queue->number == number)
            return queue;
    }
    return NULL;
}

/* With the lock of the table. The program that another queue of the interface has. */
static CtXdpProgram *
find_program(guint interface)
{
    for (guint i = 0; i < table->len; i++) {
        const Queue *queue = table->pdata[i];
        if (queue->interface == interface && queue->program)
            return queue->program;
    }
    return NULL;
}

/* With the lock of the table. */
static void
free_queue(Queue *queue)
{
    g_ptr_array_remove(table, queue);
    if (!find_program(queue->interface))
        ct_xdp_program_free(queue->program);
    xsk_umem__delete(queue->umem);
    if (queue->memory)
        munmap(queue->memory, (gsize)N_BUFFERS * BUFFER_BYTES);
    pthread_mutex_destroy(&queue->lock);
    g_free(queue);
    if (table->len == 0)
        g_clear_pointer(&table, g_ptr_array_unref);
}

/* With the lock of the table. */
static Queue *
new_queue(guint interface, guint number, gboolean takes_long, const char *path, GError **error)
{
    Queue *queue = g_new0(Queue, 1);
    queue->interface = interface;
    queue->number = number;
    queue->takes_long = takes_long;
    pthread_mutex_init(&queue->lock, NULL);
    if (!table)
        table = g_ptr_array_new();
    g_ptr_array_add(table, queue);
    if (make_memory(queue))
        return queue;
    fail_memory(path, error);
    free_queue(queue);
    return NULL;
}

/* ---- opening ---- */

/* Binds a socket to its queue; returns 0 or a number of errno. */
static int
bind_socket(CtXdpSocket *self)
{
    Queue *queue = self->queue;
    char name[IF_NAMESIZE];
    /* The kernel copies frames where the driver can't write them into the memory itself. */
    const struct xsk_socket_config config = {
        .rx_size = N_RECEIVED,
        .libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
        .bind_flags = XDP_USE_NEED_WAKEUP | (queue->takes_long ? XDP_USE_SG : 0),
    };
    if (!if_indextoname(queue->interface, name))
        return errno;
    const int failure =
        xsk_socket__create_shared(&self->socket, name, queue->number, queue->umem, &self->received,
                                  NULL, &queue->free, &queue->sent, &config);
    queue->n_sockets += failure == 0;
    return -failure;
}

/* With the lock of the table. */
static void
close_socket(CtXdpSocket *self)
{
    Queue *queue = self->queue;
    if (self->socket) {
        xsk_socket__delete(self->socket);
        queue->n_sockets--;
    }
    if (queue && queue->n_sockets == 0)
        free_queue(queue);
    g_free(self);
}

/* Makes the queue, and binds the socket to it. Returns a number of errno, or −1 with an error. */
static int
open_queue(CtXdpSocket *self, guint number, gboolean takes_long, const char *path, GError **error)
{
    self->queue = new_queue(self->address.interface, number, takes_long, path, error);
    const int failure = self->queue ? bind_socket(self) : -1;
    if (failure > 0)
        free_queue(g_steal_pointer(&self->queue));
    return failure;
}

/* With the lock of the table. Finds or makes the queue, and binds the socket to it. Of older
 * kernels, which do not know the flag, frames have one buffer. The kernel gives a queue free some
 * time after the socket that had it is closed. */
static gboolean
open_socket(CtXdpSocket *self, guint number, const char *path, GError **error)
{
    gboolean takes_long = TRUE;
    guint n_waits = 0;
    int failure;
    self->queue = find_queue(self->address.interface, number);
    if (self->queue)
        failure = bind_socket(self);
    else
        while ((failure = open_queue(self, number, takes_long, path, error)) > 0) {
            if (failure == EBUSY && n_waits++ < BUSY_WAITS)
                g_usleep(BUSY_MICROSECONDS);
            else if (failure == EINVAL && takes_long)
                takes_long = FALSE;
            else
                break;
        }
    if (failure <= 0)
        return failure == 0;
    errno = failure;
    return ct_xdp_fail(error, path,
                       failure == EBUSY ? "another process receives from this queue of the "
                                          "interface by AF_XDP"
                                        : "the interface has no AF_XDP");
}

/* With the lock of the table. */
static gboolean
add_to_program(CtXdpSocket *self, const char *path, GError **error)
{
    Queue *queue = self->queue;
    if (!queue->program)
        queue->program = find_program(queue->interface);
    if (!queue->program)
        queue->program =
            ct_xdp_program_new(queue->interface, queue->takes_long ? 0 : FRAME_BYTES, path, error);
    if (queue->program)
        self->slot = ct_xdp_program_add(queue->program, &self->address, queue->number,
                                        ct_xdp_socket_fd(self), path, error);
    return self->slot >= 0;
}

CtXdpSocket *
ct_xdp_socket_new(const CtAddress *address, guint queue, const char *path, GError **error)
{
    CtXdpSocket *self = g_new0(CtXdpSocket, 1);
    self->address = *address;
    self->slot = -1;
    pthread_mutex_lock(&table_lock);
    if (!open_socket(self, queue, path, error) || !add_to_program(self, path, error))
        close_socket(g_steal_pointer(&self));
    pthread_mutex_unlock(&table_lock);
    return self;
}

int
ct_xdp_socket_fd(const CtXdpSocket *socket)
{
    return xsk_socket__fd(socket->socket);
}

/* ---- receiving ---- */

static const struct xdp_desc *
find_piece(const CtXdpSocket *self, guint32 at)
{
    return xsk_ring_cons__rx_desc(&self->received, at);
}

static const guint8 *
find_bytes(const CtXdpSocket *self, guint32 at)
{
    return xsk_umem__get_data(self->queue->memory, find_piece(self, at)->addr);
}

/* Gives the buffers of n pieces back, from `from` on. */
static void
give_back(CtXdpSocket *self, guint32 from, guint n)
{
    Queue *queue = self->queue;
    guint32 to;
    pthread_mutex_lock(&queue->lock);
    const guint n_free = xsk_ring_prod__reserve(&queue->free, n, &to);
    g_assert(n_free == n);
    for (guint i = 0; i < n; i++)
        *xsk_ring_prod__fill_addr(&queue->free, to + i) = find_piece(self, from + i)->addr;
    xsk_ring_prod__submit(&queue->free, n);
    /* A driver that has found no free buffer looks again when it is called. */
    const gboolean sleeps = xsk_ring_prod__needs_wakeup(&queue->free);
    pthread_mutex_unlock(&queue->lock);
    xsk_ring_cons__release(&self->received, n);
    if (sleeps)
        recvfrom(ct_xdp_socket_fd(self), NULL, 0, MSG_DONTWAIT, NULL, NULL);
}

/* The pieces of the frame that begins at `from`, of n that are there; 0: not all of them are. */
static guint
count_pieces(const CtXdpSocket *self, guint32 from, guint n)
{
    for (guint i = 0; i < n; i++)
        if (!(find_piece(self, from + i)->options & XDP_PKT_CONTD))
            return i + 1;
    return 0;
}

/* Copies n bytes, of which the first is in the piece `from`. */
static void
copy(const CtXdpSocket *self, guint32 from, gsize at, guint8 *to, gsize n)
{
    for (; n > 0; from++, at = 0) {
        const gsize part = MIN(find_piece(self, from)->len - at, n);
        memcpy(to, find_bytes(self, from) + at, part);
        to += part;
        n -= part;
    }
}

/* Returns the datagrams in a frame of n pieces: 1, or 0 if the kernel would not use it. */
static guint
take(const CtXdpSocket *self, guint32 from, guint n, CtDatagram *datagram)
{
    gsize length = 0, at, n_payload;
    for (guint i = 0; i < n; i++)
        length += find_piece(self, from + i)->len;
    if (!ct_frame_find(find_bytes(self, from), find_piece(self, from)->len, length, &at,
                       &n_payload))
        return 0;
    copy(self, from, at, datagram->bytes, MIN(n_payload, datagram->room));
    datagram->n = n_payload;
    return 1;
}

guint
ct_xdp_socket_receive(CtXdpSocket *socket, CtDatagram *datagrams, guint n)
{
    guint32 from = 0;
    const guint there = xsk_ring_cons__peek(&socket->received, MOST_PIECES, &from);
    guint used = 0, given = 0, n_pieces;
    while (given < n && (n_pieces = count_pieces(socket, from + used, there - used)) > 0) {
        given += take(socket, from + used, n_pieces, &datagrams[given]);
        used += n_pieces;
    }
    xsk_ring_cons__cancel(&socket->received, there - used);
    if (used > 0)
        give_back(socket, from, used);
    return given;
}

guint64
ct_xdp_socket_lost(const CtXdpSocket *socket)
{
    struct xdp_statistics counts = {0};
    socklen_t n = sizeof counts;
    getsockopt(ct_xdp_socket_fd(socket), SOL_XDP, XDP_STATISTICS, &counts, &n);
    return counts.rx_dropped + counts.rx_ring_full;
}

/* Its buffers are for the other sockets of the queue again. */
static void
empty(CtXdpSocket *self)
{
    guint32 from = 0;
    const guint n = xsk_ring_cons__peek(&self->received, N_RECEIVED, &from);
    if (n > 0)
        give_back(self, from, n);
}

void
ct_xdp_socket_free(CtXdpSocket *socket)
{
    if (!socket)
        return;
    pthread_mutex_lock(&table_lock);
    ct_xdp_program_remove(socket->queue->program, &socket->address, socket->queue->number,
                          socket->slot);
    empty(socket);
    close_socket(socket);
    pthread_mutex_unlock(&table_lock);
}
