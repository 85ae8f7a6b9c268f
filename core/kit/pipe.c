/* SPDX-License-Identifier: BSD-3-Clause */
/* Pipes in place of files: their names, and opening them. */
#include "pipe.h"

#include "cornerturn/error.h"
#include "cornerturn/packets.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static gboolean
is_fifo(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISFIFO(status.st_mode);
}

gboolean
ct_pipe_is(const char *path)
{
    return strcmp(path, "-") == 0 || g_str_has_prefix(path, "fd:") || is_fifo(path);
}

const char *
ct_pipe_name(const char *path, gboolean is_written)
{
    if (strcmp(path, "-") != 0)
        return path;
    return is_written ? "standard output" : "standard input";
}

/* Opens a file that is open already as one of the stage's own. */
static int
open_again(const char *path, gboolean is_written, GError **error)
{
    gint64 number = is_written ? STDOUT_FILENO : STDIN_FILENO;
    if (strcmp(path, "-") != 0 &&
        !g_ascii_string_to_signed(path + strlen("fd:"), 10, 0, G_MAXINT, &number, NULL)) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "%s: wants fd: and the number of an open file", path);
        return -1;
    }
    const char *name = ct_pipe_name(path, is_written);
    const int flags = fcntl((int)number, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) == (is_written ? O_RDONLY : O_WRONLY)) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: is not open for %s", name,
                    is_written ? "writing" : "reading");
        return -1;
    }
    const int fd = flags < 0 ? -1 : fcntl((int)number, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        ct_file_error(error, name, is_written ? "can't be written" : "can't be read");
    return fd;
}

int
ct_pipe_open(const char *path, gboolean is_written, GError **error)
{
    if (!is_fifo(path))
        return open_again(path, is_written, error);
    for (;;) {
        const int fd = open(path, O_CLOEXEC | (is_written ? O_WRONLY : O_RDONLY | O_NONBLOCK));
        if (fd < 0 && errno == EINTR)
            continue;
        if (fd < 0)
            ct_file_error(error, path, "can't be opened");
        return fd;
    }
}
