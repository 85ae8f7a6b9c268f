/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of delay. */
#pragma once

#include <cornerturn/isa.h>
#include <glib.h>

/* Phasors exp(−2πi turns) in the form in which interleaved complex numbers are multiplied by them:
 * [n][2] of cosines twice, and of the sine and its negative. */
void CT_ISA(delay_phasors)(gfloat *cosines, gfloat *sines, const gdouble *turns, gsize n);

/* y[i] = x[i] · phasor[i], all packed. */
void CT_ISA(delay_rotate_row)(gfloat *y, const gfloat *x, const gfloat *cosines,
                              const gfloat *sines, gsize n);

/* y[i] = x[i] exp(−2πi (turns + (since + i) per_sample)); strides in bytes. */
void CT_ISA(delay_rotate_series)(guint8 *y, gint64 y_stride, const guint8 *x, gint64 x_stride,
                                 gsize n, gdouble turns, gdouble per_sample, gint64 since);

/* y[i] = x[i], real. */
void CT_ISA(delay_copy_series)(guint8 *y, gint64 y_stride, const guint8 *x, gint64 x_stride,
                               gsize n);
