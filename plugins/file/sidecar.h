/* SPDX-License-Identifier: BSD-3-Clause */
/* PATH.json, a file beside an array that describes its axes. */
#pragma once

#include <cornerturn/kit/gaps.h>
#include <cornerturn/stage.h>

/* The facts about a sink's array that the description of the stream lacks. */
typedef struct {
    gint64 bytes;           /* of the file */
    const char *generation; /* a random name of this version of the array */
    const char *sha256;     /* of the file; NULL: not requested */
    gboolean interrupted;   /* the stream had not ended */
    gboolean is_partial;    /* the array is still growing */
    gint64 n_samples;       /* written so far */
    const CtGaps *gaps;     /* invalid samples */
} SidecarArray;

/* The text of a file: type, layout, the array's length, axes with coordinates, clock, frequency,
 * validity. `stream` has the length along time that the file has. All texts of one partial array
 * have the same length, so the file is valid JSON even if a text only partly overwrites another. */
char *sidecar_format(const CtStream *stream, const CtLayout *layout, const SidecarArray *array);
