/* SPDX-License-Identifier: BSD-3-Clause */
/* The polyphase filter's sums in rows that are narrower than a vector: a vector has the rows of
 * several taps, and its parts are summed at last. */
#include "fir-kernels.h"
#include "fir-vectors.h"

/* The element of two vectors whose neighbour at a distance of `apart` is `part` further. */
#define PLACE(i, apart, part) ((i) / (apart)*2 * (apart) + (i) % (apart) + (part))
#define PLACES_4(i, apart, part)                                                                   \
    PLACE(i, apart, part), PLACE((i) + 1, apart, part), PLACE((i) + 2, apart, part),               \
        PLACE((i) + 3, apart, part)
#if CT_VECTOR_BYTES == 64
#define PLACES(apart, part)                                                                        \
    PLACES_4(0, apart, part), PLACES_4(4, apart, part), PLACES_4(8, apart, part),                  \
        PLACES_4(12, apart, part)
#elif CT_VECTOR_BYTES == 32
#define PLACES(apart, part) PLACES_4(0, apart, part), PLACES_4(4, apart, part)
#else
#define PLACES(apart, part) PLACES_4(0, apart, part)
#endif

/* Pairs of vectors of sums become one each, if the parts of a sum are `apart` elements long. */
#define FOLD(sum, n, apart)                                                                        \
    UNROLL for (size_t i = 0; i < (n); i++) sum[i] =                                               \
        __builtin_shufflevector(sum[2 * i], sum[2 * i + 1], PLACES(apart, 0)) +                    \
        __builtin_shufflevector(sum[2 * i], sum[2 * i + 1], PLACES(apart, apart))

/* Coefficients of a row's elements, as many rows as fit a vector. */
typedef struct {
    Floats h[FIR_MAX_TAPS];
    Ints last; /* all bits of the elements of the last vector that are used */
} Taps;

/* As many outputs as rows of `width` fit a vector, the first from x on. */
INLINE Floats
sum_block(const FirRows *rows, const size_t width, const Taps *taps, const float *x, ptrdiff_t step)
{
    const size_t n = VECTOR_FLOATS / width, n_vectors = (rows->n_taps + n - 1) / n;
    Floats sum[VECTOR_FLOATS] = {{0}};
    size_t k = 0;

    for (; k + 1 < n_vectors; k++, x += VECTOR_FLOATS)
        UNROLL for (size_t i = 0; i < n; i++) sum[i] += taps->h[k] * load(x + (ptrdiff_t)i * step);
    UNROLL for (size_t i = 0; i < n; i++) sum[i] +=
        taps->h[k] * (Floats)((Ints)load(x + (ptrdiff_t)i * step) & taps->last);
#if CT_VECTOR_BYTES == 64
    if (width <= 8)
        FOLD(sum, n / 2, 8);
#endif
#if CT_VECTOR_BYTES >= 32
    if (width <= 4)
        FOLD(sum, n * 4 / VECTOR_FLOATS, 4);
#endif
    if (width <= 2)
        FOLD(sum, n * 2 / VECTOR_FLOATS, 2);
    if (width <= 1)
        FOLD(sum, 1, 1);
    return sum[0];
}

INLINE void
sum_narrow(const FirRows *rows, const size_t width)
{
    const size_t n = VECTOR_FLOATS / width;
    const ptrdiff_t x_step = rows->x_step, y_step = rows->y_step;
    const float *x = (const float *)rows->x;
    Taps taps = {0};
    size_t t = 0;

    for (size_t k = 0; k < rows->n_taps; k++)
        for (size_t e = 0; e < width; e++)
            taps.h[k / n][k % n * width + e] =
                rows->h[k * rows->h_pitch + (rows->e0 + e) / rows->repeat];
    for (size_t e = 0; e < ((rows->n_taps - 1) % n + 1) * width; e++)
        taps.last[e] = -1;
    for (; t + n <= rows->n_outputs; t += n) {
        const Floats sum = sum_block(rows, width, &taps, x + (ptrdiff_t)t * x_step, x_step);
        float *y = rows->y + (ptrdiff_t)t * y_step;
        if (y_step == (ptrdiff_t)width)
            memcpy(y, &sum, sizeof sum);
        else
            for (size_t i = 0; i < n; i++, y += y_step)
                memcpy(y, (const char *)&sum + i * width * sizeof(float), width * sizeof(float));
    }
    for (; t < rows->n_outputs; t++) {
        const Floats sum = sum_block(rows, width, &taps, x + (ptrdiff_t)t * x_step, 0);
        memcpy(rows->y + (ptrdiff_t)t * y_step, &sum, width * sizeof(float));
    }
}

void
CT_ISA(ct_fir_narrow)(const FirRows *rows)
{
    if (rows->n_floats == 1)
        sum_narrow(rows, 1);
    else if (rows->n_floats == 2)
        sum_narrow(rows, 2);
#if CT_VECTOR_BYTES >= 32
    else if (rows->n_floats == 4)
        sum_narrow(rows, 4);
#endif
#if CT_VECTOR_BYTES == 64
    else
        sum_narrow(rows, 8);
#endif
}
