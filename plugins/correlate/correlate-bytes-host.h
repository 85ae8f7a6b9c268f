/* SPDX-License-Identifier: BSD-3-Clause */
/* What the sets that multiply bytes have in common: panels of pairs of spectra, the sums of a
 * chunk, and types. */
#include "correlate-arithmetic.h"

#include <string.h>

/* The spectra of a chunk, whose sums have 32 bits. */
#define BYTES_CHUNK (1 << 15)

/* Inputs of a block. */
enum { INPUTS = CT_VECTOR_BYTES / 4 };

typedef gint32 Ints __attribute__((vector_size(CT_VECTOR_BYTES)));
typedef gint8 Bytes __attribute__((vector_size(CT_VECTOR_BYTES)));
typedef guint32 Words __attribute__((vector_size(CT_VECTOR_BYTES)));

/* A pair of spectra, `stride` bytes apart, of a block's inputs: re, im, re, im. */
static inline Words
zip(const guint8 *spectra, gint64 stride, gsize block)
{
#if CT_VECTOR_BYTES == 64
    const __m512i order =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m256i *first = (const void *)spectra, *second = (const void *)(spectra + stride);
    const __m512i x = _mm512_castsi256_si512(_mm256_loadu_si256(first + block));
    const __m512i both = _mm512_inserti64x4(x, _mm256_loadu_si256(second + block), 1);
    return (Words)_mm512_permutexvar_epi16(order, both);
#else
    const __m128i *first = (const void *)spectra, *second = (const void *)(spectra + stride);
    const __m256i x = _mm256_cvtepu16_epi32(_mm_loadu_si128(first + block));
    const __m256i y = _mm256_cvtepu16_epi32(_mm_loadu_si128(second + block));
    return (Words)x | (Words)y << 16;
#endif
}

#define SWAP_16                                                                                    \
    1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14, 17, 16, 19, 18, 21, 20, 23, 22, 25, 24,  \
        27, 26, 29, 28, 31, 30
#define SWAP_32                                                                                    \
    33, 32, 35, 34, 37, 36, 39, 38, 41, 40, 43, 42, 45, 44, 47, 46, 49, 48, 51, 50, 53, 52, 55,    \
        54, 57, 56, 59, 58, 61, 60, 63, 62

/* Exchanges re and im, and then inverts the bits of `mask`: im, ~re, im, ~re or ~im, re, ~im, re.
 * No number is negated, for −(−128) has no byte; ~x = −x − 1. */
static inline Words
turn(Words pair, guint32 mask)
{
    const Bytes x = (Bytes)pair;
#if CT_VECTOR_BYTES == 64
    return (Words)__builtin_shufflevector(x, x, SWAP_16, SWAP_32) ^ mask;
#else
    return (Words)__builtin_shufflevector(x, x, SWAP_16) ^ mask;
#endif
}

/* ---- sums ---- */

/* Adds a chunk's sums to the running ones. */
static void
fold_bytes(gsize n_rows, const void *chunk, void *running, gboolean first)
{
    const gint32 *restrict from = chunk;
    gint64 *restrict to = running;
    for (gsize k = 0; k < n_rows * 2 * INPUTS; k++)
        to[k] = (first ? 0 : to[k]) + from[k];
}

#define SUM      gint64
#define OPEN     gint32
#define ELEMENTS INPUTS
#define OUT      float
#define NAME(x)  x##_bytes_f32
#include "correlate-row.h"
#define OUT     double
#define NAME(x) x##_bytes_f64
#include "correlate-row.h"
#define OUT     gint64
#define NAME(x) x##_bytes_i64
#include "correlate-row.h"
#undef SUM
#undef OPEN
#undef ELEMENTS

/* ---- types ---- */

static void
read_ci4_i8(const void *from, gsize n, void *to)
{
    const gint8 *bytes = from;
    gint8 *x = to;
    for (gsize k = 0; k < n; k++) {
        x[2 * k] = bytes[k] >> 4;
        x[2 * k + 1] = (gint8)((guint8)bytes[k] << 4) >> 4;
    }
}

static const Choice choices[] = {
    {CT_CI4, CT_CF32, CORRELATE_BYTES, read_ci4_i8, row_bytes_f32},
    {CT_CI4, CT_CF64, CORRELATE_BYTES, read_ci4_i8, row_bytes_f64},
    {CT_CI4, CT_CI64, CORRELATE_BYTES, read_ci4_i8, row_bytes_i64},
    {CT_CI8, CT_CF32, CORRELATE_BYTES, NULL, row_bytes_f32},
    {CT_CI8, CT_CF64, CORRELATE_BYTES, NULL, row_bytes_f64},
    {CT_CI8, CT_CI64, CORRELATE_BYTES, NULL, row_bytes_i64},
};
