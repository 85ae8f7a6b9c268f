/* SPDX-License-Identifier: BSD-3-Clause */
/* An array in a file that grows along time, which may be any of its axes: [slab][time][inner]. A
 * slab is the samples along time at one index of the axes slower than time. */
#define _GNU_SOURCE
#include "slabs.h"

#include "file.h"

#include <cornerturn/packets.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The bytes of one slab that a write should have if the staging buffer is large enough. */
enum { PIECE_BYTES = 8 << 10, LEAST_STAGING = 1 << 20, MOST_STAGING = 64 << 20 };

static gint64
file_bytes(const Slabs *slabs, gint64 n_samples)
{
    gint64 bytes;
    if (__builtin_mul_overflow(slabs->n_slabs * slabs->sample_bytes, n_samples, &bytes) ||
        __builtin_add_overflow(bytes, slabs->header_bytes, &bytes))
        return G_MAXINT64;
    return bytes;
}

static gint64
offset_of(const Slabs *slabs, gint64 slab, gint64 capacity)
{
    return slabs->header_bytes + slab * capacity * slabs->sample_bytes;
}

gboolean
slabs_open(Slabs *slabs, gint64 capacity, GError **error)
{
    const gint64 sample = MAX(1, slabs->sample_bytes), n_slabs = MAX(1, slabs->n_slabs);
    const gint64 staging = CLAMP(n_slabs * PIECE_BYTES, LEAST_STAGING, MOST_STAGING);
    slabs->staging_samples = MAX(1, staging / n_slabs / sample);
    gsize bytes;
    if (!__builtin_mul_overflow(slabs->staging_samples * n_slabs, sample, &bytes))
        slabs->staging = g_try_malloc(bytes);
    if (!slabs->staging) {
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY,
                    "%s: no memory to write %" G_GINT64_FORMAT " times %" G_GINT64_FORMAT " bytes",
                    slabs->path, slabs->staging_samples * n_slabs, sample);
        return FALSE;
    }
    slabs->file_bytes = slabs->header_bytes;
    return slabs_reserve(slabs, capacity, error);
}

void
slabs_clear(Slabs *slabs)
{
    g_clear_pointer(&slabs->staging, g_free);
}

gboolean
slabs_check(const Slabs *slabs, GError **error)
{
    struct stat status;
    if (fstat(slabs->fd, &status) != 0)
        return ct_file_error(error, slabs->path, "can't be read");
    if (status.st_size >= slabs->file_bytes)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_IO,
                "%s: wants the %" G_GINT64_FORMAT " bytes that it was left with, but is given "
                "%" G_GINT64_FORMAT ": another process has cut it",
                slabs->path, slabs->file_bytes, (gint64)status.st_size);
    return FALSE;
}

/* ---- moving ---- */

/* Moves a slab's samples within the file through the staging buffer, in pieces; starts with the
 * last piece when moving towards the end of the file, so that nothing is overwritten before it is
 * read. */
static gboolean
move_slab(const Slabs *slabs, gint64 from, gint64 to, GError **error)
{
    const gint64 bytes = slabs->n_samples * slabs->sample_bytes;
    const gint64 room = slabs->staging_samples * slabs->n_slabs * slabs->sample_bytes;
    for (gint64 done = 0; done < bytes;) {
        const gint64 n = MIN(room, bytes - done);
        const gint64 at = to > from ? bytes - done - n : done;
        if (!ct_file_read(slabs->path, slabs->fd, from + at, slabs->staging, (gsize)n, error) ||
            ct_file_write(slabs->path, slabs->fd, to + at, slabs->staging, n, error) < n)
            return FALSE;
        done += n;
    }
    return TRUE;
}

/* Changes the room of all slabs from `from` to `to` samples each; starts with the last slab when
 * they move apart. */
static gboolean
move_slabs(const Slabs *slabs, gint64 from, gint64 to, GError **error)
{
    for (gint64 i = 1; i < slabs->n_slabs && from != to; i++) {
        const gint64 slab = to > from ? slabs->n_slabs - i : i;
        if (!move_slab(slabs, offset_of(slabs, slab, from), offset_of(slabs, slab, to), error))
            return FALSE;
    }
    return TRUE;
}

/* Allocates disk space for the whole file, so that a lack of space shows at once. */
static gboolean
allocate(const Slabs *slabs, gint64 bytes, GError **error)
{
    while (fallocate(slabs->fd, 0, 0, bytes) != 0) {
        if (errno == EOPNOTSUPP || errno == ENOSYS)
            return ftruncate(slabs->fd, bytes) == 0 ||
                   ct_file_error(error, slabs->path, "can't be written");
        if (errno != EINTR)
            return ct_file_error(error, slabs->path, "can't be written");
    }
    return TRUE;
}

gboolean
slabs_reserve(Slabs *slabs, gint64 capacity, GError **error)
{
    const gint64 before = slabs->capacity;
    if (capacity <= before || slabs->n_slabs * slabs->sample_bytes == 0)
        return TRUE;
    const gint64 bytes = file_bytes(slabs, capacity);
    if (!slabs_check(slabs, error) || !allocate(slabs, bytes, error))
        return FALSE;
    slabs->file_bytes = bytes;
    slabs->capacity = capacity;
    return move_slabs(slabs, before, capacity, error);
}

gboolean
slabs_close(Slabs *slabs, GError **error)
{
    const gint64 bytes = file_bytes(slabs, slabs->n_samples);
    if (!slabs_check(slabs, error) || !move_slabs(slabs, slabs->capacity, slabs->n_samples, error))
        return FALSE;
    slabs->capacity = slabs->n_samples;
    slabs->file_bytes = bytes;
    return ftruncate(slabs->fd, bytes) == 0 ||
           ct_file_error(error, slabs->path, "can't be written");
}

/* ---- writing ---- */

guint8 *
slabs_place(const Slabs *slabs, gint64 slab)
{
    return slabs->staging + (slab * slabs->staging_samples + slabs->n_staged) * slabs->sample_bytes;
}

gboolean
slabs_write(Slabs *slabs, gint64 slab, const guint8 *samples, gint64 n, GError **error)
{
    const gint64 offset =
        offset_of(slabs, slab, slabs->capacity) + slabs->n_samples * slabs->sample_bytes;
    const gint64 bytes = n * slabs->sample_bytes;
    const gint64 done = ct_file_write(slabs->path, slabs->fd, offset, samples, bytes, error);
    slabs->file_bytes = MAX(slabs->file_bytes, offset + done);
    return done == bytes;
}

gboolean
slabs_flush(Slabs *slabs, GError **error)
{
    if (slabs->n_staged == 0)
        return TRUE;
    if (!slabs_check(slabs, error))
        return FALSE;
    const gint64 n = slabs->n_staged;
    slabs->n_staged = 0;
    for (gint64 slab = 0; slab < slabs->n_slabs; slab++)
        if (!slabs_write(slabs, slab, slabs_place(slabs, slab), n, error))
            return FALSE;
    slabs->n_samples += n;
    return TRUE;
}
