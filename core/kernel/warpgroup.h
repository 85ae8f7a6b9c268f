/* SPDX-License-Identifier: BSD-3-Clause */
/* Instructions of devices of compute capability 9.0, for kernels that include
 * "cornerturn/warpgroup.h": matrix products of a warpgroup, barriers with phases in shared memory,
 * and the division of registers among warpgroups.
 *
 * A warpgroup is four consecutive warps, the first a multiple of four. If CT_EMULATED is defined,
 * the emulator replaces the functions that are written in assembly here:
 * tests/emulator/emulator-warpgroup.h. */
#pragma once

#include "cornerturn/kernel.h"

/* ---- barriers with phases ----
 *
 * A barrier counts arrivals. When all that it expects have come, its phase ends and the next one
 * begins. A thread that waits for the end of a phase names its parity: that of the first is 0, that
 * of the second 1, and so on. To wait with parity 1 before any phase has ended returns at once. */

#ifndef CT_EMULATED
/* By one thread, before a __syncthreads() of all. */
__device__ inline void
ct_phases_begin(uint64 *barrier, unsigned n_arrivals)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(ct_shared_address(barrier)),
                 "r"(n_arrivals)
                 : "memory");
}

__device__ inline void
ct_phases_arrive(uint64 *barrier)
{
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(ct_shared_address(barrier))
                 : "memory");
}

__device__ inline void
ct_phases_wait(uint64 *barrier, unsigned parity)
{
    asm volatile("{\n"
                 ".reg .pred ended;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared.b64 ended, [%0], %1;\n"
                 "@!ended bra again;\n"
                 "}" ::"r"(ct_shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}
#endif

/* ---- registers ----
 *
 * Sets the number of registers of each thread of this warpgroup, a multiple of 8. The kernel has
 * __launch_bounds__ with a number of blocks, and one `if` parts the warpgroups, each branch of
 * which begins with one of these. */

#ifndef CT_EMULATED
template <int n>
__device__ inline void
ct_registers_take()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(n));
}

template <int n>
__device__ inline void
ct_registers_give()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(n));
}
#endif

/* ---- stages of shared memory that producers fill and consumers empty, in turn ---- */

/* The barriers of n stages: ones that are full, and ones that are empty again. */
template <int n> struct CtStageBarriers {
    unsigned long long full[n], empty[n];
};

/* The stage of n in use, and how often all of them have been. */
template <int n> struct CtStageTurn {
    int stage;
    unsigned parity;

    __device__ void
    advance()
    {
        stage = stage + 1 < n ? stage + 1 : 0;
        parity ^= stage == 0;
    }
};

/* ---- matrix products of a warpgroup: d += a bᵀ, a 64 rows, b n rows, both 32 bytes deep ----
 *
 * Elements are 8-bit integers, whose sums are integers, or numbers of half precision, summed in
 * single. Both matrices are in shared memory, in pieces of 8 rows of 16 bytes, each of them 128
 * contiguous bytes. A descriptor has the address of the first piece, and the distances in bytes to
 * the next 16 of the depth and to the next 8 rows, all of them multiples of 16. In half precision,
 * a matrix may be CT_ALONG_ROWS: a piece is then 8 elements of the depth, each of them 16 bytes, of
 * 8 rows. Its pieces may also be in groups of 8, 1024 contiguous bytes aligned to as many: 8
 * elements of the depth, each of them 128 bytes, of 64 rows, where the nth 16 bytes of element k
 * are at n ^ k. Distances are then those to the next 8 of the depth, and to the next 64 rows.
 *
 * Thread l of warp w of the warpgroup, with g = l % 32 / 4 and t = l % 4, holds
 *
 *   d[4 c + 2 h + x]   row 16 w + 8 h + g, column 8 c + 2 t + x
 *
 * a may be in registers instead, and is there in half precision: bytes k of a[2 e + h] are those
 * 16 e + 4 t + k of row 16 w + 8 h + g, as ct_ldmatrix4_transposed gives them, and stay until the
 * products have been waited for. With 256 columns, a kernel has at most 384 threads. A product of
 * half precision that does not add sets d.
 *
 * All threads of the warpgroup call together, in this order:
 *
 *   ct_wgmma_begin          after they have written d, or have seen another write the matrices
 *   ct_wgmma_s8<n>, ct_wgmma_f16<n, major>, …
 *   ct_wgmma_commit         the products since the last commit form a group
 *   ct_wgmma_wait<groups>   until at most so many of the latest groups are incomplete; before that,
 *                           neither is d read nor are the matrices overwritten
 *
 * Matrices that threads write by stores are seen by products after each of these threads has called
 * ct_wgmma_publish and then arrived at a barrier. */

__device__ inline uint64
ct_wgmma_matrix(const void *shared, unsigned to_depth, unsigned to_rows)
{
    return ct_shared_address(shared) >> 4 | (uint64)(to_depth >> 4) << 16 |
           (uint64)(to_rows >> 4) << 32;
}

/* A matrix in groups of pieces. */
__device__ inline uint64
ct_wgmma_matrix_of_groups(const void *shared, unsigned to_depth, unsigned to_rows)
{
    return ct_wgmma_matrix(shared, to_rows, to_depth) | (uint64)1 << 62;
}

/* The same matrix, `bytes` further on. */
__device__ inline uint64
ct_wgmma_further(uint64 matrix, int bytes)
{
    return matrix + bytes / 16;
}

#ifndef CT_EMULATED
/* The direction in which elements of a matrix are contiguous. */
enum CtMajor { CT_ALONG_DEPTH, CT_ALONG_ROWS };

