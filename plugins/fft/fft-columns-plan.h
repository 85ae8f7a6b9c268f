/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of transforms of columns. */
#pragma once

#include "fft-columns.h"
#include "fft.h"

/* Whether transforms are done in columns: not those of double precision, of real input, of lengths
 * that are long or have factors beyond 2, 3 and 5. No radix is above `most`. */
gboolean ct_fft_columns_can(const FftDesign *design, gsize most);

/* FALSE, and nothing to clear, for transforms that are not done so. */
gboolean ct_fft_columns_plan_init(FftColumns *plan, const FftDesign *design, gsize most);
void ct_fft_columns_plan_clear(FftColumns *plan);
