/* SPDX-License-Identifier: BSD-3-Clause */
/* CUDA's mathematical functions. No library's header is included, because kernels that need one do
 * not compile on devices either. */
#pragma once

#include "emulator-vectors.h"

/* ---- the C library's, with one name for both precisions; of integers in double precision ---- */

#define CT_OF_ONE(name)                                                                            \
    extern "C" double name(double);                                                                \
    extern "C" float name##f(float);                                                               \
    inline float name(float x)                                                                     \
    {                                                                                              \
        return name##f(x);                                                                         \
    }                                                                                              \
    template <typename Integer> inline double name(Integer x)                                      \
    {                                                                                              \
        return name((double)x);                                                                    \
    }
#define CT_OF_TWO(name)                                                                            \
    extern "C" double name(double, double);                                                        \
    extern "C" float name##f(float, float);                                                        \
    inline float name(float x, float y)                                                            \
    {                                                                                              \
        return name##f(x, y);                                                                      \
    }
CT_OF_ONE(sin)
CT_OF_ONE(cos)
CT_OF_ONE(tan)
CT_OF_ONE(asin)
CT_OF_ONE(acos)
CT_OF_ONE(atan)
CT_OF_ONE(sinh)
CT_OF_ONE(cosh)
CT_OF_ONE(tanh)
CT_OF_ONE(asinh)
CT_OF_ONE(acosh)
CT_OF_ONE(atanh)
CT_OF_ONE(exp)
CT_OF_ONE(exp2)
CT_OF_ONE(expm1)
CT_OF_ONE(log)
CT_OF_ONE(log2)
CT_OF_ONE(log10)
CT_OF_ONE(log1p)
CT_OF_ONE(sqrt)
CT_OF_ONE(cbrt)
CT_OF_ONE(floor)
CT_OF_ONE(ceil)
CT_OF_ONE(round)
CT_OF_ONE(rint)
CT_OF_ONE(nearbyint)
CT_OF_ONE(trunc)
CT_OF_ONE(erf)
CT_OF_ONE(erfc)
CT_OF_ONE(tgamma)
CT_OF_ONE(lgamma)
CT_OF_ONE(fabs)
CT_OF_ONE(logb)
CT_OF_TWO(pow)
CT_OF_TWO(atan2)
CT_OF_TWO(hypot)
CT_OF_TWO(fmod)
CT_OF_TWO(remainder)
CT_OF_TWO(fmin)
CT_OF_TWO(fmax)
CT_OF_TWO(fdim)
CT_OF_TWO(copysign)
CT_OF_TWO(nextafter)

extern "C" double fma(double, double, double);
extern "C" float fmaf(float, float, float);
extern "C" double ldexp(double, int);
extern "C" float ldexpf(float, int);
extern "C" double frexp(double, int *);
extern "C" float frexpf(float, int *);
extern "C" double modf(double, double *);
extern "C" float modff(float, float *);
extern "C" long lrint(double);
extern "C" long lrintf(float);
extern "C" long long llrint(double);
extern "C" long long llrintf(float);
extern "C" long lround(double);
extern "C" long lroundf(float);
extern "C" long long llround(double);
extern "C" long long llroundf(float);
extern "C" int abs(int);
extern "C" int printf(const char *, ...);
extern "C" void *memcpy(void *, const void *, size_t);
extern "C" void *memset(void *, int, size_t);

inline float
fma(float x, float y, float z)
{
    return fmaf(x, y, z);
}
inline float
ldexp(float x, int exponent)
{
    return ldexpf(x, exponent);
}
inline long
abs(long x)
{
    return x < 0 ? -x : x;
}
inline long long
abs(long long x)
{
    return x < 0 ? -x : x;
}
inline float
abs(float x)
{
    return fabsf(x);
}
inline double
abs(double x)
{
    return fabs(x);
}

#define CT_TELLS(name, type)                                                                       \
    inline bool name(type x)                                                                       \
    {                                                                                              \
        return __builtin_##name(x);                                                                \
    }
