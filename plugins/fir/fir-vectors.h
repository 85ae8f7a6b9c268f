/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors of floats, as wide as those of the instruction set. */
#pragma once

#include <cornerturn/isa.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__F16C__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 64")
#endif

#define VECTOR_FLOATS ((size_t)CT_VECTOR_BYTES / sizeof(float))
#define INLINE        static inline __attribute__((always_inline))

typedef float Floats __attribute__((vector_size(CT_VECTOR_BYTES)));
typedef int Ints __attribute__((vector_size(CT_VECTOR_BYTES)));

INLINE Floats
load(const float *x)
{
    Floats v;
    memcpy(&v, x, sizeof v);
    return v;
}

/* Loads integers as floats, where a vector of them takes few instructions. */
#if defined(__AVX512F__)
INLINE Floats
load_i8(const int8_t *x)
{
    return (Floats)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)x)));
}

INLINE Floats
load_i16(const int16_t *x)
{
    return (Floats)_mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256((const void *)x)));
}
#elif defined(__AVX2__)
INLINE Floats
load_i8(const int8_t *x)
{
    return (Floats)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)x)));
}

INLINE Floats
load_i16(const int16_t *x)
{
    return (Floats)_mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const void *)x)));
}
#endif
