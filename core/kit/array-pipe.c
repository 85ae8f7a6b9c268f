/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of arrays: reading a pipe. */
#include "array-source-private.h"
#include "cornerturn/packets.h"

#include <string.h>

enum {
    WINDOW_BYTES = 1 << 20,
    /* A wait for samples ends after this time, so that the run can end. */
    WAIT_MILLISECONDS = 100
};

struct CtArrayWindow {
    const CtArrayPart *part;
    const CtParams *given; /* of the node, for warnings */
    gint64 block_bits;     /* of a block of time */
    guint8 *bytes;         /* [room] */
    gint64 room;
    gint64 begin;    /* in `bytes`, of those that are there */
    gint64 first, n; /* the bytes of the pipe that are there */
    gboolean ended;  /* none follow them */
};

CtArrayWindow *
ct_array_window_new(const CtArrayPart *part, const CtParams *given, GError **error)
{
    const CtArrayFile *file = &part->file;
    g_autofree CtArrayWindow *window = g_new0(CtArrayWindow, 1);
    window->part = part;
    window->given = given;
    window->block_bits = part->n_elements * part->bits;
    /* Two blocks, which need not begin with a byte; the head comes first. */
    window->room = MAX(MAX(WINDOW_BYTES, window->block_bits / 4 + 2), file->length);
    window->bytes = ct_table_new((gsize)window->room, 1, "the samples of a pipe", error);
    if (!window->bytes)
        return NULL;
    window->n = file->length;
    if (ct_file_read(part->path, file->fd, 0, window->bytes, (gsize)window->n, error))
        return g_steal_pointer(&window);
    g_free(window->bytes);
    return NULL;
}

void
ct_array_window_free(CtArrayWindow *window)
{
    if (!window)
        return;
    g_free(window->bytes);
    g_free(window);
}

/* Drops the bytes before `offset`. */
static void
drop(CtArrayWindow *window, gint64 offset)
{
    const gint64 gone = CLAMP(offset - window->first, 0, window->n);
    window->n -= gone;
    window->first += gone;
    window->begin += gone;
}

/* Makes room behind the bytes that are there. */
static void
compact(CtArrayWindow *window)
{
    if (window->begin < window->room / 2 && window->begin + window->n < window->room)
        return;
    memmove(window->bytes, window->bytes + window->begin, (gsize)window->n);
    window->begin = 0;
}

/* Whole samples of the array up to the end of the window. */
static gint64
count_samples(const CtArrayWindow *window)
{
    const gint64 bytes = window->first + window->n - window->part->file.offset;
    const gint64 bits = MAX(1, window->block_bits);
    /* Without the product of bytes and 8, which may be too large. */
    const gint64 blocks = bytes < 0 ? 0 : bytes / bits * 8 + bytes % bits * 8 / bits;
    return blocks * window->part->block;
}

/* The first byte of a block of time. */
static gint64
find_block(const CtArrayWindow *window, gint64 block)
{
    return window->part->file.offset + block / 8 * window->block_bits +
           block % 8 * window->block_bits / 8;
}

/* The pipe has ended: without the samples that its header promises, or in the middle of one. */
static gboolean
check_end(const CtArrayWindow *window, GError **error)
{
    const CtArrayPart *part = window->part;
    const gint64 n = count_samples(window), end = window->first + window->n;
    if (n < part->n_samples) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants %" G_GINT64_FORMAT " samples, but has ended after %" G_GINT64_FORMAT
                    " (truncated)",
                    part->path, part->n_samples, n);
        return FALSE;
    }
    const gint64 bits = n / part->block % 8 * window->block_bits;
    const gint64 used =
        part->file.offset + n / part->block / 8 * window->block_bits + (bits + 7) / 8;
    if (part->n_samples < 0 && end > used)
        ct_params_warn(window->given, NULL,
                       "%s has ended with %" G_GINT64_FORMAT " bytes that are less than a %s, "
                       "which are not read",
                       part->path, end - used, part->block > 1 ? "block" : "sample");
    return TRUE;
}

gboolean
ct_array_window_load(CtArrayWindow *window, gint64 position, gint64 most, gint64 *n,
                     gboolean *ended, GError **error)
{
    const gint64 keep = find_block(window, position / window->part->block);
    *n = *ended = 0;
    for (;;) {
        gsize given;
        drop(window, keep);
        *n = CLAMP(count_samples(window) - position, 0, most);
        *ended = window->ended && *n == MAX(0, count_samples(window) - position);
        if (*n == most || window->ended || window->n == window->room)
            return TRUE;
        compact(window);
        const gint64 end = window->begin + window->n;
        if (!ct_pipe_read(window->part->pipe, window->bytes + end, (gsize)(window->room - end),
                          *n > 0 ? 0 : WAIT_MILLISECONDS, &given, &window->ended, error))
            return FALSE;
        window->n += (gint64)given;
        if (window->ended && !check_end(window, error))
            return FALSE;
        if (given == 0 && !window->ended)
            return TRUE;
    }
}

const guint8 *
ct_array_window_bytes(const CtArrayWindow *window, gint64 offset)
{
    return window->bytes + window->begin + (offset - window->first);
}
