/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin with psrfits.source and psrfits.sink. */
#include "psrfits.h"

const char *const psrfits_extensions[] = {".sf", ".fits", NULL};

static const CtRow sink_rows[] = {{"f32|u8|i8|i16[...] ->", 0.1}, {0}};

CT_PLUGIN("psrfits", ((const CtStage *const[]){&psrfits_sink, NULL}),
          ((const CtVariant *const[]){
              CT_SINK_VARIANTS(psrfits_sink_files, "psrfits.sink", sink_rows), NULL}));
