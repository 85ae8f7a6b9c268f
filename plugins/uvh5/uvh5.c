/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin with uvh5.sink. */
#include "uvh5.h"

static const CtRow sink_rows[] = {{"any: [...], [...] ->", 0.1}, {0}};

CT_PLUGIN("uvh5", ((const CtStage *const[]){&uvh5_sink, NULL}),
          ((const CtVariant *const[]){CT_SINK_VARIANTS(uvh5_sink_files, "uvh5.sink", sink_rows),
                                      NULL}));
