/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing PATH.json, a file beside an array that describes its axes. */
#pragma once

#include "cornerturn/kit/gaps.h"
#include "cornerturn/layout.h"

/* What makes a file. */
typedef struct {
    const char *node;            /* the sink */
    const char *graph;           /* the text of the graph; NULL: not known */
    const char *const *settings; /* what was set beside it; NULL: nothing */
} CtOrigin;

/* The facts about an array in a file that the description of its stream lacks. */
typedef struct {
    gint64 bytes;           /* of the file */
    const char *generation; /* a random name of this version of the array */
    const char *sha256;     /* of the file; NULL: not requested */
    gboolean interrupted;   /* the stream had not ended */
    gboolean is_partial;    /* the array is still growing */
    gint64 n_samples;       /* written so far */
    gboolean is_one_of;     /* several files that follow one another */
    gint64 number, first; /* of these: the file's number, and the stream's sample it begins with */
    CtOrigin origin;
    const CtGaps *gaps; /* invalid samples, by the lanes of `stream`; only of a whole array */
} CtSidecarArray;

/* The text of a file: type, layout, the array's length, axes with coordinates, clock, frequency,
 * validity. `stream` has the length along time that the file has. All texts of one partial array
 * have the same length, so the file is valid JSON even if a text only partly overwrites another. */
char *ct_sidecar_format(const CtStream *stream, const CtLayout *layout,
                        const CtSidecarArray *array);
