/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin in a build without the library: its stages say what is missing. */
#include <cornerturn/stage.h>

#define MISSING "CFITSIO (libcfitsio-dev)"

static const char *const extensions[] = {".sf", ".fits", NULL};

static const CtStage source = {
    .name = "psrfits.source",
    .summary = "power over time and frequency from PSRFITS files in search mode",
    .version = 1,
    .outputs = CT_PORTS({"power", "u8|i8|i16|f32{time channel ...}", 0, "samples of the file"}),
    .extensions = extensions,
    .stands_for = "file.source",
    .missing = MISSING,
};

static const CtStage sink = {
    .name = "psrfits.sink",
    .summary = "power over time and frequency to PSRFITS files, with PATH.json beside them",
    .version = 1,
    .inputs = CT_PORTS({"power", "{time ...}", 0, "real samples"}),
    .extensions = extensions,
    .stands_for = "file.sink",
    .missing = MISSING,
};

CT_PLUGIN("psrfits", ((const CtStage *const[]){&source, &sink, NULL}),
          ((const CtVariant *const[]){NULL}));