CT_TELLS(isnan, float)
CT_TELLS(isnan, double)
CT_TELLS(isinf, float)
CT_TELLS(isinf, double)
CT_TELLS(isfinite, float)
CT_TELLS(isfinite, double)
CT_TELLS(signbit, float)
CT_TELLS(signbit, double)

/* ---- functions that C does not have ---- */

inline double
sinpi(double x)
{
    double r = remainder(x, 2.0);
    r = r > 0.5 ? 1 - r : r < -0.5 ? -1 - r : r;
    return sin(r * 3.14159265358979323846);
}
inline double
cospi(double x)
{
    const double r = fabs(remainder(x, 2.0));
    return sinpi(0.5 - r);
}
inline void
sincospi(double x, double *sine, double *cosine)
{
    *sine = sinpi(x);
    *cosine = cospi(x);
}
inline float
sinpif(float x)
{
    return (float)sinpi((double)x);
}
inline float
cospif(float x)
{
    return (float)cospi((double)x);
}
inline void
sincospif(float x, float *sine, float *cosine)
{
    *sine = sinpif(x);
    *cosine = cospif(x);
}
inline void
sincosf(float x, float *sine, float *cosine)
{
    *sine = sinf(x);
    *cosine = cosf(x);
}
inline void
sincos(double x, double *sine, double *cosine)
{
    *sine = sin(x);
    *cosine = cos(x);
}
inline void
sincos(float x, float *sine, float *cosine)
{
    sincosf(x, sine, cosine);
}
inline double
exp10(double x)
{
    return pow(10.0, x);
}
inline float
exp10f(float x)
{
    return powf(10, x);
}
inline double
rsqrt(double x)
{
    return 1 / sqrt(x);
}
inline float
rsqrtf(float x)
{
    return 1 / sqrtf(x);
}
inline float
rsqrt(float x)
{
    return rsqrtf(x);
}

#define CT_LEAST_AND_MOST(type, one, other)                                                        \
    inline type min(one x, other y)                                                                \
    {                                                                                              \
        return (type)x < (type)y ? (type)x : (type)y;                                              \
    }                                                                                              \
    inline type max(one x, other y)                                                                \
    {                                                                                              \
        return (type)x > (type)y ? (type)x : (type)y;                                              \
    }
#define CT_LEAST_AND_MOST_MIXED(large, small)                                                      \
    CT_LEAST_AND_MOST(large, large, large)                                                         \
    CT_LEAST_AND_MOST(large, large, small)                                                         \
    CT_LEAST_AND_MOST(large, small, large)
CT_LEAST_AND_MOST(int, int, int)
CT_LEAST_AND_MOST(long, long, long)
CT_LEAST_AND_MOST(long long, long long, long long)
CT_LEAST_AND_MOST_MIXED(unsigned, int)
CT_LEAST_AND_MOST_MIXED(unsigned long, long)
CT_LEAST_AND_MOST_MIXED(unsigned long long, long long)
inline float
min(float x, float y)
{
    return fminf(x, y);
}
inline float
max(float x, float y)
{
    return fmaxf(x, y);
}
inline double
min(double x, double y)
{
    return fmin(x, y);
}
inline double
max(double x, double y)
{
    return fmax(x, y);
}

/* ---- functions with one rounding, and fast ones ---- */

#define CT_NUMBER(type, name, arguments, value)                                                    \
    inline type name arguments                                                                     \
    {                                                                                              \
        return value;                                                                              \
    }
