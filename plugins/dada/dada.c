/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin with dada.source and dada.sink. */
#include "dada.h"

static const CtRow sink_rows[] = {{"i8|i16|f32|ci8|ci16|cf32[...] ->", 0.1}, {0}};

CT_PLUGIN("dada", ((const CtStage *const[]){&dada_source, &dada_sink, NULL}),
          ((const CtVariant *const[]){CT_ARRAY_SOURCE_VARIANT(dada_source_files, "dada.source",
                                                              CT_PORT_ROWS(0.1), CT_CPU, "cpu"),
                                      CT_SINK_VARIANTS(dada_sink_files, "dada.sink", sink_rows),
                                      NULL}));
