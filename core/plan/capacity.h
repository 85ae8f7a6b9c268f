/* SPDX-License-Identifier: BSD-3-Clause */
/* The bandwidth per station that a machine keeps up with. */
#pragma once

#include "plan.h"

/* The bandwidth, in hertz, of all subbands of one station and polarisation: half the sample rate if
 * samples are real. 0: the stream has no clock. */
gdouble ct_stream_bandwidth(const CtStream *stream);

/* The output of `cornerturn plan --capacity`: for every resource that the plan keeps busy, and for
 * the busiest one, how many times real time it allows. NULL with an error where no source has a
 * clock. */
char *ct_capacity_to_text(const CtPlan *plan, GError **error);
char *ct_capacity_to_json(const CtPlan *plan, GError **error);
