/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of an HDF5 file before its samples.
 *
 * The library makes the file in memory: a dataset without samples, its scales and attributes. The
 * samples then follow these bytes, and numbers within them tell how many there are: each has 8
 * bytes, little-endian, all within the first 4096 bytes, so that each is written whole or not at
 * all, whenever the process ends. */
#pragma once

#include "hdf5-image.h"

#include <cornerturn/kit/sink.h>

typedef struct {
    GBytes *bytes;     /* a multiple of 4096 */
    Hdf5Places data;   /* of the samples */
    Hdf5Places time;   /* of the scale of time; all 0 without one */
    gboolean has_time; /* the first axis of the samples is time */
} Hdf5Header;

/* Writes the objects of a file in memory: a dataset without samples, which is given, first; then
 * its scale `time`, if it has one; then all others. Below 0: it fails. */
typedef hid_t (*Hdf5Fill)(hid_t file, const CtSinkFile *sink);

/* Makes the header, and appends it to the file of a sink, whose stream and layout are known. */
gboolean hdf5_header_append(Hdf5Header *header, CtSinkFile *sink, Hdf5Fill fill, GError **error);
void hdf5_header_clear(Hdf5Header *header);

/* For `mark` and `close` of a sink: the header counts the samples that are written; then the scale
 * of time has its seconds. */
gboolean hdf5_header_mark(const Hdf5Header *header, CtSinkFile *file, GError **error);
gboolean hdf5_header_close(const Hdf5Header *header, CtSinkFile *file, GError **error);
