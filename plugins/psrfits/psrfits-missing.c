/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin in a build without CFITSIO: psrfits.sink says that it is missing. */
#include "psrfits.h"

const CtStage psrfits_sink = {
    .name = "psrfits.sink",
    .summary = "power over time and frequency to PSRFITS files, with PATH.json beside them",
    .version = 1,
    .inputs = CT_PORTS({"power", "{time ...}", 0, "real samples"}),
    .extensions = psrfits_extensions,
    .stands_for = "file.sink",
    .missing = "CFITSIO (libcfitsio-dev)",
};

CT_PLUGIN("psrfits", ((const CtStage *const[]){&psrfits_source, &psrfits_sink, NULL}),
          ((const CtVariant *const[]){CT_ARRAY_SOURCE_VARIANT(psrfits_source_files,
                                                              "psrfits.source", CT_PORT_ROWS(0.1),
                                                              CT_CPU, "cpu"),
                                      NULL}));
