/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of recordings: what opening and reading share. */
#pragma once

#include "cornerturn/kit/source.h"

/* Whether the stage has the counters that the kit writes. */
gboolean ct_source_check_counters(const CtStage *stage, GError **error);

/* Describes the stream of an open recording; it must be clear. */
gboolean ct_source_describe(CtRecording *recording, const CtParams *given, CtStream *stream,
                            GError **error);
