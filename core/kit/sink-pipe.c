/* SPDX-License-Identifier: BSD-3-Clause */
/* Sinks that write to a pipe: standard output, an open file of the process, a FIFO. */
#include "cornerturn/error.h"
#include "cornerturn/packets.h"
#include "pipe.h"
#include "sink-private.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

gboolean
ct_sink_is_pipe(const CtParams *given)
{
    const char *path = ct_params_string(given, "path");
    return path && (ct_pipe_is(path) || ct_sender_is(path));
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
