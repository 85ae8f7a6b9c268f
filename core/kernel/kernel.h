/* SPDX-License-Identifier: BSD-3-Clause */
/* The header that every kernel may include as "cornerturn/kernel.h": the element types of streams,
 * functions that read and write them as numbers, and machine instructions that CUDA C++ lacks.
 *
 * Kernels are compiled at run time without any header of the toolkit. If CT_EMULATED is defined
 * (tests run kernels on the processor), the emulator replaces the functions that are written in
 * assembly here: tests/emulator/emulator-warp.h. */
#pragma once

typedef signed char int8;
typedef unsigned char uint8;
typedef short int16;
typedef unsigned short uint16;
typedef int int32;
typedef unsigned int uint32;
typedef long long int64;
typedef unsigned long long uint64;

/* Elements as in memory, named ct_ and the type's name (cornerturn/tensor.h). */
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

/* Elements that a function takes or makes together. */
template <typename Element, int N> struct CtGroup {
    Element element[N];
};

/* Makes the compiler keep a number in a register instead of computing it again at each use. */
__device__ inline void
ct_keep(int &value)
{
    asm volatile("" : "+r"(value));
}

#ifdef CT_EMULATED
#define CT_KEEP_FLOAT  "+m"
#define CT_KEEP_DOUBLE "+m"
#else
#define CT_KEEP_FLOAT  "+f"
#define CT_KEEP_DOUBLE "+d"
#endif

/* These also keep the operation that has made the number apart from those that use it. */
__device__ inline void
ct_keep(float &value)
{
    asm volatile("" : CT_KEEP_FLOAT(value));
}

__device__ inline void
ct_keep(double &value)
{
    asm volatile("" : CT_KEEP_DOUBLE(value));
}

/* Waits until a number is loaded. Later instructions then need not wait for it: a loop that uses it
 * would wait for its own loads each time, since an instruction waits for all loads that share one
 * of a few counters. The grid must have one row; the compiler does not know that. */
__device__ inline void
ct_await(float &value)
{
    value = __int_as_float(__float_as_int(value) ^ (int)(gridDim.y - 1));
    ct_keep(value);
}

/* ---- half precision ---- */

#ifndef CT_EMULATED
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

/* ---- matrix products of a warp: d += a b, a 16 rows, b 8 columns ----
 *
 * All 32 threads of a warp call together. Thread l of the warp, with g = l / 4 and t = l % 4, holds
 *
 *   d[i]  row g + 8 (i / 2), column 2 t + i % 2
 *   a[i]  row g + 8 (i % 2), columns E t … E t + E - 1 of the (i / 2)th half of the depth
 *   b[i]  column g, rows E t … E t + E - 1 of the ith half of the depth
 *
 * where a register holds E elements, that of the lowest index in the lowest bits: 4 of int8 or
 * uint8 (depth 32), 2 of half precision (depth 16), 1 of tf32 (depth 8). */

