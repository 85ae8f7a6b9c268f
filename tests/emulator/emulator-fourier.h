/* SPDX-License-Identifier: BSD-3-Clause */
/* Fourier transforms of any length in double precision. */
#pragma once

#include <stddef.h>

typedef struct {
    double re, im;
} EmulatorComplex;

typedef struct EmulatorFourier EmulatorFourier;

EmulatorFourier *emulator_fourier_new(size_t n);
/* Accepts NULL. */
void emulator_fourier_free(EmulatorFourier *fourier);
/* out[k] = Σ_j in[j] exp(sign 2πi jk / n), sign -1 or 1. */
void emulator_fourier_run(const EmulatorFourier *fourier, int sign, const EmulatorComplex *in,
                          EmulatorComplex *out);
