/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of an HDF5 file before its samples.
 *
 * The library makes the file in memory: a dataset without samples, its scales and attributes. The
 * samples then follow these bytes, and numbers within them tell how many there are: each has 8
 * bytes, little-endian, all within the first 4096 bytes, so that each is written whole or not at
 * all, whenever the process ends. The places
 * are those of the HDF5 File Format Specification: superblock of version 0, object headers of
 * version 1, dataspace messages of version 1, data layout messages of version 3. */
#pragma once

#include <cornerturn/layout.h>
#include <cornerturn/tensor.h>

/* Where in the file the numbers of a dataset are; offsets in bytes. */
typedef struct {
    gsize length;      /* of its first axis */
    gsize most_length; /* the largest length that it may have; 0: the file does not say */
    gsize address;     /* of its first byte in the file */
    gsize bytes;
} Hdf5Places;

typedef struct {
    GBytes *bytes;   /* a multiple of 4096 */
    Hdf5Places data; /* of the samples */
    Hdf5Places time; /* of the scale of time; all 0 without time */
} Hdf5Header;

/* Where the superblock has the length of the file. */
#define HDF5_END_PLACE 40

/* Makes the header of a file of `stream`, whose start is that of the file. */
gboolean hdf5_header_make(Hdf5Header *header, const char *path, const CtStream *stream,
                          const CtLayout *layout, GError **error);
void hdf5_header_clear(Hdf5Header *header);
