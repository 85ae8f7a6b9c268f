/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of transforms of samples that lie side by side. */
#pragma once

#include "fft-lines.h"
#include "fft.h"

/* A plan with n = 0 for transforms that are not done so: of double precision, of real input, of
 * other lengths than 64, 128 and products of 256 with twos, threes and fives up to 65536. FALSE
 * with an error if there is no memory. A plan is to be cleared in any case. */
gboolean ct_fft_lines_plan_init(FftLines *plan, const FftDesign *design, GError **error);
void ct_fft_lines_plan_clear(FftLines *plan);
