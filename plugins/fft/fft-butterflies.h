/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors of complex numbers, and transforms of 2 to 16 of them. */
#pragma once

#include <cornerturn/isa.h>
#include <stddef.h>
#include <string.h>

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#define VECTOR_FLOATS ((size_t)CT_VECTOR_BYTES / sizeof(float))
#define INLINE        static inline __attribute__((always_inline))

typedef float Floats __attribute__((vector_size(CT_VECTOR_BYTES)));

/* SPLIT(a, b, 0) is a vector of the real parts of the complex numbers in a and b, and
 * SPLIT(a, b, 1) one of their imaginary parts. JOIN(re, im, 0) and JOIN(re, im, 2) are a and b
 * again. The numbers have another order in between, so that each takes a single instruction. */
#if CT_VECTOR_BYTES == 64
#define SPLIT(a, b, i)                                                                             \
    __builtin_shufflevector(a, b, i, i + 2, i + 16, i + 18, i + 4, i + 6, i + 20, i + 22, i + 8,   \
                            i + 10, i + 24, i + 26, i + 12, i + 14, i + 28, i + 30)
#define JOIN(a, b, i)                                                                              \
    __builtin_shufflevector(a, b, i, i + 16, i + 1, i + 17, i + 4, i + 20, i + 5, i + 21, i + 8,   \
                            i + 24, i + 9, i + 25, i + 12, i + 28, i + 13, i + 29)
/* The first or, with i = 4, the second of two neighbouring quarters of vectors. */
#define QUARTERS(a, b, i)                                                                          \
    __builtin_shufflevector(a, b, i, i + 1, i + 2, i + 3, i + 8, i + 9, i + 10, i + 11, i + 16,    \
                            i + 17, i + 18, i + 19, i + 24, i + 25, i + 26, i + 27)
#elif CT_VECTOR_BYTES == 32
#define SPLIT(a, b, i)                                                                             \
    __builtin_shufflevector(a, b, i, i + 2, i + 8, i + 10, i + 4, i + 6, i + 12, i + 14)
#define JOIN(a, b, i)                                                                              \
    __builtin_shufflevector(a, b, i, i + 8, i + 1, i + 9, i + 4, i + 12, i + 5, i + 13)
#else
#define SPLIT(a, b, i) __builtin_shufflevector(a, b, i, i + 2, i + 4, i + 6)
#define JOIN(a, b, i)  __builtin_shufflevector(a, b, i, i + 4, i + 1, i + 5)
#endif

typedef struct {
    Floats re, im;
} Complex;

INLINE Complex
add(Complex a, Complex b)
{
    return (Complex){a.re + b.re, a.im + b.im};
}

INLINE Complex
subtract(Complex a, Complex b)
{
    return (Complex){a.re - b.re, a.im - b.im};
}

/* a − i·b and a + i·b: an addition and a subtraction each, and no multiplication. */
INLINE Complex
minus_i(Complex a, Complex b)
{
    return (Complex){a.re + b.im, a.im - b.re};
}

INLINE Complex
plus_i(Complex a, Complex b)
{
    return (Complex){a.re - b.im, a.im + b.re};
}

INLINE Complex
scaled(Complex a, float scale)
{
    return (Complex){a.re * scale, a.im * scale};
}

INLINE Complex
multiply(Complex a, float re, float im)
{
    return (Complex){a.re * re - a.im * im, a.re * im + a.im * re};
}

INLINE void
dft_2(Complex *x)
{
    Complex a = x[0];

    x[0] = add(a, x[1]);
    x[1] = subtract(a, x[1]);
}

INLINE void
dft_3(Complex *x)
{
    Complex sum = add(x[1], x[2]), difference = scaled(subtract(x[1], x[2]), 0.866025403784438647f);
    Complex middle = subtract(x[0], scaled(sum, 0.5f));

    x[0] = add(x[0], sum);
    x[1] = minus_i(middle, difference);
    x[2] = plus_i(middle, difference);
}

INLINE void
dft_4(Complex *x)
{
    Complex a = add(x[0], x[2]), b = subtract(x[0], x[2]);
    Complex c = add(x[1], x[3]), d = subtract(x[1], x[3]);

    x[0] = add(a, c);
    x[1] = minus_i(b, d);
    x[2] = subtract(a, c);
    x[3] = plus_i(b, d);
}

