/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the plugin share. */
#pragma once

#include <cornerturn/kit/sink.h>
#include <cornerturn/kit/source.h>

extern const char *const vdif_extensions[];
extern const CtStage vdif_source, vdif_sink;
extern const CtSource vdif_source_files;
extern const CtSink vdif_sink_files;
