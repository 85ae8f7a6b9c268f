/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin in a build without the library: its stage says what is missing. */
#include <cornerturn/stage.h>

#define MISSING "HDF5 (libhdf5-dev)"

static const char *const extensions[] = {".h5", ".hdf5", NULL};

static const CtStage sink = {
    .name = "hdf5.sink",
    .summary = "streams to HDF5 files, with PATH.json beside them",
    .version = 1,
    .inputs = CT_PORTS({"in", "{...}", 0, "any stream"}),
    .extensions = extensions,
    .stands_for = "file.sink",
    .missing = MISSING,
};

CT_PLUGIN("hdf5", ((const CtStage *const[]){&sink, NULL}), ((const CtVariant *const[]){NULL}));
