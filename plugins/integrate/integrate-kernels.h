/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums in double precision, of one instruction set. */
#pragma once

#include <cornerturn/isa.h>
#include <glib.h>

/* sums[i] += x[i] of m rows of n numbers, from first to last; `stride` bytes apart. */
void CT_ISA(integrate_rows_float)(const void *x, gint64 stride, double *sums, gsize n, gsize m);
void CT_ISA(integrate_rows_double)(const void *x, gint64 stride, double *sums, gsize n, gsize m);

/* lanes[(first + i) % INTEGRATE_LANES] += x[i] of n numbers. */
void CT_ISA(integrate_lanes_float)(const void *x, double *lanes, gsize first, gsize n);
void CT_ISA(integrate_lanes_double)(const void *x, double *lanes, gsize first, gsize n);