CT_NUMBER(float, __fmaf_rn, (float x, float y, float z), fmaf(x, y, z))
CT_NUMBER(float, __fadd_rn, (float x, float y), x + y)
CT_NUMBER(float, __fsub_rn, (float x, float y), x - y)
CT_NUMBER(float, __fmul_rn, (float x, float y), x *y)
CT_NUMBER(float, __fdiv_rn, (float x, float y), x / y)
CT_NUMBER(float, __frcp_rn, (float x), 1 / x)
CT_NUMBER(float, __fsqrt_rn, (float x), sqrtf(x))
CT_NUMBER(float, __frsqrt_rn, (float x), 1 / sqrtf(x))
CT_NUMBER(double, __fma_rn, (double x, double y, double z), fma(x, y, z))
CT_NUMBER(double, __dadd_rn, (double x, double y), x + y)
CT_NUMBER(double, __dsub_rn, (double x, double y), x - y)
CT_NUMBER(double, __dmul_rn, (double x, double y), x *y)
CT_NUMBER(double, __ddiv_rn, (double x, double y), x / y)
CT_NUMBER(double, __drcp_rn, (double x), 1 / x)
CT_NUMBER(double, __dsqrt_rn, (double x), sqrt(x))
CT_NUMBER(float, __fdividef, (float x, float y), x / y)
CT_NUMBER(float, __sinf, (float x), sinf(x))
CT_NUMBER(float, __cosf, (float x), cosf(x))
CT_NUMBER(float, __tanf, (float x), tanf(x))
CT_NUMBER(float, __expf, (float x), expf(x))
CT_NUMBER(float, __exp10f, (float x), exp10f(x))
CT_NUMBER(float, __logf, (float x), logf(x))
CT_NUMBER(float, __log2f, (float x), log2f(x))
CT_NUMBER(float, __log10f, (float x), log10f(x))
CT_NUMBER(float, __powf, (float x, float y), powf(x, y))
CT_NUMBER(float, __saturatef, (float x), x > 1 ? 1 : x > 0 ? x : 0)
inline void
__sincosf(float x, float *sine, float *cosine)
{
    sincosf(x, sine, cosine);
}

/* ---- conversions: they saturate, and NaN is 0 ---- */

template <typename Integer, typename Real>
inline Integer
ct_saturated(Real x)
{
    constexpr Integer most =
        (Integer)-1 > 0 ? (Integer)-1
                        : (Integer)(((unsigned long long)1 << (sizeof(Integer) * 8 - 1)) - 1);
    constexpr Integer least = (Integer)-1 > 0 ? 0 : -most - 1;
    return x != x ? 0 : x >= (Real)most ? most : x <= (Real)least ? least : (Integer)x;
}

