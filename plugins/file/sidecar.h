/* SPDX-License-Identifier: BSD-3-Clause */
/* PATH.json, which stands beside an array and says what its axes are. */
#pragma once

#include <cornerturn/stage.h>

/* What a sink has seen of its stream, beyond the description. */
typedef struct {
    gint64 n_samples;
    gint64 n_lanes;
    const gint64 *invalid; /* [lane] samples */
} SidecarCounts;

/* The text of a file: type, layout, axes with coordinates, clock, frequency, validity. `stream` is
 * as written, its time axis of the length that it has. */
char *sidecar_format(const CtStream *stream, const CtLayout *layout, const SidecarCounts *counts);

/* Reads PATH.json, if there is one, to a stream (zeroed before): its clock, and the axes that it
 * names, whose lengths are the caller's to check. `layout` is NULL where there is no file. */
gboolean sidecar_read(const char *array_path, CtStream *stream, CtLayout **layout, GError **error);

/* Whether an axis's table has a value for each place, and its parent is another axis that there is.
 */
gboolean sidecar_coordinate_fits(const CtStream *stream, guint axis);
