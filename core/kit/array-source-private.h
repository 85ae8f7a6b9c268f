/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of arrays: what opening and reading share. */
#pragma once

#include "cornerturn/kit/array-source.h"
#include "cornerturn/kit/gaps.h"
#include "pipe.h"

/* A file with the array that it holds: [slab][time][sample], where a slab is the array at one index
 * of the axes that are slower than time. */
typedef struct {
    CtArrayFile file;
    char *path;        /* the file's, or how messages call the pipe */
    CtPipe *pipe;      /* NULL: it is a file */
    CtStream stream;   /* of this file, as its header and PATH.json describe it */
    CtGaps *gaps;      /* invalid samples; NULL: all are valid */
    gint64 first;      /* its first sample, counted from that of all files */
    gint64 n_samples;  /* −1: not known, of a pipe */
    guint bits;        /* of an element in the file */
    gsize bytes;       /* of an element in memory: a part if `complex` stands apart */
    gint64 block;      /* samples of a block of time; 1: there are none */
    gint64 n_slabs;    /* the product of the lengths of the axes slower than time */
    gint64 n_elements; /* of the axes inside time, with those of its block */
    guint n_outer;     /* axes of the layout that are slower than time */
} CtArrayPart;

/* The files of a source, in the order of their times. */
typedef struct {
    const CtArraySource *source;
    guint n_parts;
    CtArrayPart *parts;
    CtStream stream;  /* of all files */
    CtLayout layout;  /* of its blocks: that of the files without blocks and `complex` */
    gint64 n_samples; /* of all files with the gaps between them; −1: not known, of a pipe */
    CtGaps *gaps;     /* invalid samples; NULL: all are valid */
} CtArrays;

/* Opens the files that the parameter names, and describes their stream. */
CtArrays *ct_arrays_open(const CtArraySource *source, const CtParams *given, GError **error);
void ct_arrays_close(CtArrays *arrays);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtArrays, ct_arrays_close)

/* Opens one file; part->path is set, and the rest is zero. The part is to be cleared in either
 * case. */
gboolean ct_array_part_open(CtArrayPart *part, const CtArraySource *source, const CtParams *given,
                            GError **error);
void ct_array_part_clear(CtArrayPart *part, const CtArraySource *source);

/* The lengths of the axes in the file's order: of time with a block, the number of blocks. */
gint64 ct_array_part_length(const CtArrayPart *part, guint axis);

/* ---- pipes (array-pipe.c) ---- */

/* The part of a pipe that is read and still used. */
typedef struct CtArrayWindow CtArrayWindow;

CtArrayWindow *ct_array_window_new(const CtArrayPart *part, const CtParams *given, GError **error);
void ct_array_window_free(CtArrayWindow *window);
/* Reads up to `most` samples from sample `position` on, as many as are there, and waits for the
 * first a while. Sets *n to their number, and *ended after the last ones. Samples before are gone.
 */
gboolean ct_array_window_load(CtArrayWindow *window, gint64 position, gint64 most, gint64 *n,
                              gboolean *ended, GError **error);
/* The bytes from `offset` of the pipe on, which belong to samples that are loaded. */
const guint8 *ct_array_window_bytes(const CtArrayWindow *window, gint64 offset);

/* ---- elements ---- */

/* Unpacks elements of 1, 2 or 4 bits to bytes: byte by byte, and element by element. */
void ct_array_unpack(const CtArrayFile *file, const guint8 *bytes, guint first, gsize n,
                     guint8 *to);
void ct_array_unpack_plain(const CtArrayFile *file, const guint8 *bytes, guint first, gsize n,
                           guint8 *to);
