/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a sink: PATH.partial and PATH.json.partial while it writes, then PATH and PATH.json.
 */
#define _GNU_SOURCE /* fallocate */
#include "sink-files.h"

#include "cornerturn/error.h"
#include "cornerturn/packets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static gboolean
check_name(const char *path, GError **error)
{
    struct stat status;
    if (stat(path, &status) != 0 || S_ISREG(status.st_mode))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_IO,
                "%s: wants a regular file in its place, but is given a folder or device", path);
    return FALSE;
}

gboolean
ct_sink_files_check(const char *path, GError **error)
{
    g_autofree char *json = g_strconcat(path, ".json", NULL);
    return check_name(path, error) && check_name(json, error);
}

/* ---- opening ---- */

/* Creates a file, or opens an existing one; does not follow links, and does not wait for a pipe. */
static int
open_file(const char *path, gboolean *is_new)
{
    enum { FLAGS = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK };
    for (;;) {
        int fd = open(path, FLAGS | O_CREAT | O_EXCL, 0666);
        *is_new = fd >= 0;
        if (fd < 0 && errno == EEXIST) {
            fd = open(path, FLAGS);
            if (fd < 0 && errno == ENOENT)
                continue; /* it has been renamed since then */
        }
        if (fd >= 0 || errno != EINTR)
            return fd;
    }
}

static gboolean
check_opened(const char *path, int fd, GError **error)
{
    struct stat status;
    if (fd < 0 && errno != ELOOP && errno != ENXIO)
        return ct_file_error(error, path, "can't be created");
    if (fd >= 0 && fstat(fd, &status) != 0)
        return ct_file_error(error, path, "can't be created");
    if (fd >= 0 && S_ISREG(status.st_mode) && status.st_nlink <= 1)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_IO,
                "%s: wants a regular file, but is given a link, a folder or a device", path);
    return FALSE;
}

/* Whether `path` still names the open file. */
static gboolean
is_same(const char *path, int fd)
{
    struct stat named, opened;
    return lstat(path, &named) == 0 && fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev &&
           named.st_ino == opened.st_ino;
}

static gboolean
lock(const char *path, int fd, gboolean is_new, GError **error)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return TRUE;
    if (errno == EWOULDBLOCK) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: is being written by another sink", path);
        return FALSE;
    }
    /* Some file systems have no locks. On these, the process that creates the file is its only
     * writer. */
    return is_new || ct_file_error(error, path,
                                   "is there, and can't be locked: remove it if no run writes it");
}

/* Opens a partial file that no other run is writing. */
static gboolean
claim(const char *path, int *fd, gboolean *is_new, GError **error)
{
    for (;;) {
        *fd = open_file(path, is_new);
        if (!check_opened(path, *fd, error) || !lock(path, *fd, *is_new, error))
            return FALSE;
        /* Another run that has ended since then has renamed the opened file. */
        if (is_same(path, *fd))
            return TRUE;
        close(*fd);
    }
}

static gboolean
open_folder(CtSinkFiles *files, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(files->path);
    files->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return files->folder_fd >= 0 || ct_file_error(error, folder, "can't be opened");
}

gboolean
ct_sink_files_open(CtSinkFiles *files, const char *path, GError **error)
{
    *files = (CtSinkFiles){
        .path = g_strdup(path),
        .partial = g_strconcat(path, ".partial", NULL),
        .json = g_strconcat(path, ".json", NULL),
        .json_partial = g_strconcat(path, ".json.partial", NULL),
        .fd = -1,
        .json_fd = -1,
        .folder_fd = -1,
    };
    gboolean is_new, is_new_json;
    if (!ct_sink_files_check(path, error) || !open_folder(files, error) ||
        !claim(files->json_partial, &files->json_fd, &is_new_json, error))
        return FALSE;
    if (!claim(files->partial, &files->fd, &is_new, error)) {
        if (is_new_json)
            unlink(files->json_partial);
        return FALSE;
    }
    if (ftruncate(files->json_fd, 0) != 0)
        return ct_file_error(error, files->json_partial, "can't be written");
    return ftruncate(files->fd, 0) == 0 || ct_file_error(error, files->partial, "can't be written");
}

