/* SPDX-License-Identifier: BSD-3-Clause */
/* What the variants of the stage fir share: its numbers and its coefficients. */
#pragma once

#include <cornerturn/stage.h>

#define FIR_MAX_TAPS     64
#define FIR_MAX_CHANNELS (1 << 24)

typedef struct {
    gint64 n_channels; /* P */
    gint64 n_taps;
    gint64 hop;  /* H, input samples from one output to the next */
    float *taps; /* [tap phase] */
} FirDesign;

/* Reads the parameters and the file of coefficients, or computes the windowed sinc. */
gboolean ct_fir_design_init(FirDesign *design, const CtParams *params, GError **error);
void ct_fir_design_clear(FirDesign *design);

extern const CtVariant ct_fir_fft_cuda, ct_fir_cuda, ct_fir_reference;
extern const CtVariant ct_fir_cpu_baseline, ct_fir_cpu_avx2, ct_fir_cpu_avx512;
