/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes over vectors that hold neighbouring samples of a transform. */
#include "fft-lines.h"

#include "fft-butterflies.h"

/* Narrower vectors are no faster than FFTW. */
#if CT_VECTOR_BYTES == 64

#define L    FFT_LANES
#define LOW  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31

/* Real and imaginary parts change places around an inverse transform. */
INLINE Complex
load(const char *x, const int is_inverse)
{
    Floats a, b;

    memcpy(&a, x, sizeof a);
    memcpy(&b, x + sizeof a, sizeof b);
    const Floats re = SPLIT(a, b, 0), im = SPLIT(a, b, 1);
    return is_inverse ? (Complex){im, re} : (Complex){re, im};
}

INLINE void
join(Floats *pair, Complex value, const int is_inverse, float scale)
{
    const Complex way = is_inverse ? scaled((Complex){value.im, value.re}, scale) : value;

    pair[0] = JOIN(way.re, way.im, 0);
    pair[1] = JOIN(way.re, way.im, 2);
}

INLINE Complex
turned(Complex a, const Complex *turn)
{
    return (Complex){a.re * turn->re - a.im * turn->im, a.re * turn->im + a.im * turn->re};
}

/* The first pass, of m vectors for each of r, from the samples at x. The lower half of the r parts
 * is read `shift` bytes further, the upper half as much before. */
INLINE void
first(const size_t r, void (*dft)(Complex *), const Complex *turn, const char *x, size_t shift,
      Complex *rows, size_t m, const int is_inverse)
{
    for (size_t j = 0; j < m; j++, turn += r - 1) {
        const char *low = x + shift + j * sizeof(Complex);
        const char *high = x - shift + j * sizeof(Complex);
        Complex part[16];
        UNROLL for (size_t k = 0; k < r; k++) part[k] =
            load((2 * k < r ? low : high) + k * m * sizeof(Complex), is_inverse);
        dft(part);
        rows[j] = part[0];
        UNROLL for (size_t k = 1; k < r; k++) rows[j + k * m] = turned(part[k], turn + k - 1);
    }
}

/* A pass in between, over blocks of r · m vectors. */
INLINE void
inner(const size_t r, void (*dft)(Complex *), const Complex *turns, Complex *rows, size_t n,
      size_t m)
{
    for (size_t block = 0; block < n; block += r * m) {
        const Complex *turn = turns;
        for (size_t j = block; j < block + m; j++, turn += r - 1) {
            Complex part[16];
            UNROLL for (size_t k = 0; k < r; k++) part[k] = rows[j + k * m];
            dft(part);
            rows[j] = part[0];
            UNROLL for (size_t k = 1; k < r; k++) rows[j + k * m] = turned(part[k], turn + k - 1);
        }
    }
}

/* Lane i of vector k becomes lane k of vector i. */
INLINE void
transpose(Floats *v)
{
    Floats to[L];

    UNROLL for (size_t step = 1; step < L; step *= 2)
    {
        UNROLL for (size_t i = 0; i < L / 2; i++)
        {
            to[2 * i] = __builtin_shufflevector(v[i], v[i + L / 2], LOW);
            to[2 * i + 1] = __builtin_shufflevector(v[i], v[i + L / 2], HIGH);
        }
        UNROLL for (size_t i = 0; i < L; i++) v[i] = to[i];
    }
}

/* Transforms L blocks of a vector each, `step` vectors apart: part[k] has number k of each of
 * them, block by block in the order of the lanes. */
INLINE void
last(Complex *part, const Complex *rows, size_t step)
{
    Floats re[L], im[L];

    UNROLL for (size_t i = 0; i < L; i++)
    {
        re[i] = rows[fft_line_element(i) * step].re;
        im[i] = rows[fft_line_element(i) * step].im;
    }
    transpose(re);
    transpose(im);
    UNROLL for (size_t i = 0; i < L; i++) part[fft_line_element(i)] = (Complex){re[i], im[i]};
    dft_16(part);
}

/* ---- L · L numbers and more ---- */

