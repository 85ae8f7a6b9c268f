/* SPDX-License-Identifier: BSD-3-Clause */
/* FFTW's plans for a batch of transforms that lie one after another. */
#pragma once

#include "fft.h"

typedef struct FftPlan FftPlan;

/* A plan for `n_batch` transforms; it may take seconds for a length that was never planned before,
 * and what was learnt is kept in the user's cache directory. `guess`: one that is hardly ever used,
 * made without measuring. Thread-safe. */
FftPlan *ct_fft_plan_new(const FftDesign *design, gint64 n_batch, gboolean guess, GError **error);
void ct_fft_plan_free(FftPlan *plan);

/* Whether an array at this address is aligned as those of all plans have to be. */
gboolean ct_fft_plan_is_aligned(gsize address);

/* Transforms [n_batch length] into [n_batch out_length], another array; both are aligned, and `in`
 * is left as it is. Any number of threads may do so at a time. */
void ct_fft_plan_execute(const FftPlan *plan, const void *in, void *out);
