/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin with sigproc.source and sigproc.sink. */
#include "sigproc.h"

static const CtRow sink_rows[] = {{"f32|u8|i8[...] ->", 0.1}, {0}};

CT_PLUGIN("sigproc", ((const CtStage *const[]){&sigproc_source, &sigproc_sink, NULL}),
          ((const CtVariant *const[]){
              CT_ARRAY_SOURCE_VARIANTS(sigproc_source_files, "sigproc.source", CT_PORT_ROWS(0.1)),
              CT_SINK_VARIANTS(sigproc_sink_files, "sigproc.sink", sink_rows), NULL}));
