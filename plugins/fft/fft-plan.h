/* SPDX-License-Identifier: BSD-3-Clause */
/* FFTW's plans for a batch of transforms that lie one after another. */
#pragma once

#include "fft.h"

typedef struct FftPlan FftPlan;

/* A plan for `n_batch` transforms. A length that was never planned before may take seconds; the
 * wisdom gained is kept in the user's cache folder. `guess`: the plan is hardly ever used and is
 * made without measuring. Thread-safe. */
FftPlan *ct_fft_plan_new(const FftDesign *design, gint64 n_batch, gboolean guess, GError **error);
void ct_fft_plan_free(FftPlan *plan);

/* Whether an array at this address is aligned as plans need it. */
gboolean ct_fft_plan_is_aligned(gsize address);

/* Transforms `in`, [n_batch length], to `out`, [n_batch out_length]. They are different arrays,
 * both aligned; `in` is not changed. Any number of threads may do so at a time. */
void ct_fft_plan_execute(const FftPlan *plan, const void *in, void *out);
