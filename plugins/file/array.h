/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in files: their elements, axes and order, and their description as streams. */
#pragma once

#include "file.h"

#include <cornerturn/kit/gaps.h>

/* The array in the order of memory: axes slowest first. One of the axes may be `complex`. */
typedef struct {
    const char *path;
    int fd;
    gint64 data_offset;
    gboolean swap;   /* its byte order is not this machine's */
    CtLayout layout; /* of the stream's blocks: the same order without `complex` */
    guint n_axes;    /* of the file */
    gint64 length[CT_MAX_AXES + 1];
    gint block_axis[CT_MAX_AXES + 1]; /* its axis in `layout`, −1: the parts of complex elements */
    gint time_axis;                   /* −1: none */
    gsize item_bytes;
    gsize value_bytes; /* of a part if an element has two */
    CtGaps *gaps;      /* invalid samples; NULL: all are valid */
} FileArray;

/* Opens the array that a source's parameters name, and describes its stream, which must be
 * clear. */
gboolean file_array_open(FileArray *array, const CtParams *given, CtStream *stream, GError **error);
void file_array_clear(FileArray *array);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(FileArray, file_array_clear)

/* The bytes of the axes inside time: one sample of a slab. */
gint64 file_array_inner_bytes(const FileArray *array);
