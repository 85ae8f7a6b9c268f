/* SPDX-License-Identifier: BSD-3-Clause */
/* Powers; compiled once per instruction set. */
#include "power-kernels.h"

#define INLINE static inline __attribute__((always_inline))

#define DEFINE(real)                                                                               \
    static void square_complex_##real(const real *restrict x, real *restrict y, size_t n)          \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] = x[2 * i] * x[2 * i] + x[2 * i + 1] * x[2 * i + 1];                              \
    }                                                                                              \
    static void square_##real(const real *restrict x, real *restrict y, size_t n)                  \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] = x[i] * x[i];                                                                    \
    }                                                                                              \
    INLINE void products_##real(const real *x, const real *y, const size_t step,                   \
                                real *restrict sum, real *restrict difference, real *restrict re,  \
                                real *restrict im, size_t n, const bool all)                       \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const real a = x[2 * step * i], b = x[2 * step * i + 1];                               \
            const real c = y[2 * step * i], d = y[2 * step * i + 1];                               \
            const real xx = a * a + b * b, yy = c * c + d * d;                                     \
            sum[i] = xx + yy;                                                                      \
            if (all) {                                                                             \
                difference[i] = xx - yy;                                                           \
                re[i] = 2 * (a * c + b * d);                                                       \
                im[i] = 2 * (b * c - a * d);                                                       \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void any_products_##real(const real *x, const real *y, size_t step, void *const out[4], \
                                    size_t n)                                                      \
    {                                                                                              \
        if (!out[1] && step == 1)                                                                  \
            products_##real(x, y, 1, out[0], NULL, NULL, NULL, n, false);                          \
        else if (!out[1])                                                                          \
            products_##real(x, y, step, out[0], NULL, NULL, NULL, n, false);                       \
        else if (step == 1)                                                                        \
            products_##real(x, y, 1, out[0], out[1], out[2], out[3], n, true);                     \
        else if (step == 2)                                                                        \
            products_##real(x, y, 2, out[0], out[1], out[2], out[3], n, true);                     \
        else                                                                                       \
            products_##real(x, y, step, out[0], out[1], out[2], out[3], n, true);                  \
    }

DEFINE(float)
DEFINE(double)

void
CT_ISA(power_square)(const void *x, void *y, size_t n, bool is_complex, bool is_double)
{
    if (is_double)
        (is_complex ? square_complex_double : square_double)(x, y, n);
    else
        (is_complex ? square_complex_float : square_float)(x, y, n);
}

void
CT_ISA(power_products)(const void *x, const void *y, size_t step, void *const out[4], size_t n,
                       bool is_double)
{
    if (is_double)
        any_products_double(x, y, step, out, n);
    else
        any_products_float(x, y, step, out, n);
}