INLINE void
dft_5(Complex *x)
{
    const float cos1 = 0.309016994374947424f, cos2 = -0.809016994374947424f;
    const float sin1 = 0.951056516295153572f, sin2 = 0.587785252292473129f;
    Complex a = add(x[1], x[4]), b = add(x[2], x[3]);
    Complex c = subtract(x[1], x[4]), d = subtract(x[2], x[3]);
    Complex even1 = add(x[0], add(scaled(a, cos1), scaled(b, cos2)));
    Complex even2 = add(x[0], add(scaled(a, cos2), scaled(b, cos1)));
    Complex odd1 = add(scaled(c, sin1), scaled(d, sin2));
    Complex odd2 = subtract(scaled(c, sin2), scaled(d, sin1));

    x[0] = add(x[0], add(a, b));
    x[1] = minus_i(even1, odd1);
    x[2] = minus_i(even2, odd2);
    x[3] = plus_i(even2, odd2);
    x[4] = plus_i(even1, odd1);
}

INLINE void
dft_8(Complex *x)
{
    const float half = 0.707106781186547524f;
    Complex even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};

    dft_4(even);
    dft_4(odd);
    /* exp(−πi/4) = (1 − i) / √2, exp(−3πi/4) = (−1 − i) / √2 */
    odd[1] = scaled((Complex){odd[1].re + odd[1].im, odd[1].im - odd[1].re}, half);
    odd[3] = scaled((Complex){odd[3].im - odd[3].re, -odd[3].im - odd[3].re}, half);
    x[0] = add(even[0], odd[0]);
    x[4] = subtract(even[0], odd[0]);
    x[1] = add(even[1], odd[1]);
    x[5] = subtract(even[1], odd[1]);
    x[2] = minus_i(even[2], odd[2]);
    x[6] = plus_i(even[2], odd[2]);
    x[3] = add(even[3], odd[3]);
    x[7] = subtract(even[3], odd[3]);
}

/* x · exp(−2πi k / 16) for the k that begin_16() needs. */
INLINE Complex
turn_16(Complex x, const size_t k)
{
    const float half = 0.707106781186547524f;
    const float long_side = 0.923879532511286756f, short_side = 0.382683432365089772f;

    switch (k) {
    case 1:
        return multiply(x, long_side, -short_side);
    case 2:
        return scaled((Complex){x.re + x.im, x.im - x.re}, half);
    case 3:
        return multiply(x, short_side, -long_side);
    case 4:
        return (Complex){x.im, -x.re};
    case 6:
        return scaled((Complex){x.im - x.re, -x.im - x.re}, half);
    case 9:
        return multiply(x, -long_side, short_side);
    default:
        return x;
    }
}

typedef Complex Get(const void *where, size_t k);
typedef void Put(const void *where, size_t k, Complex value);

/* The first half of a transform of 16, of the numbers i, i + 4, i + 8 and i + 12 in `row`. */
INLINE void
begin_16(Complex part[4][4], const size_t i, Complex *row)
{
    dft_4(row);
    UNROLL for (size_t k = 0; k < 4; k++) part[k][i] = turn_16(row[k], i * k);
}

INLINE void
end_16(Complex part[4][4], Put *put, const void *where)
{
    UNROLL for (size_t k = 0; k < 4; k++)
    {
        dft_4(part[k]);
        UNROLL for (size_t i = 0; i < 4; i++) put(where, k + 4 * i, part[k][i]);
    }
}

/* Each number is got just before it is needed and put as soon as it is made, since 16 complex
 * numbers fill 32 registers. */
INLINE void
dft_16(Get *get, Put *put, const void *where)
{
    Complex part[4][4];

    UNROLL for (size_t i = 0; i < 4; i++)
    {
        Complex row[4];
        UNROLL for (size_t k = 0; k < 4; k++) row[k] = get(where, i + 4 * k);
        begin_16(part, i, row);
    }
    end_16(part, put, where);
}

/* Transforms r numbers: get() gives number k, put() takes it. */
INLINE void
dft(const size_t r, Get *get, Put *put, const void *where)
{
    Complex x[8];

    if (r == 16) {
        dft_16(get, put, where);
        return;
    }
    UNROLL for (size_t k = 0; k < r; k++) x[k] = get(where, k);
    switch (r) {
    case 2:
        dft_2(x);
        break;
    case 3:
        dft_3(x);
        break;
    case 4:
        dft_4(x);
        break;
    case 5:
        dft_5(x);
        break;
    default:
        dft_8(x);
    }
    UNROLL for (size_t k = 0; k < r; k++) put(where, k, x[k]);
}
