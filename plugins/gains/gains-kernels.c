/* SPDX-License-Identifier: BSD-3-Clause */
/* Complex products of long runs; compiled once per instruction set. */
#include "gains-kernels.h"

#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

/* The compiler vectorises the cases below, whose strides are constants. */
#define DEFINE(real)                                                                               \
    INLINE void multiply_##real(const uint8_t *x, const ptrdiff_t x_stride, const uint8_t *g,      \
                                const ptrdiff_t g_stride, uint8_t *restrict y,                     \
                                const ptrdiff_t y_stride, size_t n)                                \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const real *a = (const real *)(x + (ptrdiff_t)i * x_stride);                           \
            const real *b = (const real *)(g + (ptrdiff_t)i * g_stride);                           \
            real *to = (real *)(y + (ptrdiff_t)i * y_stride);                                      \
            const real re = a[0] * b[0] - a[1] * b[1], im = a[0] * b[1] + a[1] * b[0];             \
            to[0] = re;                                                                            \
            to[1] = im;                                                                            \
        }                                                                                          \
    }                                                                                              \
    INLINE void multiply_one_##real(const real *x, real re, real im, real *restrict y, size_t n)   \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            y[2 * i] = x[2 * i] * re - x[2 * i + 1] * im;                                          \
            y[2 * i + 1] = x[2 * i] * im + x[2 * i + 1] * re;                                      \
        }                                                                                          \
    }                                                                                              \
    void CT_ISA(gains_multiply_##real)(const void *x, ptrdiff_t x_stride, const void *g,           \
                                       ptrdiff_t g_stride, void *y, ptrdiff_t y_stride, size_t n)  \
    {                                                                                              \
        const ptrdiff_t bytes = 2 * sizeof(real);                                                  \
        if (x_stride == bytes && y_stride == bytes && g_stride == bytes)                           \
            multiply_##real(x, bytes, g, bytes, y, bytes, n);                                      \
        else if (x_stride == bytes && y_stride == bytes && g_stride == 0)                          \
            multiply_one_##real(x, ((const real *)g)[0], ((const real *)g)[1], y, n);              \
        else                                                                                       \
            multiply_##real(x, x_stride, g, g_stride, y, y_stride, n);                             \
    }

DEFINE(float)
DEFINE(double)