#define INNER(r)                                                                                   \
    static void inner_##r(const Complex *turns, Complex *rows, size_t n, size_t m)                 \
    {                                                                                              \
        inner(r, dft_##r, turns, rows, n, m);                                                      \
    }
INNER(2)
INNER(3)
INNER(4)
INNER(5)
INNER(8)
INNER(16)

INLINE void
transform(const FftLines *plan, const char *x, char *y, Complex *rows, const int is_inverse)
{
    static void (*const passes[])(const Complex *, Complex *, size_t, size_t) = {
        [2] = inner_2, [3] = inner_3, [4] = inner_4, [5] = inner_5, [8] = inner_8, [16] = inner_16,
    };
    const size_t n = plan->n / L, step = n / L, apart = n * 2 * sizeof(float);
    const size_t shift = plan->shift_out * 2 * sizeof(float);
    size_t m = step;

    first(L, dft_16, (const Complex *)plan->turns[0], x, plan->shift_in * 2 * sizeof(float), rows,
          m, is_inverse);
    for (size_t i = 1; i + 1 < plan->n_passes; i++) {
        m /= plan->radix[i];
        passes[plan->radix[i]]((const Complex *)plan->turns[i], rows, n, m);
    }
    for (size_t block = 0; block < step; block++) {
        char *low = y + (size_t)plan->channel[block] * 2 * sizeof(float) + shift;
        char *high = low - 2 * shift;
        Complex part[L];
        last(part, rows + block, step);
        UNROLL for (size_t k = 0; k < L; k++)
        {
            Floats pair[2];
            join(pair, part[k], is_inverse, plan->scale);
            memcpy((k < L / 2 ? low : high) + k * apart, pair, sizeof pair);
        }
    }
}

/* ---- fewer, of several lines at a time ---- */

/* The vectors of L / r lines, r of each. */
INLINE void
transform_some(const FftLines *plan, const size_t r, void (*dft)(Complex *), const char *const *x,
               char *const *y, Complex *rows, const int is_inverse)
{
    const size_t in = plan->shift_in * 2 * sizeof(float);
    const size_t out = plan->shift_out * 2 * sizeof(float);
    const size_t piece = r * 2 * sizeof(float);
    Complex part[L];

    for (size_t i = 0; i < L / r; i++)
        first(r, dft, (const Complex *)plan->turns[0], x[i], in, rows + i * r, 1, is_inverse);
    last(part, rows, 1);
    UNROLL for (size_t k = 0; k < L; k++)
    {
        const size_t at = k * piece + (k < L / 2 ? out : -out);
        Floats pair[2];
        join(pair, part[k], is_inverse, plan->scale);
        for (size_t i = 0; i < L / r; i++)
            memcpy(y[i] + at, (const char *)pair + i * piece, piece);
    }
}

#define SOME(r)                                                                                    \
    static void some_##r(const FftLines *plan, const char *const *x, char *const *y,               \
                         Complex *rows, int is_inverse)                                            \
    {                                                                                              \
        if (is_inverse)                                                                            \
            transform_some(plan, r, dft_##r, x, y, rows, 1);                                       \
        else                                                                                       \
            transform_some(plan, r, dft_##r, x, y, rows, 0);                                       \
    }
SOME(4)
SOME(8)

void
CT_ISA(ct_fft_lines)(const FftLines *plan, const void *x, ptrdiff_t x_step, void *y,
                     ptrdiff_t y_step, size_t n_lines, float *scratch)
{
    const size_t n_together = plan->n < L * L ? L * L / plan->n : 1;
    Complex *rows = (Complex *)scratch;
    char *unused = (char *)(rows + L);

    for (size_t line = 0; line < n_lines; line += n_together) {
        const char *from = (const char *)x + (ptrdiff_t)line * x_step;
        char *to = (char *)y + (ptrdiff_t)line * y_step;
        if (n_together > 1) {
            const char *lines[L];
            char *made[L];
            for (size_t i = 0; i < n_together; i++) {
                const int exists = line + i < n_lines;
                lines[i] = from + (exists ? (ptrdiff_t)i * x_step : 0);
                made[i] = exists ? to + (ptrdiff_t)i * y_step : unused;
            }
            (plan->n == 4 * L ? some_4 : some_8)(plan, lines, made, rows, plan->is_inverse);
        } else if (plan->is_inverse) {
            transform(plan, from, to, rows, 1);
        } else {
            transform(plan, from, to, rows, 0);
        }
    }
}

#endif
