/* SPDX-License-Identifier: BSD-3-Clause */
/* The polyphase filter's sums, each output rotated in its own way. */
#include "fir-kernels.h"
#include "fir-vectors.h"

/* Stores elements first … end − 1 of v, element i at y + i. */
INLINE void
store_some(float *y, Floats v, size_t first, size_t end)
{
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(y, (__mmask16)((1u << end) - (1u << first)), (__m512)v);
#elif defined(__AVX2__)
    const __m256i element = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i is_before = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)first), element);
    const __m256i is_inside = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)end), element);
    _mm256_maskstore_ps(y, _mm256_andnot_si256(is_before, is_inside), (__m256)v);
#else
    UNROLL for (size_t i = 0; i < VECTOR_FLOATS; i++) if (i >= first && i < end) y[i] = v[i];
#endif
}

/* Stores n_floats of output t's sums for the vector at e. */
INLINE void
store_rotated(const FirRows *rows, size_t t, size_t e, Floats sum, size_t n_floats)
{
    float *y = rows->y + (ptrdiff_t)t * rows->y_step;
    size_t at = rows->places[t] + e;

    at -= at >= rows->around ? rows->around : 0;
    if (at + n_floats <= rows->around && n_floats == VECTOR_FLOATS) {
        memcpy(y + at, &sum, sizeof sum);
    } else if (at + n_floats <= rows->around) {
        store_some(y + at, sum, 0, n_floats);
    } else {
        ptrdiff_t n_before = (ptrdiff_t)(rows->around - at);
        store_some(y + at, sum, 0, (size_t)n_before);
        store_some(y - n_before, sum, (size_t)n_before, n_floats);
    }
}

#define ROWS                                CT_ISA(ct_fir_rows_apart)
#define SAMPLE                              float
#define LOAD(x)                             load(x)
#define STORE(y, sum, n_floats, rows, t, e) ((void)(y), store_rotated(rows, t, e, sum, n_floats))
#include "fir-sums.h"
