/* SPDX-License-Identifier: BSD-3-Clause */
/* An array in a file that grows along time, which may be any of its axes: [slab][time][inner]. A
 * slab is the samples along time at one index of the axes slower than time. */
#pragma once

#include <glib.h>

/* Each slab has room for `capacity` samples while the stream runs, and the slabs are moved together
 * at the end. Samples are staged in memory until there are enough for long writes. */
typedef struct {
    const char *path; /* for messages, owned by the caller */
    int fd;
    gint64 header_bytes; /* before the array */
    gint64 n_slabs;
    gint64 sample_bytes; /* of one sample of one slab */
    gint64 n_samples;    /* written so far */
    gint64 capacity;
    gint64 file_bytes; /* last known length of the file */
    guint8 *staging;   /* [slab][staging_samples] */
    gint64 staging_samples;
    gint64 n_staged; /* samples staged and not yet written */
} Slabs;

/* Allocates the staging buffer and makes room for `capacity` samples in all. The file holds the
 * header, or nothing. */
gboolean slabs_open(Slabs *slabs, gint64 capacity, GError **error);

/* Makes room for `capacity` samples in all. No samples may be staged. */
gboolean slabs_reserve(Slabs *slabs, gint64 capacity, GError **error);

/* The address for the next samples of a slab, with room for staging_samples − n_staged. */
guint8 *slabs_place(const Slabs *slabs, gint64 slab);

/* Writes the staged samples. */
gboolean slabs_flush(Slabs *slabs, GError **error);

/* Writes samples n_samples … n_samples + n − 1 of a slab, which the caller then counts. No samples
 * may be staged, and room must be reserved. */
gboolean slabs_write(Slabs *slabs, gint64 slab, const guint8 *samples, gint64 n, GError **error);

/* Fails if the file is shorter than its last known length: another process has cut it. */
gboolean slabs_check(const Slabs *slabs, GError **error);

/* Moves the slabs together and cuts the file to its length. No samples may be staged. */
gboolean slabs_close(Slabs *slabs, GError **error);

void slabs_clear(Slabs *slabs);
