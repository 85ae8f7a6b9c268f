/* SPDX-License-Identifier: BSD-3-Clause */
/* The polyphase filter's sums, as the function ROWS of the file that includes this. In it,
 * STORE(y, sum, n_floats, rows, t, e) stores the first n_floats of output t's sums for the vector
 * at e: they belong at y, unless rows are rotated. */
#include "fir-kernels.h"
#include "fir-vectors.h"

/* Outputs whose sums are in registers at the same time, at most, and taps whose coefficients are
 * beside them. */
#if defined(__AVX512F__)
#define BLOCK 16
#define CHUNK 8
#else
#define BLOCK 8
#define CHUNK 4
#endif

/* h[k] becomes the coefficients of tap k for the vector at e. */
static void
load_taps(Floats *h, const FirRows *rows, size_t e)
{
    const float *from = rows->h + (rows->e0 + e) / rows->repeat;
    const int *float_phase = rows->float_phase + (rows->e0 + e) % rows->repeat;
    Ints phases;

    memcpy(&phases, float_phase, sizeof phases);
    for (size_t k = 0; k < rows->n_taps; k++, from += rows->h_pitch) {
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
add_shared(Floats *sum, const size_t n, const Floats *h, const size_t n_taps, const float *x,
           ptrdiff_t step)
{
    UNROLL for (size_t row = 0; row < n + n_taps - 1; row++)
    {
        Floats sample = load(x + (ptrdiff_t)row * step);
        UNROLL for (size_t t = 0; t < n; t++) if (row >= t && row - t < n_taps) sum[t] +=
            h[row - t] * sample;
    }
}

/* As many times n outputs as there are, from output `t` on; returns the first that is left. */
INLINE size_t
sum_blocks(const FirRows *rows, const Floats *h, const size_t n, size_t t, size_t e,
           size_t n_floats)
{
    for (; t + n <= rows->n_outputs; t += n) {
        const float *x = rows->x + (ptrdiff_t)t * rows->x_step + e;
        float *y = rows->y + (ptrdiff_t)t * rows->y_step + e;
        Floats sum[BLOCK] = {{0}};
        size_t k = 0;

        if (n > 1 && rows->x_step == rows->tap_step)
            for (; k + CHUNK <= rows->n_taps; k += CHUNK)
                add_shared(sum, n, h + k, CHUNK, x + (ptrdiff_t)k * rows->tap_step, rows->tap_step);
        for (; k < rows->n_taps; k++)
            UNROLL for (size_t i = 0; i < n; i++) sum[i] +=
                h[k] * load(x + (ptrdiff_t)k * rows->tap_step + (ptrdiff_t)i * rows->x_step);
        UNROLL for (size_t i = 0; i < n; i++)
            STORE(y + (ptrdiff_t)i * rows->y_step, sum[i], n_floats, rows, t + i, e);
    }
    return t;
}

/* All outputs of the vector at e. */
INLINE void
sum_vector(const FirRows *rows, size_t e, size_t n_floats)
{
    Floats h[FIR_MAX_TAPS];
    size_t t = 0;

    load_taps(h, rows, e);
    if (rows->block >= BLOCK)
        t = sum_blocks(rows, h, BLOCK, t, e, n_floats);
    if (rows->block >= BLOCK / 2)
        t = sum_blocks(rows, h, BLOCK / 2, t, e, n_floats);
    t = sum_blocks(rows, h, BLOCK / 4, t, e, n_floats);
    sum_blocks(rows, h, 1, t, e, n_floats);
}

void
ROWS(const FirRows *rows)
{
    size_t e = 0;

    if (rows->n_floats < VECTOR_FLOATS) {
        sum_vector(rows, 0, rows->n_floats);
        return;
    }
    for (; e + VECTOR_FLOATS <= rows->n_floats; e += VECTOR_FLOATS)
        sum_vector(rows, e, VECTOR_FLOATS);
    if (e < rows->n_floats)
        sum_vector(rows, rows->n_floats - VECTOR_FLOATS, VECTOR_FLOATS);
}
