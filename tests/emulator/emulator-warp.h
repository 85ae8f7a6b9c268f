/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of a warp, and the emulator's forms of the functions that cornerturn/kernel.h has as
 * assembly. */
#pragma once

/* All threads of `mask` call this; the last one runs `run` on the arguments of all. A plugin's
 * header may emulate an instruction in this way. */
template <typename Arguments>
inline void
ct_emulated_collective(unsigned mask, const char *what, CtCollective run, Arguments &arguments,
                       const char *file, int line)
{
    ct_lane()->services->collective(ct_lane(), mask, what, run, &arguments, file, line);
}

/* The arguments of lane l. */
template <typename Arguments>
inline Arguments &
ct_of_lane(void *const *arguments, unsigned l)
{
    return *(Arguments *)arguments[l];
}

inline void
__syncwarp(unsigned mask = 0xffffffff, CT_HERE)
{
    ct_lane()->services->collective(ct_lane(), mask, "__syncwarp", nullptr, nullptr, file, line);
}

inline unsigned
__activemask()
{
    return ct_lane()->services->active(ct_lane());
}

/* ---- values of other lanes ---- */

template <typename T> struct CtShuffle {
    T value, result;
    unsigned from;
};

/* The result is undefined if the source lane takes no part. */
template <typename T>
inline void
ct_shuffle(void *const *arguments, unsigned mask)
{
    for (unsigned l = 0; l < CT_WARP; l++) {
        if (!(mask >> l & 1))
            continue;
        auto &mine = ct_of_lane<CtShuffle<T>>(arguments, l);
        if (mask >> mine.from & 1)
            mine.result = ct_of_lane<CtShuffle<T>>(arguments, mine.from).value;
        else
            memset(&mine.result, 0xff, sizeof(T));
    }
}

template <typename T>
inline T
ct_shuffled(unsigned mask, const char *what, T value, unsigned from, const char *file, int line)
{
    CtShuffle<T> arguments = {value, value, from};
    ct_emulated_collective(mask, what, ct_shuffle<T>, arguments, file, line);
    return arguments.result;
}

#define CT_SHUFFLES(type)                                                                          \
    inline type __shfl_sync(unsigned mask, type value, int lane, int width = 32, CT_HERE)          \
    {                                                                                              \
        const unsigned own = ct_lane()->lane, w = (unsigned)width;                                 \
        return ct_shuffled(mask, "__shfl_sync", value, (own & -w) | ((unsigned)lane & (w - 1)),    \
                           file, line);                                                            \
    }                                                                                              \
    inline type __shfl_up_sync(unsigned mask, type value, unsigned by, int width = 32, CT_HERE)    \
    {                                                                                              \
        const unsigned own = ct_lane()->lane, w = (unsigned)width;                                 \
        return ct_shuffled(mask, "__shfl_up_sync", value, (own & (w - 1)) < by ? own : own - by,   \
                           file, line);                                                            \
    }                                                                                              \
    inline type __shfl_down_sync(unsigned mask, type value, unsigned by, int width = 32, CT_HERE)  \
    {                                                                                              \
        const unsigned own = ct_lane()->lane, w = (unsigned)width;                                 \
        return ct_shuffled(mask, "__shfl_down_sync", value,                                        \
                           (own & (w - 1)) + by >= w ? own : own + by, file, line);                \
    }                                                                                              \
    inline type __shfl_xor_sync(unsigned mask, type value, int bits, int width = 32, CT_HERE)      \
    {                                                                                              \
        const unsigned own = ct_lane()->lane, other = (own ^ (unsigned)bits) & 31;                 \
        return ct_shuffled(mask, "__shfl_xor_sync", value,                                         \
                           other > (own | ((unsigned)width - 1)) ? own : other, file, line);       \
    }
CT_SHUFFLES(int)
CT_SHUFFLES(unsigned)
CT_SHUFFLES(long)
CT_SHUFFLES(unsigned long)
CT_SHUFFLES(long long)
CT_SHUFFLES(unsigned long long)
CT_SHUFFLES(float)
CT_SHUFFLES(double)

/* ---- votes and sums ---- */

struct CtVote {
    bool predicate;
    unsigned votes, members;
};

inline void
ct_count_votes(void *const *arguments, unsigned mask)
{
    unsigned votes = 0;
    for (unsigned l = 0; l < CT_WARP; l++)
        if ((mask >> l & 1) && ct_of_lane<CtVote>(arguments, l).predicate)
            votes |= 1u << l;
    for (unsigned l = 0; l < CT_WARP; l++)
        if (mask >> l & 1) {
            ct_of_lane<CtVote>(arguments, l).votes = votes;
            ct_of_lane<CtVote>(arguments, l).members = mask;
        }
}

