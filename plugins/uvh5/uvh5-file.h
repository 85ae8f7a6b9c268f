/* SPDX-License-Identifier: BSD-3-Clause */
/* The UVH5 file of a stream, before its visibilities: all metadata, and room in which everything is
 * flagged. The format is version 1.2, as the memo of UVH5 and pyuvdata have it. */
#pragma once

#include "uvh5-shape.h"

/* The bytes of the text that tells how much is written, at the end of the history. */
#define UVH5_STATE_BYTES 128

/* Where the file has what is written as the stream runs, in bytes; contiguous. */
typedef struct {
    gint64 visibilities; /* [time][baseline][channel][product] of cf32 or cf64 */
    gint64 flags;        /* the same, of bytes: 1 is flagged */
    gint64 samples;      /* the same, of floats */
    gint64 state;        /* UVH5_STATE_BYTES of text, zeros behind it */
} Uvh5Places;

/* Writes the file, which is empty, for `file->expected` integrations. `history` is the beginning of
 * the history. */
gboolean uvh5_file_create(const CtSinkFile *file, const Uvh5Shape *shape,
                          const EarthOrientations *orientations, gboolean is_wide,
                          const char *history, Uvh5Places *places, GError **error);