__device__ inline void
ct_wgmma_publish()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ inline void
ct_wgmma_begin()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ inline void
ct_wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int n_groups>
__device__ inline void
ct_wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n_groups) : "memory");
}

/* The names and operands of consecutive registers. */
#define CT_TEN(d)                                                                                  \
    "%" #d "0, %" #d "1, %" #d "2, %" #d "3, %" #d "4, %" #d "5, %" #d "6, %" #d "7, %" #d         \
    "8, %" #d "9, "
#define CT_D8(as, i)                                                                               \
    as(d[i]), as(d[i + 1]), as(d[i + 2]), as(d[i + 3]), as(d[i + 4]), as(d[i + 5]), as(d[i + 6]),  \
        as(d[i + 7])
#define CT_D32(as, i) CT_D8(as, i), CT_D8(as, i + 8), CT_D8(as, i + 16), CT_D8(as, i + 24)

/* Column counts n, the registers' names, those of the descriptors and a 1, those of four registers
 * of a, the descriptor of b and a 1, and the operands. */
#define CT_WGMMA(each, as)                                                                         \
    each(32, CT_TEN() "%10, %11, %12, %13, %14, %15", "%16, %17", "%18", "%16, %17, %18, %19",     \
         "%20", "%21", CT_D8(as, 0),                                                               \
         CT_D8(as, 8)) each(64, CT_TEN() CT_TEN(1) CT_TEN(2) "%30, %31", "%32, %33", "%34",        \
                            "%32, %33, %34, %35", "%36", "%37", CT_D32(as, 0))                     \
        each(128, CT_TEN() CT_TEN(1) CT_TEN(2) CT_TEN(3) CT_TEN(4) CT_TEN(5) "%60, %61, %62, %63", \
             "%64, %65", "%66", "%64, %65, %66, %67", "%68", "%69", CT_D32(as, 0), CT_D32(as, 32)) \
            each(256,                                                                              \
                 CT_TEN() CT_TEN(1) CT_TEN(2) CT_TEN(3) CT_TEN(4) CT_TEN(5) CT_TEN(6) CT_TEN(7)    \
                     CT_TEN(8) CT_TEN(9) CT_TEN(10)                                                \
                         CT_TEN(11) "%120, %121, %122, %123, %124, %125, %126, %127",              \
                 "%128, %129", "%130", "%128, %129, %130, %131", "%132", "%133", CT_D32(as, 0),    \
                 CT_D32(as, 32), CT_D32(as, 64), CT_D32(as, 96))

#define CT_INTEGER_SUM(x) "+r"(x)
#define CT_SINGLE_SUM(x)  "+f"(x)

template <int n> __device__ void ct_wgmma_s8(int *d, uint64 a, uint64 b);
template <int n> __device__ void ct_wgmma_s8(int *d, const unsigned a[4], uint64 b);
template <int n, CtMajor b_major>
__device__ void ct_wgmma_f16(float *d, const unsigned a[4], uint64 b, bool adds = true);

#define CT_WGMMA_TEXT(n, types, registers, factors, adds, majors)                                  \
    "{\n"                                                                                          \
    ".reg .pred adds;\n"                                                                           \
    "setp.ne.b32 adds, " adds ", 0;\n"                                                             \
    "wgmma.mma_async.sync.aligned.m64n" #n types " {" registers "}, " factors ", adds" majors      \
    ";\n"                                                                                          \
    "}"
#define CT_DEFINE_WGMMA_S8(n, registers, descriptors, adds, four, b_of_four, adds_of_four, ...)    \
    template <> __device__ inline void ct_wgmma_s8<n>(int *d, uint64 a, uint64 b)                  \
    {                                                                                              \
        asm volatile(CT_WGMMA_TEXT(n, "k32.s32.s8.s8", registers, descriptors, adds, "")           \
                     : __VA_ARGS__                                                                 \
                     : "l"(a), "l"(b), "n"(1));                                                    \
    }                                                                                              \
    template <> __device__ inline void ct_wgmma_s8<n>(int *d, const unsigned a[4], uint64 b)       \
    {                                                                                              \
        asm volatile(CT_WGMMA_TEXT(n, "k32.s32.s8.s8", registers, "{" four "}, " b_of_four,        \
                                   adds_of_four, "")                                               \
                     : __VA_ARGS__                                                                 \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(1));                \
    }
#define CT_DEFINE_WGMMA_F16(n, registers, descriptors, adds, four, b_of_four, adds_of_four, ...)   \
    CT_DEFINE_WGMMA_MAJOR(n, CT_ALONG_DEPTH, ", 1, 1, 0", registers, four, b_of_four,              \
                          adds_of_four, __VA_ARGS__)                                               \
    CT_DEFINE_WGMMA_MAJOR(n, CT_ALONG_ROWS, ", 1, 1, 1", registers, four, b_of_four, adds_of_four, \
                          __VA_ARGS__)
#define CT_DEFINE_WGMMA_MAJOR(n, major, majors, registers, four, b_of_four, adds_of_four, ...)     \
    template <>                                                                                    \
    __device__ inline void ct_wgmma_f16<n, major>(float *d, const unsigned a[4], uint64 b,         \
                                                  bool adds)                                       \
    {                                                                                              \
        asm volatile(CT_WGMMA_TEXT(n, "k16.f32.f16.f16", registers, "{" four "}, " b_of_four,      \
                                   adds_of_four, majors)                                           \
                     : __VA_ARGS__                                                                 \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)adds));        \
    }
CT_WGMMA(CT_DEFINE_WGMMA_S8, CT_INTEGER_SUM)
CT_WGMMA(CT_DEFINE_WGMMA_F16, CT_SINGLE_SUM)
#endif
