/* SPDX-License-Identifier: BSD-3-Clause */
/* The shape rule of stack. */
#pragma once

#include <cornerturn/stage.h>

gboolean stack_infer(CtNode *node, GError **error);

/* The tick after the last sample; G_MAXINT64: it is not known. */
gint64 stack_stream_end(const CtStream *stream);
