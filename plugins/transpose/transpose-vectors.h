/* SPDX-License-Identifier: BSD-3-Clause */
/* Shuffles of vectors for transposes; of one instruction set. */
#pragma once
#include "transpose-tile.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

/* Within every 16 bytes: interleaves the elements of the low (high) halves of x and y. */
#define PAIR8(b, n) (b), (n) + (b)
#define PAIR4(b, n) (b), (n) + (b), (b) + 1, (n) + (b) + 1
#define PAIR2(b, n) PAIR4(b, n), PAIR4((b) + 2, n)
#define PAIR1(b, n) PAIR2(b, n), PAIR2((b) + 4, n)
#if N_NARROW == 4
#define EACH_NARROW(pair, k, half)                                                                 \
    pair(half, 4 * k), pair(k + half, 4 * k), pair(2 * k + half, 4 * k), pair(3 * k + half, 4 * k)
#elif N_NARROW == 2
#define EACH_NARROW(pair, k, half) pair(half, 2 * k), pair(k + half, 2 * k)
#else
#define EACH_NARROW(pair, k, half) pair(half, k)
#endif
#define ONE_NARROW(pair, k, half) pair(half, k)

#define DEFINE_ZIP(name, bytes, each)                                                              \
    typedef uint16_t name##2 __attribute__((vector_size(bytes)));                                  \
    typedef uint32_t name##4 __attribute__((vector_size(bytes)));                                  \
    typedef uint64_t name##8 __attribute__((vector_size(bytes)));                                  \
    INLINE name##1 name##_zip(name##1 x, name##1 y, size_t element, int half)                      \
    {                                                                                              \
        if (element == 8)                                                                          \
            return half ? (name##1)__builtin_shufflevector((name##8)x, (name##8)y,                 \
                                                           each(PAIR8, 2, 1))                      \
                        : (name##1)__builtin_shufflevector((name##8)x, (name##8)y,                 \
                                                           each(PAIR8, 2, 0));                     \
        if (element == 4)                                                                          \
            return half ? (name##1)__builtin_shufflevector((name##4)x, (name##4)y,                 \
                                                           each(PAIR4, 4, 2))                      \
                        : (name##1)__builtin_shufflevector((name##4)x, (name##4)y,                 \
                                                           each(PAIR4, 4, 0));                     \
        if (element == 2)                                                                          \
            return half ? (name##1)__builtin_shufflevector((name##2)x, (name##2)y,                 \
                                                           each(PAIR2, 8, 4))                      \
                        : (name##1)__builtin_shufflevector((name##2)x, (name##2)y,                 \
                                                           each(PAIR2, 8, 0));                     \
        return half ? __builtin_shufflevector(x, y, each(PAIR1, 16, 8))                            \
                    : __builtin_shufflevector(x, y, each(PAIR1, 16, 0));                           \
    }
DEFINE_ZIP(Wide, CT_VECTOR_BYTES, EACH_NARROW)
DEFINE_ZIP(Narrow, 16, ONE_NARROW)

/* Moves element j of vector i of n to the position given by rotating the bits of (i, j) left by
 * log2(turns), in every 16 bytes separately. With n = turns = 16 / element these are square
 * transposes. */
#define ROTATE_VECTORS(Vector, x, n, turns, element)                                               \
    for (size_t turn = 1; turn < (turns); turn *= 2) {                                             \
        Vector##1 y[16];                                                                           \
        for (size_t i = 0; i < (n) / 2; i++) {                                                     \
            y[2 * i] = Vector##_zip(x[i], x[i + (n) / 2], element, 0);                             \
            y[2 * i + 1] = Vector##_zip(x[i], x[i + (n) / 2], element, 1);                         \
        }                                                                                          \
        for (size_t i = 0; i < (n); i++)                                                           \
            x[i] = y[i];                                                                           \
    }

/* Transposes a square of 16 bytes in N_NARROW vectors. */
INLINE void
turn_squares(Wide1 x[N_NARROW])
{
#if N_NARROW == 4
    const __m512i low0 = _mm512_shuffle_i32x4((__m512i)x[0], (__m512i)x[1], 0x44);
    const __m512i high0 = _mm512_shuffle_i32x4((__m512i)x[0], (__m512i)x[1], 0xee);
    const __m512i low1 = _mm512_shuffle_i32x4((__m512i)x[2], (__m512i)x[3], 0x44);
    const __m512i high1 = _mm512_shuffle_i32x4((__m512i)x[2], (__m512i)x[3], 0xee);
    x[0] = (Wide1)_mm512_shuffle_i32x4(low0, low1, 0x88);
    x[1] = (Wide1)_mm512_shuffle_i32x4(low0, low1, 0xdd);
    x[2] = (Wide1)_mm512_shuffle_i32x4(high0, high1, 0x88);
    x[3] = (Wide1)_mm512_shuffle_i32x4(high0, high1, 0xdd);
#elif N_NARROW == 2
    const __m256i low = _mm256_permute2x128_si256((__m256i)x[0], (__m256i)x[1], 0x20);
    x[1] = (Wide1)_mm256_permute2x128_si256((__m256i)x[0], (__m256i)x[1], 0x31);
    x[0] = (Wide1)low;
#else
    (void)x;
#endif
}

INLINE void
stream_vector(uint8_t *to, Wide1 v)
{
#if N_NARROW == 4
    _mm512_stream_si512((__m512i *)to, (__m512i)v);
#elif N_NARROW == 2
    _mm256_stream_si256((__m256i *)to, (__m256i)v);
#elif defined(__SSE2__)
    _mm_stream_si128((__m128i *)to, (__m128i)v);
#else
    *(Wide1 *)to = v;
#endif
}

/* Copies n bytes; whole lines of `to` bypass the caches. */
INLINE void
stream_run(uint8_t *to, const uint8_t *from, size_t n)
{
    const size_t head = -(uintptr_t)to % LINE;
    if (n < head + LINE) {
        memcpy(to, from, n);
        return;
    }
    memcpy(to, from, head);
    size_t i = head;
    for (; i + LINE <= n; i += LINE)
        for (size_t v = 0; v < LINE; v += CT_VECTOR_BYTES)
            stream_vector(to + i + v, *(const Wide1 *)(from + i + v));
    memcpy(to + i, from + i, n - i);
}

/* Prefetches the lines of a run of the output that it fills only partly: waiting for one would
 * delay all later stores. */
INLINE void
fetch_edges(const uint8_t *to, size_t n)
{
    if ((uintptr_t)to % LINE)
        __builtin_prefetch(to, 1);
    if ((uintptr_t)(to + n) % LINE)
        __builtin_prefetch(to + n, 1);
}
