/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading pipes, and keeping their heads. */
#define _GNU_SOURCE /* memfd_create, ppoll */
#include "cornerturn/error.h"
#include "cornerturn/packets.h"
#include "pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct CtPipe {
    char *path;
    const char *name; /* for messages */
    int fd;
    guint n_users;       /* with the lock of all pipes */
    gboolean is_started; /* behind the head, bytes have been read; with the same lock */
    GMutex lock;         /* of what follows */
    int head;            /* a file in memory */
    gint64 length;       /* of the head */
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
wait_for_bytes(const CtPipe *pipe, int milliseconds, const sigset_t *mask)
{
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    struct pollfd readable = {.fd = pipe->fd, .events = POLLIN};
    return ppoll(&readable, 1, milliseconds < 0 ? NULL : &time, mask);
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

/* Appends bytes to the head, at least one. */
static gboolean
extend(CtPipe *pipe, gint64 most, GError **error)
{
    guint8 bytes[4096];
    sigset_t mask;
    sigfillset(&mask);
    sigdelset(&mask, SIGINT);
    sigdelset(&mask, SIGTERM);
    sigdelset(&mask, SIGHUP);
    if (wait_for_bytes(pipe, -1, &mask) < 0 && errno == EINTR) {
        g_set_error(error, CT_ERROR, CT_ERROR_CANCELLED,
                    "%s: interrupted while it waited for the first bytes", pipe->name);
        return FALSE;
    }
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

gboolean
ct_pipe_read(CtPipe *pipe, guint8 *to, gsize n, int milliseconds, gsize *given, gboolean *ended,
             GError **error)
{
    *given = 0;
    if (!pipe->is_started) {
        g_mutex_lock(&lock);
        pipe->is_started = TRUE;
        g_mutex_unlock(&lock);
    }
    const int ready = pipe->ended ? 1 : wait_for_bytes(pipe, milliseconds, NULL);
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