#ifndef CT_EMULATED
/* mma.m16n8k32 of signed or unsigned bytes, which wraps around; the types of a and b */
#define CT_DEFINE_MMA_BYTES(name, types)                                                           \
    __device__ inline void name(int d[4], const unsigned a[4], const unsigned b[2])                \
    {                                                                                              \
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." types ".s32 {%0, %1, %2, %3}, "      \
                     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                               \
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                              \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));          \
    }
CT_DEFINE_MMA_BYTES(ct_mma_s8, "s8.s8")
CT_DEFINE_MMA_BYTES(ct_mma_s8_u8, "s8.u8")
CT_DEFINE_MMA_BYTES(ct_mma_u8_s8, "u8.s8")
CT_DEFINE_MMA_BYTES(ct_mma_u8, "u8.u8")

/* mma.m16n8k16 */
__device__ inline void
ct_mma_f16(float d[4], const unsigned a[4], const unsigned b[2])
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* mma.m16n8k8 */
__device__ inline void
ct_mma_tf32(float d[4], const unsigned a[4], const unsigned b[2])
{
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Rounds to nearest, ties away from zero. */
__device__ inline unsigned
ct_float_to_tf32(float value)
{
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return bits;
}
#endif

/* ---- fragments from shared memory ----
 *
 * Thread 8 i + r of the warp gives the address of row r, 16 bytes aligned to 16, of the ith 8 by 8
 * matrix of 16-bit elements; thread l gets elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4 of
 * matrix i in registers[i]. The `transposed` forms give rows 2 (l % 4) and the next, of column l /
 * 4. The forms for 2 matrices read the addresses of threads 0 to 15. */

#ifndef CT_EMULATED
__device__ inline unsigned
ct_shared_address(const void *shared)
{
    return (unsigned)__cvta_generic_to_shared(shared);
}

#define CT_DEFINE_LDMATRIX(suffix, qualifier)                                                      \
    __device__ inline void ct_ldmatrix4##suffix(unsigned registers[4], const void *row)            \
    {                                                                                              \
        asm volatile(                                                                              \
            "ldmatrix.sync.aligned.m8n8.x4" qualifier ".shared.b16 {%0, %1, %2, %3}, [%4];"        \
            : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])       \
            : "r"(ct_shared_address(row))                                                          \
            : "memory");                                                                           \
    }                                                                                              \
    __device__ inline void ct_ldmatrix2##suffix(unsigned registers[2], const void *row)            \
    {                                                                                              \
        asm volatile("ldmatrix.sync.aligned.m8n8.x2" qualifier ".shared.b16 {%0, %1}, [%2];"       \
                     : "=r"(registers[0]), "=r"(registers[1])                                      \
                     : "r"(ct_shared_address(row))                                                 \
                     : "memory");                                                                  \
    }
CT_DEFINE_LDMATRIX(, "")
CT_DEFINE_LDMATRIX(_transposed, ".trans")
#endif

/* ---- asynchronous copies from global to shared memory ----
 *
 * Each copies 4, 8 or 16 bytes; both addresses are aligned to the number of bytes. The copies since
 * the last commit form a group; ct_cp_async_wait<n> waits until at most the n latest groups of this
 * thread are incomplete. The copies of other threads are complete after these have waited and a
 * barrier has been passed. The zfill forms copy the first `bytes` bytes (0: none, and `global` is
 * not read) and set the rest to zero. */

#ifndef CT_EMULATED
#define CT_DEFINE_CP_ASYNC(size, cache)                                                            \
    __device__ inline void ct_cp_async##size(void *shared, const void *global)                     \
    {                                                                                              \
        asm volatile("cp.async." cache ".shared.global [%0], [%1], " #size                         \
                     ";" ::"r"(ct_shared_address(shared)),                                         \
                     "l"(__cvta_generic_to_global(global))                                         \
                     : "memory");                                                                  \
    }                                                                                              \
    __device__ inline void ct_cp_async##size##_zfill(void *shared, const void *global,             \
                                                     unsigned bytes)                               \
    {                                                                                              \
        asm volatile("cp.async." cache ".shared.global [%0], [%1], " #size                         \
                     ", %2;" ::"r"(ct_shared_address(shared)),                                     \
                     "l"(__cvta_generic_to_global(global)), "r"(bytes)                             \
                     : "memory");                                                                  \
    }
CT_DEFINE_CP_ASYNC(4, "ca")
CT_DEFINE_CP_ASYNC(8, "ca")
CT_DEFINE_CP_ASYNC(16, "cg")

__device__ inline void
ct_cp_async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int n_groups>
__device__ inline void
ct_cp_async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(n_groups) : "memory");
}
#endif

/* ---- prefetch ----
 *
 * Starts to load the line of the L2 cache that has this address. */

#ifndef CT_EMULATED
__device__ inline void
ct_prefetch(const void *global)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(global)));
}
#endif

/* ---- elements as complex numbers: ct_load<float>(x) is of the type ct_complex<float> ---- */

template <typename Real> struct ct_complex {
    Real re, im;
};

/* The number in bits 4 to 7, with its sign. */
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
