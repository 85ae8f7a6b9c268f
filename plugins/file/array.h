/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in files: their elements, axes and order, and the streams that they are. */
#pragma once

#include "file.h"

/* The array as memory has it: axes slowest first. One of the axes may be `complex`. */
typedef struct {
    const char *path;
    int fd;
    gint64 data_offset;
    gboolean swap;   /* other byte order than this machine's */
    CtLayout layout; /* of the stream's blocks: this order, complex left out */
    guint n_axes;    /* of the file */
    gint64 length[CT_MAX_AXES + 1];
    gint block_axis[CT_MAX_AXES + 1]; /* its axis in `layout`, −1: the parts of complex elements */
    gint time_axis;                   /* −1: none */
    gsize item_bytes;
    gsize value_bytes; /* of a part, where one item has two */
} FileArray;

/* Opens the array that a source's parameters name, and describes its stream (clear before). */
gboolean file_array_open(FileArray *array, const CtParams *given, CtStream *stream, GError **error);
void file_array_clear(FileArray *array);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(FileArray, file_array_clear)

/* Bytes of what stands under the time axis: one sample of a slab. */
gint64 file_array_inner_bytes(const FileArray *array);
