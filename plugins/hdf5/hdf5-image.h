/* SPDX-License-Identifier: BSD-3-Clause */
/* HDF5 files that the library makes in memory, and where in them numbers are that are written
 * later.
 *
 * The places are those of the HDF5 File Format Specification: superblock of version 0, object
 * headers of version 1, dataspace messages of version 1, data layout messages of version 3. All
 * functions are called between hdf5_begin and hdf5_end. */
#pragma once

#include "hdf5-objects.h"

#define HDF5_PAGE 4096

/* Where in the file the numbers of a dataset are; offsets in bytes. */
typedef struct {
    gsize length;      /* of its first axis */
    gsize most_length; /* the largest length that it may have; 0: the file does not say */
    gsize address;     /* of its first byte in the file */
    gsize bytes;
} Hdf5Places;

/* Where the superblock has the length of the file. */
#define HDF5_END_PLACE 40

/* Begins a file in memory, whose metadata come first, in one piece if they are short; `path` is for
 * messages. To be closed. */
hid_t hdf5_image_begin(const char *path);
/* The bytes of the file up to now, a multiple of HDF5_PAGE; NULL with an error of the library. */
GBytes *hdf5_image_take(hid_t file);
/* Finds the numbers of a contiguous dataset in these bytes. FALSE: they are not where they are
 * known to be. */
gboolean hdf5_image_find(GBytes *image, hid_t dataset, Hdf5Places *places);
