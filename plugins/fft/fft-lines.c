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

/* Vectors of the complex numbers in lanes 0 to 7 and 8 to 15 of the value, in their order. */
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

/* Where a transform of a pass is read and written. */
typedef struct {
    const char *low, *high; /* samples of its first and its second half */
    size_t r, m;
    Complex *rows; /* the first of those that are `apart` from each other */
    size_t apart;
    const Complex *turn;
    int is_inverse;
} Butterfly;

INLINE Complex
get_samples(const void *where, size_t k)
{
    const Butterfly *at = where;

    return load((2 * k < at->r ? at->low : at->high) + k * at->m * sizeof(Complex), at->is_inverse);
}

INLINE Complex
get_row(const void *where, size_t k)
{
    const Butterfly *at = where;

    return at->rows[k * at->apart];
}

INLINE void
put_row(const void *where, size_t k, Complex value)
{
    const Butterfly *at = where;

    at->rows[k * at->apart] = k == 0 ? value : turned(value, at->turn + k - 1);
}

/* The first pass, of m vectors for each of r, from the samples at x. The lower half of the r parts
 * is read `shift` bytes further, the upper half as much before. */
INLINE void
first(const size_t r, const Complex *turn, const char *x, size_t shift, Complex *rows, size_t m,
      const int is_inverse)
{
    for (size_t j = 0; j < m; j++, turn += r - 1) {
        const Butterfly at = {
            .low = x + shift + j * sizeof(Complex),
            .high = x - shift + j * sizeof(Complex),
            .r = r,
            .m = m,
            .rows = rows + j,
            .apart = m,
            .turn = turn,
            .is_inverse = is_inverse,
        };
        dft(r, get_samples, put_row, &at);
    }
}

/* A pass in between, over blocks of r · m vectors. */
INLINE void
inner(const size_t r, const Complex *turns, Complex *rows, size_t n, size_t m)
{
    for (size_t block = 0; block < n; block += r * m) {
        const Complex *turn = turns;
        for (size_t j = block; j < block + m; j++, turn += r - 1) {
            const Butterfly at = {.rows = rows + j, .apart = m, .turn = turn};
            dft(r, get_row, put_row, &at);
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

/* Transforms L blocks of a vector each, `step` vectors apart: put() takes number k of each of them,
 * block by block in the order of the lanes. */
INLINE void
last(const Complex *rows, size_t step, Put *put, const void *where)
{
    Floats re[L], im[L];
    Complex x[L], part[4][4];

    UNROLL for (size_t i = 0; i < L; i++)
    {
        re[i] = rows[fft_line_element(i) * step].re;
        im[i] = rows[fft_line_element(i) * step].im;
    }
    transpose(re);
    transpose(im);
    UNROLL for (size_t i = 0; i < L; i++) x[fft_line_element(i)] = (Complex){re[i], im[i]};
    UNROLL for (size_t i = 0; i < 4; i++)
    {
        Complex row[4] = {x[i], x[i + 4], x[i + 8], x[i + 12]};
        begin_16(part, i, row);
    }
    end_16(part, put, where);
}

/* ---- L · L numbers and more ---- */

#define INNER(r)                                                                                   \
    static void inner_##r(const Complex *turns, Complex *rows, size_t n, size_t m)                 \
    {                                                                                              \
        inner(r, turns, rows, n, m);                                                               \
    }
INNER(2)
INNER(3)
INNER(4)
INNER(5)
INNER(8)
INNER(16)

/* Where the channels of a block go: L neighbouring ones for each k. */
typedef struct {
    char *low, *high; /* for the first and the second half of k */
    size_t apart;     /* bytes from k to k + 1 */
    int is_inverse;
    float scale;
} Channels;

INLINE void
put_channels(const void *where, size_t k, Complex value)
{
    const Channels *to = where;
    char *y = (k < L / 2 ? to->low : to->high) + k * to->apart;
    Floats pair[2];

    join(pair, value, to->is_inverse, to->scale);
    memcpy(y, &pair[0], sizeof pair[0]);
    memcpy(y + sizeof pair[0], &pair[1], sizeof pair[1]);
}

INLINE void
transform(const FftLines *plan, const char *x, char *y, Complex *rows, const int is_inverse)
{
    static void (*const passes[])(const Complex *, Complex *, size_t, size_t) = {
        [2] = inner_2, [3] = inner_3, [4] = inner_4, [5] = inner_5, [8] = inner_8, [16] = inner_16,
    };
    const size_t n = plan->n / L, step = n / L;
    const size_t shift = plan->shift_out * 2 * sizeof(float);
    size_t m = step;

    first(L, (const Complex *)plan->turns[0], x, plan->shift_in * 2 * sizeof(float), rows, m,
          is_inverse);
    for (size_t i = 1; i + 1 < plan->n_passes; i++) {
        m /= plan->radix[i];
        passes[plan->radix[i]]((const Complex *)plan->turns[i], rows, n, m);
    }
    for (size_t block = 0; block < step; block++) {
        char *low = y + (size_t)plan->channel[block] * 2 * sizeof(float) + shift;
        const Channels to = {
            .low = low,
            .high = low - 2 * shift,
            .apart = n * 2 * sizeof(float),
            .is_inverse = is_inverse,
            .scale = plan->scale,
        };
        last(rows + block, step, put_channels, &to);
    }
}

/* ---- fewer, of several lines at a time ---- */

/* Where the channels of L / r lines go: r neighbouring ones of each for each k. */
typedef struct {
    char *const *y;
    size_t r;
    size_t shift; /* bytes */
    int is_inverse;
    float scale;
} Pieces;

INLINE void
put_pieces(const void *where, size_t k, Complex value)
{
    const Pieces *to = where;
    const size_t piece = to->r * 2 * sizeof(float);
    const size_t at = k * piece + (k < L / 2 ? to->shift : -to->shift);
    Floats pair[2];

    join(pair, value, to->is_inverse, to->scale);
    for (size_t i = 0; i < L / to->r; i++)
        memcpy(to->y[i] + at, (const char *)pair + i * piece, piece);
}

/* The vectors of L / r lines, r of each. */
INLINE void
transform_some(const FftLines *plan, const size_t r, const char *const *x, char *const *y,
               Complex *rows, const int is_inverse)
{
    const size_t shift = plan->shift_in * 2 * sizeof(float);
    const Pieces to = {
        .y = y,
        .r = r,
        .shift = plan->shift_out * 2 * sizeof(float),
        .is_inverse = is_inverse,
        .scale = plan->scale,
    };

    for (size_t i = 0; i < L / r; i++)
        first(r, (const Complex *)plan->turns[0], x[i], shift, rows + i * r, 1, is_inverse);
    last(rows, 1, put_pieces, &to);
}

#define SOME(r)                                                                                    \
    static void some_##r(const FftLines *plan, const char *const *x, char *const *y,               \
                         Complex *rows, int is_inverse)                                            \
    {                                                                                              \
        if (is_inverse)                                                                            \
            transform_some(plan, r, x, y, rows, 1);                                                \
        else                                                                                       \
            transform_some(plan, r, x, y, rows, 0);                                                \
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
