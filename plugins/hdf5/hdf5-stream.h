/* SPDX-License-Identifier: BSD-3-Clause */
/* What an HDF5 file says of the stream of a dataset: what hdf5.sink writes, and the dimension
 * scales that others do.
 *
 * The dataset has the attributes layout, frequency, ticks_per_second, ticks_per_sample, start and
 * epoch, as PATH.json; the group observation the others' facts. A scale has units; of coordinates
 * without a table first and step; of pairs of labels, which are two names with a space between
 * them, pairs. The dataset AXIS_coordinate has coordinates relative to those of the axis that its
 * attribute parent names, or of an axis whose scale has labels. */
#pragma once

#include "hdf5-objects.h"

#include <cornerturn/kit/array-source.h>

/* Sets "PATH: message". Returns FALSE. */
gboolean hdf5_refuse(const CtArrayFile *file, GError **error, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* The name that axis `dim` of a dataset has: that of its scale, or its label; NULL: it has none.
 * Allocated. */
char *hdf5_axis_name(hid_t data, guint dim);

/* Describes the coordinates and the labels of the axes, the clock, the frequency and the
 * observation. The stream has its axes; axis `dim` of the dataset is that of the name
 * axes[dim]. */
gboolean hdf5_stream_describe(CtArrayFile *array, const CtParams *given, hid_t file, hid_t data,
                              const CtLayout *axes, CtStream *stream, GError **error);

/* Sets the clock that a scale of time tells: values in seconds, or another unit, with even steps;
 * warns if they have none. FALSE: it tells none. */
gboolean hdf5_time_read(CtArrayFile *file, const CtParams *given, hid_t scale, CtStream *stream);

/* Writes all this: a dataset HDF5_DATA without samples, its scales, the group. Below 0: it fails.
 * To be closed. */
hid_t hdf5_stream_write(hid_t file, const CtStream *stream, const CtLayout *layout);