#define CT_VOTE(type, name, value)                                                                 \
    inline type name(unsigned mask, int predicate, CT_HERE)                                        \
    {                                                                                              \
        CtVote vote = {predicate != 0, 0, 0};                                                      \
        ct_emulated_collective(mask, #name, ct_count_votes, vote, file, line);                     \
        return value;                                                                              \
    }
CT_VOTE(unsigned, __ballot_sync, vote.votes)
CT_VOTE(int, __any_sync, vote.votes != 0)
CT_VOTE(int, __all_sync, vote.votes == vote.members)

template <typename T> struct CtReduction {
    T value;
};

#define CT_REDUCTION(name, type, expression)                                                       \
    inline type name(unsigned mask, type value, CT_HERE)                                           \
    {                                                                                              \
        CtReduction<type> arguments = {value};                                                     \
        const CtCollective run = [](void *const *all, unsigned members) {                          \
            bool first = true;                                                                     \
            type x = 0;                                                                            \
            for (unsigned l = 0; l < CT_WARP; l++)                                                 \
                if (members >> l & 1) {                                                            \
                    const type y = ct_of_lane<CtReduction<type>>(all, l).value;                    \
                    x = first ? y : (type)(expression);                                            \
                    first = false;                                                                 \
                }                                                                                  \
            for (unsigned l = 0; l < CT_WARP; l++)                                                 \
                if (members >> l & 1)                                                              \
                    ct_of_lane<CtReduction<type>>(all, l).value = x;                               \
        };                                                                                         \
        ct_emulated_collective(mask, #name, run, arguments, file, line);                           \
        return arguments.value;                                                                    \
    }
CT_REDUCTION(__reduce_add_sync, unsigned, x + y)
CT_REDUCTION(__reduce_add_sync, int, (unsigned)x + (unsigned)y)
CT_REDUCTION(__reduce_min_sync, unsigned, x < y ? x : y)
CT_REDUCTION(__reduce_min_sync, int, x < y ? x : y)
CT_REDUCTION(__reduce_max_sync, unsigned, x > y ? x : y)
CT_REDUCTION(__reduce_max_sync, int, x > y ? x : y)
CT_REDUCTION(__reduce_and_sync, unsigned, x &y)
CT_REDUCTION(__reduce_or_sync, unsigned, x | y)
CT_REDUCTION(__reduce_xor_sync, unsigned, x ^ y)

/* ---- half precision and tf32 ---- */

inline float
ct_half_to_float(unsigned short bits)
{
    const unsigned sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31,
                   fraction = bits & 1023;
    if (exponent == 0) {
        const float value = (float)fraction * 0x1p-24f;
        return sign ? -value : value;
    }
    if (exponent == 31)
        return __uint_as_float(sign | 0x7f800000 | fraction << 13);
    return __uint_as_float(sign | (exponent + 112) << 23 | fraction << 13);
}

inline unsigned short
ct_float_to_half(float value)
{
    const unsigned sign = __float_as_uint(value) >> 16 & 0x8000;
    const float size = fabsf(value);
    if (value != value)
        return 0x7fff;
    if (size >= 65520)
        return (unsigned short)(sign | 0x7c00);
    if (size < 0x1p-14f)
        return (unsigned short)(sign | (unsigned)rintf(size * 0x1p24f));
    const unsigned bits = __float_as_uint(size);
    return (unsigned short)(sign | ((bits + 0xfff + (bits >> 13 & 1) - (112u << 23)) >> 13));
}

inline unsigned
ct_float_to_tf32(float value)
{
    const unsigned bits = __float_as_uint(value);
    return (bits & 0x7f800000) == 0x7f800000 ? bits : (bits + 0x1000) & ~0x1fffu;
}

/* ---- matrix products; kernel.h documents the places of elements in registers ---- */

template <typename Sum> struct CtProduct {
    Sum *d;
    const unsigned *a, *b;
    const char *file;
    int line;
};

/* A product whose registers hold `n` elements each, of depth 8 n; `of_a` and `of_b` extract element
 * e of a register. */
template <typename Sum, typename Wide, int n, Wide of_a(unsigned bits, int e),
          Wide of_b(unsigned bits, int e)>
inline void
ct_multiply(void *const *arguments, unsigned mask)
{
    const auto &first = ct_of_lane<CtProduct<Sum>>(arguments, (unsigned)__builtin_ctz(mask));
    if (mask != 0xffffffff)
        ct_fail("a matrix product wants all 32 threads of a warp", first.file, first.line);
    Wide a[16][8 * n], b[8 * n][8];
    for (int l = 0; l < CT_WARP; l++) {
        const auto &lane = ct_of_lane<CtProduct<Sum>>(arguments, (unsigned)l);
        for (int e = 0; e < n; e++) {
            const int k = l % 4 * n + e;
            for (int i = 0; i < 4; i++)
                a[l / 4 + 8 * (i % 2)][k + 4 * n * (i / 2)] = of_a(lane.a[i], e);
            for (int i = 0; i < 2; i++)
                b[k + 4 * n * i][l / 4] = of_b(lane.b[i], e);
        }
    }
    for (int l = 0; l < CT_WARP; l++)
        for (int i = 0; i < 4; i++) {
            const int row = l / 4 + 8 * (i / 2), column = 2 * (l % 4) + i % 2;
            Sum &d = ct_of_lane<CtProduct<Sum>>(arguments, (unsigned)l).d[i];
            Wide sum = (Wide)d;
            for (int k = 0; k < 8 * n; k++)
                sum += a[row][k] * b[k][column];
            d = (Sum)sum;
        }
}

inline long long
ct_element_s8(unsigned bits, int e)
{
    return (signed char)(bits >> 8 * e);
}
inline long long
ct_element_u8(unsigned bits, int e)
{
    return (unsigned char)(bits >> 8 * e);
}
inline double
ct_element_f16(unsigned bits, int e)
{
    return ct_half_to_float((unsigned short)(bits >> 16 * e));
}
inline double
ct_element_tf32(unsigned bits, int)
{
    return __uint_as_float(bits & ~0x1fffu);
}

#define CT_PRODUCT(name, sum, wide, n, of_a, of_b)                                                 \
    inline void name(sum d[4], const unsigned a[4], const unsigned b[2], CT_HERE)                  \
    {                                                                                              \
        CtProduct<sum> arguments = {d, a, b, file, line};                                          \
        ct_emulated_collective(0xffffffff, #name, ct_multiply<sum, wide, n, of_a, of_b>,           \
                               arguments, file, line);                                             \
    }
CT_PRODUCT(ct_mma_s8, int, long long, 4, ct_element_s8, ct_element_s8)
CT_PRODUCT(ct_mma_s8_u8, int, long long, 4, ct_element_s8, ct_element_u8)
CT_PRODUCT(ct_mma_u8_s8, int, long long, 4, ct_element_u8, ct_element_s8)
CT_PRODUCT(ct_mma_u8, int, long long, 4, ct_element_u8, ct_element_u8)
CT_PRODUCT(ct_mma_f16, float, double, 2, ct_element_f16, ct_element_f16)
CT_PRODUCT(ct_mma_tf32, float, double, 1, ct_element_tf32, ct_element_tf32)

/* ---- ldmatrix ---- */

struct CtFragments {
    const unsigned short *row;
    unsigned *registers;
    const char *file;
    int line;
};

template <int n_matrices, bool transposed>
inline void
ct_load_matrices(void *const *arguments, unsigned mask)
{
    const auto &first = ct_of_lane<CtFragments>(arguments, (unsigned)__builtin_ctz(mask));
    if (mask != 0xffffffff)
        ct_fail("ldmatrix wants all 32 threads of a warp", first.file, first.line);
    for (unsigned l = 0; l < CT_WARP; l++)
        for (unsigned m = 0; m < n_matrices; m++) {
            unsigned bits = 0;
            for (unsigned e = 0; e < 2; e++) {
                const unsigned i = l / 4, j = l % 4 * 2 + e;
                const unsigned row = transposed ? j : i, column = transposed ? i : j;
                const unsigned short *from = ct_of_lane<CtFragments>(arguments, 8 * m + row).row;
                bits |= (unsigned)from[column] << 16 * e;
            }
            ct_of_lane<CtFragments>(arguments, l).registers[m] = bits;
        }
}

#define CT_LDMATRIX(name, n, transposed)                                                           \
    inline void name(unsigned registers[n], const void *row, CT_HERE)                              \
    {                                                                                              \
        if ((size_t)row % 16 && ct_lane()->lane < 8 * n)                                           \
            ct_fail("a row of ldmatrix is not aligned to 16 bytes", file, line);                   \
        CtFragments arguments = {(const unsigned short *)row, registers, file, line};              \
        ct_emulated_collective(0xffffffff, #name, ct_load_matrices<n, transposed>, arguments,      \
                               file, line);                                                        \
    }
CT_LDMATRIX(ct_ldmatrix4, 4, false)
CT_LDMATRIX(ct_ldmatrix2, 2, false)
CT_LDMATRIX(ct_ldmatrix4_transposed, 4, true)
CT_LDMATRIX(ct_ldmatrix2_transposed, 2, true)

/* ---- prefetch ---- */

inline void
ct_prefetch(const void *)
{
}

/* ---- copies to shared memory ---- */

#define CT_CP_ASYNC(size)                                                                          \
    inline void ct_cp_async##size(void *shared, const void *global, CT_HERE)                       \
    {                                                                                              \
        ct_lane()->services->copy_async(ct_lane(), shared, global, size, size, file, line);        \
    }                                                                                              \
    inline void ct_cp_async##size##_zfill(void *shared, const void *global, unsigned bytes,        \
                                          CT_HERE)                                                 \
    {                                                                                              \
        ct_lane()->services->copy_async(ct_lane(), shared, global, size, bytes, file, line);       \
    }
CT_CP_ASYNC(4)
CT_CP_ASYNC(8)
CT_CP_ASYNC(16)

inline void
ct_cp_async_commit()
{
    ct_lane()->services->copy_commit(ct_lane());
}

template <int n_groups>
inline void
ct_cp_async_wait()
{
    ct_lane()->services->copy_wait(ct_lane(), n_groups);
}
