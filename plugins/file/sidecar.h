/* SPDX-License-Identifier: BSD-3-Clause */
/* PATH.json, which stands beside an array and says what its axes are. */
#pragma once

#include <cornerturn/stage.h>

/* A sink's facts about its array, beyond the description of the stream. */
typedef struct {
    gint64 bytes;           /* of the file */
    const char *generation; /* which of all runs wrote it */
    const char *sha256;     /* of the file; NULL: nobody asked for it */
    gboolean interrupted;   /* the stream would have gone on */
    gboolean is_partial;    /* the array still grows */
    gint64 n_samples;       /* written so far */
    gint64 n_lanes;
    const gint64 *invalid; /* [lane] samples */
} SidecarArray;

/* The text of a file: type, layout, the array's length, axes with coordinates, clock, frequency,
 * validity. `stream` is as written, its time axis of the length that it has in the file. Texts of
 * the same partial array are all of one length: whatever part of one is written over another, it
 * stays JSON. */
char *sidecar_format(const CtStream *stream, const CtLayout *layout, const SidecarArray *array);

/* Samples and lanes that the sink wrote as invalid, and whether its run was interrupted. */
typedef struct {
    gint64 invalid;       /* samples, of all lanes */
    guint n_lanes;        /* 0: where none is invalid */
    guint n_lossy;        /* lanes that have invalid samples */
    gboolean interrupted; /* the stream would have gone on */
} SidecarLosses;

/* Reads PATH.json, if there is one, to a stream (zeroed before): its clock, and the axes that it
 * names, whose lengths are the caller's to check. Fails where it says that the array's file has
 * another length than `bytes`. `layout` is NULL where there is no file. */
gboolean sidecar_read(const char *array_path, gint64 bytes, CtStream *stream, CtLayout **layout,
                      SidecarLosses *losses, GError **error);
