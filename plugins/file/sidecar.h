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

/* What PATH.json says of an array beside the description of its stream. */
typedef struct {
    CtLayout *layout;     /* NULL: there is no PATH.json */
    CtGaps *gaps;         /* invalid samples; NULL: none */
    gint64 invalid;       /* samples over all lanes that are invalid, where it does not say which */
    gboolean interrupted; /* the stream had not ended */
} SidecarFacts;

void sidecar_facts_clear(SidecarFacts *facts);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SidecarFacts, sidecar_facts_clear)

/* Reads PATH.json, if it exists, to a stream (zeroed before): its clock, its observation, and the
 * axes that it names, whose lengths the caller checks. Fails if it gives another length of the
 * array's file than `bytes`. `facts` must be zero, and is to be cleared in either case. */
gboolean sidecar_read(const char *array_path, gint64 bytes, CtStream *stream, SidecarFacts *facts,
                      GError **error);
