/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing array in a file, time anywhere among its axes: [outer][time][inner]. */
#pragma once

#include <glib.h>

/* Where time is slowest (one slab), samples are appended. Otherwise each slab has room for
 * `capacity` samples while the stream runs, in mapped memory whose disk is reserved beforehand, and
 * the slabs are moved together at the end. */
typedef struct {
    const char *path; /* for messages, the caller's */
    int fd;
    gint64 header_bytes; /* before the array */
    gint64 n_slabs;
    gint64 sample_bytes; /* of one sample of one slab */
    gint64 n_samples;    /* written so far */
    gint64 capacity;
    guint8 *map; /* the whole file; NULL: one slab, or nothing yet */
} Slabs;

/* Makes room for `capacity` samples in all. */
gboolean slabs_reserve(Slabs *slabs, gint64 capacity, GError **error);

/* Appends samples of a single slab. */
gboolean slabs_append(Slabs *slabs, const guint8 *samples, gint64 n, GError **error);

/* Where sample n_samples of a slab goes; room is reserved before. */
guint8 *slabs_place(const Slabs *slabs, gint64 slab);

/* Moves the slabs together and cuts the file to its length. The map is gone after. */
gboolean slabs_close(Slabs *slabs, GError **error);
