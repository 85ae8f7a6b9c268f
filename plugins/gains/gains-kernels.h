/* SPDX-License-Identifier: BSD-3-Clause */
/* Complex products, of one instruction set. */
#pragma once

#include <cornerturn/isa.h>
#include <stddef.h>

/* y[i] = g[i] · x[i], of n complex numbers; strides are bytes. */
void CT_ISA(gains_multiply_float)(const void *x, ptrdiff_t x_stride, const void *g,
                                  ptrdiff_t g_stride, void *y, ptrdiff_t y_stride, size_t n);
void CT_ISA(gains_multiply_double)(const void *x, ptrdiff_t x_stride, const void *g,
                                   ptrdiff_t g_stride, void *y, ptrdiff_t y_stride, size_t n);
