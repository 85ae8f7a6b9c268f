/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading pipes, and keeping their heads. */
#define _GNU_SOURCE /* memfd_create, ppoll */
#include "cornerturn/error.h"
#include "cornerturn/packets.h"
#include "cornerturn/pipeline.h"
#include "pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A wait looks so often whether it is interrupted. */
#define LOOK_NANOSECONDS 100000000L

struct CtPipe {
    char *path;
    const char *name; /* for messages */
    int fd;
    guint n_users;       /* with the lock of all pipes */
    gboolean is_started; /* behind the head, bytes have been read; with the same lock */
    GMutex lock;         /* of what follows */
    int head;            /* a file in memory */
    gint64 length;       /* of the head */
    gint64 dropped;      /* bytes of it that are gone */
    gboolean ended;      /* no bytes follow the head */
};

/* The pipes that may be got again, by path. */
static GMutex lock;
static GHashTable *pipes;

/* ---- opening ---- */

static void
destroy(CtPipe *pipe)
{
    if (pipe->fd >= 0)
        close(pipe->fd);
    if (pipe->head >= 0)
        close(pipe->head);
    g_mutex_clear(&pipe->lock);
    g_free(pipe->path);
    g_free(pipe);
}

static CtPipe *
open_pipe(const char *path, GError **error)
{
    CtPipe *pipe = g_new0(CtPipe, 1);
    g_mutex_init(&pipe->lock);
    pipe->path = g_strdup(path);
    pipe->name = ct_pipe_name(pipe->path, FALSE);
    pipe->head = -1;
    pipe->fd = ct_pipe_open(path, FALSE, error);
    if (pipe->fd >= 0)
        pipe->head = memfd_create("head", MFD_CLOEXEC);
    if (pipe->fd >= 0 && pipe->head >= 0)
        return pipe;
    if (pipe->fd >= 0)
        ct_file_error(error, pipe->name, "no memory to read it");
    destroy(pipe);
    return NULL;
}

CtPipe *
ct_pipe_get(const char *path, GError **error)
{
    g_mutex_lock(&lock);
    if (!pipes)
        pipes = g_hash_table_new(g_str_hash, g_str_equal);
    CtPipe *pipe = g_hash_table_lookup(pipes, path);
    if (!pipe && (pipe = open_pipe(path, error)) != NULL)
        g_hash_table_insert(pipes, pipe->path, pipe);
    if (pipe)
        pipe->n_users++;
    g_mutex_unlock(&lock);
    return pipe;
}

void
ct_pipe_free(CtPipe *pipe)
{
    if (!pipe)
        return;
    g_mutex_lock(&lock);
    pipe->n_users--;
    const gboolean is_over = pipe->n_users == 0 && pipe->is_started;
    if (is_over)
        g_hash_table_remove(pipes, pipe->path);
    g_mutex_unlock(&lock);
    if (is_over)
        destroy(pipe);
}

/* ---- reading ---- */

/* Waits until read(2) does not: 1; 0: it still would; −1 with errno. A FIFO without a writer counts
 * as ended only after one was there. */
static int
wait_for_bytes(const CtPipe *pipe, int milliseconds)
{
    struct pollfd readable = {.fd = pipe->fd, .events = POLLIN};
    return poll(&readable, 1, milliseconds);
}

/* Reads up to `n` bytes; 0: the pipe has ended; −1 with errno. */
static gssize
read_some(const CtPipe *pipe, guint8 *to, gsize n)
{
    gssize given;
    do
        given = read(pipe->fd, to, n);
    while (given < 0 && errno == EINTR);
    return given;
}

/* The signals that end a wait are those that ask for the end. One that comes before the wait is
 * seen by ct_waits_are_interrupted(). */
int
ct_pipe_wait(struct pollfd *readable, guint n)
{
    const struct timespec time = {0, LOOK_NANOSECONDS};
    sigset_t mask;
    int ready = 0;
    sigfillset(&mask);
    sigdelset(&mask, SIGINT);
    sigdelset(&mask, SIGTERM);
    sigdelset(&mask, SIGHUP);
    while (ready == 0 && !ct_waits_are_interrupted())
        ready = ppoll(readable, n, &time, &mask);
    if (ready == 0)
        errno = EINTR;
    return ready == 0 ? -1 : ready;
}

static gboolean
fail_interrupted(const CtPipe *pipe, GError **error)
{
    g_set_error(error, CT_ERROR, CT_ERROR_CANCELLED,
                "%s: interrupted while it waited for the first bytes", pipe->name);
    return FALSE;
}

/* Appends bytes to the head, at least one. */
static gboolean
extend(CtPipe *pipe, gint64 most, GError **error)
{
    guint8 bytes[4096];
    struct pollfd readable = {.fd = pipe->fd, .events = POLLIN};
    if (ct_pipe_wait(&readable, 1) < 0 && errno == EINTR)
        return fail_interrupted(pipe, error);
    const gssize given = read_some(pipe, bytes, (gsize)MIN(most, (gint64)sizeof bytes));
    if (given < 0 && errno != EAGAIN)
        return ct_file_error(error, pipe->name, "can't be read");
    if (given < 0)
        return TRUE;
    pipe->ended = given == 0;
    const gint64 kept = ct_file_write(pipe->name, pipe->head, pipe->length, bytes, given, error);
    pipe->length += kept;
    return kept == given;
}

