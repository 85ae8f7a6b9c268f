/* SPDX-License-Identifier: BSD-3-Clause */
/* CUDA's vector types, aligned as on a device. */
#pragma once

typedef decltype(sizeof 0) size_t;
typedef decltype((char *)0 - (char *)0) ptrdiff_t;

/* the alignments of the types of two and of four elements are at most 16 */
#define CT_VECTORS(name, type, align2, align4)                                                     \
    struct name##1                                                                                 \
    {                                                                                              \
        type x;                                                                                    \
    };                                                                                             \
    struct alignas(align2) name##2                                                                 \
    {                                                                                              \
        type x, y;                                                                                 \
    };                                                                                             \
    struct name##3                                                                                 \
    {                                                                                              \
        type x, y, z;                                                                              \
    };                                                                                             \
    struct alignas(align4) name##4                                                                 \
    {                                                                                              \
        type x, y, z, w;                                                                           \
    };                                                                                             \
    inline name##1 make_##name##1(type x)                                                          \
    {                                                                                              \
        return {x};                                                                                \
    }                                                                                              \
    inline name##2 make_##name##2(type x, type y)                                                  \
    {                                                                                              \
        return {x, y};                                                                             \
    }                                                                                              \
    inline name##3 make_##name##3(type x, type y, type z)                                          \
    {                                                                                              \
        return {x, y, z};                                                                          \
    }                                                                                              \
    inline name##4 make_##name##4(type x, type y, type z, type w)                                  \
    {                                                                                              \
        return {x, y, z, w};                                                                       \
    }

CT_VECTORS(char, signed char, 2, 4)
CT_VECTORS(uchar, unsigned char, 2, 4)
CT_VECTORS(short, short, 4, 8)
CT_VECTORS(ushort, unsigned short, 4, 8)
CT_VECTORS(int, int, 8, 16)
CT_VECTORS(uint, unsigned, 8, 16)
CT_VECTORS(long, long, 16, 16)
CT_VECTORS(ulong, unsigned long, 16, 16)
CT_VECTORS(longlong, long long, 16, 16)
CT_VECTORS(ulonglong, unsigned long long, 16, 16)
CT_VECTORS(float, float, 8, 16)
CT_VECTORS(double, double, 16, 16)

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};
