/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the plugin share. */
#pragma once

#include <cornerturn/kit/array-source.h>
#include <cornerturn/kit/sink.h>

extern const char *const dada_extensions[];
extern const CtStage dada_source, dada_sink;
extern const CtArraySource dada_source_files;
extern const CtSink dada_sink_files;
