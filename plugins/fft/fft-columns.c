/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes of radix 2, 3, 4, 5 and 8 over vectors that hold one element of many transforms. */
#include "fft-columns.h"

#include <string.h>

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
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

/* A call of CT_ISA(ct_fft_columns), or a part of its columns. */
typedef struct {
    const FftColumns *plan;
    const char *x;
    char *y;
    ptrdiff_t x_step, y_step;
    size_t n_columns;
    Complex *rows; /* [n] */
} Columns;

INLINE Complex
load(const Columns *columns, size_t row)
{
    const char *x = columns->x + columns->plan->in_row[row] * columns->x_step;
    Floats a, b;

    if (columns->n_columns == VECTOR_FLOATS) {
        memcpy(&a, x, sizeof a);
        memcpy(&b, x + sizeof a, sizeof b);
    } else if (columns->n_columns == VECTOR_FLOATS / 2) { /* common; the memcpy is inlined */
        memcpy(&a, x, sizeof a);
        b = (Floats){0};
    } else {
        float some[2 * VECTOR_FLOATS] = {0};
        memcpy(some, x, columns->n_columns * 2 * sizeof(float));
        memcpy(&a, some, sizeof a);
        memcpy(&b, some + VECTOR_FLOATS, sizeof b);
    }
    Complex value = {SPLIT(a, b, 0), SPLIT(a, b, 1)};
    return columns->plan->swapped ? (Complex){value.im, value.re} : value;
}

INLINE void
store(const Columns *columns, size_t row, Complex value)
{
    char *y = columns->y + columns->plan->out_row[row] * columns->y_step;

    if (columns->plan->scale != 1)
        value = scaled(value, columns->plan->scale);
    if (columns->plan->swapped)
        value = (Complex){value.im, value.re};
    Floats a = JOIN(value.re, value.im, 0), b = JOIN(value.re, value.im, 2);
    if (columns->n_columns == VECTOR_FLOATS) {
        memcpy(y, &a, sizeof a);
        memcpy(y + sizeof a, &b, sizeof b);
    } else if (columns->n_columns == VECTOR_FLOATS / 2) {
        memcpy(y, &a, sizeof a);
    } else {
        float all[2 * VECTOR_FLOATS];
        memcpy(all, &a, sizeof a);
        memcpy(all + VECTOR_FLOATS, &b, sizeof b);
        memcpy(y, all, columns->n_columns * 2 * sizeof(float));
    }
}

/* A pass over all blocks; m is 1 in the last one. */
INLINE void
pass(const Columns *columns, const size_t r, void (*dft)(Complex *), const float *turns, size_t m,
     const int first, const int last)
{
    for (size_t block = 0; block < columns->plan->n; block += r * m)
        for (size_t j = 0; j < m; j++) {
            const float *turn = turns + 2 * (r - 1) * j;
            Complex x[8];
            UNROLL for (size_t k = 0; k < r; k++) x[k] =
                first ? load(columns, j + k * m) : columns->rows[block + j + k * m];
            dft(x);
            if (last) {
                UNROLL for (size_t k = 0; k < r; k++) store(columns, block + k, x[k]);
                continue;
            }
            columns->rows[block + j] = x[0];
            UNROLL for (size_t k = 1; k < r; k++) columns->rows[block + j + k * m] =
                multiply(x[k], turn[2 * k - 2], turn[2 * k - 1]);
        }
}

#define PASS(r)                                                                                    \
    static void pass_##r(const Columns *columns, const float *turns, size_t m, int first)          \
    {                                                                                              \
        if (first && m == 1)                                                                       \
            pass(columns, r, dft_##r, turns, 1, 1, 1);                                             \
        else if (first)                                                                            \
            pass(columns, r, dft_##r, turns, m, 1, 0);                                             \
        else if (m == 1)                                                                           \
            pass(columns, r, dft_##r, turns, 1, 0, 1);                                             \
        else                                                                                       \
            pass(columns, r, dft_##r, turns, m, 0, 0);                                             \
    }

PASS(2)
PASS(3)
PASS(4)
PASS(5)
PASS(8)

void
CT_ISA(ct_fft_columns)(const FftColumns *plan, const void *x, ptrdiff_t x_step, void *y,
                       ptrdiff_t y_step, size_t n_columns, float *scratch)
{
    static void (*const passes[])(const Columns *, const float *, size_t, int) = {
        [2] = pass_2, [3] = pass_3, [4] = pass_4, [5] = pass_5, [8] = pass_8,
    };

    for (size_t column = 0; column < n_columns; column += VECTOR_FLOATS) {
        Columns columns = {
            .plan = plan,
            .x = (const char *)x + column * 2 * sizeof(float),
            .y = (char *)y + column * 2 * sizeof(float),
            .x_step = x_step,
            .y_step = y_step,
            .n_columns = n_columns - column < VECTOR_FLOATS ? n_columns - column : VECTOR_FLOATS,
            .rows = (Complex *)scratch,
        };
        size_t m = plan->n;
        for (size_t i = 0; i < plan->n_passes; i++) {
            m /= plan->radix[i];
            passes[plan->radix[i]](&columns, plan->turns[i], m, i == 0);
        }
    }
}
