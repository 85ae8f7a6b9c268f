/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the plugin share. */
#pragma once

#include <cornerturn/kit/array-source.h>
#include <cornerturn/kit/sink.h>

extern const char *const psrfits_extensions[];
extern const CtStage psrfits_source, psrfits_sink;
extern const CtArraySource psrfits_source_files;
extern const CtSink psrfits_sink_files;
