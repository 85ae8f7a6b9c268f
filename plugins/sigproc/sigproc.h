/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the plugin share. */
#pragma once

#include <cornerturn/kit/sink.h>

extern const CtStage sigproc_sink;
extern const CtSink sigproc_sink_files;
