/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin with hdf5.sink. */
#include "hdf5.h"

const char *const hdf5_extensions[] = {".h5", ".hdf5", NULL};

static const CtRow sink_rows[] = {{"[...] ->", 0.1}, {0}};

CT_PLUGIN("hdf5", ((const CtStage *const[]){&hdf5_sink, NULL}),
          ((const CtVariant *const[]){CT_SINK_VARIANTS(hdf5_sink_files, "hdf5.sink", sink_rows),
                                      NULL}));
