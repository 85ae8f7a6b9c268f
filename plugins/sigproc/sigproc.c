/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin with sigproc.source. */
#include "sigproc.h"

CT_STAGE_PLUGIN("sigproc", sigproc_source,
                CT_ARRAY_SOURCE_VARIANTS(sigproc_files, "sigproc.source", CT_PORT_ROWS(0.1)));
