/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin with sigproc.sink. */
#include "sigproc.h"

static const CtRow sink_rows[] = {{"f32|u8|i8[...] ->", 0.1}, {0}};

CT_STAGE_PLUGIN("sigproc", sigproc_sink,
                CT_SINK_VARIANTS(sigproc_sink_files, "sigproc.sink", sink_rows));
