/* SPDX-License-Identifier: BSD-3-Clause */
/* CUDA's keywords in C++, at the beginning of every kernel on the emulator. The emulator itself
 * replaces __shared__, __global__ and __launch_bounds__ (emulator-rewrite.c). */
#pragma once

#include "emulator-abi.h"
#include "emulator-math.h"
#include "emulator-vectors.h"
#define __CUDACC__     1
#define __CUDACC_RTC__ 1
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__    __attribute__((noinline))
#define __align__(n)    __attribute__((aligned(n)))

static const int warpSize = CT_WARP;

/* The place of the call, as the last parameters of a function. */
#define CT_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

/* The thread that runs. */
inline __attribute__((always_inline)) CtLane *
ct_lane()
{
    return (CtLane *)((size_t)__builtin_frame_address(0) & ~(CT_STACK_BYTES - 1));
}
#define threadIdx (ct_lane()->thread)
#define blockIdx  (ct_lane()->block)
#define blockDim  (ct_lane()->block_length)
#define gridDim   (ct_lane()->grid_length)

/* ---- functions in rewritten declarations ---- */

inline void *
ct_emulated_shared(const void *key, size_t bytes, size_t alignment)
{
    return ct_lane()->services->shared(ct_lane(), key, bytes, alignment);
}
inline void *
ct_emulated_dynamic()
{
    return ct_lane()->services->dynamic(ct_lane());
}

template <auto function> struct CtCall;
template <typename... Arguments, void (*function)(Arguments...)> struct CtCall<function> {
    static constexpr size_t bytes[] = {sizeof(Arguments)..., 0};
    static constexpr unsigned n = sizeof...(Arguments);
    struct Now {
        Now(Arguments... arguments)
        {
            function(arguments...);
        }
    };
    static void
    call(void *const *arguments)
    {
        (void)arguments;
        Now{*(Arguments *)*arguments++...};
    }
};
template <auto function>
constexpr CtKernelDescription
ct_emulated_describe(const char *name, unsigned max_threads)
{
    using Call = CtCall<function>;
    return {name, Call::n, Call::bytes, max_threads, Call::call};
}

/* ---- the block ---- */

inline void
__syncthreads(CT_HERE)
{
    ct_lane()->services->barrier(ct_lane(), CT_BARRIER, 0, file, line);
}
inline int
__syncthreads_or(int predicate, CT_HERE)
{
    return ct_lane()->services->barrier(ct_lane(), CT_BARRIER_OR, predicate, file, line);
}
inline int
__syncthreads_and(int predicate, CT_HERE)
{
    return ct_lane()->services->barrier(ct_lane(), CT_BARRIER_AND, predicate, file, line);
}
inline int
__syncthreads_count(int predicate, CT_HERE)
{
    return ct_lane()->services->barrier(ct_lane(), CT_BARRIER_COUNT, predicate, file, line);
}

inline void
ct_fence()
{
    __asm__ volatile("" ::: "memory");
}
#define __threadfence        ct_fence
#define __threadfence_block  ct_fence
#define __threadfence_system ct_fence

inline void
ct_fail(const char *what, CT_HERE)
{
    ct_lane()->services->fail(ct_lane(), file, line, what);
}
#define __trap()          ct_fail("the kernel traps")
#define assert(condition) ((condition) ? (void)0 : ct_fail("the assertion `" #condition "' fails"))

/* ---- memory ---- */

#define CT_LOAD(name)                                                                              \
    template <typename T> inline T name(const T *from)                                             \
    {                                                                                              \
        return *from;                                                                              \
    }
#define CT_STORE(name)                                                                             \
    template <typename T> inline void name(T *to, T value)                                         \
    {                                                                                              \
        *to = value;                                                                               \
    }
CT_LOAD(__ldg)
CT_LOAD(__ldca)
CT_LOAD(__ldcg)
CT_LOAD(__ldcs)
CT_LOAD(__ldcv)
CT_LOAD(__ldlu)
CT_STORE(__stwb)
CT_STORE(__stwt)
CT_STORE(__stcg)
CT_STORE(__stcs)

#define CT_ATOMIC(name, type, now)                                                                 \
    inline type name(type *at, type value)                                                         \
    {                                                                                              \
        type before, after;                                                                        \
        __atomic_load(at, &before, __ATOMIC_RELAXED);                                              \
        do                                                                                         \
            after = now;                                                                           \
        while (!__atomic_compare_exchange(at, &before, &after, true, __ATOMIC_RELAXED,             \
                                          __ATOMIC_RELAXED));                                      \
        return before;                                                                             \
    }
#define CT_ATOMIC_INTEGER(type)                                                                    \
    CT_ATOMIC(atomicMin, type, before < value ? before : value)                                    \
    CT_ATOMIC(atomicMax, type, before > value ? before : value)                                    \
    CT_ATOMIC(atomicAnd, type, before &value)                                                      \
    CT_ATOMIC(atomicOr, type, before | value)                                                      \
    CT_ATOMIC(atomicXor, type, before ^ value)
#define CT_ATOMIC_ANY(type, modular)                                                               \
    CT_ATOMIC(atomicAdd, type, (type)((modular)before + (modular)value))                           \
    CT_ATOMIC(atomicExch, type, ((void)before, value))
CT_ATOMIC_INTEGER(int)
CT_ATOMIC_INTEGER(unsigned)
CT_ATOMIC_INTEGER(long long)
CT_ATOMIC_INTEGER(unsigned long long)
CT_ATOMIC_ANY(int, unsigned)
CT_ATOMIC_ANY(unsigned, unsigned)
CT_ATOMIC_ANY(unsigned long long, unsigned long long)
CT_ATOMIC_ANY(float, float)
CT_ATOMIC_ANY(double, double)
CT_ATOMIC(atomicSub, int, (int)((unsigned)before - (unsigned)value))
CT_ATOMIC(atomicSub, unsigned, before - value)
CT_ATOMIC(atomicInc, unsigned, before >= value ? 0 : before + 1)
CT_ATOMIC(atomicDec, unsigned, before == 0 || before > value ? value : before - 1)

#define CT_ATOMIC_CAS(type)                                                                        \
    inline type atomicCAS(type *at, type compare, type value)                                      \
    {                                                                                              \
        __atomic_compare_exchange(at, &compare, &value, false, __ATOMIC_RELAXED,                   \
                                  __ATOMIC_RELAXED);                                               \
        return compare;                                                                            \
    }
CT_ATOMIC_CAS(int)
CT_ATOMIC_CAS(unsigned)
CT_ATOMIC_CAS(unsigned short)
CT_ATOMIC_CAS(unsigned long long)

#include "emulator-warp.h"
#include "emulator-warpgroup.h"

/* ---- errors of a device, where the sanitizer's runtime is missing ---- */

#ifdef CT_EMULATED_CHECKS
struct CtSourceLocation {
    const char *file;
    unsigned line, column;
};
extern "C" {
inline __attribute__((used)) void
__ubsan_handle_type_mismatch_v1(CtSourceLocation *at, size_t)
{
    ct_lane()->services->fail(ct_lane(), at->file, (int)at->line,
                              "an access is not aligned to its type");
}
inline __attribute__((used)) void
__ubsan_handle_out_of_bounds(CtSourceLocation *at, size_t)
{
    ct_lane()->services->fail(ct_lane(), at->file, (int)at->line, "an index is out of bounds");
}
}
#endif
