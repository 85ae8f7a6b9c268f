/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin with hdf5.source, hdf5.sink and fbh5.sink. */
#include "hdf5.h"

static const CtRow sink_rows[] = {{"[...] ->", 0.1}, {0}};
static const CtRow fbh5_rows[] = {{"f32[...] ->", 0.1}, {0}};
static const CtRow source_rows[] = {{"-> [...]", 0.13}, {0}};

CT_PLUGIN("hdf5", ((const CtStage *const[]){&hdf5_source, &hdf5_sink, &fbh5_sink, NULL}),
          ((const CtVariant *const[]){
              CT_ARRAY_SOURCE_VARIANT(hdf5_source_files, "hdf5.source", source_rows, CT_CPU, "cpu"),
              CT_SINK_VARIANTS(hdf5_sink_files, "hdf5.sink", sink_rows),
              CT_SINK_VARIANTS(fbh5_sink_files, "fbh5.sink", fbh5_rows), NULL}));
