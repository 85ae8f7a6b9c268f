/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin in a build without its libraries: its stage says what is missing. */
#include <cornerturn/stage.h>

static const char *const extensions[] = {".uvh5", NULL};

static const CtStage sink = {
    .name = "uvh5.sink",
    .summary = "visibilities to UVH5 files, with PATH.json beside them",
    .version = 1,
    .inputs = CT_PORTS({"visibilities", "{time baseline ...}", 0, "as correlate gives them"},
                       {"weights", "{time baseline ...}", CT_PORT_OPTIONAL,
                        "spectra in which both stations were valid"}),
    .extensions = extensions,
    .stands_for = "file.sink",
    .missing = "HDF5 (libhdf5-dev) and ERFA (liberfa-dev)",
};

CT_PLUGIN("uvh5", ((const CtStage *const[]){&sink, NULL}), ((const CtVariant *const[]){NULL}));
