/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the plugin share. */
#pragma once

#include <cornerturn/kit/array-source.h>

extern const CtStage sigproc_source;
extern const CtArraySource sigproc_files; /* of sigproc.source */
