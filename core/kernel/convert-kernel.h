/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversions of elements in kernels: integers are clipped; floating-point numbers are rounded half
 * to even and clipped, and NaN becomes the integer 0. */
#pragma once

#include "cornerturn/kernel.h"

template <typename Part> struct CtParts {
    Part re, im;
};

template <typename Real>
__device__ inline CtParts<Real>
ct_parts_of(Real x)
{
    return {x, x};
}

/* The two nibbles as bytes within −8 … 7. */
__device__ inline CtParts<ct_i8>
ct_parts_of(ct_ci4 x)
{
    return {(ct_i8)ct_high_nibble(x.nibbles), (ct_i8)ct_high_nibble((uint8)(x.nibbles << 4))};
}

__device__ inline CtParts<ct_f16>
ct_parts_of(ct_cf16 x)
{
    return {{x.re}, {x.im}};
}

template <typename Real> struct CtPartOf {
    typedef Real Type;
};
template <> struct CtPartOf<ct_ci4> {
    typedef ct_i8 Type;
};
template <> struct CtPartOf<ct_cf16> {
    typedef ct_f16 Type;
};

#define CT_DEFINE_PARTS(complex, part)                                                             \
    __device__ inline CtParts<part> ct_parts_of(complex x)                                         \
    {                                                                                              \
        return {x.re, x.im};                                                                       \
    }                                                                                              \
    template <> struct CtPartOf<complex> {                                                         \
        typedef part Type;                                                                         \
    };
CT_DEFINE_PARTS(ct_ci8, ct_i8)
CT_DEFINE_PARTS(ct_ci16, ct_i16)
CT_DEFINE_PARTS(ct_ci32, ct_i32)
CT_DEFINE_PARTS(ct_ci64, ct_i64)
CT_DEFINE_PARTS(ct_cf32, ct_f32)
CT_DEFINE_PARTS(ct_cf64, ct_f64)

template <typename Real>
__device__ inline void
ct_put_parts(Real &y, CtParts<Real> parts)
{
    y = parts.re;
}

template <typename Complex, typename Part>
__device__ inline void
ct_put_parts(Complex &y, CtParts<Part> parts)
{
    y = {parts.re, parts.im};
}

__device__ inline void
ct_put_parts(ct_ci4 &y, CtParts<ct_i8> parts)
{
    y.nibbles = (uint8)((uint32)parts.re << 4 | ((uint32)parts.im & 15));
}

__device__ inline void
ct_put_parts(ct_cf16 &y, CtParts<ct_f16> parts)
{
    y = {parts.re.bits, parts.im.bits};
}

template <typename Integer> struct CtLimits {
    /* two's complement, otherwise unsigned */
    static constexpr bool is_signed = (Integer)-1 < 0;
    static constexpr int64 most = (int64)(~(uint64)0 >> (64 - 8 * sizeof(Integer) + is_signed));
    static constexpr int64 least = is_signed ? -most - 1 : 0;
};
struct CtNibbleLimits {
    static constexpr int64 most = 7, least = -8;
};

/* Rounds to odd: of the two floats next to x, the one with an odd significand, unless x is a float.
 * Rounding once more then gives the same as rounding x once. */
__device__ inline float
ct_round_to_odd(double x)
{
    union {
        float number;
        uint32 bits;
    } y = {(float)x};
    const double back = (double)y.number;
    if (back != x && x == x && !(y.bits & 1))
        y.bits += fabs(back) < fabs(x) ? 1 : -1;
    return y.number;
}

/* Converts to an integer type, within its limits. */
template <typename To, typename CtWithin, typename Number>
__device__ inline To
ct_to_integer(Number x)
{
    constexpr int64 least = CtWithin::least, most = CtWithin::most;
    if constexpr ((Number)0.5f != 0) {
        if (x != x)
            return 0;
        if (x <= (Number)least)
            return (To)least;
        if (x >= (Number)most)
            return (To)most;
        if constexpr (sizeof(Number) == 4)
            return (To)rintf(x);
        else
            return (To)rint(x);
    } else {
        return (To)((int64)x < least ? least : (int64)x > most ? most : (int64)x);
    }
}

template <typename To, typename CtWithin> struct CtConverter {
    template <typename Number>
    __device__ static To
    from(Number x)
    {
        if constexpr ((To)0.5f != 0)
            return (To)x;
        else
            return ct_to_integer<To, CtWithin>(x);
    }
    __device__ static To
    from(ct_f16 x)
    {
        return from(ct_half_to_float(x.bits));
    }
};

template <typename CtWithin> struct CtConverter<ct_f16, CtWithin> {
    template <typename Number>
    __device__ static ct_f16
    from(Number x)
    {
        /* fits a float exactly */
        constexpr bool is_float = sizeof(Number) <= 2 || ((Number)0.5f != 0 && sizeof(Number) == 4);
        return {ct_float_to_half(is_float ? (float)x : ct_round_to_odd((double)x))};
    }
    __device__ static ct_f16
    from(ct_f16 x)
    {
        return x;
    }
};

template <typename Element> struct CtWithin : CtLimits<typename CtPartOf<Element>::Type> {
};
template <> struct CtWithin<ct_ci4> : CtNibbleLimits {
};
template <> struct CtWithin<ct_f16> {
};
template <> struct CtWithin<ct_cf16> {
};

/* The element in another type, both real or both complex. */
template <typename Out, typename In>
__device__ inline Out
ct_convert(In x)
{
    typedef typename CtPartOf<Out>::Type Part;
    typedef CtConverter<Part, CtWithin<Out>> To;
    const auto in = ct_parts_of(x);
    Out y;
    ct_put_parts(y, CtParts<Part>{To::from(in.re), To::from(in.im)});
    return y;
}
