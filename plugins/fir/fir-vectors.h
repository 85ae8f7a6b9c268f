/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors of floats, as wide as those of the instruction set. */
#pragma once

#include <cornerturn/isa.h>
#include <stddef.h>
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
