/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin with spead.source and spead.sink. */
#include "spead.h"

static const CtRow sink_rows[] = {{"any: [...] ->", 0.13}, {NULL}};

CT_PLUGIN("spead", ((const CtStage *const[]){&spead_source, &spead_sink, NULL}),
          ((const CtVariant *const[]){
              CT_SOURCE_VARIANTS(spead_source_files, "spead.source", CT_PORT_ROWS(0.15)),
              CT_SINK_VARIANTS(spead_sink_files, "spead.sink", sink_rows), NULL}));
