/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums in double precision, of one instruction set. */
#pragma once

#include <cornerturn/isa.h>
#include <glib.h>

/* sums[i] += x[i] of m rows of n numbers, from first to last; `stride` bytes apart. */
void CT_ISA(integrate_rows_float)(const void *x, gint64 stride, double *sums, gsize n, gsize m);
void CT_ISA(integrate_rows_double)(const void *x, gint64 stride, double *sums, gsize n, gsize m);

/* partials[(first + i) % INTEGRATE_PARTIALS] += x[i] of n numbers. */
void CT_ISA(integrate_partials_float)(const void *x, double *partials, gsize first, gsize n);
void CT_ISA(integrate_partials_double)(const void *x, double *partials, gsize first, gsize n);
