/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the plugin share. */
#pragma once

#include <cornerturn/kit/sink.h>

extern const CtStage uvh5_sink;
extern const CtSink uvh5_sink_files;
