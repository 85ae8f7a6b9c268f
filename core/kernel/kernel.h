/* SPDX-License-Identifier: BSD-3-Clause */
/* What every kernel may include as "cornerturn/kernel.h": the element types of streams, how they
 * are read and written as numbers, and the machine's instructions that CUDA C++ has no words for.
 *
 * Kernels are compiled at run time without any header of the toolkit. Where CT_EMULATED is defined
 * (a test that runs kernels on the processor), what stands here as assembly is the emulator's. */
#pragma once

typedef signed char int8;
typedef unsigned char uint8;
typedef short int16;
typedef unsigned short uint16;
typedef int int32;
typedef unsigned int uint32;
typedef long long int64;
typedef unsigned long long uint64;

/* Elements, as they lie in memory; named ct_ and the type's name (cornerturn/tensor.h). */
struct ct_ci4 {
    uint8 nibbles; /* the real part in the high one */
};
struct alignas(2) ct_ci8 {
    int8 re, im;
};
struct alignas(4) ct_ci16 {
    int16 re, im;
};
struct alignas(8) ct_ci32 {
    int32 re, im;
};
struct alignas(16) ct_ci64 {
    int64 re, im;
};
struct ct_f16 {
    uint16 bits;
};
struct alignas(4) ct_cf16 {
    uint16 re, im; /* bits */
};
struct alignas(8) ct_cf32 {
    float re, im;
};
struct alignas(16) ct_cf64 {
    double re, im;
};
typedef int8 ct_i8;
typedef int16 ct_i16;
typedef int32 ct_i32;
typedef int64 ct_i64;
typedef uint8 ct_u8;
typedef uint32 ct_u32;
typedef float ct_f32;
typedef double ct_f64;

/* ---- half precision ---- */

#ifdef CT_EMULATED
__device__ float ct_half_to_float(uint16 bits);
__device__ uint16 ct_float_to_half(float value); /* to nearest, ties to even */
#else
__device__ inline float
ct_half_to_float(uint16 bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

__device__ inline uint16
ct_float_to_half(float value)
{
    uint16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
#endif

/* ---- elements as complex numbers: ct_load<float>(x) is of the type ct_complex<float> ---- */

template <typename Real> struct ct_complex {
    Real re, im;
};

/* The nibble in bits 4 to 7, with its sign. */
__device__ inline int
ct_high_nibble(uint8 x)
{
    return (int8)(x & 0xf0) >> 4;
}

template <typename Real>
__device__ inline ct_complex<Real>
ct_load(ct_ci4 x)
{
    return {(Real)ct_high_nibble(x.nibbles), (Real)ct_high_nibble((uint8)(x.nibbles << 4))};
}

template <typename Real>
__device__ inline ct_complex<Real>
ct_load(ct_cf16 x)
{
    return {(Real)ct_half_to_float(x.re), (Real)ct_half_to_float(x.im)};
}

template <typename Real>
__device__ inline ct_complex<Real>
ct_load(ct_f16 x)
{
    return {(Real)ct_half_to_float(x.bits), 0};
}

#define CT_DEFINE_LOAD(type)                                                                       \
    template <typename Real> __device__ inline ct_complex<Real> ct_load(type x)                    \
    {                                                                                              \
        return {(Real)x.re, (Real)x.im};                                                           \
    }
CT_DEFINE_LOAD(ct_ci8)
CT_DEFINE_LOAD(ct_ci16)
CT_DEFINE_LOAD(ct_ci32)
CT_DEFINE_LOAD(ct_ci64)
CT_DEFINE_LOAD(ct_cf32)
CT_DEFINE_LOAD(ct_cf64)

#define CT_DEFINE_LOAD_REAL(type)                                                                  \
    template <typename Real> __device__ inline ct_complex<Real> ct_load(type x)                    \
    {                                                                                              \
        return {(Real)x, 0};                                                                       \
    }
CT_DEFINE_LOAD_REAL(ct_i8)
CT_DEFINE_LOAD_REAL(ct_i16)
CT_DEFINE_LOAD_REAL(ct_i32)
CT_DEFINE_LOAD_REAL(ct_i64)
CT_DEFINE_LOAD_REAL(ct_u8)
CT_DEFINE_LOAD_REAL(ct_u32)
CT_DEFINE_LOAD_REAL(ct_f32)
CT_DEFINE_LOAD_REAL(ct_f64)
