/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of the sky a machine keeps up with, as bandwidth of a station. */
#pragma once

#include "plan.h"

/* Hertz of sky in the samples of one station and polarisation: of all its subbands, half the sample
 * rate where samples are real. 0: the stream has no clock. */
gdouble ct_stream_bandwidth(const CtStream *stream);

/* What `cornerturn plan --capacity` prints: for everything that the plan keeps busy, and for the
 * busiest, how much more could come in. FALSE where no source has a clock. */
char *ct_capacity_to_text(const CtPlan *plan, GError **error);
char *ct_capacity_to_json(const CtPlan *plan, GError **error);
