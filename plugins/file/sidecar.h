/* SPDX-License-Identifier: BSD-3-Clause */
/* PATH.json, a file beside an array that describes its axes. */
#pragma once

#include <cornerturn/stage.h>

/* The facts about a sink's array that the description of the stream lacks. */
typedef struct {
    gint64 bytes;           /* of the file */
    const char *generation; /* a random name of this version of the array */
    const char *sha256;     /* of the file; NULL: not requested */
    gboolean interrupted;   /* the stream had not ended */
    gboolean is_partial;    /* the array is still growing */
    gint64 n_samples;       /* written so far */
    gint64 n_lanes;
    const gint64 *invalid; /* [lane] samples */
} SidecarArray;

/* The text of a file: type, layout, the array's length, axes with coordinates, clock, frequency,
 * validity. `stream` has the length along time that the file has. All texts of one partial array
 * have the same length, so the file is valid JSON even if a text only partly overwrites another. */
char *sidecar_format(const CtStream *stream, const CtLayout *layout, const SidecarArray *array);

/* Samples and lanes that the sink wrote as invalid, and whether its run was interrupted. */
typedef struct {
    gint64 invalid;       /* over all lanes */
    guint n_lanes;        /* 0 if no sample is invalid */
    guint n_lossy;        /* lanes that have invalid samples */
    gboolean interrupted; /* the stream had not ended */
} SidecarLosses;

/* Reads PATH.json, if it exists, to a stream (zeroed before): its clock, and the axes that it
 * names, whose lengths the caller checks. Fails if it gives another length of the array's file than
 * `bytes`. `layout` is NULL if there is no file. */
gboolean sidecar_read(const char *array_path, gint64 bytes, CtStream *stream, CtLayout **layout,
                      SidecarLosses *losses, GError **error);
