/* SPDX-License-Identifier: BSD-3-Clause */
/* Sinks that write to a pipe: standard output, an open file of the process, a FIFO. */
#include "cornerturn/error.h"
#include "cornerturn/packets.h"
#include "sink-private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static gboolean
is_fifo(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISFIFO(status.st_mode);
}

gboolean
ct_sink_is_pipe(const CtParams *given)
{
    const char *path = ct_params_string(given, "path");
    return path && (strcmp(path, "-") == 0 || g_str_has_prefix(path, "fd:") || is_fifo(path));
}

const char *
ct_sink_pipe_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard output" : path;
}

/* Opens a file that is open already as one of the sink's own. */
static int
open_again(const char *path, GError **error)
{
    gint64 number = STDOUT_FILENO;
    if (strcmp(path, "-") != 0 &&
        !g_ascii_string_to_signed(path + strlen("fd:"), 10, 0, G_MAXINT, &number, NULL)) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "%s: wants fd: and the number of an open file", path);
        return -1;
    }
    const char *name = ct_sink_pipe_name(path);
    const int flags = fcntl((int)number, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: is not open for writing", name);
        return -1;
    }
    const int fd = flags < 0 ? -1 : fcntl((int)number, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        ct_file_error(error, name, "can't be written");
    return fd;
}

int
ct_sink_pipe_open(const char *path, GError **error)
{
    if (!is_fifo(path))
        return open_again(path, error);
    for (;;) {
        const int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0 && errno == EINTR)
            continue;
        if (fd < 0)
            ct_file_error(error, path, "can't be opened");
        return fd;
    }
}

/* write(2) without SIGPIPE: a signal that it raises is taken from this thread. */
static gssize
write_quietly(int fd, gconstpointer bytes, gsize n)
{
    const struct timespec at_once = {0};
    sigset_t pipe, before, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    const gssize given = write(fd, bytes, n);
    const int failure = errno;
    if (given < 0 && failure == EPIPE && !sigismember(&pending, SIGPIPE))
        while (sigtimedwait(&pipe, NULL, &at_once) < 0 && errno == EINTR)
            continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = failure;
    return given;
}

gboolean
ct_sink_pipe_write(const char *path, int fd, gconstpointer bytes, gint64 n, GError **error)
{
    for (gint64 done = 0; done < n;) {
        const gssize given = write_quietly(fd, (const guint8 *)bytes + done, (gsize)(n - done));
        if (given > 0) {
            done += given;
            continue;
        }
        if (given < 0 && errno == EAGAIN) {
            struct pollfd writable = {.fd = fd, .events = POLLOUT};
            poll(&writable, 1, -1);
            continue;
        }
        if (given < 0 && errno == EINTR)
            continue;
        errno = given == 0 ? ENOSPC : errno;
        if (errno != EPIPE)
            return ct_file_error(error, path, "can't be written");
        g_set_error(error, CT_ERROR, CT_ERROR_IO,
                    "%s: wants a reader until the stream ends, but it has gone", path);
        return FALSE;
    }
    return TRUE;
}