#define CT_CONVERSIONS(from, letter, type, to)                                                     \
    CT_NUMBER(type, __##from##2##to##_rn, (letter x), ct_saturated<type>(rint(x)))                 \
    CT_NUMBER(type, __##from##2##to##_rz, (letter x), ct_saturated<type>(trunc(x)))                \
    CT_NUMBER(type, __##from##2##to##_rd, (letter x), ct_saturated<type>(floor(x)))                \
    CT_NUMBER(type, __##from##2##to##_ru, (letter x), ct_saturated<type>(ceil(x)))
CT_CONVERSIONS(float, float, int, int)
CT_CONVERSIONS(float, float, unsigned, uint)
CT_CONVERSIONS(float, float, long long, ll)
CT_CONVERSIONS(float, float, unsigned long long, ull)
CT_CONVERSIONS(double, double, int, int)
CT_CONVERSIONS(double, double, unsigned, uint)
CT_CONVERSIONS(double, double, long long, ll)
CT_CONVERSIONS(double, double, unsigned long long, ull)
CT_NUMBER(float, __int2float_rn, (int x), (float)x)
CT_NUMBER(float, __uint2float_rn, (unsigned x), (float)x)
CT_NUMBER(float, __ll2float_rn, (long long x), (float)x)
CT_NUMBER(float, __ull2float_rn, (unsigned long long x), (float)x)
CT_NUMBER(double, __int2double_rn, (int x), (double)x)
CT_NUMBER(double, __uint2double_rn, (unsigned x), (double)x)
CT_NUMBER(double, __ll2double_rn, (long long x), (double)x)
CT_NUMBER(double, __ull2double_rn, (unsigned long long x), (double)x)
CT_NUMBER(float, __double2float_rn, (double x), (float)x)

template <typename To, typename From>
inline To
ct_bits_as(From from)
{
    static_assert(sizeof(To) == sizeof(From), "of one size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
CT_NUMBER(int, __float_as_int, (float x), ct_bits_as<int>(x))
CT_NUMBER(unsigned, __float_as_uint, (float x), ct_bits_as<unsigned>(x))
CT_NUMBER(float, __int_as_float, (int x), ct_bits_as<float>(x))
CT_NUMBER(float, __uint_as_float, (unsigned x), ct_bits_as<float>(x))
CT_NUMBER(long long, __double_as_longlong, (double x), ct_bits_as<long long>(x))
CT_NUMBER(double, __longlong_as_double, (long long x), ct_bits_as<double>(x))

/* ---- integers ---- */

CT_NUMBER(int, __popc, (unsigned x), __builtin_popcount(x))
CT_NUMBER(int, __popcll, (unsigned long long x), __builtin_popcountll(x))
CT_NUMBER(int, __clz, (int x), x ? __builtin_clz((unsigned)x) : 32)
CT_NUMBER(int, __clzll, (long long x), x ? __builtin_clzll((unsigned long long)x) : 64)
CT_NUMBER(int, __ffs, (int x), __builtin_ffs(x))
CT_NUMBER(int, __ffsll, (long long x), __builtin_ffsll(x))
CT_NUMBER(int, __mulhi, (int x, int y), (int)((long long)x *y >> 32))
CT_NUMBER(unsigned, __umulhi, (unsigned x, unsigned y), (unsigned)((unsigned long long)x *y >> 32))
CT_NUMBER(long long, __mul64hi, (long long x, long long y), (long long)((__int128)x *y >> 64))
CT_NUMBER(unsigned long long, __umul64hi, (unsigned long long x, unsigned long long y),
          (unsigned long long)((unsigned __int128)x *y >> 64))
/* The low 24 bits, with bit 23 as the sign. */
CT_NUMBER(int, ct_low24, (int x), (int)((unsigned)x << 8) >> 8)
CT_NUMBER(int, __mul24, (int x, int y), (int)((unsigned)ct_low24(x) * (unsigned)ct_low24(y)))
CT_NUMBER(unsigned, __umul24, (unsigned x, unsigned y), (x & 0xffffff) * (y & 0xffffff))
CT_NUMBER(unsigned, __sad, (int x, int y, unsigned z),
          z + (x > y ? (unsigned)x - (unsigned)y : (unsigned)y - (unsigned)x))
CT_NUMBER(unsigned, __usad, (unsigned x, unsigned y, unsigned z), z + (x > y ? x - y : y - x))

inline unsigned
__brev(unsigned x)
{
    unsigned y = 0;
    for (int b = 0; b < 32; b++)
        y |= (x >> b & 1) << (31 - b);
    return y;
}
inline unsigned long long
__brevll(unsigned long long x)
{
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
inline unsigned
__byte_perm(unsigned x, unsigned y, unsigned selector)
{
    const unsigned long long bytes = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int b = 0; b < 4; b++) {
        /* A device uses three bits of each nibble. */
        const unsigned s = selector >> 4 * b & 7;
        result |= ((unsigned)(bytes >> 8 * s) & 0xff) << 8 * b;
    }
    return result;
}
inline unsigned
__funnelshift_l(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)((((unsigned long long)high << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned
__funnelshift_lc(unsigned low, unsigned high, unsigned shift)
{
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned
__funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}
inline unsigned
__funnelshift_rc(unsigned low, unsigned high, unsigned shift)
{
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

/* Sums wrap around. */
template <typename Byte>
inline unsigned
ct_dot(unsigned x, unsigned y, unsigned sum)
{
    for (int b = 0; b < 32; b += 8)
        sum += (unsigned)((int)(Byte)(x >> b) * (int)(Byte)(y >> b));
    return sum;
}
CT_NUMBER(int, __dp4a, (int x, int y, int z),
          (int)ct_dot<signed char>((unsigned)x, (unsigned)y, (unsigned)z))
CT_NUMBER(unsigned, __dp4a, (unsigned x, unsigned y, unsigned z), ct_dot<unsigned char>(x, y, z))
CT_NUMBER(int, __dp4a, (char4 x, char4 y, int z), __dp4a(ct_bits_as<int>(x), ct_bits_as<int>(y), z))
CT_NUMBER(unsigned, __dp4a, (uchar4 x, uchar4 y, unsigned z),
          __dp4a(ct_bits_as<unsigned>(x), ct_bits_as<unsigned>(y), z))
