/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin with psrfits.source and psrfits.sink. */
#include "psrfits.h"

static const CtRow sink_rows[] = {{"f32|u8|i8|i16[...] ->", 0.1}, {0}};

CT_PLUGIN("psrfits", ((const CtStage *const[]){&psrfits_source, &psrfits_sink, NULL}),
          ((const CtVariant *const[]){
              CT_ARRAY_SOURCE_VARIANT(psrfits_source_files, "psrfits.source", CT_PORT_ROWS(0.1),
                                      CT_CPU, "cpu"),
              CT_SINK_VARIANTS(psrfits_sink_files, "psrfits.sink", sink_rows), NULL}));
