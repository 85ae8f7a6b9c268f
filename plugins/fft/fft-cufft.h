/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of cuFFT for batches of any length, all made beforehand. */
#pragma once

#include "fft.h"

/* Series of transforms that follow each other at one distance. */
typedef struct {
    gint64 step_in, step_out;   /* elements from a sample of a transform to the next */
    gint64 apart_in, apart_out; /* elements from a transform to the next */
    gint64 unit;                /* batches are multiples of so many transforms */
    gint64 most;                /* units of the longest */
} FftSeries;

typedef struct FftCufft FftCufft;

/* *work_bytes: device memory that executing takes, aligned to 256 bytes. */
FftCufft *ct_fft_cufft_new(CtDevice *device, const FftDesign *design, const FftSeries *series,
                           gsize *work_bytes, GError **error);
void ct_fft_cufft_free(FftCufft *self);

/* Sets the stream and work area of the next transforms; cheap if neither has changed. */
gboolean ct_fft_cufft_attach(FftCufft *self, gpointer stream, gpointer work_area, GError **error);
/* Enqueues n_units units of transforms from `in` to `out`, both aligned to complex elements. */
gboolean ct_fft_cufft_execute(FftCufft *self, gconstpointer in, gpointer out, gint64 n_units,
                              GError **error);
