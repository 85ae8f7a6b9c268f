/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of an HDF5 file before its samples.
 *
 * The library makes the file in memory: a dataset without samples, its scales and attributes. The
 * samples then follow these bytes, and numbers within them tell how many there are: each has 8
 * bytes, little-endian, all within the first 4096 bytes, so that each is written whole or not at
 * all, whenever the process ends. */
#pragma once

#include "hdf5-image.h"

#include <cornerturn/layout.h>
#include <cornerturn/tensor.h>

typedef struct {
    GBytes *bytes;   /* a multiple of 4096 */
    Hdf5Places data; /* of the samples */
    Hdf5Places time; /* of the scale of time; all 0 without time */
} Hdf5Header;

/* Makes the header of a file of `stream`, whose start is that of the file. */
gboolean hdf5_header_make(Hdf5Header *header, const char *path, const CtStream *stream,
                          const CtLayout *layout, GError **error);
void hdf5_header_clear(Hdf5Header *header);
