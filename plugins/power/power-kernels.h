/* SPDX-License-Identifier: BSD-3-Clause */
/* Powers of contiguous samples, of one instruction set. */
#pragma once

#include <cornerturn/isa.h>
#include <stdbool.h>
#include <stddef.h>

/* y[i] = |x[i]|² of n samples, complex or real; of floats, or of doubles. */
void CT_ISA(power_square)(const void *x, void *y, size_t n, bool is_complex, bool is_double);

/* Sums and differences of two polarisations, `step` complex numbers from sample to sample: out[0]
 * |x|² + |y|² and, unless NULL, out[1] |x|² − |y|², out[2] 2 Re x y*, out[3] 2 Im x y*. */
void CT_ISA(power_products)(const void *x, const void *y, size_t step, void *const out[4], size_t n,
                            bool is_double);
