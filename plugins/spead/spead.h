/* SPDX-License-Identifier: BSD-3-Clause */
/* The stages of the plugin and their kits. */
#pragma once

#include <cornerturn/kit/sink.h>
#include <cornerturn/kit/source.h>

extern const CtStage spead_source, spead_sink;
extern const CtSource spead_source_files;
extern const CtSink spead_sink_files;
