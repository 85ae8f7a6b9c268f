/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums in double precision; compiled once per instruction set. Terms of one sum are added in the
 * order of time, so that the result does not depend on cuts. */
#include "integrate-kernels.h"

#include "integrate.h"

#define DEFINE(real)                                                                               \
    void CT_ISA(integrate_rows_##real)(const void *x, gint64 stride, double *restrict sums,        \
                                       gsize n, gsize m)                                           \
    {                                                                                              \
        const guint8 *row = x;                                                                     \
        gsize t = 0;                                                                               \
        /* Adds four rows for each load of the sums. */                                            \
        for (; t + 4 <= m; t += 4, row += 4 * stride) {                                            \
            const real *a = (const real *)row, *b = (const real *)(row + stride);                  \
            const real *c = (const real *)(row + 2 * stride);                                      \
            const real *d = (const real *)(row + 3 * stride);                                      \
            for (gsize i = 0; i < n; i++)                                                          \
                sums[i] = sums[i] + a[i] + b[i] + c[i] + d[i];                                     \
        }                                                                                          \
        for (; t < m; t++, row += stride)                                                          \
            for (gsize i = 0; i < n; i++)                                                          \
                sums[i] += ((const real *)row)[i];                                                 \
    }                                                                                              \
    void CT_ISA(integrate_partials_##real)(const void *x, double *partials, gsize first, gsize n)  \
    {                                                                                              \
        const real *from = x;                                                                      \
        gsize i = 0;                                                                               \
        for (; i < n && (first + i) % INTEGRATE_PARTIALS != 0; i++)                                \
            partials[(first + i) % INTEGRATE_PARTIALS] += from[i];                                 \
        double sums[INTEGRATE_PARTIALS];                                                           \
        for (gsize p = 0; p < INTEGRATE_PARTIALS; p++)                                             \
            sums[p] = partials[p];                                                                 \
        for (; i + INTEGRATE_PARTIALS <= n; i += INTEGRATE_PARTIALS)                               \
            for (gsize p = 0; p < INTEGRATE_PARTIALS; p++)                                         \
                sums[p] += from[i + p];                                                            \
        for (gsize p = 0; p < INTEGRATE_PARTIALS; p++)                                             \
            partials[p] = sums[p];                                                                 \
        for (; i < n; i++)                                                                         \
            partials[(first + i) % INTEGRATE_PARTIALS] += from[i];                                 \
    }

DEFINE(float)
DEFINE(double)
