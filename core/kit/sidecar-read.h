/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading PATH.json, a file beside an array that describes its axes. */
#pragma once

#include "cornerturn/kit/gaps.h"
#include "cornerturn/layout.h"

/* What PATH.json says of an array beside the description of its stream. */
typedef struct {
    CtLayout *layout;     /* NULL: there is no PATH.json */
    CtGaps *gaps;         /* invalid samples; NULL: none */
    gint64 invalid;       /* samples over all lanes that are invalid, where it does not say which */
    gboolean interrupted; /* the stream had not ended */
} CtSidecar;

void ct_sidecar_clear(CtSidecar *sidecar);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtSidecar, ct_sidecar_clear)

/* Reads PATH.json, if it exists, to a stream (clear before): its clock, its observation, and the
 * axes that it names, whose lengths the caller checks. Fails if it gives another length of the
 * array's file than `bytes`. `sidecar` must be zero, and is to be cleared in either case. */
gboolean ct_sidecar_read(const char *array_path, gint64 bytes, CtStream *stream, CtSidecar *sidecar,
                         GError **error);

/* A sink that replaces an array and its PATH.json removes the old text before the old array, and
 * writes the new text after the new array. So a text belongs to the array if PATH is still the file
 * that was opened before the text was read, which this checks. */
gboolean ct_sidecar_check_file(const char *path, int fd, GError **error);
