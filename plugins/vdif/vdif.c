/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin with vdif.source and vdif.sink. */
#include "vdif.h"

static const CtRow sink_rows[] = {{"f32|cf32|i8|ci8|i16|ci16[...] ->", 0.3}, {0}};

CT_PLUGIN("vdif", ((const CtStage *const[]){&vdif_source, &vdif_sink, NULL}),
          ((const CtVariant *const[]){
              CT_SOURCE_VARIANTS(vdif_source_files, "vdif.source", CT_PORT_ROWS(0.08)),
              CT_SINK_VARIANTS(vdif_sink_files, "vdif.sink", sink_rows), NULL}));
