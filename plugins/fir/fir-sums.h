/* SPDX-License-Identifier: BSD-3-Clause */
/* The polyphase filter's sums, as the function ROWS of the file that includes this, of elements of
 * type SAMPLE, of which LOAD(x) loads a vector as floats. In it, STORE(y, sum, n_floats, rows, t,
 * e) stores the first n_floats of output t's sums for the vector at e: they belong at y, unless
 * rows are rotated. */
#include "fir-kernels.h"
#include "fir-vectors.h"

/* Outputs whose sums are in registers at the same time, at most, and taps whose coefficients are
 * beside them, at most: windows of 16 taps then load each sample once, which counts where rows are
 * a power of two apart, so that they share sets of the first-level cache. */
#if defined(__AVX512F__)
#define BLOCK 16
#define CHUNK 16
#else
#define BLOCK 8
#define CHUNK 4
#endif

/* The coefficients of the vector at an element of the row: those of tap 0, by phase, and the
 * element's place among the floats of its phase. */
typedef struct {
    const float *h;
    size_t at;
} Taps;

static Taps
find_taps(const FirRows *rows, size_t e)
{
    return (Taps){rows->h + (rows->e0 + e) / rows->repeat, (rows->e0 + e) % rows->repeat};
}

/* h[k] becomes the coefficients of tap `first` + k. */
INLINE void
load_taps(Floats *h, const size_t n, const FirRows *rows, Taps taps, size_t first)
{
    const float *from = taps.h + first * rows->h_pitch;
    Ints phases;

    memcpy(&phases, rows->float_phase + taps.at, sizeof phases);
    UNROLL for (size_t k = 0; k < n; k++, from += rows->h_pitch)
    {
#if defined(__AVX512F__)
        h[k] = _mm512_permutexvar_ps((__m512i)phases, load(from));
#elif defined(__AVX2__)
        h[k] = _mm256_permutevar8x32_ps(load(from), (__m256i)phases);
#else
        h[k] = (Floats){from[phases[0]], from[phases[1]], from[phases[2]], from[phases[3]]};
#endif
    }
}

/* n_taps taps of n windows that are one tap apart: each sample is loaded once. */
INLINE void
add_shared(Floats *sum, const size_t n, const Floats *h, const size_t n_taps, const SAMPLE *x,
           ptrdiff_t step)
{
    UNROLL for (size_t row = 0; row < n + n_taps - 1; row++)
    {
        Floats sample = LOAD(x + (ptrdiff_t)row * step);
        UNROLL for (size_t t = 0; t < n; t++) if (row >= t && row - t < n_taps) sum[t] +=
            h[row - t] * sample;
    }
}

/* Tap *k and those after it, n_taps at a time; the samples of the first are at x. Returns those of
 * the first tap that is left. */
INLINE const SAMPLE *
add_chunks(Floats *sum, const size_t n, const FirRows *rows, Taps taps, size_t *k, const SAMPLE *x,
           const size_t n_taps)
{
    Floats h[CHUNK];

    for (; *k + n_taps <= rows->n_taps; *k += n_taps, x += (ptrdiff_t)n_taps * rows->tap_step) {
        load_taps(h, n_taps, rows, taps, *k);
        add_shared(sum, n, h, n_taps, x, rows->tap_step);
    }
    return x;
}

/* The vector at e of outputs t … t + n − 1. */
INLINE void
sum_vector(const FirRows *rows, const size_t n, Taps taps, size_t t, size_t e, size_t n_floats)
{
    const SAMPLE *x = (const SAMPLE *)rows->x + (ptrdiff_t)t * rows->x_step + e;
    float *y = rows->y + (ptrdiff_t)t * rows->y_step + e;
    Floats sum[BLOCK] = {{0}}, h[1];
    size_t k = 0;

    if (n > 1 && rows->x_step == rows->tap_step) {
#if CHUNK == 16
        x = add_chunks(sum, n, rows, taps, &k, x, 16);
        x = add_chunks(sum, n, rows, taps, &k, x, 8);
#endif
        x = add_chunks(sum, n, rows, taps, &k, x, 4);
        x = add_chunks(sum, n, rows, taps, &k, x, 2);
    }
    for (; k < rows->n_taps; k++, x += rows->tap_step) {
        load_taps(h, 1, rows, taps, k);
        UNROLL for (size_t i = 0; i < n; i++) sum[i] +=
            h[0] * LOAD(x + (ptrdiff_t)i * rows->x_step);
    }
    UNROLL for (size_t i = 0; i < n; i++)
        STORE(y + (ptrdiff_t)i * rows->y_step, sum[i], n_floats, rows, t + i, e);
}

/* Outputs t … t + n − 1. What is stored cannot change the copy, which so stays in registers. */
INLINE void
sum_block(const FirRows *given, const size_t n, size_t t)
{
    const FirRows own = *given, *rows = &own;
    Taps taps = find_taps(rows, 0);
    size_t e = 0;

    if (rows->n_floats < VECTOR_FLOATS) {
        sum_vector(rows, n, taps, t, 0, rows->n_floats);
        return;
    }
    const size_t step = VECTOR_FLOATS / rows->repeat, rest = VECTOR_FLOATS % rows->repeat;
    for (; e + VECTOR_FLOATS <= rows->n_floats; e += VECTOR_FLOATS) {
        sum_vector(rows, n, taps, t, e, VECTOR_FLOATS);
        taps.h += step;
        taps.at += rest;
        if (taps.at >= rows->repeat) {
            taps.h++;
            taps.at -= rows->repeat;
        }
    }
    if (e < rows->n_floats) {
        e = rows->n_floats - VECTOR_FLOATS;
        sum_vector(rows, n, find_taps(rows, e), t, e, VECTOR_FLOATS);
    }
}

#define SUM_BLOCK(n)                                                                               \
    static void sum_block_##n(const FirRows *rows, size_t t)                                       \
    {                                                                                              \
        sum_block(rows, n, t);                                                                     \
    }
SUM_BLOCK(1)
SUM_BLOCK(2)
SUM_BLOCK(4)
SUM_BLOCK(8)
#if BLOCK == 16
SUM_BLOCK(16)
#endif

/* All outputs. The last block may begin among those before it. */
void
ROWS(const FirRows *rows)
{
    const size_t n_outputs = rows->n_outputs;
    size_t most = BLOCK, n;

    while (most > rows->block || most > n_outputs)
        most /= 2;
    for (size_t t = 0; t < n_outputs; t += n) {
        const size_t left = n_outputs - t;
        for (n = most; n / 2 >= left;)
            n /= 2;
        if (n > left)
            t = n_outputs - n;
#if BLOCK == 16
        if (n == 16)
            sum_block_16(rows, t);
        else
#endif
            (n == 8   ? sum_block_8
             : n == 4 ? sum_block_4
             : n == 2 ? sum_block_2
                      : sum_block_1)(rows, t);
    }
}
