/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin with guppi.source and guppi.sink. */
#include "guppi.h"

static const CtRow sink_rows[] = {{"ci4|ci8|ci16[...] ->", 0.15}, {0}};

CT_PLUGIN("guppi", ((const CtStage *const[]){&guppi_source, &guppi_sink, NULL}),
          ((const CtVariant *const[]){
              CT_SOURCE_VARIANTS(guppi_source_files, "guppi.source", CT_PORT_ROWS(0.15)),
              CT_SINK_VARIANTS(guppi_sink_files, "guppi.sink", sink_rows), NULL}));
