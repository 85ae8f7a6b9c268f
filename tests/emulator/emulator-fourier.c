/* SPDX-License-Identifier: BSD-3-Clause */
/* Fourier transforms by the prime factors of the length, smallest first. */
#include "emulator-fourier.h"

#include <glib.h>
#include <math.h>

struct EmulatorFourier {
    size_t n;
    EmulatorComplex *roots; /* exp(2πi k / n) */
};

EmulatorFourier *
emulator_fourier_new(size_t n)
{
    EmulatorFourier *fourier = g_new(EmulatorFourier, 1);
    *fourier = (EmulatorFourier){n, g_new(EmulatorComplex, n)};
    for (size_t k = 0; k < n; k++) {
        const double angle = 2 * G_PI * (double)k / (double)n;
        fourier->roots[k] = (EmulatorComplex){cos(angle), sin(angle)};
    }
    return fourier;
}

void
emulator_fourier_free(EmulatorFourier *fourier)
{
    if (!fourier)
        return;
    g_free(fourier->roots);
    g_free(fourier);
}

static size_t
least_factor(size_t n)
{
    for (size_t p = 2; p * p <= n; p++)
        if (n % p == 0)
            return p;
    return n;
}

/* Adds: *sum += x exp(sign 2πi k / n) */
static void
add_turned(const EmulatorFourier *fourier, EmulatorComplex *sum, EmulatorComplex x, size_t k,
           int sign)
{
    EmulatorComplex w = fourier->roots[k % fourier->n];
    w.im *= sign;
    sum->re += x.re * w.re - x.im * w.im;
    sum->im += x.re * w.im + x.im * w.re;
}

/* The transform of n elements that are `step` apart; `spare` has room for the largest factor. */
static void
transform(const EmulatorFourier *fourier, int sign, size_t n, const EmulatorComplex *in,
          size_t step, EmulatorComplex *out, EmulatorComplex *spare)
{
    if (n == 1) {
        *out = *in;
        return;
    }
    const size_t p = least_factor(n), m = n / p, turn = fourier->n / n;
    for (size_t r = 0; r < p; r++)
        transform(fourier, sign, m, in + r * step, step * p, out + r * m, spare);
    for (size_t k = 0; k < m; k++) {
        for (size_t r = 0; r < p; r++)
            spare[r] = out[r * m + k];
        for (size_t q = 0; q < p; q++) {
            EmulatorComplex sum = {0, 0};
            for (size_t r = 0; r < p; r++)
                add_turned(fourier, &sum, spare[r], r * (k + q * m) % n * turn, sign);
            out[k + q * m] = sum;
        }
    }
}

void
emulator_fourier_run(const EmulatorFourier *fourier, int sign, const EmulatorComplex *in,
                     EmulatorComplex *out)
{
    g_autofree EmulatorComplex *spare = g_new(EmulatorComplex, fourier->n);
    transform(fourier, sign, fourier->n, in, 1, out, spare);
}