static void
close_file(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void
ct_sink_files_close(CtSinkFiles *files)
{
    close_file(&files->fd);
    close_file(&files->json_fd);
    close_file(&files->folder_fd);
    g_clear_pointer(&files->path, g_free);
    g_clear_pointer(&files->partial, g_free);
    g_clear_pointer(&files->json, g_free);
    g_clear_pointer(&files->json_partial, g_free);
}

gboolean
ct_sink_files_lend(CtSinkFiles *files, GError **error)
{
    close_file(&files->fd);
    return unlink(files->partial) == 0 || ct_file_error(error, files->partial, "can't be removed");
}

gboolean
ct_sink_files_take_back(CtSinkFiles *files, GError **error)
{
    do
        files->fd = open(files->partial, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    while (files->fd < 0 && errno == EINTR);
    return check_opened(files->partial, files->fd, error);
}

/* ---- writing ---- */

/* Makes room for a text before the one that is there is changed: a full disk would leave a mixture
 * of both. */
static gboolean
reserve(const CtSinkFiles *files, gint64 bytes, GError **error)
{
    while (fallocate(files->json_fd, FALLOC_FL_KEEP_SIZE, 0, bytes) != 0) {
        if (errno == EOPNOTSUPP || errno == ENOSYS)
            return TRUE;
        if (errno != EINTR)
            return ct_file_error(error, files->json_partial, "can't be written");
    }
    return TRUE;
}

gboolean
ct_sink_files_describe(const CtSinkFiles *files, const char *text, GError **error)
{
    const gint64 length = (gint64)strlen(text);
    if (!reserve(files, length, error) ||
        ct_file_write(files->json_partial, files->json_fd, 0, text, length, error) < length)
        return FALSE;
    return ftruncate(files->json_fd, length) == 0 ||
           ct_file_error(error, files->json_partial, "can't be written");
}

gboolean
ct_sink_files_digest(const CtSinkFiles *files, GChecksum *checksum, GError **error)
{
    enum { PIECE_BYTES = 1 << 20 };
    struct stat status;
    if (fstat(files->fd, &status) != 0)
        return ct_file_error(error, files->partial, "can't be read");
    g_autofree guint8 *piece = g_malloc(PIECE_BYTES);
    for (gint64 offset = 0; offset < status.st_size; offset += PIECE_BYTES) {
        const gsize n = (gsize)MIN(PIECE_BYTES, status.st_size - offset);
        if (!ct_file_read(files->partial, files->fd, offset, piece, n, error))
            return FALSE;
        g_checksum_update(checksum, piece, (gssize)n);
    }
    return TRUE;
}

/* ---- final names ---- */

static gboolean
sync_file(const char *path, int fd, GError **error)
{
    while (fsync(fd) != 0)
        if (errno != EINTR)
            return ct_file_error(error, path, "can't be written to the disk");
    return TRUE;
}

/* Syncs the folder, so that the names persist. Some file systems do not support this and return
 * EINVAL. */
static gboolean
sync_folder(const CtSinkFiles *files, GError **error)
{
    while (fsync(files->folder_fd) != 0) {
        if (errno == EINVAL)
            return TRUE;
        if (errno != EINTR)
            return ct_file_error(error, files->path, "its folder can't be written to the disk");
    }
    return TRUE;
}

static gboolean
check_same(const char *path, int fd, GError **error)
{
    if (is_same(path, fd))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_IO,
                "%s: wants the file that was written, but it has been removed or replaced", path);
    return FALSE;
}

static gboolean
remove_old(const CtSinkFiles *files, GError **error)
{
    if (unlink(files->json) == 0)
        return sync_folder(files, error);
    return errno == ENOENT || ct_file_error(error, files->json, "can't be removed");
}

static gboolean
give_name(const CtSinkFiles *files, const char *partial, const char *path, GError **error)
{
    if (rename(partial, path) != 0)
        return ct_file_error(error, path, "can't be created");
    return sync_folder(files, error);
}

/* Checks that the names still belong to the files. */
static gboolean
check_names(const CtSinkFiles *files, GError **error)
{
    return ct_sink_files_check(files->path, error) &&
           check_same(files->partial, files->fd, error) &&
           check_same(files->json_partial, files->json_fd, error);
}

gboolean
ct_sink_files_seal(const CtSinkFiles *files, const char *text, GError **error)
{
    return ct_sink_files_describe(files, text, error) && check_names(files, error) &&
           sync_file(files->partial, files->fd, error) &&
           sync_file(files->json_partial, files->json_fd, error);
}

gboolean
ct_sink_files_commit(const CtSinkFiles *files, GError **error)
{
    return check_names(files, error) && remove_old(files, error) &&
           give_name(files, files->partial, files->path, error) &&
           give_name(files, files->json_partial, files->json, error);
}
