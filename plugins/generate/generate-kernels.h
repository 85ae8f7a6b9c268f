/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of generate in single precision; real and imaginary parts are separate. */
#pragma once

#include <cornerturn/isa.h>
#include <cornerturn/tensor.h>

/* Samples are made in groups of this many; the first is at a multiple of it. */
enum { GENERATE_GROUP = 32 };

/* Noise of power amplitude² for samples t … t + n − 1 of a series; t and n are multiples of
 * GENERATE_GROUP, the arrays 64-byte aligned. */
void CT_ISA(generate_noise)(gfloat *re, gfloat *im, gint64 t, gsize n, const guint32 key[2],
                            guint32 series, guint32 kind, gfloat amplitude);

/* second = rho · first + own · second */
void CT_ISA(generate_mix)(gfloat *second, const gfloat *first, gsize n, gfloat rho, gfloat own);

/* x[t] += rotation · Σ_k taps[k] z[t − k]; n is a multiple of GENERATE_GROUP. */
void CT_ISA(generate_delayed)(gfloat *re, gfloat *im, const gfloat *z_re, const gfloat *z_im,
                              gsize n, const gfloat *taps, guint n_taps, const gfloat rotation[2]);

/* exp(2πi increment (t + i) / 2⁶⁴) for i of 0 … n − 1; n is a multiple of GENERATE_GROUP. */
void CT_ISA(generate_phasors)(gfloat *re, gfloat *im, gint64 t, gsize n, guint64 increment);

/* x += gain · z */
void CT_ISA(generate_add)(gfloat *re, gfloat *im, const gfloat *z_re, const gfloat *z_im, gsize n,
                          const gfloat gain[2]);

/* Writes n elements of `type`, `stride` bytes apart; for an integer, the parts are first rounded
 * half to even and clipped in place, never to the lowest value. Real types ignore `im`, which must
 * be 0. Returns the number of clipped elements. */
guint64 CT_ISA(generate_write)(guint8 *out, gint64 stride, CtType type, gfloat *re, gfloat *im,
                               gsize n);
