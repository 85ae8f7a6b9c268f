/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin in a build without the library: its stages say what is missing. */
#include <cornerturn/stage.h>

#define MISSING "HDF5 (libhdf5-dev)"

static const CtStage source = {
    .name = "hdf5.source",
    .summary = "a stream from a dataset of an HDF5 file",
    .version = 1,
    .outputs = CT_PORTS({"samples", "{...}", 0, "the dataset, time slowest"}),
    .extensions = (const char *const[]){".h5", ".hdf5", ".fbh5", NULL},
    .stands_for = "file.source",
    .missing = MISSING,
};

static const CtStage sink = {
    .name = "hdf5.sink",
    .summary = "streams to HDF5 files, with PATH.json beside them",
    .version = 1,
    .inputs = CT_PORTS({"in", "{...}", 0, "any stream"}),
    .extensions = (const char *const[]){".h5", ".hdf5", NULL},
    .stands_for = "file.sink",
    .missing = MISSING,
};

static const CtStage filterbank = {
    .name = "fbh5.sink",
    .summary = "power over time and frequency to filterbanks in HDF5, with PATH.json beside them",
    .version = 1,
    .inputs = CT_PORTS({"power", "{time ...}", 0, "real samples"}),
    .extensions = (const char *const[]){".fbh5", NULL},
    .stands_for = "file.sink",
    .missing = MISSING,
};

CT_PLUGIN("hdf5", ((const CtStage *const[]){&source, &sink, &filterbank, NULL}),
          ((const CtVariant *const[]){NULL}));
