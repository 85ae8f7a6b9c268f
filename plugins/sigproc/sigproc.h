/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the plugin share. */
#pragma once

#include <cornerturn/kit/array-source.h>
#include <cornerturn/kit/sink.h>

extern const char *const sigproc_extensions[];
extern const CtStage sigproc_source, sigproc_sink;
extern const CtArraySource sigproc_source_files;
extern const CtSink sigproc_sink_files;