gboolean
ct_pipe_need(CtPipe *pipe, gint64 n, GError **error)
{
    gboolean good = TRUE;
    g_mutex_lock(&pipe->lock);
    while (good && pipe->length < n && !pipe->ended)
        good = extend(pipe, n - pipe->length, error);
    g_mutex_unlock(&pipe->lock);
    return good;
}

int
ct_pipe_head(CtPipe *pipe, gint64 *length, GError **error)
{
    g_mutex_lock(&pipe->lock);
    *length = pipe->length;
    g_mutex_unlock(&pipe->lock);
    const int fd = fcntl(pipe->head, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        ct_file_error(error, pipe->name, "can't be read");
    return fd;
}

void
ct_pipe_start(CtPipe *pipe)
{
    if (pipe->is_started)
        return;
    g_mutex_lock(&lock);
    pipe->is_started = TRUE;
    g_mutex_unlock(&lock);
}

gboolean
ct_pipe_read(CtPipe *pipe, guint8 *to, gsize n, int milliseconds, gsize *given, gboolean *ended,
             GError **error)
{
    *given = 0;
    ct_pipe_start(pipe);
    const int ready = pipe->ended ? 1 : wait_for_bytes(pipe, milliseconds);
    if (ready == 0 || (ready < 0 && errno == EINTR))
        return TRUE;
    const gssize some = pipe->ended ? 0 : read_some(pipe, to, n);
    if (some < 0 && errno == EAGAIN)
        return TRUE;
    if (some < 0)
        return ct_file_error(error, pipe->name, "can't be read");
    *given = (gsize)some;
    pipe->ended = *ended = some == 0;
    return TRUE;
}

/* ---- reading packets ---- */

/* At most this many bytes are read at once, and dropped in pieces of this size. */
enum { PIECE_BYTES = 1 << 20 };

gint64
ct_pipe_length(CtPipe *pipe, gboolean *ended)
{
    g_mutex_lock(&pipe->lock);
    const gint64 length = pipe->length;
    *ended = pipe->ended;
    g_mutex_unlock(&pipe->lock);
    return length;
}

gint64
ct_pipe_held(CtPipe *pipe)
{
    g_mutex_lock(&pipe->lock);
    const gint64 held = pipe->length - pipe->dropped;
    g_mutex_unlock(&pipe->lock);
    return held;
}

void
ct_pipe_drop(CtPipe *pipe, gint64 offset)
{
    const gint64 end = offset / PIECE_BYTES * PIECE_BYTES;
    g_mutex_lock(&pipe->lock);
    if (end > pipe->dropped && fallocate(pipe->head, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                         pipe->dropped, end - pipe->dropped) == 0)
        pipe->dropped = end;
    g_mutex_unlock(&pipe->lock);
}

/* Appends the bytes that are there to the file, up to `most`. */
static gboolean
take(CtPipe *pipe, guint8 *bytes, gint64 most, gboolean *filled, GError **error)
{
    const gssize given = read_some(pipe, bytes, (gsize)MIN(most, PIECE_BYTES));
    if (given < 0 && errno == EAGAIN)
        return TRUE;
    if (given < 0)
        return ct_file_error(error, pipe->name, "can't be read");
    const gint64 kept = ct_file_write(pipe->name, pipe->head, pipe->length, bytes, given, error);
    g_mutex_lock(&pipe->lock);
    pipe->ended = given == 0;
    pipe->length += kept;
    g_mutex_unlock(&pipe->lock);
    *filled = TRUE;
    return kept == given;
}

gboolean
ct_pipes_fill(CtPipe *const *pipes, guint n, gint64 most, int milliseconds, gboolean *filled,
              GError **error)
{
    const gboolean is_patient = milliseconds < 0;
    g_autofree struct pollfd *readable = g_new0(struct pollfd, n);
    g_autofree guint8 *bytes = NULL;
    guint n_open = 0;
    *filled = FALSE;
    for (guint i = 0; i < n; i++) {
        const gboolean is_read = !pipes[i]->ended && ct_pipe_held(pipes[i]) < most;
        readable[i] = (struct pollfd){.fd = is_read ? pipes[i]->fd : -1, .events = POLLIN};
        n_open += is_read;
    }
    if (n_open == 0)
        return TRUE;
    const int ready = is_patient ? ct_pipe_wait(readable, n) : poll(readable, n, milliseconds);
    if (ready < 0 && errno == EINTR)
        return !is_patient || fail_interrupted(pipes[0], error);
    bytes = ready > 0 ? g_malloc(PIECE_BYTES) : NULL;
    for (guint i = 0; ready > 0 && i < n; i++)
        if (readable[i].revents != 0 &&
            !take(pipes[i], bytes, most - ct_pipe_held(pipes[i]), filled, error))
            return FALSE;
    return TRUE;
}
