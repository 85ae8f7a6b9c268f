/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing bytes to files, and errors of the system. */
#include "cornerturn/error.h"
#include "cornerturn/packets.h"

#include <errno.h>
#include <unistd.h>

gboolean
ct_file_error(GError **error, const char *path, const char *what)
{
    const int saved = errno;
    g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: %s: %s", path, what, g_strerror(saved));
    return FALSE;
}

gint64
ct_file_write(const char *path, int fd, gint64 offset, gconstpointer bytes, gint64 n,
              GError **error)
{
    gint64 done = 0;
    while (done < n) {
        const gssize given =
            pwrite(fd, (const guint8 *)bytes + done, (gsize)(n - done), offset + done);
        if (given < 0 && errno == EINTR)
            continue;
        errno = given == 0 ? ENOSPC : errno;
        if (given <= 0) {
            ct_file_error(error, path, "can't be written");
            break;
        }
        done += given;
    }
    return done;
}
