/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing array in a file, time anywhere among its axes: [outer][time][inner]. */
#include "slabs.h"

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static gint64
file_bytes(const Slabs *slabs, gint64 n_samples)
{
    gint64 bytes;
    if (__builtin_mul_overflow(slabs->n_slabs * slabs->sample_bytes, n_samples, &bytes) ||
        __builtin_add_overflow(bytes, slabs->header_bytes, &bytes))
        return G_MAXINT64;
    return bytes;
}

static void
unmap(Slabs *slabs)
{
    if (slabs->map)
        munmap(slabs->map, file_bytes(slabs, slabs->capacity));
    slabs->map = NULL;
}

/* Spreads slabs from `capacity` samples each to `wider`, or moves them together, in place: the last
 * moves first where they spread. */
static void
move_slabs(const Slabs *slabs, gint64 from, gint64 to)
{
    guint8 *data = slabs->map + slabs->header_bytes;
    const gint64 bytes = slabs->n_samples * slabs->sample_bytes;
    for (gint64 i = 1; i < slabs->n_slabs; i++) {
        const gint64 slab = to > from ? slabs->n_slabs - i : i;
        memmove(data + slab * to * slabs->sample_bytes, data + slab * from * slabs->sample_bytes,
                bytes);
    }
}

gboolean
slabs_reserve(Slabs *slabs, gint64 capacity, GError **error)
{
    const gint64 before = slabs->capacity;
    if (slabs->n_slabs == 1 || capacity <= before || slabs->n_slabs * slabs->sample_bytes == 0)
        return TRUE;
    const gint64 bytes = file_bytes(slabs, capacity);
    /* A hole that can't be filled would be a signal, not an error: disk is taken beforehand. */
    const int failure = posix_fallocate(slabs->fd, 0, bytes);
    if (failure != 0) {
        errno = failure;
        return file_error(error, slabs->path, "can't be written");
    }
    unmap(slabs);
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, slabs->fd, 0);
    if (map == MAP_FAILED)
        return file_error(error, slabs->path, "can't be mapped");
    slabs->map = map;
    slabs->capacity = capacity;
    move_slabs(slabs, before, capacity);
    return TRUE;
}

gboolean
slabs_append(Slabs *slabs, const guint8 *samples, gint64 n, GError **error)
{
    const gint64 bytes = n * slabs->sample_bytes;
    const gint64 offset = file_bytes(slabs, slabs->n_samples);
    for (gint64 done = 0; done < bytes;) {
        const gssize given = pwrite(slabs->fd, samples + done, bytes - done, offset + done);
        if (given < 0 && errno == EINTR)
            continue;
        if (given < 0)
            return file_error(error, slabs->path, "can't be written");
        done += given;
    }
    slabs->n_samples += n;
    return TRUE;
}

guint8 *
slabs_place(const Slabs *slabs, gint64 slab)
{
    return slabs->map + slabs->header_bytes +
           (slab * slabs->capacity + slabs->n_samples) * slabs->sample_bytes;
}

gboolean
slabs_close(Slabs *slabs, GError **error)
{
    if (slabs->map)
        move_slabs(slabs, slabs->capacity, slabs->n_samples);
    unmap(slabs);
    if (ftruncate(slabs->fd, file_bytes(slabs, slabs->n_samples)) != 0)
        return file_error(error, slabs->path, "can't be written");
    return TRUE;
}
