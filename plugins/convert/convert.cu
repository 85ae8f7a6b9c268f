/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion: integers are clipped; floating-point numbers are rounded half to even and clipped,
 * and NaN becomes 0.
 *
 * IN, OUT: types of elements, both real or both complex. */
#include <cornerturn/kit/device-map-kernel.h>

template <typename Part> struct Parts {
    Part re, im;
};

template <typename Real>
__device__ inline Parts<Real>
parts_of(Real x)
{
    return {x, x};
}

/* Reads and writes nibbles as bytes within −8 … 7. */
__device__ inline Parts<ct_i8>
parts_of(ct_ci4 x)
{
    return {(ct_i8)ct_high_nibble(x.nibbles), (ct_i8)ct_high_nibble((uint8)(x.nibbles << 4))};
}

__device__ inline Parts<ct_f16>
parts_of(ct_cf16 x)
{
    return {{x.re}, {x.im}};
}

template <typename Real> struct PartOf {
    typedef Real Type;
};
template <> struct PartOf<ct_ci4> {
    typedef ct_i8 Type;
};
template <> struct PartOf<ct_cf16> {
    typedef ct_f16 Type;
};

#define DEFINE_PARTS(complex, part)                                                                \
    __device__ inline Parts<part> parts_of(complex x)                                              \
    {                                                                                              \
        return {x.re, x.im};                                                                       \
    }                                                                                              \
    template <> struct PartOf<complex> {                                                           \
        typedef part Type;                                                                         \
    };
DEFINE_PARTS(ct_ci8, ct_i8)
DEFINE_PARTS(ct_ci16, ct_i16)
DEFINE_PARTS(ct_ci32, ct_i32)
DEFINE_PARTS(ct_ci64, ct_i64)
DEFINE_PARTS(ct_cf32, ct_f32)
DEFINE_PARTS(ct_cf64, ct_f64)

template <typename Real>
__device__ inline void
put(Real &y, Parts<Real> parts)
{
    y = parts.re;
}

template <typename Complex, typename Part>
__device__ inline void
put(Complex &y, Parts<Part> parts)
{
    y = {parts.re, parts.im};
}

__device__ inline void
put(ct_ci4 &y, Parts<ct_i8> parts)
{
    y.nibbles = (uint8)((uint32)parts.re << 4 | ((uint32)parts.im & 15));
}

__device__ inline void
put(ct_cf16 &y, Parts<ct_f16> parts)
{
    y = {parts.re.bits, parts.im.bits};
}

template <typename Integer> struct Limits {
    /* two's complement, otherwise unsigned */
    static constexpr bool is_signed = (Integer)-1 < 0;
    static constexpr int64 most = (int64)(~(uint64)0 >> (64 - 8 * sizeof(Integer) + is_signed));
    static constexpr int64 least = is_signed ? -most - 1 : 0;
};
struct NibbleLimits {
    static constexpr int64 most = 7, least = -8;
};

/* Rounds to odd: of the two floats next to x, the one with an odd significand, unless x is a float.
 * Rounding once more then gives the same as rounding x once. */
__device__ inline float
round_to_odd(double x)
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
template <typename To, typename Within, typename Number>
__device__ inline To
to_integer(Number x)
{
    constexpr int64 least = Within::least, most = Within::most;
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

template <typename To, typename Within> struct Converter {
    template <typename Number>
    __device__ static To
    from(Number x)
    {
        if constexpr ((To)0.5f != 0)
            return (To)x;
        else
            return to_integer<To, Within>(x);
    }
    __device__ static To
    from(ct_f16 x)
    {
        return from(ct_half_to_float(x.bits));
    }
};

template <typename Within> struct Converter<ct_f16, Within> {
    template <typename Number>
    __device__ static ct_f16
    from(Number x)
    {
        /* fits a float exactly */
        constexpr bool is_float = sizeof(Number) <= 2 || ((Number)0.5f != 0 && sizeof(Number) == 4);
        return {ct_float_to_half(is_float ? (float)x : round_to_odd((double)x))};
    }
    __device__ static ct_f16
    from(ct_f16 x)
    {
        return x;
    }
};

template <typename Element> struct Within : Limits<typename PartOf<Element>::Type> {
};
template <> struct Within<ct_ci4> : NibbleLimits {
};
template <> struct Within<ct_f16> {
};
template <> struct Within<ct_cf16> {
};

extern "C" __global__ void
__launch_bounds__(CT_DEVICE_MAP_THREADS, CT_DEVICE_MAP_BLOCKS) convert(const CtDeviceMap map)
{
    ct_map_each<IN, OUT>(map, [](IN x) {
        typedef typename PartOf<OUT>::Type Part;
        typedef Converter<Part, Within<OUT>> To;
        const auto in = parts_of(x);
        OUT y;
        put(y, Parts<Part>{To::from(in.re), To::from(in.im)});
        return y;
    });
}
