/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of packets: opening and reading them, and what holds their packets. */
#include "packets-private.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ---- */

gssize
ct_file_read_some(int fd, gint64 offset, guint8 *bytes, gsize n)
{
    gsize done = 0;
    while (done < n) {
        const gssize given = pread(fd, bytes + done, n - done, offset + done);
        if (given < 0 && errno == EINTR)
            continue;
        if (given < 0)
            return -1;
        if (given == 0)
            break;
        done += given;
    }
    return done;
}

/* Checks that the file's length is known: files of /proc have length 0 but hold bytes. */
static gboolean
check_length(const char *path, int fd, GError **error)
{
    struct stat status;
    guint8 byte;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: can't be opened: not a file", path);
        return FALSE;
    }
    if (status.st_size > 0 || ct_file_read_some(fd, 0, &byte, 1) <= 0)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_IO,
                "%s: wants a file of known length, but is given one that says 0 bytes and holds "
                "more: make a copy of it",
                path);
    return FALSE;
}

int
ct_file_open(const char *path, GError **error)
{
    const int fd = g_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0) {
        ct_file_error(error, path, "can't be opened");
        return -1;
    }
    if (check_length(path, fd, error))
        return fd;
    close(fd);
    return -1;
}

gboolean
ct_file_read(const char *path, int fd, gint64 offset, void *bytes, gsize n, GError **error)
{
    const gssize given = ct_file_read_some(fd, offset, bytes, n);
    if (given < 0)
        return ct_file_error(error, path, "can't be read");
    if ((gsize)given < n) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO,
                    "%s: wants %" G_GSIZE_FORMAT " bytes at %" G_GINT64_FORMAT
                    ", but is given %" G_GSSIZE_FORMAT ": the file has become shorter",
                    path, n, offset, given);
        return FALSE;
    }
    return TRUE;
}

/* ---- packets ---- */

CtPackets *
ct_packets_new(void)
{
    CtPackets *packets = g_new0(CtPackets, 1);
    packets->packets = g_array_new(FALSE, FALSE, sizeof(CtPacket));
    packets->files = g_array_new(FALSE, TRUE, sizeof(CtScannedFile));
    return packets;
}

void
ct_packets_free(CtPackets *packets)
{
    if (!packets)
        return;
    g_array_unref(packets->packets);
    g_array_unref(packets->files);
    g_clear_pointer(&packets->flagged, g_array_unref);
    g_free(packets->lane_begin);
    g_free(packets);
}

void
ct_packets_add_file(CtPackets *packets, guint file, CtScannedFile scanned)
{
    if (packets->files->len <= file)
        g_array_set_size(packets->files, file + 1);
    g_array_index(packets->files, CtScannedFile, file) = scanned;
}
