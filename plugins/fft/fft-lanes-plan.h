/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of transforms in lanes. */
#pragma once

#include "fft-lanes.h"
#include "fft.h"

/* FALSE, and nothing to clear, where lanes can't do it: double precision, real input, lengths that
 * are long or have factors beyond 2, 3 and 5. */
gboolean ct_fft_lanes_plan_init(FftLanes *plan, const FftDesign *design);
void ct_fft_lanes_plan_clear(FftLanes *plan);
