/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of recordings: what opening and reading share. */
#pragma once

#include "cornerturn/kit/source.h"
#include "packets-ahead.h"

/* Whether the stage has the counters that the kit writes. */
gboolean ct_source_check_counters(const CtStage *stage, GError **error);

/* Describes the stream of an open recording; it must be clear. */
gboolean ct_source_describe(CtRecording *recording, const CtParams *given, CtStream *stream,
                            GError **error);

/* As ct_source_open(); `sizes` NULL: all packets are arranged. */
CtRecording *ct_source_open_ahead(const CtSource *source, const CtParams *given,
                                  const CtAheadSizes *sizes, GError **error);
/* What loads the packets of a recording; NULL: all are there. */
CtAhead *ct_source_ahead(CtRecording *recording);
