/* SPDX-License-Identifier: BSD-3-Clause */
/* The radices of a transform whose passes are done by threads that hold a few values each. */
#pragma once

#include <glib.h>

enum { FFT_MOST_PASSES = 10 };

typedef struct {
    guint n_passes;
    guint radix[FFT_MOST_PASSES];
} FftRadices;

/* Finds the radices of a transform of `length` samples. Each is a multiple of `unit`. A group of
 * length / unit threads transforms n_values / unit samples of each place, so that a thread has
 * n_values; the last radix divides these. FALSE: there are none. */
gboolean ct_fft_radices_find(FftRadices *radices, gint64 length, guint unit, guint n_values);

/* Chooses n, about `usual` or less, and the radices for unit · n values of a thread: those with few
 * passes, in which few threads have a transform less than others. 0: there are none. */
guint ct_fft_radices_choose(FftRadices *radices, gint64 length, guint unit, guint least,
                            guint usual);

/* The most values that a thread has in a pass. */
guint ct_fft_radices_held(const FftRadices *radices, guint n_values);

/* Registers of a thread for the factors of all passes, if those of radices of two are part of
 * additions. */
guint ct_fft_radices_registers(const FftRadices *radices);

/* RADICES of fft-radix.h. */
char *ct_fft_radices_define(const FftRadices *radices);
