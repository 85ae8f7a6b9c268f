/* SPDX-License-Identifier: BSD-3-Clause */
/* What PATH.json and the header of a file say together, of arrays and of recordings. */
#pragma once

#include "cornerturn/stage.h"
#include "sidecar-read.h"

/* Fails with "PATH: wants a header that agrees with PATH.json, but is given …". */
G_GNUC_PRINTF(3, 4)
gboolean ct_sidecar_contradicts(const char *path, GError **error, const char *format, ...);

/* Completes the stream that PATH.json describes by what the header says: axes, coordinates, labels,
 * frequency, observation and clock, of which the start is not compared. Axes that the header lacks
 * are dropped; those of other lengths lose their coordinates. Fails if both contradict each other.
 */
gboolean ct_sidecar_merge(const char *path, CtStream *stream, const CtStream *header,
                          GError **error);

/* Whether two files can be parts of one stream: the same axes, but for the length of time, the same
 * coordinates, labels, frequency and clock. */
gboolean ct_sidecar_is_alike(const CtStream *a, const CtStream *b);

/* Warns of invalid samples that are read as valid, and of a stream that has not ended. `but` says
 * which are: "valid". */
void ct_sidecar_warn(const CtSidecar *sidecar, const char *path, const CtParams *given,
                     const char *param, const char *but);
