/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the plugin share. */
#pragma once

#include <cornerturn/kit/sink.h>
#include <cornerturn/kit/source.h>

extern const CtStage guppi_source, guppi_sink;
extern const CtSource guppi_source_files;
extern const CtSink guppi_sink_files;
